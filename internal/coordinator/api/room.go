package api

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/datasets"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/results"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// Room decides whether a coordinator has room for what a call needs: rows, places in the queue, memory and disk. It is
// safe for concurrent use.
type Room struct {
	Limits   Limits
	Calls    *queue.Share // the memory of what calls load to plan, submit and predict
	Blobs    store.Blobs  // whose disk needs free space
	Quota    interface{ CheckQuota(bytes int64) error }
	Jobs     *jobs.Manager
	Datasets *datasets.Datasets
	Tables   datasets.Tables
	Problems *runner.ProblemMaker
}

// checkSize rejects a job with too many rows, clusters or constraints before anything is read for it. It applies to
// new jobs only: an accepted job continues even if a coordinator with smaller limits takes over.
func (r *Room) checkSize(ctx context.Context, spec *cleavev1.JobSpec) error {
	l := r.Limits
	k := spec.GetK()
	most := spec.GetKRange().GetMax()
	err := cmp.Or(l.CheckClusters("spec.k", fmt.Sprintf("k is %d", k), int64(k)),
		l.CheckClusters("spec.k_range", fmt.Sprintf("the largest k is %d", most), int64(most)))
	if err != nil {
		return err
	}
	if id := spec.GetTable().GetTableId(); id != "" {
		if err := r.CheckTableRows(ctx, id); err != nil {
			return wire.OnTable(err)
		}
	}
	if l.Constraints == 0 {
		return nil
	}
	for _, used := range wire.UsedTables(spec) {
		if name := used.Name(); name != "constraints" && name != "beliefs" {
			continue
		}
		rows := int64(wire.RowsIn(used.Input.GetInline()))
		if id := used.Input.GetTableId(); id != "" {
			record, err := r.Tables.Record(ctx, id)
			if err != nil {
				return err
			}
			rows = int64(record.GetTable().GetRows())
		}
		if err := l.CheckConstraints(used.Field, fmt.Sprintf("there are %d %s", rows, used.Name()), rows); err != nil {
			return err
		}
	}
	return nil
}

// CheckTableRows rejects a table with too many rows, before it is read.
func (r *Room) CheckTableRows(ctx context.Context, id string) error {
	record, err := r.Tables.Record(ctx, id)
	if err != nil {
		return err
	}
	return r.Limits.CheckRows(record.GetTable().GetRows())
}

// checkQueue rejects a job if too many are already waiting. Concurrent calls may exceed the limit slightly; it bounds
// the queue and need not be exact.
func (r *Room) checkQueue(owner string) error {
	_, all, own := r.Jobs.Count(owner)
	switch l := r.Limits; {
	case l.Queued > 0 && all >= l.Queued:
		return fault.New(fault.ResourceExhausted, "QUEUE_FULL", "the queue is full (%d jobs); try again later", all).
			With("limit", fmt.Sprint(l.Queued)).RetryIn(queue.RetryDelay)
	case l.QueuedPerOwner > 0 && own >= l.QueuedPerOwner:
		return fault.New(fault.ResourceExhausted, "OWN_QUEUE_FULL",
			"%d of your jobs are queued, the maximum for one owner; try again later", own).
			With("limit", fmt.Sprint(l.QueuedPerOwner)).RetryIn(queue.RetryDelay)
	}
	return nil
}

// Borrow waits until a call may hold data in memory, and a copy of all of it if copied is set, for at most SlowReader.
// Data that is larger than all memory is refused when it is read.
func (r *Room) Borrow(ctx context.Context, data []results.Input, copied bool) (release func(), err error) {
	var needed int64
	var shared []dataset.Dataset
	for _, input := range data {
		bytes, inMemory := r.memoryOf(ctx, input)
		if inMemory != nil {
			shared = append(shared, inMemory)
		} else {
			needed += bytes
		}
		if copied {
			needed += bytes
		}
	}
	reserved, err := r.Calls.Reserve(ctx, needed, r.Limits.SlowReader)
	if err != nil {
		return nil, err
	}
	// The function keeps what is shared, so that it is not read again if its job ends meanwhile. OnceFunc drops the
	// function after the call, because the caller may go on for hours.
	return sync.OnceFunc(func() {
		reserved.Release()
		runtime.KeepAlive(shared)
	}), nil
}

// memoryOf returns about how much memory an input takes, and the data set if it is in memory anyway and counted there:
// in the cache, or by a running job. Whatever cannot be found takes nothing; it is reported when it is read.
func (r *Room) memoryOf(ctx context.Context, input results.Input) (bytes int64, inMemory dataset.Dataset) {
	if id := input.Dataset; id != "" {
		record, err := r.Datasets.Record(ctx, id)
		if err != nil {
			return 0, nil
		}
		// A copy that only another call holds ends with that call, so this one counts it as well.
		counted := r.Datasets.Keeps(id) || r.Jobs.RunsOn(id)
		if data, found := r.Datasets.InUse(id); found && counted {
			inMemory = data
		}
		return int64(record.GetDataset().GetBytes()), inMemory
	}
	for _, id := range input.Tables {
		record, _ := r.Tables.Record(ctx, id)
		bytes += 2 * int64(record.GetTable().GetBytes()) // points take about as much as their table
	}
	return bytes, nil
}

// CheckDisk rejects what would need more space than the disk has or the quota allows.
func (r *Room) CheckDisk(bytes int64) error {
	if free, known := r.Blobs.Free(); known && free-bytes < r.Limits.FreeDisk {
		return fault.New(fault.ResourceExhausted, store.DiskFull,
			"the disk of the blob store has %s free, of which %s must stay free, and this needs %s; free some space "+
				"and try again",
			text.Bytes(free), text.Bytes(r.Limits.FreeDisk), text.Bytes(bytes)).RetryIn(records.RetryRoom)
	}
	return r.Quota.CheckQuota(bytes)
}

// problem checks a spec and prepares its problem, which the caller may hold until it calls release.
func (r *Room) problem(ctx context.Context, spec *cleavev1.JobSpec) (_ *runner.Problem, release func(), err error) {
	if err := r.checkSize(ctx, spec); err != nil {
		return nil, nil, err
	}
	input := results.Input{Dataset: spec.GetDatasetId(), Tables: []string{spec.GetTable().GetTableId()}}
	if release, err = r.Borrow(ctx, []results.Input{input}, false); err != nil {
		return nil, nil, err
	}
	ready, err := r.Problems.Make(ctx, spec, !runner.Accepted)
	if err != nil {
		release()
		return nil, nil, err
	}
	return ready, release, nil
}
