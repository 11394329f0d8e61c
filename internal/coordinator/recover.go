package coordinator

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/attempts"
	"github.com/cleave-project/cleave/internal/coordinator/checkpoint"
	"github.com/cleave-project/cleave/internal/coordinator/eventlog"
	"github.com/cleave-project/cleave/internal/coordinator/problem"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/dial/backoff"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/internal/store"
)

// resumeUnfinished resumes the jobs that an earlier coordinator left unfinished, oldest first. A job whose record is
// damaged is skipped, so that it does not hold up the others; it is resumed by a restart after a repair.
func (c *Coordinator) resumeUnfinished(ctx context.Context) error {
	entries, err := c.state.List(ctx, records.UnfinishedPrefix, "", 0)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		id := strings.TrimPrefix(entry.Key, records.UnfinishedPrefix)
		err := c.adopt(ctx, id)
		if records.IsDamaged(err) || errors.Is(err, store.ErrNotFound) {
			c.log.Error("an unfinished job cannot be resumed", "job", id, "error", err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// resumeJob launches a stored job that is not launched yet. It resumes from its last snapshot, if there is one (see
// startSnapshots), and must repeat the events already in its log. If those events are damaged, the job fails. A job
// that has ended is left alone.
func (c *Coordinator) resumeJob(ctx context.Context, id string) error {
	entry, err := c.state.Get(ctx, records.JobKey(id))
	if err != nil {
		return err
	}
	record, err := records.ReadJob(entry)
	if err != nil || records.Ended(record.GetJob()) {
		return err
	}
	log, err := eventlog.Load(ctx, c.state, id, c.flushEvents)
	damaged := fault.Is(err, eventlog.Damaged)
	if err != nil && !damaged {
		return err
	}
	events, _ := log.Latest()
	record.Job.State, record.Job.StartTime = cleavev1.JobState_JOB_STATE_PENDING, nil
	attempts.Reached(record, events)
	attempts.Forgive(record, c.cfg.Election.outlived)
	if class := clustering.NumericClass(); setNumericClass(record, class, events) {
		c.log.Warn("restarting job from scratch: it was run before by a version with a different numeric class", "job", id, "now", class)
	}
	log.Distrust(record.GetDistrusted())
	j := c.newJob(record, log, true)
	j.alone = attempts.LastIsNext(record)
	switch {
	case damaged:
		c.log.Error("an unfinished job has lost its events and fails", "job", id, "error", err)
		j.cancel(err)
	case record.GetJob().GetCancelRequested():
		j.cancel(errCanceled)
	}
	c.cfg.Observe.Resumed()
	c.log.Info("job is resumed", "job", id, "events", events, "crashes", record.GetAttempts(), "canceled", record.GetJob().GetCancelRequested())
	c.launch(j, nil)
	return nil
}

// setNumericClass sets the class that the job is computed in from now on, and reports whether the job starts over
// because its events were computed in another class. No snapshot of earlier runs is used then, and events that the
// new run does not repeat are revoked.
func setNumericClass(record *statev1.JobRecord, class string, events uint32) (startsOver bool) {
	before := cmp.Or(record.GetNumericClass(), clustering.FirstNumericClass)
	record.NumericClass = class
	if before == class || events == 0 {
		return false
	}
	record.StartOvers++
	record.Distrusted = fmt.Sprintf("the coordinator was replaced by a version whose answers have other bits (numeric class %s, before %s)", class, before)
	return true
}

// beginAttempt durably counts the attempt, before anything in the run can crash the coordinator. It fails if the job
// has crashed too often.
func (c *Coordinator) beginAttempt(j *job) error {
	if made := j.durable(); attempts.Spent(made) && !j.counted {
		return fault.New(fault.Internal, "COORDINATOR_CRASHED",
			"the coordinator crashed %d times while it ran this job, so the job is not started again; "+
				"look for the cause in the logs of the coordinator and of the system, such as too little memory", made.GetAttempts()).
			With("job_id", j.id)
	}
	if j.problem != nil {
		return nil // nothing can crash before markRunning, which counts the attempt
	}
	return j.write(c.storeCtx, c.writer.Persist, store.Txn{}, func(record *statev1.JobRecord) error {
		c.countAttempt(j, record)
		return nil
	})
}

// countAttempt counts the current run in the record, once.
func (c *Coordinator) countAttempt(j *job, record *statev1.JobRecord) {
	if j.counted {
		return
	}
	j.counted = true
	events, _ := j.log.Latest()
	attempts.Begin(record, events, c.term.Revision())
}

// recordResume durably records that the run of a job resumes from a snapshot.
func (c *Coordinator) recordResume(j *job, steps int) error {
	return j.write(c.storeCtx, c.writer.Persist, store.Txn{}, func(record *statev1.JobRecord) error {
		if !attempts.Resumed(record, uint64(steps), c.term.Revision()) {
			return errUnchanged
		}
		return nil
	})
}

// untilWorkersCome wraps the status reports of a job that has not started. While the job waits for workers it does
// nothing that could crash the coordinator, so the attempt is not counted.
func (c *Coordinator) untilWorkersCome(j *job, report func(fleet.Status)) func(fleet.Status) {
	return func(s fleet.Status) {
		if s.Waiting != "" {
			c.endAttempt(j, attempts.TakeBack)
		}
		report(s)
	}
}

// endAttempt durably records that a counted run did not crash. It does nothing if no run is counted.
func (c *Coordinator) endAttempt(j *job, change func(*statev1.JobRecord)) {
	if !j.counted {
		return
	}
	err := j.write(c.storeCtx, c.writer.Commit, store.Txn{Urgent: true}, func(record *statev1.JobRecord) error {
		change(record)
		return nil
	})
	j.counted = err != nil
	if err != nil && !interrupted(err) && !errors.Is(err, c.storeCtx.Err()) {
		c.log.Warn("cannot record that the run of a job did not crash; it counts as a crash", "job", j.id, "error", err)
	}
}

// startSnapshots returns the context for a run whose states are stored from now on. The caller must call stop when the
// run has ended. If earlier snapshots cannot be read, the run starts from the beginning, as it does when snapshots are
// disabled.
func (c *Coordinator) startSnapshots(j *job, p *problem.Problem) (ctx context.Context, stop func()) {
	if c.cfg.Snapshots.Interval == 0 {
		return j.ctx, func() {}
	}
	_, limit := c.problems.SnapshotBytes(p)
	run, err := c.openSnapshots(j, limit)
	for pause := backoff.New(resultRetries); store.IsUnavailable(err) && pause.Wait(j.ctx) == nil; {
		c.log.Warn("the snapshots of a job cannot be read now, trying again", "job", j.id, "error", err)
		run, err = c.openSnapshots(j, limit)
	}
	if err != nil {
		if j.ctx.Err() == nil {
			c.log.Warn("the job runs without snapshots", "job", j.id, "error", err)
		}
		return j.ctx, func() {}
	}
	stopStoring := run.Start(j.ctx)
	return snapshot.With(j.ctx, run.Memory), sync.OnceFunc(func() {
		cause := context.Cause(j.ctx)
		stopStoring(cause != nil && interrupted(cause)) // the last one is for the next coordinator
	})
}

// openSnapshots reads the newest snapshot of a job that ran before. limit is the maximum total size of its states in
// bytes.
func (c *Coordinator) openSnapshots(j *job, limit int64) (*checkpoint.Run, error) {
	identity, err := c.identify(j)
	if err != nil {
		return nil, err
	}
	fromStart := j.alone // in case it is the snapshot that causes the crashes
	run, err := j.snapshots.Open(j.ctx, identity, limit, fromStart)
	if err != nil || fromStart || !j.snapshots.Exist() {
		return run, err
	}
	return run, c.recordResume(j, run.Memory.Steps())
}

// identify returns the identity that the states of the job depend on: its spec, the numeric class of this software,
// and how often the job started over.
func (c *Coordinator) identify(j *job) (of snapshot.Identity, err error) {
	r, err := c.parts.Open(j.ctx, j.id, records.SpecBlob(j.id), records.PartSpec, 0)
	if err != nil {
		return of, err
	}
	defer r.Close()
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%d\n", clustering.NumericClass(), j.durable().GetStartOvers())
	if _, err := io.Copy(hash, r); err != nil {
		return of, err
	}
	return snapshot.Identity(hash.Sum(nil)), nil
}
