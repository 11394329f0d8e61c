package coordinator

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cleave-project/cleave/internal/coordinator/content"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// Retention configures what is deleted automatically. The zero value keeps everything forever.
type Retention struct {
	// KeepJobs is how long jobs are kept after they end, and KeepDatasets how long data sets and tables that no job
	// refers to are kept after their last use. 0 means forever.
	KeepJobs, KeepDatasets time.Duration
	// Quota limits the total bytes of blobs, that is, of data and results. When it is exceeded, jobs are deleted,
	// those that ended first going first but sparing those that ended within keepEnded, and then data sets and tables
	// that no job refers to. 0 means no quota.
	Quota int64
}

func (r Retention) check() error {
	switch {
	case r.KeepJobs < 0:
		return badConfig("the time that jobs are kept is %v; it must not be negative (--keep-jobs)", r.KeepJobs)
	case r.KeepDatasets < 0:
		return badConfig("the time that data sets are kept is %v; it must not be negative (--keep-datasets)", r.KeepDatasets)
	case r.Quota < 0:
		return badConfig("the disk quota is %d bytes; it must not be negative (--disk-quota)", r.Quota)
	}
	return nil
}

// useGrain returns how precisely the last use of a data set or table is stored: a use is committed only if the stored
// one is older than this. It returns 0 if nothing is ever deleted, in which case uses need not be stored.
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

// keepUnused is how long the quota spares data sets and tables that no job refers to. They may have been uploaded for
// a job that is about to be created.
const keepUnused = time.Hour

// keepEnded is how long the quota spares jobs after they end, so that clients waiting for one can fetch its result.
const keepEnded = 10 * time.Minute

// retention deletes what has expired and what exceeds the quota. It never deletes anything that an unfinished job
// uses. One goroutine sweeps, while the coordinator leads; calls only check the quota, and wake it.
type retention struct {
	Retention
	c      *Coordinator
	bytes  atomic.Int64 // total size of the blobs, -1 until counted; maintained only if there is a quota
	wanted atomic.Int64 // bytes that the last upload rejected by the quota asked for
	// wake triggers a sweep. It has a buffer of one, so that a sender never blocks.
	wake chan struct{}
}

func newRetention(c *Coordinator) *retention {
	r := &retention{Retention: c.cfg.Retention, c: c, wake: make(chan struct{}, 1)}
	r.bytes.Store(-1)
	return r
}

// used returns the total bytes of the blobs, or a negative number if that is not known.
func (r *retention) used() int64 { return r.bytes.Load() }

// checkQuota returns an error if the quota has no room for this many more bytes. If deleting things could make room,
// it triggers a sweep and asks the client to retry.
func (r *retention) checkQuota(bytes int64) error {
	if r.Quota == 0 || r.used()+bytes <= r.Quota {
		return nil
	}
	f := fault.New(fault.ResourceExhausted, "QUOTA_EXCEEDED",
		"data and results take %s, and the quota of this coordinator is %s, which leaves no room for %s more",
		text.Bytes(r.used()), text.Bytes(r.Quota), text.Bytes(bytes))
	if bytes > r.Quota {
		return f
	}
	r.wanted.Store(bytes)
	select {
	case r.wake <- struct{}{}:
	default: // a sweep is already due
	}
	return f.RetryIn(content.RetryUpload)
}

// run sweeps at regular intervals and when woken, until ctx ends.
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
			r.c.log.Error("cannot look for expired jobs and data; trying again later", "error", err)
		}
		select {
		case <-tick.C:
		case <-r.wake:
		case <-ctx.Done():
			return
		}
	}
}

// sweep deletes what has expired and what exceeds the quota. It reports damaged records and keeps what they may refer
// to.
func (r *retention) sweep(ctx context.Context) error {
	if r.c.hold.Active() {
		return nil // the blobs of what is deleted now stay, and the quota would ask for more and more
	}
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
	wanted := r.wanted.Swap(0) // an upload that is rejected from here on wakes the next sweep
	for _, j := range old {
		why := ""
		switch {
		case r.KeepJobs > 0 && now.Sub(j.ended) >= r.KeepJobs:
			why = "it ended long ago"
		case r.exceeded(wanted) && now.Sub(j.ended) >= keepEnded:
			why = "the quota is exceeded"
		default:
			inUse.add(j)
			continue
		}
		if err := r.c.deleteJob(ctx, j.id); err != nil {
			return err
		}
		r.c.log.Info("deleted a job", "job", j.id, "ended", j.ended, "because", why)
	}
	if inUse.unknown {
		return nil // any data set or table may be in use
	}
	if err := r.c.datasets.Sweep(ctx, inUse.datasets, now, r.keepContent(wanted)); err != nil {
		return err
	}
	return r.c.tables.Sweep(ctx, inUse.tables, now, r.keepContent(wanted))
}

// exceeded reports whether the quota is exceeded, counting the bytes that a rejected upload wanted.
func (r *retention) exceeded(wanted int64) bool { return r.Quota > 0 && r.used()+wanted > r.Quota }

// endedJob is a job that may be deleted, and the data that it refers to.
type endedJob struct {
	id, dataset string
	tables      []string
	ended       time.Time
}

// usedContent is the set of data sets and tables that jobs refer to. unknown means that some job may refer to others.
type usedContent struct {
	datasets, tables map[string]bool
	unknown          bool
}

func (u *usedContent) add(j endedJob) {
	u.datasets[j.dataset] = true
	for _, table := range j.tables {
		u.tables[table] = true
	}
}

// survey returns the jobs that have ended, those that ended first at the front, and what all other jobs use. A job
// with a damaged record uses what its spec names.
func (r *retention) survey(ctx context.Context) (old []endedJob, inUse *usedContent, err error) {
	inUse = &usedContent{datasets: map[string]bool{}, tables: map[string]bool{}}
	err = records.Each(ctx, r.c.state, records.JobPrefix, func(entry store.Entry) error {
		record, err := readJob(entry)
		if isRecordDamaged(err) {
			return r.spare(ctx, records.JobOfKey(entry.Key), inUse, err)
		}
		if err != nil {
			return err
		}
		job := record.GetJob()
		j := endedJob{id: job.GetJobId(), dataset: job.GetDatasetId(), tables: record.GetTableIds(), ended: job.GetEndTime().AsTime()}
		if ended(record.GetJob()) && r.c.jobs.get(j.id) == nil {
			old = append(old, j)
		} else {
			inUse.add(j)
		}
		return nil
	})
	slices.SortFunc(old, func(a, b endedJob) int { return cmp.Or(a.ended.Compare(b.ended), cmp.Compare(a.id, b.id)) })
	return old, inUse, err
}

// spare adds what a job with a damaged record uses. If its spec cannot be read either, anything may be in use.
func (r *retention) spare(ctx context.Context, id string, inUse *usedContent, damage error) error {
	spec, err := r.c.readSpec(ctx, id)
	switch {
	case err == nil:
		inUse.add(endedJob{dataset: spec.GetDatasetId(), tables: wire.TableIDs(spec)})
		r.c.log.Error("the record of a job is damaged; the job and what it uses are kept", "job", id, "error", damage)
	case fault.Is(err, "SPEC_DAMAGED") || isRecordDamaged(err): // the latter if the spec is missing
		inUse.unknown = true
		r.c.log.Error("the record and the spec of a job are damaged; all data sets and tables are kept", "job", id, "error", damage)
	default:
		return err
	}
	return nil
}

// keepContent returns a function that returns how long a data set or table that no job refers to is kept after its
// last use, with 0 meaning forever, and the reason to log when it is deleted.
func (r *retention) keepContent(wanted int64) func() (time.Duration, string) {
	return func() (time.Duration, string) {
		if r.exceeded(wanted) && (r.KeepDatasets == 0 || r.KeepDatasets > keepUnused) {
			return keepUnused, "no job has it, and the quota is exceeded"
		}
		return r.KeepDatasets, "no job uses it, and its retention period has passed"
	}
}
