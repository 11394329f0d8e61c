package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/planning"
)

// Usage is what a job uses on its workers.
type Usage struct {
	Stored, Computed         int  // number of tiles whose entries are stored now, or computed when needed
	EverStored, EverComputed bool // whether any tile ever was
	EntryBytes               int64
	Shares                   []planning.Share
}

// Usage returns what the job uses now, with its workers sorted by name.
func (e *execution) Usage() *Usage {
	f := e.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	usage := &Usage{EverStored: e.placed.ever.stored, EverComputed: e.placed.ever.computed}
	shares := map[*session]*planning.Share{}
	for s := range e.placed.members {
		shares[s] = &planning.Share{
			Worker: s.planned(s.capacity()),
			Bytes:  e.placed.fixedBytes(s),
		}
	}
	for t := range e.placed.tiles {
		share := shares[e.placed.tiles[t].worker]
		if share == nil {
			continue // not placed at the moment
		}
		share.Bytes += e.placed.tileBytes(t)
		if e.placed.tiles[t].wantStored {
			usage.EntryBytes += e.need.EntryBytes(t)
			usage.Stored++
			share.Stored++
		} else {
			usage.Computed++
			share.Computed++
		}
	}
	for s, share := range shares {
		share.Bytes = max(share.Bytes, e.placed.needOn(s).MinFreeBytes(s.threads))
		usage.Shares = append(usage.Shares, *share)
	}
	slices.SortFunc(usage.Shares, func(a, b planning.Share) int { return cmp.Compare(a.Name, b.Name) })
	return usage
}

// noWorkers is the reason of an error because there are no workers.
const noWorkers = "NO_WORKERS"

// Plan returns how a job would be placed on the workers that accept tiles now, without placing it. It counts only
// free memory, unless the job needs more: then it also counts the memory of other jobs, and the plan says that the
// job would wait for them.
func (f *Fleet) Plan(parts ...planning.Workload) (*planning.Plan, error) {
	f.mu.Lock()
	var free, alone []planning.Worker
	for _, s := range f.state.workers() {
		if s.takesTilesLocked() {
			free = append(free, s.planned(s.freeLocked()))
			alone = append(alone, s.planned(s.capacity()))
		}
	}
	f.mu.Unlock()
	if len(free) == 0 {
		return nil, fault.New(fault.FailedPrecondition, noWorkers,
			"no worker is connected, so there is nothing to plan with; start one and ask again")
	}
	plan, err := planning.MakeAll(parts, free)
	if err == nil {
		return plan, nil
	}
	if plan, err = planning.MakeAll(parts, alone); err == nil {
		plan.Why += "; other jobs hold memory that it needs: it would wait for them"
	}
	return plan, err
}

// notEnoughMemory is the reason of the error of a job that ran before and then waited too long for workers.
const notEnoughMemory = "NOT_ENOUGH_MEMORY"

// stalledWait is how long, in multiples of LostAfter, a job waits for another worker when all that it has hang or are
// not trusted.
const stalledWait = 10

// shortage is a period in which a job cannot be placed, but could be if a worker joined. A job that ran before had
// enough memory then, so workers were lost or have yet to come back after a restart of the coordinator. Or all
// remaining workers hang. The job waits for others, but not forever.
type shortage struct {
	ran           bool // the job ran before
	memory, hangs time.Duration
	until         time.Time // when the job fails; zero unless there is a shortage
	err           *fault.Error
}

func (f *Fleet) newShortage(ran bool) shortage {
	return shortage{ran: ran, memory: f.cfg.WorkerWait, hangs: stalledWait * f.cfg.LostAfter}
}

// check takes what a job waits for, "" for nothing, and why it cannot be placed. If a joining worker could resolve
// the error, check turns it into something to wait for.
func (s *shortage) check(waiting string, err error) (string, error) {
	f, _ := errors.AsType[*fault.Error](err)
	limit := s.hangs
	switch {
	case f != nil && (f.Reason == planning.DoesNotFit && s.ran || f.Reason == workerGone):
		limit = s.memory
		waiting = fmt.Sprintf("waiting for a worker, up to %v: %s", limit, f.Message)
		over := map[string]string{planning.DoesNotFit: notEnoughMemory, workerGone: workerCrashed}
		late := *f
		late.Reason, late.Message = over[f.Reason], fmt.Sprintf("%s; no worker joined within %v", f.Message, limit)
		f = &late
	case f != nil && (f.Reason == workerStalled || f.Reason == workerWrong):
		waiting = "waiting for a worker: " + f.Message
	default:
		s.until = time.Time{}
		return waiting, err
	}
	if s.until.IsZero() {
		s.until = time.Now().Add(limit)
	}
	s.err = f
	return waiting, nil
}

// wait blocks until changed is closed. It fails once a shortage has lasted too long, or if ctx ends.
func (s *shortage) wait(ctx context.Context, changed <-chan struct{}) error {
	var over <-chan time.Time
	if !s.until.IsZero() {
		over = time.After(time.Until(s.until))
	}
	select {
	case <-changed:
		return nil
	case <-over:
		return s.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// AwaitRoom waits until a job that ran before fits into the memory of the attached workers, not counting other jobs.
// After a restart of the coordinator, workers come back one after the other.
func (f *Fleet) AwaitRoom(ctx context.Context, report func(Status), parts ...planning.Workload) error {
	short := f.newShortage(true)
	for {
		changed := f.Changed()
		waiting := ""
		_, err := f.Plan(parts...)
		if fault.Is(err, noWorkers) {
			waiting, err = noneAttached, nil
		}
		if waiting, err = short.check(waiting, err); err != nil || waiting == "" {
			return err
		}
		report(Status{Waiting: waiting})
		if err := short.wait(ctx, changed); err != nil {
			return err
		}
	}
}
