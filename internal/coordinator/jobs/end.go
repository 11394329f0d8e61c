package jobs

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/events"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/webhook"
	"github.com/cleave-project/cleave/internal/store"
)

// A job ends in four steps. decide.go decides how, without a store. outcome.go stores what is too large for the record,
// and decides again if that fails. commitEnd makes the end durable in one transaction, and publishEnd makes it visible.

// finish ends a job after its run. A job that was interrupted because this coordinator is shutting down stays
// unfinished, for the next coordinator.
func (m *Manager) finish(j *Job, out runOutcome) {
	cause := context.Cause(j.ctx)
	if cause != nil && Interrupted(cause) || out.err != nil && Interrupted(out.err) {
		m.d.Logger.Info("job suspended; the next coordinator resumes it", "job", j.id)
		m.endAttempt(j, forgetAttempts)
		return
	}
	j.log.RevokeRest()
	if out.completed(cause) && !j.log.FullyRepeated() {
		out.err = fmt.Errorf("%w: it ended before them", events.ErrMismatch)
	}
	d, blobs, stopped := m.storeEnd(j, out)
	if stopped {
		m.d.Logger.Warn("job suspended; its result is not stored, and the next coordinator resumes it", "job", j.id)
		m.endAttempt(j, forgetAttempts)
		return
	}
	e := m.planEnd(j, d, blobs)
	notification, err := m.commitEnd(j, e)
	if err != nil {
		m.d.Logger.Error("the end of a job cannot be stored", "job", j.id, "error", err)
		if m.d.Writer.Context.Err() == nil && !Interrupted(err) {
			j.refuseEnd(err)
		}
		return
	}
	m.publishEnd(j, e, notification)
	m.cleanUp(j, e)
	m.d.Logger.Info("job ended", "job", j.id, "state", shortName(d.state, "JOB_STATE_"),
		"stop", shortName(d.stopReason(), "STOP_REASON_"), "error", d.error().GetMessage())
}

// ending is how a job ends and what that changes in the stores.
type ending struct {
	decision
	blobs   endBlobs
	events  []*cleavev1.Event // all events of the job
	fresh   []store.Entry     // events that are not durable yet and that no outcome contains
	stored  []string          // keys of events that the outcome contains too
	garbage []string          // prefixes of the blobs that the end makes useless
}

// planEnd returns what the end of a job changes. If there is no outcome that contains the events, it makes durable
// those for which the last transaction may have no room.
func (m *Manager) planEnd(j *Job, d decision, blobs endBlobs) ending {
	e := ending{decision: d, blobs: blobs, events: d.addEnd(j.log.All())}
	if j.snapshots.Exist() {
		e.garbage = append(e.garbage, records.SnapshotPrefix(j.id))
	}
	if blobs.replaced != "" {
		e.garbage = append(e.garbage, blobs.replaced)
	}
	if blobs.outcome != "" {
		e.stored = j.log.Keys()
		return e
	}
	e.garbage = append(e.garbage, records.EndPrefix(j.id, m.term)) // parts of the result to which nothing refers
	flushErr := j.log.FlushBy(func(txn store.Txn) error {
		txn.Urgent = true
		return m.d.Writer.CommitWaitingForSpace(txn)
	})
	var restErr error
	e.fresh, restErr = j.log.Rest(e.events)
	if flushErr != nil || restErr != nil {
		m.d.Logger.Warn("the last events of a job may not be durable", "job", j.id,
			"error", errors.Join(flushErr, restErr))
	}
	return e
}

// obsoleteEvents returns the keys of the stored events that the transaction which ends the job deletes, and the others,
// for which it has no room.
func (e ending) obsoleteEvents() (now, later []string) {
	room := min(len(e.stored), records.MaxTxnChanges)
	return e.stored[:room], e.stored[room:]
}

// commitEnd makes the end of a job durable. One transaction updates the record, removes the job from the unfinished
// ones, marks its garbage, and deletes the events that the stored outcome contains or adds those that are not durable
// yet. It also returns the notification that the transaction stored, at most one.
func (m *Manager) commitEnd(j *Job, e ending) (notification []store.Entry, err error) {
	obsolete, _ := e.obsoleteEvents()
	txn := store.Txn{
		Urgent: true,
		Delete: append([]string{records.UnfinishedKey(j.id)}, obsolete...),
		Put:    e.fresh,
	}
	for _, prefix := range e.garbage {
		txn.Put = append(txn.Put, store.Entry{Key: records.GarbageKey(prefix)})
	}
	commit := func(txn store.Txn) error {
		txn.Put = append(txn.Put, notification...)
		if err := m.d.Writer.CommitWaitingForSpace(txn); err != nil {
			return err
		}
		m.leaveQueue(j) // before the end is visible, because whoever sees it may submit the next job
		return nil
	}
	err = j.write(m.d.Writer.Context, commit, txn, func(record *statev1.JobRecord) error {
		e.addTo(record, j.log)
		record.Job.EndTime = m.now()
		if url := record.GetWebhookUrl(); url != "" {
			entry, err := webhook.Entry(url, record.GetJob())
			notification = []store.Entry{entry}
			return err
		}
		return nil
	})
	return notification, err
}

// addTo makes the record of a job say how it ended, and refer to its blobs.
func (e ending) addTo(record *statev1.JobRecord, log *events.Log) {
	forgetAttempts(record)
	record.OutcomeBlob = e.blobs.outcome
	job := record.GetJob()
	job.State, job.StopReason, job.StatusMessage, job.Error = e.state, e.stopReason(), e.message(), e.error()
	job.LastSequence = uint32(len(e.events))
	if r := e.run.result; r != nil {
		proto.Merge(record, e.blobs.parts)
		job.Iterations, job.Objective, job.ObjectiveName = uint32(r.Iterations), r.Objective, r.ObjectiveName
	} else if _, step := log.Latest(); step != nil {
		job.Iterations, job.Objective = step.GetIteration(), step.GetObjective()
	}
}

// publishEnd shows an end that is durable. From now on the stored record is authoritative.
func (m *Manager) publishEnd(j *Job, e ending, notification []store.Entry) {
	for _, n := range notification {
		m.d.Webhooks.Send(n)
	}
	j.observeEnd(e.decision)
	m.jobs.Delete(j.id)
	j.log.PublishEnd(e.events)
}

// cleanUp deletes what the end of a job made useless. What it leaves, the next coordinator deletes.
func (m *Manager) cleanUp(j *Job, e ending) {
	for _, prefix := range e.garbage {
		err := m.d.Garbage.Delete(m.d.Writer.Context, prefix)
		if err != nil && store.AnswerOf(err) != store.NoSpace {
			m.d.Logger.Warn("blobs of a job that ended are left until the next start", "job", j.id, "blobs", prefix,
				"error", err)
		}
	}
	_, later := e.obsoleteEvents()
	if err := m.d.Writer.DeleteKeys(later); err != nil {
		m.d.Logger.Warn("some events of a job that ended are left until the next start", "job", j.id, "error", err)
	}
}
