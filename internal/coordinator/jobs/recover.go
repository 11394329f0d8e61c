package jobs

import (
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
	"github.com/cleave-project/cleave/internal/coordinator/events"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/internal/store"
)

// ResumeAll resumes the jobs that an earlier coordinator left unfinished, oldest first. A job whose record is damaged
// is skipped, so that it does not hold up the others; it is resumed by a restart after a repair. After an error it may
// be called again.
func (m *Manager) ResumeAll(ctx context.Context) error {
	entries, err := m.d.Writer.State.List(ctx, records.UnfinishedPrefix, "", 0)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		id := strings.TrimPrefix(entry.Key, records.UnfinishedPrefix)
		err := m.adopt(ctx, id)
		if records.IsDamaged(err) || errors.Is(err, store.ErrNotFound) {
			m.d.Logger.Error("an unfinished job cannot be resumed", "job", id, "error", err)
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
func (m *Manager) resumeJob(ctx context.Context, id string) error {
	entry, err := m.d.Writer.State.Get(ctx, records.JobKey(id))
	if err != nil {
		return err
	}
	record, err := records.ReadJob(entry)
	if err != nil || records.Ended(record.GetJob()) {
		return err
	}
	log, err := events.Load(ctx, m.d.Writer.State, id, m.flushEvents)
	damaged := fault.Is(err, events.Damaged)
	if err != nil && !damaged {
		return err
	}
	stored, _ := log.Latest()
	record.Job.State = cleavev1.JobState_JOB_STATE_PENDING
	record.Job.StartTime = nil
	attemptReached(record, stored)
	forgiveAttempts(record, m.d.Outlived)
	if class := clustering.NumericClass(); setNumericClass(record, class, stored) {
		m.d.Logger.Warn("restarting job from scratch: it was run before by a coordinator of a different numeric "+
			"class, which is of another version or architecture", "job", id, "now", class)
	}
	log.SetDoubt(record.GetDoubt())
	j := m.newJob(record, log, true)
	j.alone = lastAttemptIsNext(record)
	switch {
	case damaged:
		m.d.Logger.Error("an unfinished job has lost its events and fails", "job", id, "error", err)
		j.cancel(err)
	case record.GetJob().GetCancelRequested():
		j.cancel(errCanceled)
	}
	m.d.Observe.Resumed()
	m.d.Logger.Info("job is resumed", "job", id, "events", stored, "crashes", len(record.GetAttemptTerms()),
		"canceled", record.GetJob().GetCancelRequested())
	m.launch(j, nil)
	return nil
}

// setNumericClass sets the class that the job is computed in from now on, and reports whether the job starts over
// because its events were computed in another class. No snapshot of earlier runs is used then, and events that the
// new run does not repeat are revoked.
func setNumericClass(record *statev1.JobRecord, class string, events uint32) (startsOver bool) {
	before := record.GetNumericClass()
	record.NumericClass = class
	if before == class || events == 0 {
		return false
	}
	countStartOver(record)
	record.Doubt = fmt.Sprintf("the coordinator was replaced by one of another version or architecture, "+
		"whose answers have other bits (numeric class %s, before %s)", class, before)
	return true
}

// beginAttempt durably counts the attempt, before anything in the run can crash the coordinator. It fails if the job
// has crashed too often.
func (m *Manager) beginAttempt(j *Job) error {
	made := j.Record()
	if attemptsSpent(made) && !j.counted {
		return fault.New(fault.Internal, "COORDINATOR_CRASHED",
			"the coordinator crashed %d times while it ran this job, so the job is not started again; "+
				"look for the cause in the logs of the coordinator and of the system, such as too little memory",
			len(made.GetAttemptTerms())).
			With("job_id", j.id)
	}
	if j.problem != nil {
		return nil // nothing can crash before markRunning, which counts the attempt
	}
	return m.writeOfRun(j, func(record *statev1.JobRecord) error {
		m.countAttempt(j, record)
		return nil
	})
}

// writeOfRun is Job.write for what a run has done: it waits for space, and ends with the store alone.
func (m *Manager) writeOfRun(j *Job, change func(*statev1.JobRecord) error) error {
	w := m.d.Writer
	return j.write(w.Context, w.CommitWaitingForSpace, store.Txn{}, change)
}

// countAttempt counts the current run in the record, once.
func (m *Manager) countAttempt(j *Job, record *statev1.JobRecord) {
	if j.counted {
		return
	}
	j.counted = true
	events, _ := j.log.Latest()
	beginAttempt(record, events, m.term)
}

// recordResume durably records that the run of a job resumes from a snapshot.
func (m *Manager) recordResume(j *Job, steps int) error {
	return m.writeOfRun(j, func(record *statev1.JobRecord) error {
		if !attemptResumed(record, uint64(steps), m.term) {
			return errUnchanged
		}
		return nil
	})
}

// untilWorkersCome wraps the status reports of a job that has not started. While the job waits for workers it does
// nothing that could crash the coordinator, so the attempt is not counted.
func (m *Manager) untilWorkersCome(j *Job, report func(fleet.Status)) func(fleet.Status) {
	return func(s fleet.Status) {
		if s.Waiting != "" {
			m.endAttempt(j, takeBackAttempt)
		}
		report(s)
	}
}

// endAttempt durably records that a counted run did not crash. It does nothing if no run is counted.
func (m *Manager) endAttempt(j *Job, change func(*statev1.JobRecord)) {
	if !j.counted {
		return
	}
	urgent := store.Txn{Urgent: true}
	err := j.write(m.d.Writer.Context, m.d.Writer.Commit, urgent, func(record *statev1.JobRecord) error {
		change(record)
		return nil
	})
	j.counted = err != nil
	if err != nil && !Interrupted(err) && !errors.Is(err, m.d.Writer.Context.Err()) {
		m.d.Logger.Warn("cannot record that the run of a job did not crash; it counts as a crash", "job", j.id,
			"error", err)
	}
}

// startSnapshots begins to store the states of a run, and returns the context to run it with. The caller must call stop
// when the run has ended. If earlier snapshots cannot be read, the run starts from the beginning, as it does when
// snapshots are disabled.
func (m *Manager) startSnapshots(j *Job, p *runner.Problem) (ctx context.Context, stop func()) {
	if m.d.Snapshots.Config.Interval == 0 {
		return j.ctx, func() {}
	}
	_, limit := m.d.Problems.SnapshotBytes(p)
	run, err := m.openSnapshots(j, limit)
	for pause := dial.NewBackoff(resultRetries); store.AnswerOf(err) == store.Unanswered && pause.Wait(j.ctx) == nil; {
		m.d.Logger.Warn("the snapshots of a job cannot be read now, trying again", "job", j.id, "error", err)
		run, err = m.openSnapshots(j, limit)
	}
	if err != nil {
		if j.ctx.Err() == nil {
			m.d.Logger.Warn("the job runs without snapshots", "job", j.id, "error", err)
		}
		return j.ctx, func() {}
	}
	stopStoring := run.Start(j.ctx)
	return snapshot.With(j.ctx, run.Memory), sync.OnceFunc(func() {
		cause := context.Cause(j.ctx)
		stopStoring(cause != nil && Interrupted(cause)) // the last one is for the next coordinator
	})
}

// openSnapshots reads the newest snapshot of a job that ran before. limit is the maximum total size of its states in
// bytes.
func (m *Manager) openSnapshots(j *Job, limit int64) (*runner.SnapshotRun, error) {
	identity, err := m.identify(j)
	if err != nil {
		return nil, err
	}
	fromStart := j.alone // in case it is the snapshot that causes the crashes
	run, err := j.snapshots.Open(j.ctx, identity, limit, fromStart)
	if err != nil || fromStart || !j.snapshots.Exist() {
		return run, err
	}
	return run, m.recordResume(j, run.Memory.Steps())
}

// identify returns the identity that the states of the job depend on: its spec, the numeric class of this software,
// and how often the job started over.
func (m *Manager) identify(j *Job) (of snapshot.Identity, err error) {
	r, err := m.d.Parts.Open(j.ctx, j.id, records.SpecBlob(j.id), records.PartSpec, 0)
	if err != nil {
		return of, err
	}
	defer r.Close()
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%d\n", clustering.NumericClass(), j.Record().GetStartOvers())
	if _, err := io.Copy(hash, r); err != nil {
		return of, err
	}
	return snapshot.Identity(hash.Sum(nil)), nil
}
