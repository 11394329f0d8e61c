package coordinator

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/content"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/text"
)

// Retention says what is deleted by itself. The zero value keeps everything for ever.
type Retention struct {
	// KeepJobs is how long jobs that have ended are kept, and KeepDatasets how long data sets and tables that no job has;
	// 0 means for ever.
	KeepJobs, KeepDatasets time.Duration
	// Quota limits the blobs, which are data and results. When it is exceeded, the jobs go that ended first, but for
	// those that ended just now, and then data sets and tables that no job has; 0 means that there is no quota.
	Quota int64
}

func (r Retention) check() error {
	switch {
	case r.KeepJobs < 0:
		return badConfig("jobs are kept for %v; it must not be negative", r.KeepJobs)
	case r.KeepDatasets < 0:
		return badConfig("data sets are kept for %v; it must not be negative", r.KeepDatasets)
	case r.Quota < 0:
		return badConfig("the quota is %d bytes; it must not be negative", r.Quota)
	}
	return nil
}

// useGrain returns how precisely the last use of a data set or table is stored: a use is committed only if the stored one
// is older than this. It returns 0 where nothing is deleted, so that uses do not matter.
func (r Retention) useGrain() time.Duration {
	grain := time.Hour
	switch {
	case r.KeepDatasets == 0 && r.Quota == 0:
		return 0
	case r.KeepDatasets > 0:
		grain = max(1, min(grain, r.KeepDatasets/10))
	}
	if r.Quota > 0 {
		grain = min(grain, keepUnused/10)
	}
	return grain
}

// keepUnused is how long the quota spares data sets and tables that no job has: they may have been uploaded for one that
// is about to be created.
const keepUnused = time.Hour

// keepEnded is how long the quota spares jobs that have ended, so that whoever waited for one can fetch its result.
const keepEnded = 10 * time.Minute

// retention deletes what is older than it is kept, and what exceeds the quota. It touches nothing that an unfinished job
// uses.
type retention struct {
	Retention
	c      *Coordinator
	bytes  atomic.Int64 // of the blobs; -1: not counted yet. Only if there is a quota.
	wanted atomic.Int64 // what the last upload that the quota refused needed
	wake   chan struct{}
}

func newRetention(c *Coordinator) *retention {
	r := &retention{Retention: c.cfg.Retention, c: c, wake: make(chan struct{}, 1)}
	r.bytes.Store(-1)
	return r
}

// used is how many bytes the blobs take, below 0 if that is not known.
func (r *retention) used() int64 { return r.bytes.Load() }

// checkQuota refuses so many further bytes if the quota does not allow them, and has room made for them.
func (r *retention) checkQuota(bytes int64) error {
	if r.Quota == 0 || r.used()+bytes <= r.Quota {
		return nil
	}
	f := fault.New(fault.ResourceExhausted, "QUOTA_EXCEEDED", "data and results take %s, and the quota of this coordinator is %s, which leaves no room for %s more",
		text.Bytes(r.used()), text.Bytes(r.Quota), text.Bytes(bytes))
	if bytes > r.Quota {
		return f
	}
	r.wanted.Store(bytes)
	select {
	case r.wake <- struct{}{}:
	default: // a cleanup is due already
	}
	return f.RetryIn(content.RetryUpload)
}

// run sweeps until ctx ends.
func (r *retention) run(ctx context.Context) {
	interval := time.Hour
	for _, keep := range []time.Duration{r.KeepJobs, r.KeepDatasets} {
		if keep > 0 {
			interval = min(interval, max(keep/10, time.Second))
		}
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := r.sweep(ctx); err != nil && ctx.Err() == nil {
			r.c.log.Error("cannot look for what is kept no longer; trying again later", "error", err)
		}
		select {
		case <-tick.C:
		case <-r.wake:
		case <-ctx.Done():
			return
		}
	}
}

// sweep deletes what is due.
func (r *retention) sweep(ctx context.Context) error {
	if r.Quota > 0 {
		bytes, err := r.c.blobs.Usage(ctx)
		if err != nil {
			return err
		}
		r.bytes.Store(bytes)
	}
	now := r.c.cfg.Now()
	old, inUse, err := r.survey(ctx)
	if err != nil {
		return err
	}
	for _, j := range old {
		why := ""
		switch {
		case r.KeepJobs > 0 && now.Sub(j.ended) >= r.KeepJobs:
			why = "it ended long ago"
		case r.exceeded() && now.Sub(j.ended) >= keepEnded:
			why = "the quota is exceeded"
		default:
			inUse.add(j)
			continue
		}
		if err := r.c.deleteJob(ctx, j.id); err != nil {
			return err
		}
		r.c.log.Info("a job is kept no longer", "job", j.id, "ended", j.ended, "because", why)
	}
	if err := r.c.datasets.Sweep(ctx, inUse.datasets, now, r.keepContent); err != nil {
		return err
	}
	err = r.c.tables.Sweep(ctx, inUse.tables, now, r.keepContent)
	r.wanted.Store(0)
	return err
}

// exceeded tells whether the quota is, or would be by what is wanted.
func (r *retention) exceeded() bool { return r.Quota > 0 && r.used()+r.wanted.Load() > r.Quota }

// endedJob is a job that may be deleted.
type endedJob struct {
	id, dataset string
	tables      []string
	ended       time.Time
}

// usedContent are the data sets and tables that jobs have.
type usedContent struct{ datasets, tables map[string]bool }

func (u usedContent) add(j endedJob) {
	u.datasets[j.dataset] = true
	for _, table := range j.tables {
		u.tables[table] = true
	}
}

// survey lists the jobs that have ended, the one that ended first at the head, and what the other jobs use.
func (r *retention) survey(ctx context.Context) (old []endedJob, inUse usedContent, err error) {
	inUse = usedContent{datasets: map[string]bool{}, tables: map[string]bool{}}
	err = records.Each(ctx, r.c.state, records.JobPrefix, func(entry store.Entry) error {
		record, err := readJob(entry)
		if err != nil {
			return err
		}
		j := endedJob{id: record.GetJob().GetJobId(), dataset: record.GetJob().GetDatasetId(), tables: record.GetTableIds(), ended: record.GetJob().GetEndTime().AsTime()}
		if ended(record.GetJob()) && r.c.unfinished(j.id) == nil {
			old = append(old, j)
		} else {
			inUse.add(j)
		}
		return nil
	})
	slices.SortFunc(old, func(a, b endedJob) int { return cmp.Or(a.ended.Compare(b.ended), cmp.Compare(a.id, b.id)) })
	return old, inUse, err
}

// keepContent returns how long a data set or table that no job has is kept, zero for ever, and why it is deleted then.
func (r *retention) keepContent() (time.Duration, string) {
	if r.exceeded() && (r.KeepDatasets == 0 || r.KeepDatasets > keepUnused) {
		return keepUnused, "no job has it, and the quota is exceeded"
	}
	return r.KeepDatasets, "no job has it, and it was not used for long"
}

// meteredBlobs counts the bytes of the blobs as they come and go.
type meteredBlobs struct {
	store.Blobs
	bytes *atomic.Int64
}

func (b meteredBlobs) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	err := b.Blobs.Put(ctx, name, write)
	if err == nil {
		if size, err := b.Size(ctx, name); err == nil {
			b.bytes.Add(size)
		}
	}
	return err
}

func (b meteredBlobs) Delete(ctx context.Context, name string) error {
	size, sizeErr := b.Size(ctx, name)
	err := b.Blobs.Delete(ctx, name)
	if err == nil && sizeErr == nil {
		b.bytes.Add(-size)
	}
	return err
}

// Something that is deleted disappears with one transaction: its record goes, and a garbage key says
// which blobs are no longer needed. Only then are the blobs deleted, and at last the garbage key. If
// that fails half-way, the next coordinator finds the key and does the rest.

// DeleteJob succeeds also when there is no such job, so that it can be repeated when its answer was lost.
func (s *jobService) DeleteJob(ctx context.Context, request *cleavev1.DeleteJobRequest) (*cleavev1.DeleteJobResponse, error) {
	return &cleavev1.DeleteJobResponse{}, s.c.deleteJob(ctx, request.GetJobId())
}

// deleteJob deletes a job that has ended, if there is one.
func (c *Coordinator) deleteJob(ctx context.Context, id string) error {
	record, err := c.endedRecord(ctx, id)
	if fault.Is(err, reasonJobNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	job := record.GetJob()
	blobs := records.JobBlobPrefix(job.GetJobId())
	txn := store.Txn{Put: []store.Entry{{Key: records.GarbageKey(blobs)}}, Delete: []string{records.JobKey(job.GetJobId())}}
	if job.GetRequestId() != "" {
		txn.Delete = append(txn.Delete, records.RequestKey(job.GetOwner(), job.GetRequestId()))
	}
	if job.GetOwner() != "" {
		txn.Delete = append(txn.Delete, records.OwnerKey(job.GetOwner(), job.GetJobId()))
	}
	if err := c.writer.Commit(txn); err != nil {
		return err
	}
	c.forget(job.GetJobId()) // it is still in the table when it ended this moment
	// The job is gone. What fails from here on is made up for by the next coordinator.
	if err := errors.Join(c.deleteEvents(c.storeCtx, job.GetJobId()), c.deleteGarbage(c.storeCtx, blobs)); err != nil {
		c.log.Warn("parts of a deleted job are left until the next start", "job", job.GetJobId(), "error", err)
	}
	if data := job.GetDatasetId(); data != "" {
		_, _ = c.datasets.Find(ctx, data) // it was in use until now
	}
	for _, table := range record.GetTableIds() {
		_, _ = c.tables.Find(ctx, table)
	}
	return nil
}

// deleteEvents deletes the events of a job that are not in its outcome.
func (c *Coordinator) deleteEvents(ctx context.Context, job string) error {
	entries, err := c.state.List(ctx, records.EventsPrefix(job), "", 0)
	if err != nil {
		return err
	}
	keys := make([]string, len(entries))
	for at, entry := range entries {
		keys[at] = entry.Key
	}
	return c.writer.DeleteKeys(keys)
}

// deleteGarbage deletes the blobs whose names begin with a prefix, and the garbage key that names it.
func (c *Coordinator) deleteGarbage(ctx context.Context, prefix string) error {
	names, err := c.blobs.List(ctx, prefix)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := c.blobs.Delete(ctx, name); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return c.writer.Commit(store.Txn{Delete: []string{records.GarbageKey(prefix)}})
}

// collectGarbage does what earlier coordinators did not get to. What fails again is left for the next one:
// it takes room, and nothing depends on it.
func (c *Coordinator) collectGarbage(ctx context.Context) error {
	entries, err := c.state.List(ctx, records.GarbagePrefix, "", 0)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		blobs := strings.TrimPrefix(entry.Key, records.GarbagePrefix)
		if err := c.deleteGarbage(ctx, blobs); err != nil {
			c.log.Warn("blobs that are no longer needed cannot be deleted", "blobs", blobs, "error", err)
			if unavailable(err) {
				break // no other can be either
			}
		}
	}
	return c.deleteLeftoverEvents(ctx)
}

// deleteLeftoverEvents deletes the events that nobody reads: those of jobs that were deleted, and those
// that are in the outcome of their job but were too many for the transaction that ended it.
func (c *Coordinator) deleteLeftoverEvents(ctx context.Context) error {
	const portion = 1000
	for after := ""; ; {
		entries, err := c.state.List(ctx, records.EventPrefix, after, portion)
		if err != nil {
			return err
		}
		var leftover []string
		for _, entry := range entries {
			after = entry.Key
			id, _, _ := strings.Cut(strings.TrimPrefix(entry.Key, records.EventPrefix), "/")
			needed, err := c.needsEvents(ctx, id)
			if err != nil {
				return err
			}
			if !needed {
				leftover = append(leftover, entry.Key)
			}
		}
		if err := c.writer.DeleteKeys(leftover); err != nil {
			return err
		}
		if len(entries) < portion {
			return nil
		}
	}
}

// needsEvents tells whether the events of a job are not stored anywhere else.
func (c *Coordinator) needsEvents(ctx context.Context, id string) (bool, error) {
	if c.unfinished(id) != nil {
		return true, nil
	}
	entry, err := c.state.Get(ctx, records.JobKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	var record *statev1.JobRecord
	if err == nil {
		record, err = readJob(entry)
	}
	if isRecordDamaged(err) {
		return true, nil // for whoever repairs it
	}
	return record.GetOutcomeBlob() == "", err
}
