package jobs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/events"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/results"
	"github.com/cleave-project/cleave/internal/coordinator/webhook"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/refusal"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// finish makes the end of a job durable and then visible. A job that was interrupted because this coordinator is
// shutting down stays unfinished, for the next coordinator.
func (m *Manager) finish(j *Job, out runOutcome) {
	cause := context.Cause(j.ctx)
	if cause != nil && Interrupted(cause) || out.err != nil && Interrupted(out.err) {
		m.Logger.Info("job suspended; the next coordinator resumes it", "job", j.id)
		m.endAttempt(j, forgetAttempts)
		return
	}
	j.log.RevokeRest()
	if out.completed(cause) && !j.log.FullyRepeated() {
		out.err = fmt.Errorf("%w: it ended before them", events.ErrMismatch)
	}
	d, blobs, stopped := m.storeEnd(j, out)
	if stopped {
		m.Logger.Warn("job suspended; its result is not stored, and the next coordinator resumes it", "job", j.id)
		m.endAttempt(j, forgetAttempts)
		return
	}
	if err := m.commitEnd(j, d, blobs); err != nil {
		m.Logger.Error("the end of a job cannot be stored", "job", j.id, "error", err)
		if m.Writer.Context.Err() == nil && !Interrupted(err) {
			j.refuseEnd(err)
		}
		return
	}
	m.Logger.Info("job ended", "job", j.id, "state", shortName(d.state, "JOB_STATE_"),
		"stop", shortName(d.stopReason(), "STOP_REASON_"), "error", d.error().GetMessage())
}

// decision says how a job ends.
type decision struct {
	state      cleavev1.JobState
	failure    *fault.Error // nil unless the job failed
	run        runOutcome   // without its result, if that is not part of the end
	resultLost bool         // the run had a result that could not be stored
	timedOut   bool         // ended by its time limit
}

// decide decides how a job ends. cause is that of the job's context, nil if the context has not ended. unstored is why
// its outcome cannot be stored, nil if it can.
func decide(out runOutcome, cause error, canceled bool, unstored error) decision {
	d := decision{state: cleavev1.JobState_JOB_STATE_SUCCEEDED, run: out,
		resultLost: unstored != nil && out.result != nil}
	switch {
	case canceled:
		d.state = cleavev1.JobState_JOB_STATE_CANCELLED
	case out.cutOff(cause):
		d.state = cleavev1.JobState_JOB_STATE_CANCELLED
		d.timedOut = true
	case cause != nil && !errors.Is(cause, errTimeLimit):
		d.failure = failureOf(cause)
	case out.err != nil:
		d.failure = failureOf(out.err)
	case unstored != nil:
		d.failure = fault.New(fault.Internal, results.NotStored, "the result cannot be stored: %v", unstored)
	}
	if d.failure != nil {
		d.state = cleavev1.JobState_JOB_STATE_FAILED
	}
	if d.failure != nil || unstored != nil {
		d.run.result = nil
	}
	return d
}

// cutOff reports whether the time limit ended the run, as opposed to expiring just as the run finished. cause is that
// of the job's context.
func (o runOutcome) cutOff(cause error) bool {
	return errors.Is(cause, errTimeLimit) && (o.result == nil || o.result.StopReason == clustering.StopCanceled)
}

// completed reports whether the run went to its end, and so reported every event that it has.
func (o runOutcome) completed(cause error) bool {
	return o.err == nil && (cause == nil || errors.Is(cause, errTimeLimit) && !o.cutOff(cause) && !o.uncompared)
}

// failureOf returns the error with which a job fails.
func failureOf(err error) *fault.Error {
	if f, isFault := errors.AsType[*fault.Error](refusal.Of(err)); isFault {
		return f
	}
	if errors.Is(err, events.ErrMismatch) {
		return fault.New(fault.Internal, "REPLAY_MISMATCH",
			"%v; this is a defect in Cleave or its hardware, please report it", err)
	}
	return fault.New(fault.Internal, "INTERNAL", "%v", err)
}

// events returns the events of a log plus the final JobEnded.
func (d decision) events(log *events.Log) []*cleavev1.Event {
	ended := &cleavev1.JobEnded{State: d.state, StopReason: d.stopReason(), Message: d.message(), Error: d.error()}
	others := log.All()
	return append(others, &cleavev1.Event{Sequence: uint32(len(others) + 1), What: &cleavev1.Event_Ended{Ended: ended}})
}

func (d decision) stopReason() cleavev1.StopReason {
	switch {
	case d.timedOut:
		return cleavev1.StopReason_STOP_REASON_TIME_LIMIT
	case d.run.result != nil:
		return wire.StopReasonProto(d.run.result.StopReason)
	case d.state == cleavev1.JobState_JOB_STATE_CANCELLED:
		return cleavev1.StopReason_STOP_REASON_CANCELLED
	}
	return cleavev1.StopReason_STOP_REASON_UNSPECIFIED
}

func (d decision) message() string {
	switch {
	case d.timedOut && d.resultLost:
		return "ended by its time limit; its labels could not be stored"
	case d.timedOut && d.run.result == nil:
		return "ended by its time limit before there were labels"
	case d.timedOut:
		return "ended by its time limit; labels are from the last completed step"
	case d.state != cleavev1.JobState_JOB_STATE_CANCELLED:
		return ""
	case d.resultLost:
		return "canceled while its result could not be stored"
	case d.run.result == nil:
		return "canceled before there were labels"
	}
	return "canceled; labels are from the last completed step"
}

// error returns why the job failed, or nil if it did not.
func (d decision) error() *cleavev1.Error {
	if d.failure == nil {
		return nil
	}
	return wire.ErrorProto(d.failure)
}

func (d decision) result(version string) *cleavev1.Result {
	if d.failure != nil {
		return nil
	}
	result := &cleavev1.Result{}
	if d.run.result != nil {
		result = wire.ResultProto(d.run.result)
	}
	result.Version, result.State, result.StopReason = version, d.state, d.stopReason()
	result.Plan, result.Timings = d.run.plan, d.run.timings
	d.run.table.AddTo(result)
	return result
}

// resultRetries is the backoff between attempts to store a result.
var resultRetries = dial.BackoffPolicy{First: 100 * time.Millisecond, Max: 10 * time.Second}

// storeEnd decides how a job ends and stores its blobs. While the result of a successful run cannot be stored, for
// example on a full disk, storeEnd keeps it in memory and retries until the job is canceled. Jobs that failed or were
// canceled end without their result if it cannot be stored. stopped means that the coordinator stops first.
func (m *Manager) storeEnd(j *Job, out runOutcome) (d decision, blobs endBlobs, stopped bool) {
	blobs.parts = &statev1.JobRecord{}
	for attempt, pause := 0, dial.NewBackoff(resultRetries); ; attempt++ {
		cause := context.Cause(j.ctx)
		canceled := j.cancelRequested()
		if cause != nil && Interrupted(cause) {
			return d, blobs, true
		}
		d = decide(out, cause, canceled, nil)
		err := m.storeOutcome(j, d, attempt, &blobs)
		retryable := err != nil && !errors.Is(err, proto.Error) // retrying does not fix an encoding error
		if retryable && d.state == cleavev1.JobState_JOB_STATE_SUCCEEDED {
			m.keepResult(j, err, pause)
			continue
		}
		if err != nil {
			m.Logger.Error("the outcome of a job cannot be stored", "job", j.id,
				"state", shortName(d.state, "JOB_STATE_"), "error", err)
			d = decide(out, cause, canceled, err)
		}
		if j.beginEnd() && !canceled {
			blobs.replaced, blobs.outcome = blobs.outcome, ""
			continue // canceled in the meantime, so decide again
		}
		if err != nil {
			blobs = endBlobs{}
		}
		return d, blobs, false
	}
}

// keepResult tells watchers that the result cannot be stored, and pauses before the next attempt.
func (m *Manager) keepResult(j *Job, why error, pause *dial.Backoff) {
	message := fmt.Sprintf("the run is done, but its result cannot be stored; keeping it in memory and retrying: %v",
		why)
	m.Logger.Error("the result of a job cannot be stored; it is kept in memory and tried again",
		"job", j.id, "attempts", pause.Waits()+1, "error", why)
	j.setWaiting(message)
	j.progress.Enter(cleavev1.Phase_PHASE_WAITING, message)
	if err := j.log.Flush(); err != nil { // so that watchers see the whole run
		m.Logger.Warn("the last events of a job are not durable yet", "job", j.id, "error", err)
	}
	_ = pause.Wait(m.afterRunContext(j))
}

// afterRunContext returns the context for pauses after a run: that of the job, or Context if the time limit has
// ended the job's context.
func (m *Manager) afterRunContext(j *Job) context.Context {
	if errors.Is(context.Cause(j.ctx), errTimeLimit) {
		return m.Context
	}
	return j.ctx
}

// endBlobs holds what refers to the blobs stored at the end of a job.
type endBlobs struct {
	outcome  string             // its name; "" if it is not stored
	parts    *statev1.JobRecord // has only the fields about the large parts of the result that are stored
	replaced string             // an outcome that a cancellation made useless; "" if there is none
}

// putPart stores a part of a result and returns the full name of its blob.
type putPart func(name string, write func(io.Writer) error) (blob string, err error)

// storeParts stores the large parts of a result that are not stored yet, each in a blob of its own, and adds them to
// stored.
func (o runOutcome) storeParts(stored *statev1.JobRecord, put putPart) (err error) {
	r := o.result
	if r == nil {
		return nil
	}
	add := func(blob *string, name string, write func(io.Writer) error) {
		if err == nil && *blob == "" { // otherwise an earlier attempt stored it
			*blob, err = put(name, write)
		}
	}
	add(&stored.LabelsBlob, "labels", func(w io.Writer) error { return binary.Write(w, binary.LittleEndian, r.Labels) })
	if k := r.KSelection; k != nil {
		stored.KMin = uint32(k.Min)
		add(&stored.KLabelsBlob, "klabels", func(w io.Writer) error {
			for _, labels := range k.Labels { // in ascending order of k
				if err := binary.Write(w, binary.LittleEndian, labels); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if r.Rows != nil {
		stored.RowScores = wire.RowScoresHead(r.Rows)
		add(&stored.RowScoresBlob, "rows", func(w io.Writer) error { return wire.WriteRowScores(w, r.Rows) })
	}
	if r.Model != nil {
		stored.Model = wire.ModelHead(r.Model)
		add(&stored.ModelBlob, "model", func(w io.Writer) error { return wire.WriteModel(w, r.Model) })
	}
	if r.Spectral.Embedding != nil {
		stored.Embedding = wire.EmbeddingHead(r.Spectral.Embedding)
		add(&stored.EmbeddingBlob, "embedding", func(w io.Writer) error {
			return wire.WriteEmbedding(w, r.Spectral.Embedding)
		})
	}
	if r.NeighborGraph != nil {
		graph := r.NeighborGraph.Graph
		stored.NeighborGraphBytes = uint64(dataset.EncodedSize(graph))
		add(&stored.NeighborGraphBlob, "neighbors", func(w io.Writer) error { return dataset.Encode(w, graph) })
	}
	if rows := o.table.Rows(); rows != nil {
		stored.RowsBytes = uint64(rows.EncodedSize())
		add(&stored.RowsBlob, "tablerows", rows.Encode)
	}
	return err
}

// storeOutcome stores the large parts of the result, and then the outcome, which contains the result and all events.
// It records them in blobs.
func (m *Manager) storeOutcome(j *Job, d decision, attempt int, blobs *endBlobs) error {
	nameOf := func(what string) string { return records.EndBlob(j.id, m.term, attempt, what) }
	err := d.run.storeParts(blobs.parts, func(part string, write func(io.Writer) error) (string, error) {
		if err := m.Parts.Blobs.Put(m.Writer.Context, nameOf(part), write); err != nil {
			return "", err
		}
		return nameOf(part), nil
	})
	if err != nil {
		return err
	}
	outcome := &statev1.Outcome{Events: d.events(j.log), Result: d.result(m.Version)}
	if err := m.putBlob(m.Writer.Context, nameOf("outcome"), outcome); err != nil {
		return err
	}
	blobs.outcome = nameOf("outcome")
	return nil
}

// commitEnd makes the end of a job durable and then visible. One transaction updates the record, removes the job from
// the unfinished ones, and marks the blobs as garbage that the end makes useless. It deletes the events if they are
// part of the stored outcome, and otherwise adds those that are not durable yet.
func (m *Manager) commitEnd(j *Job, d decision, blobs endBlobs) error {
	txn := store.Txn{Urgent: true, Delete: []string{records.UnfinishedKey(j.id)}}
	events := d.events(j.log)
	var garbage, rest []string // prefixes of blobs, and the events for which the transaction has no room
	if j.snapshots.Exist() {
		garbage = append(garbage, records.SnapshotPrefix(j.id))
	}
	if blobs.outcome == "" { // nothing refers to the parts of the result that were stored
		garbage = append(garbage, records.EndPrefix(j.id, m.term))
		// They may be too many for one transaction.
		flushed := j.log.FlushBy(func(txn store.Txn) error { txn.Urgent = true; return m.Writer.Persist(txn) })
		left, err := j.log.Rest(events)
		if txn.Put = left; flushed != nil || err != nil {
			m.Logger.Warn("the last events of a job may not be durable", "job", j.id,
				"error", errors.Join(flushed, err))
		}
	} else {
		stored := j.log.Keys()
		now := min(len(stored), records.MaxTxnChanges)
		txn.Delete = append(txn.Delete, stored[:now]...)
		rest = stored[now:]
		if blobs.replaced != "" {
			garbage = append(garbage, blobs.replaced)
		}
	}
	for _, prefix := range garbage {
		txn.Put = append(txn.Put, store.Entry{Key: records.GarbageKey(prefix)})
	}
	var notification []store.Entry // at most one
	commit := func(txn store.Txn) error {
		txn.Put = append(txn.Put, notification...)
		err := m.Writer.Persist(txn)
		if err == nil {
			m.leaveQueue(j) // before the end is visible, because whoever sees it may submit the next job
		}
		return err
	}
	err := j.write(m.Writer.Context, commit, txn, func(record *statev1.JobRecord) error {
		d.addTo(record, blobs)
		forgetAttempts(record)
		record.Job.LastSequence, record.Job.EndTime = uint32(len(events)), m.now()
		if _, step := j.log.Latest(); step != nil && d.run.result == nil {
			record.Job.Iterations = step.GetIteration()
			record.Job.Objective = step.GetObjective()
		}
		if url := record.GetWebhookUrl(); url != "" {
			entry, err := webhook.Entry(url, record.GetJob())
			notification = []store.Entry{entry}
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, n := range notification {
		m.Webhooks.Send(n)
	}
	j.observeEnd(d)
	m.jobs.Delete(j.id) // from now on the stored record is authoritative
	j.log.PublishEnd(events)
	for _, prefix := range garbage { // if that fails, the next coordinator tries again
		if err := m.Garbage.Delete(m.Writer.Context, prefix); err != nil && store.OutcomeOf(err) != store.NoSpace {
			m.Logger.Warn("blobs of a job that ended are left until the next start", "job", j.id, "blobs", prefix,
				"error", err)
		}
	}
	if err := m.Writer.DeleteKeys(rest); err != nil {
		m.Logger.Warn("some events of a job that ended are left until the next start", "job", j.id, "error", err)
	}
	return nil
}

// addTo makes the record of a job say how it ended, and refer to its blobs.
func (d decision) addTo(record *statev1.JobRecord, blobs endBlobs) {
	record.OutcomeBlob = blobs.outcome
	job := record.GetJob()
	job.State, job.StopReason, job.StatusMessage, job.Error = d.state, d.stopReason(), d.message(), d.error()
	if r := d.run.result; r != nil {
		proto.Merge(record, blobs.parts)
		job.Iterations, job.Objective, job.ObjectiveName = uint32(r.Iterations), r.Objective, r.ObjectiveName
	}
}
