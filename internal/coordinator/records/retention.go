package records

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/signal"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// RetentionConfig configures what is deleted automatically. The zero value keeps everything forever.
type RetentionConfig struct {
	// KeepJobs is how long jobs are kept after they end, and KeepDatasets how long data sets and tables that no job
	// refers to are kept after their last use. 0 means forever.
	KeepJobs, KeepDatasets time.Duration
	// Quota limits the total bytes of blobs, that is, of data and results. When it is exceeded, data sets and tables
	// are deleted that no job refers to and that were not used within keepUnused. If that is not enough, jobs are
	// deleted, oldest end first, except jobs that ended within keepEnded. Deleting a job also deletes data sets and
	// tables that no other job refers to and that have not been used since. 0 means no quota.
	Quota int64
}

// Check returns an error, INVALID_CONFIG, if a value is negative.
func (c RetentionConfig) Check() error {
	const reason = "INVALID_CONFIG"
	switch {
	case c.KeepJobs < 0:
		return fault.Invalid(reason, "the time that jobs are kept is %v; it must not be negative (--keep-jobs)",
			c.KeepJobs)
	case c.KeepDatasets < 0:
		return fault.Invalid(reason,
			"the time that data sets are kept is %v; it must not be negative (--keep-datasets)", c.KeepDatasets)
	case c.Quota < 0:
		return fault.Invalid(reason, "the disk quota is %d bytes; it must not be negative (--disk-quota)", c.Quota)
	}
	return nil
}

// UseGrain returns how precisely the last use of a data set or table is stored: a use is committed only if it is that
// much later than the stored one. Uses are stored even if nothing is deleted, for the day when that is configured.
func (c RetentionConfig) UseGrain() time.Duration {
	const grain = keepUnused / 10
	if c.KeepDatasets > 0 {
		return max(1, min(grain, c.KeepDatasets/10))
	}
	return grain
}

// keepUnused is how long the quota spares data sets and tables that no job refers to. They may have been uploaded for
// a job that is about to be created.
const keepUnused = time.Hour

// keepEnded is how long the quota spares jobs after they end, so that clients waiting for one can fetch its result.
const keepEnded = 10 * time.Minute

// recount is how long a count of the blobs is good for. In between, Dependencies.Total is kept up to date.
const recount = time.Minute

// stuckTime is how long the quota deletes no job after deleting one has freed nothing.
const stuckTime = 10 * time.Minute

// RetryRoom is how long a client should wait that was refused for lack of disk space.
const RetryRoom = 2 * time.Second

// Sweeper deletes jobs that ended long ago, data sets and tables that no job refers to, and what exceeds the quota of
// the blob store. It never deletes anything that an unfinished job uses. One goroutine sweeps, while the coordinator
// leads; calls only check the quota, and wake it.
type Sweeper struct {
	SweeperDependencies

	sweeping sync.Mutex   // held during a sweep
	counted  time.Time    // when the blobs were last counted, guarded by sweeping
	stuck    time.Time    // when deleting a job last freed nothing, guarded by sweeping
	wanted   atomic.Int64 // the most bytes that a rejected upload asked for since the last sweep
	// wake triggers a sweep. It has a buffer of one, so that a sender never blocks.
	wake chan struct{}
}

// SweeperDependencies is what a Sweeper needs.
type SweeperDependencies struct {
	Config RetentionConfig
	State  store.State
	Blobs  interface {
		Usage(context.Context) (int64, error)
	}
	Total  *atomic.Int64 // bytes of all blobs, kept current by store.CountBlobs; negative until first counted
	Freed  *atomic.Int64 // bytes of all blobs deleted so far, by store.CountBlobs
	Hold   *Hold         // nothing is deleted while it is active
	Logger hclog.Logger
	Now    func() time.Time

	// IsUnfinished reports whether a job has not ended yet. Such jobs are never deleted.
	IsUnfinished func(job string) bool
	// DeleteJob deletes a job, and records that the job used its data set and tables until used.
	DeleteJob func(ctx context.Context, job string, used time.Time) error
	// ReadSpec reads the spec of a job whose record is damaged.
	ReadSpec         func(ctx context.Context, job string) (*cleavev1.JobSpec, error)
	Datasets, Tables SweptContent
}

// SweptContent is a store of data sets or tables; see datasets.Store.
type SweptContent interface {
	Sweep(ctx context.Context, inUse map[string]int, now time.Time, keep func() (time.Duration, string)) error
	DeleteUnused(ctx context.Context, id string, now time.Time, age time.Duration, why string) error
}

// NewSweeper returns a Sweeper.
func NewSweeper(d SweeperDependencies) *Sweeper {
	return &Sweeper{SweeperDependencies: d, wake: make(chan struct{}, 1)}
}

// Used returns the total bytes of the blobs, or a negative number if that is not known.
func (s *Sweeper) Used() int64 { return s.Total.Load() }

// CheckQuota returns an error if the quota has no room for this many more bytes. If deleting things could make room,
// it triggers a sweep and asks the client to retry.
func (s *Sweeper) CheckQuota(bytes int64) error {
	if s.Config.Quota == 0 || s.Used()+bytes <= s.Config.Quota {
		return nil
	}
	f := fault.New(fault.ResourceExhausted, "QUOTA_EXCEEDED",
		"data and results take %s, and the quota of this coordinator is %s, which leaves no room for %s more",
		text.Bytes(s.Used()), text.Bytes(s.Config.Quota), text.Bytes(bytes))
	if bytes > s.Config.Quota {
		return f
	}
	for most := s.wanted.Load(); bytes > most && !s.wanted.CompareAndSwap(most, bytes); {
		most = s.wanted.Load()
	}
	signal.Wake(s.wake)
	return f.RetryIn(RetryRoom)
}

// Run sweeps at regular intervals and when woken, until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	interval := time.Hour
	for _, keep := range []time.Duration{s.Config.KeepJobs, s.Config.KeepDatasets} {
		if keep > 0 {
			interval = min(interval, max(keep/10, time.Second))
		}
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.Logger.Error("cannot look for expired jobs and data; trying again later", "error", err)
		}
		select {
		case <-tick.C:
		case <-s.wake:
		case <-ctx.Done():
			return
		}
	}
}

// Sweep deletes what has expired and what exceeds the quota. It reports damaged records and keeps what they may refer
// to.
func (s *Sweeper) Sweep(ctx context.Context) error {
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	if s.Hold.Active() {
		return nil // a backup keeps the blobs of deleted jobs, so deleting more would free nothing
	}
	now := s.Now()
	if s.Config.Quota > 0 && (s.Used() < 0 || now.Sub(s.counted) >= recount) {
		bytes, err := s.Blobs.Usage(ctx)
		if err != nil {
			return err
		}
		s.Total.Store(bytes)
		s.counted = s.Now() // counting may take longer than recount
	}
	ended, inUse, err := s.survey(ctx)
	if err != nil {
		return err
	}
	wanted := s.wanted.Swap(0) // an upload that is rejected from here on wakes the next sweep
	for s.Config.KeepJobs > 0 && len(ended) > 0 && now.Sub(ended[0].end) >= s.Config.KeepJobs {
		if err := s.deleteJob(ctx, ended[0], now, "it ended long ago"); err != nil {
			return err
		}
		inUse.remove(ended[0])
		ended = ended[1:]
	}
	if err := s.sweepContent(ctx, inUse, now, wanted); err != nil {
		return err
	}
	if inUse.unknown || now.Sub(s.stuck) < stuckTime {
		return nil // results would be lost, and their data would stay
	}
	for _, j := range ended {
		if !s.exceeded(wanted) || s.Hold.Active() || now.Sub(j.end) < keepEnded+s.Config.UseGrain() {
			break
		}
		before := s.Freed.Load() // other blobs are stored meanwhile, so Used says nothing
		err := s.deleteWithData(ctx, j, inUse, now)
		if s.Freed.Load() == before { // a backup began, or the store fails
			s.stuck = now
			s.Logger.Warn("deleting a job for the quota freed nothing; the other jobs are kept for now", "job", j.id)
			return err
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteWithData deletes a job for the quota, with the data set and the tables that only it refers to.
func (s *Sweeper) deleteWithData(ctx context.Context, j endedJob, inUse *usedContent, now time.Time) error {
	if err := s.deleteJob(ctx, j, j.end, "the quota is exceeded"); err != nil {
		return err
	}
	inUse.remove(j)
	const why = "its job is deleted, and the quota is exceeded"
	if j.dataset != "" && inUse.datasets[j.dataset] == 0 {
		if err := s.Datasets.DeleteUnused(ctx, j.dataset, now, keepEnded, why); err != nil {
			return err
		}
	}
	for _, table := range j.tables {
		if inUse.tables[table] == 0 {
			if err := s.Tables.DeleteUnused(ctx, table, now, keepEnded, why); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteJob deletes a job that used its data until used, and logs why.
func (s *Sweeper) deleteJob(ctx context.Context, j endedJob, used time.Time, why string) error {
	err := s.DeleteJob(ctx, j.id, used)
	if err == nil {
		s.Logger.Info("deleted a job", "job", j.id, "ended", j.end, "because", why)
	}
	return err
}

// sweepContent deletes data sets and tables that no job uses.
func (s *Sweeper) sweepContent(ctx context.Context, inUse *usedContent, now time.Time, wanted int64) error {
	if inUse.unknown {
		return nil // any data set or table may be in use
	}
	if err := s.Datasets.Sweep(ctx, inUse.datasets, now, s.keepContent(wanted)); err != nil {
		return err
	}
	return s.Tables.Sweep(ctx, inUse.tables, now, s.keepContent(wanted))
}

// exceeded reports whether the quota is exceeded, counting the bytes that a rejected upload wanted.
func (s *Sweeper) exceeded(wanted int64) bool {
	return s.Config.Quota > 0 && s.Used()+wanted > s.Config.Quota
}

// endedJob is a job that may be deleted, and the data that it refers to.
type endedJob struct {
	id, dataset string
	tables      []string
	end         time.Time
}

// usedContent counts the jobs that refer to each data set and table. unknown means that some job may refer to others.
type usedContent struct {
	datasets, tables map[string]int
	unknown          bool
}

func (u *usedContent) add(j endedJob) {
	u.datasets[j.dataset]++
	for _, table := range j.tables {
		u.tables[table]++
	}
}

func (u *usedContent) remove(j endedJob) {
	u.datasets[j.dataset]--
	for _, table := range j.tables {
		u.tables[table]--
	}
}

// survey returns the jobs that have ended, those that ended first at the front, and what all jobs use. A job with a
// damaged record uses what its spec names.
func (s *Sweeper) survey(ctx context.Context) (ended []endedJob, inUse *usedContent, err error) {
	inUse = &usedContent{datasets: map[string]int{}, tables: map[string]int{}}
	err = Each(ctx, s.State, JobPrefix, func(entry store.Entry) error {
		record, err := ReadJob(entry)
		if IsDamaged(err) {
			return s.spare(ctx, JobOfKey(entry.Key), inUse, err)
		}
		if err != nil {
			return err
		}
		job := record.GetJob()
		j := endedJob{id: job.GetJobId(), dataset: job.GetDatasetId(), tables: record.GetTableIds(),
			end: job.GetEndTime().AsTime()}
		inUse.add(j)
		if Ended(job) && !s.IsUnfinished(j.id) {
			ended = append(ended, j)
		}
		return nil
	})
	slices.SortFunc(ended, func(a, b endedJob) int { return cmp.Or(a.end.Compare(b.end), cmp.Compare(a.id, b.id)) })
	return ended, inUse, err
}

// spare adds what a job with a damaged record uses. If its spec cannot be read either, anything may be in use.
func (s *Sweeper) spare(ctx context.Context, id string, inUse *usedContent, damage error) error {
	spec, err := s.ReadSpec(ctx, id)
	switch {
	case err == nil:
		inUse.add(endedJob{dataset: spec.GetDatasetId(), tables: wire.TableIDs(spec)})
		s.Logger.Error("the record of a job is damaged; the job and what it uses are kept", "job", id, "error", damage)
	case fault.Is(err, SpecDamaged) || IsDamaged(err): // the latter if the spec is missing
		inUse.unknown = true
		s.Logger.Error("the record and the spec of a job are damaged; all data sets and tables are kept", "job", id,
			"error", damage)
	default:
		return err
	}
	return nil
}

// keepContent returns a function that returns how long a data set or table that no job refers to is kept after its
// last use, with 0 meaning forever, and the reason to log when it is deleted.
func (s *Sweeper) keepContent(wanted int64) func() (time.Duration, string) {
	return func() (time.Duration, string) {
		if s.Hold.Active() {
			return 0, "" // a backup has begun, so deleting would free nothing
		}
		if s.exceeded(wanted) && (s.Config.KeepDatasets == 0 || s.Config.KeepDatasets > keepUnused) {
			return keepUnused, "no job refers to it, and the quota is exceeded"
		}
		return s.Config.KeepDatasets, "no job uses it, and its retention period has passed"
	}
}
