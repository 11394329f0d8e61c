package coordinator

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync/atomic"
	"time"

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
