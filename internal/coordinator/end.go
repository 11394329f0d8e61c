package coordinator

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/attempts"
	"github.com/cleave-project/cleave/internal/coordinator/eventlog"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/results"
	"github.com/cleave-project/cleave/internal/coordinator/webhook"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/dial/backoff"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// finish makes the end of a job durable and then visible. A job that was interrupted because this coordinator is
// shutting down stays unfinished, for the next coordinator.
func (c *Coordinator) finish(j *job, out runOutcome) {
	cause := context.Cause(j.ctx)
	if cause != nil && interrupted(cause) || out.err != nil && interrupted(out.err) {
		c.log.Info("job suspended; the next coordinator resumes it", "job", j.id)
		c.endAttempt(j, (*attempts.Attempts).Forget)
		return
	}
	j.log.RevokeRest()
	if out.completed(cause) && !j.log.FullyRepeated() {
		out.err = fmt.Errorf("%w: it ended before them", eventlog.ErrMismatch)
	}
	end := c.storeEnd(j, out)
	if end == nil {
		c.log.Warn("job suspended; its result is not stored, and the next coordinator resumes it", "job", j.id)
		c.endAttempt(j, (*attempts.Attempts).Forget)
		return
	}
	if err := c.commitEnd(j, end); err != nil {
		c.log.Error("the end of a job cannot be stored", "job", j.id, "error", err)
		if c.storeCtx.Err() == nil && !interrupted(err) {
			j.refuseEnd(err)
		}
		return
	}
	c.log.Info("job ended", "job", j.id, "state", shortName(end.state, "JOB_STATE_"),
		"stop", shortName(end.stopReason(), "STOP_REASON_"), "error", end.failureProto().GetMessage())
}

// interrupted reports whether err only means that this coordinator is shutting down or no longer leads.
func interrupted(err error) bool {
	return errors.Is(err, errStopping) || errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrNotLeader)
}

// jobEnd describes how a job ends and what is written then. The supervisor of the job owns it.
type jobEnd struct {
	state   cleavev1.JobState
	failure *fault.Error // nil unless the job failed
	run     runOutcome
	lost    bool                     // the run had a result that could not be stored
	late    bool                     // ended by its time limit
	events  []*cleavev1.Event        // all events of the job
	event   *cleavev1.Event          // the last of them, a JobEnded
	garbage []string                 // prefixes of blobs that the end makes useless
	txn     store.Txn                // everything but the job's record
	change  func(*statev1.JobRecord) // updates the job's record
}

// resultRetries is the backoff between attempts to store a result.
var resultRetries = backoff.Policy{First: 100 * time.Millisecond, Max: 10 * time.Second}

// storeEnd decides how a job ends and stores its blobs. While the result of a successful run cannot be stored, for
// example on a full disk, storeEnd keeps it in memory and retries until the job is canceled. It returns nil if the
// coordinator stops first. Jobs that failed or were canceled end without their result if it cannot be stored.
func (c *Coordinator) storeEnd(j *job, out runOutcome) *jobEnd {
	blobs := endBlobs{parts: map[string]string{}} // those stored so far
	var replaced string                           // an outcome that a cancellation made useless
	for attempt, pause := 0, backoff.New(resultRetries); ; attempt++ {
		cause, canceled := context.Cause(j.ctx), j.cancelRequested()
		if cause != nil && interrupted(cause) {
			return nil
		}
		end := decideEnd(out, cause, canceled)
		err := c.storeOutcome(j, end, attempt, &blobs)
		retryable := err != nil && !errors.Is(err, proto.Error) // retrying does not fix an encoding error
		if retryable && end.state == cleavev1.JobState_JOB_STATE_SUCCEEDED {
			c.keepResult(j, err, pause)
			continue
		}
		if err != nil {
			c.log.Error("the outcome of a job cannot be stored", "job", j.id, "state", shortName(end.state, "JOB_STATE_"), "error", err)
			end.withoutResult(j, err)
		}
		if j.beginEnd() && !canceled {
			replaced, blobs.outcome = blobs.outcome, ""
			continue // canceled in the meantime, so decide again
		}
		if err != nil {
			blobs = endBlobs{}
		}
		if j.snapshots.Exist() {
			end.garbage = append(end.garbage, records.SnapshotPrefix(j.id))
		}
		if blobs.outcome == "" { // nothing refers to the parts of the result that were stored
			end.garbage = append(end.garbage, records.EndPrefix(j.id, c.term.Revision()))
			if err := j.log.FlushBy(c.persistUrgently); err != nil { // they may be too many for the transaction that ends the job
				c.log.Warn("the last events of a job are not durable yet", "job", j.id, "error", err)
			}
		} else if replaced != "" {
			end.garbage = append(end.garbage, replaced)
		}
		if err := end.prepareTxn(j, blobs); err != nil {
			c.log.Error("the last events of a job are not stored", "job", j.id, "error", err)
		}
		return end
	}
}

// persistUrgently persists a transaction and lets it use the space that is reserved for the ends of jobs.
func (c *Coordinator) persistUrgently(txn store.Txn) error {
	txn.Urgent = true
	return c.writer.Persist(txn)
}

// keepResult tells watchers that the result cannot be stored, and pauses before the next attempt.
func (c *Coordinator) keepResult(j *job, why error, pause *backoff.Backoff) {
	message := fmt.Sprintf("the run is done, but its result cannot be stored; keeping it in memory and retrying: %v", why)
	c.log.Error("the result of a job cannot be stored; it is kept in memory and tried again", "job", j.id, "attempts", pause.Waits()+1, "error", why)
	j.setWaiting(message)
	j.progress.Enter(cleavev1.Phase_PHASE_WAITING, message)
	if err := j.log.Flush(); err != nil { // so that watchers see the whole run
		c.log.Warn("the last events of a job are not durable yet", "job", j.id, "error", err)
	}
	_ = pause.Wait(c.afterRunContext(j))
}

// decideEnd decides how a job ends. cause is that of the job's context, nil if the context has not ended.
func decideEnd(out runOutcome, cause error, canceled bool) *jobEnd {
	end := &jobEnd{run: out}
	switch {
	case canceled:
		end.state = cleavev1.JobState_JOB_STATE_CANCELLED
	case out.cutOff(cause):
		end.state, end.late = cleavev1.JobState_JOB_STATE_CANCELLED, true
	case cause != nil && !errors.Is(cause, errTimeLimit):
		end.fail(cause)
	case out.err != nil:
		end.fail(out.err)
	default:
		end.state = cleavev1.JobState_JOB_STATE_SUCCEEDED
	}
	return end
}

// withoutResult turns e into the end of a job whose outcome cannot be stored.
func (e *jobEnd) withoutResult(j *job, why error) {
	if e.state == cleavev1.JobState_JOB_STATE_SUCCEEDED {
		e.fail(fault.New(fault.Internal, results.NotStored, "the result cannot be stored: %v", why))
	}
	e.lost = e.run.result != nil
	e.run.result = nil
	e.appendEnd(j) // again, now without the result
}

// fail turns e into a failure and drops the result.
func (e *jobEnd) fail(err error) {
	e.state = cleavev1.JobState_JOB_STATE_FAILED
	e.run.result = nil
	f, isFault := errors.AsType[*fault.Error](err)
	switch {
	case isFault:
		e.failure = f
	case errors.Is(err, eventlog.ErrMismatch):
		e.failure = fault.New(fault.Internal, "REPLAY_MISMATCH", "%v; this is a defect in Cleave or its hardware, please report it", err)
	default:
		e.failure = fault.New(fault.Internal, "INTERNAL", "%v", err)
	}
}

// appendEnd sets the events of e to those of the log plus a final JobEnded.
func (e *jobEnd) appendEnd(j *job) {
	last := &cleavev1.JobEnded{State: e.state, StopReason: e.stopReason(), Message: e.message(), Error: e.failureProto()}
	others := j.log.All()
	e.event = &cleavev1.Event{Sequence: uint32(len(others) + 1), What: &cleavev1.Event_Ended{Ended: last}}
	e.events = slices.Concat(others, []*cleavev1.Event{e.event})
}

func (e *jobEnd) stopReason() cleavev1.StopReason {
	switch {
	case e.late:
		return cleavev1.StopReason_STOP_REASON_TIME_LIMIT
	case e.run.result != nil:
		return wire.StopReasonProto(e.run.result.StopReason)
	case e.state == cleavev1.JobState_JOB_STATE_CANCELLED:
		return cleavev1.StopReason_STOP_REASON_CANCELLED
	}
	return cleavev1.StopReason_STOP_REASON_UNSPECIFIED
}

func (e *jobEnd) message() string {
	switch {
	case e.late:
		return e.timeLimitMessage()
	case e.state == cleavev1.JobState_JOB_STATE_CANCELLED && e.lost:
		return "canceled while its result could not be stored"
	case e.state == cleavev1.JobState_JOB_STATE_CANCELLED && e.run.result == nil:
		return "canceled before there were labels"
	case e.state == cleavev1.JobState_JOB_STATE_CANCELLED:
		return "canceled; labels are from the last completed step"
	}
	return ""
}

// failureProto returns why the job failed, or nil if it did not.
func (e *jobEnd) failureProto() *cleavev1.Error {
	if e.failure == nil {
		return nil
	}
	return wire.ErrorProto(e.failure)
}

// endBlobs holds the names of the blobs stored at the end of a job.
type endBlobs struct {
	outcome string            // "" if it is not stored
	parts   map[string]string // of the parts of the result that are stored, by the names of the parts
}

// endPart is a part of a result that is stored in a blob of its own.
type endPart struct {
	name  string // in the name of the blob
	write func(io.Writer) error
	// refer makes the job's record refer to the blob and describe what is in it.
	refer func(record *statev1.JobRecord, blob string)
}

// parts returns the parts of the result, if there is one.
func (o runOutcome) parts() (parts []endPart) {
	r := o.result
	if r == nil {
		return nil
	}
	add := func(name string, write func(io.Writer) error, refer func(record *statev1.JobRecord, blob string)) {
		parts = append(parts, endPart{name, write, refer})
	}
	add("labels", func(w io.Writer) error { return binary.Write(w, binary.LittleEndian, r.Labels) },
		func(record *statev1.JobRecord, blob string) { record.LabelsBlob = blob })
	if r.KSelection != nil {
		add("klabels", func(w io.Writer) error { return writeAll(w, r.KSelection.Labels) }, func(record *statev1.JobRecord, blob string) {
			record.KLabelsBlob, record.KMin = blob, uint32(r.KSelection.Min)
		})
	}
	if r.Rows != nil {
		add("rows", func(w io.Writer) error { return wire.WriteRowScores(w, r.Rows) }, func(record *statev1.JobRecord, blob string) {
			record.RowScoresBlob, record.RowScores = blob, wire.RowScoresHead(r.Rows)
		})
	}
	if r.Model != nil {
		add("model", func(w io.Writer) error { return wire.WriteModel(w, r.Model) }, func(record *statev1.JobRecord, blob string) {
			record.ModelBlob, record.Model = blob, wire.ModelHead(r.Model)
		})
	}
	if r.Embedding != nil {
		add("embedding", func(w io.Writer) error { return wire.WriteEmbedding(w, r.Embedding) }, func(record *statev1.JobRecord, blob string) {
			record.EmbeddingBlob, record.Embedding = blob, wire.EmbeddingHead(r.Embedding)
		})
	}
	if r.NeighborGraph != nil {
		graph := r.NeighborGraph.Graph
		add("neighbors", func(w io.Writer) error { return dataset.Encode(w, graph) }, func(record *statev1.JobRecord, blob string) {
			record.NeighborGraphBlob, record.NeighborGraphBytes = blob, uint64(dataset.EncodedSize(graph))
		})
	}
	if rows := o.table.Rows(); rows != nil {
		add("tablerows", rows.Encode, func(record *statev1.JobRecord, blob string) {
			record.RowsBlob, record.RowsBytes = blob, uint64(rows.EncodedSize())
		})
	}
	return parts
}

// writeAll writes the labels for every k of a range, in ascending order of k.
func writeAll(w io.Writer, all [][]int32) error {
	for _, labels := range all {
		if err := binary.Write(w, binary.LittleEndian, labels); err != nil {
			return err
		}
	}
	return nil
}

// storeOutcome stores the large parts of the result, and then the outcome, which contains the result and all events.
// It records the names in blobs.
func (c *Coordinator) storeOutcome(j *job, end *jobEnd, attempt int, blobs *endBlobs) error {
	end.appendEnd(j)
	outcome := &statev1.Outcome{Events: end.events}
	if end.failure == nil {
		outcome.Result = end.result()
		outcome.Result.Version = c.cfg.Version
	}
	for _, part := range end.run.parts() {
		if blobs.parts[part.name] != "" { // by an earlier attempt
			continue
		}
		name := records.EndBlob(j.id, c.term.Revision(), attempt, part.name)
		if err := c.blobs.Put(c.storeCtx, name, part.write); err != nil {
			return err
		}
		blobs.parts[part.name] = name
	}
	name := records.EndBlob(j.id, c.term.Revision(), attempt, "outcome")
	if err := c.putBlob(c.storeCtx, name, outcome); err != nil {
		return err
	}
	blobs.outcome = name
	return nil
}

func (e *jobEnd) result() *cleavev1.Result {
	result := &cleavev1.Result{}
	if e.run.result != nil {
		result = wire.ResultProto(e.run.result)
	}
	result.State, result.StopReason = e.state, e.stopReason()
	result.Plan, result.Timings = e.run.plan, e.run.timings
	e.run.table.AddTo(result)
	return result
}

// prepareTxn prepares the transaction that ends the job: it updates the record and removes the job from the
// unfinished ones. If the outcome was stored, the transaction deletes the events, since the outcome contains them;
// otherwise it adds the events that are not durable yet. An error means that these cannot be encoded; the transaction
// is complete but for them.
func (e *jobEnd) prepareTxn(j *job, blobs endBlobs) (err error) {
	e.txn.Urgent, e.txn.Delete = true, []string{records.UnfinishedKey(j.id)}
	if blobs.outcome != "" {
		e.txn.Delete = append(e.txn.Delete, j.log.Keys()[:min(len(j.log.Keys()), records.MaxTxnChanges)]...)
	} else {
		e.txn.Put, err = j.log.Rest(e.events)
	}
	for _, prefix := range e.garbage {
		e.txn.Put = append(e.txn.Put, store.Entry{Key: records.GarbageKey(prefix)})
	}
	e.change = func(record *statev1.JobRecord) {
		record.OutcomeBlob = blobs.outcome
		for _, part := range e.run.parts() {
			part.refer(record, blobs.parts[part.name])
		}
		job := record.GetJob()
		job.State, job.StopReason = e.state, e.stopReason()
		job.StatusMessage = e.message()
		job.LastSequence = e.event.GetSequence()
		if _, step := j.log.Latest(); step != nil {
			job.Iterations, job.Objective = step.GetIteration(), step.GetObjective()
		}
		if r := e.run.result; r != nil {
			job.Iterations, job.Objective, job.ObjectiveName = uint32(r.Iterations), r.Objective, r.ObjectiveName
		}
		job.Error = e.failureProto()
	}
	return err
}

// commitEnd makes the end durable and then visible.
func (c *Coordinator) commitEnd(j *job, end *jobEnd) error {
	var notification *store.Entry
	commit := func(txn store.Txn) error {
		if notification != nil {
			txn.Put = append(txn.Put, *notification)
		}
		err := c.writer.Persist(txn)
		if err == nil {
			c.leaveQueue(j) // before the end is visible, because whoever sees it may submit the next job
		}
		return err
	}
	err := j.write(c.storeCtx, commit, end.txn, func(record *statev1.JobRecord) error {
		end.change(record)
		changeAttempts(record, (*attempts.Attempts).Forget)
		record.Job.EndTime = c.now()
		if url := record.GetWebhookUrl(); url != "" {
			entry, err := webhook.Entry(url, record.GetJob())
			notification = &entry
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	if notification != nil {
		c.webhooks.Send(*notification)
	}
	j.observeEnd(end)
	c.jobs.remove(j.id) // from now on the stored record is authoritative
	j.log.PublishEnd(end.events)
	for _, prefix := range end.garbage { // if that fails, the next coordinator tries again
		if err := c.garbage.Delete(c.storeCtx, prefix); err != nil && !fault.Is(err, store.DiskFull) {
			c.log.Warn("blobs of a job that ended are left until the next start", "job", j.id, "blobs", prefix, "error", err)
		}
	}
	if len(end.txn.Delete) > records.MaxTxnChanges {
		if err := c.writer.DeleteKeys(j.log.Keys()[records.MaxTxnChanges:]); err != nil {
			c.log.Warn("some events of a job that ended are left until the next start", "job", j.id, "error", err)
		}
	}
	return nil
}
