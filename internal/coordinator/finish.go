package coordinator

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// finish makes the end of a job durable and then visible. A job that was only interrupted, by the
// end of this coordinator, stays as it is for the next one.
func (c *Coordinator) finish(j *job, out outcome) {
	cause := context.Cause(j.ctx)
	if cause != nil && interrupted(cause) || out.err != nil && interrupted(out.err) {
		c.log.Info("job is left for the next coordinator", "job", j.id)
		return
	}
	if out.err == nil && cause == nil && !j.log.repeated() {
		out.err = fmt.Errorf("%w: it ended before them", errReplayMismatch)
	}
	end := c.judge(j, out, cause, j.close())
	for {
		err := c.conclude(j, end)
		if err == nil {
			break
		}
		c.log.Error("the end of a job cannot be stored", "job", j.id, "error", err)
		if interrupted(err) {
			return
		}
		select {
		case <-time.After(lastRetry):
		case <-c.life.Done():
			return
		}
	}
	c.log.Info("job ended", "job", j.id, "state", end.state, "stop", end.event.GetEnded().GetStopReason(), "message", end.event.GetEnded().GetMessage())
}

func interrupted(err error) bool {
	return errors.Is(err, errStopping) || errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrNotLeader)
}

// ending is the end of a job as it will be stored.
type ending struct {
	state   cleavev1.JobState
	failure *fault.Error // when it failed
	outcome outcome
	events  []*cleavev1.Event // all of them, with the last
	event   *cleavev1.Event   // the last: JobEnded
	txn     store.Txn         // what is written besides the job's record
	change  func(*statev1.JobRecord)
}

// judge decides how the job ended and writes its blobs.
func (c *Coordinator) judge(j *job, out outcome, cause error, cancelled bool) *ending {
	end := &ending{outcome: out}
	switch {
	case cancelled:
		end.state = cleavev1.JobState_JOB_STATE_CANCELLED
	case cause != nil:
		end.fail(cause)
	case out.err != nil:
		end.fail(out.err)
	default:
		end.state = cleavev1.JobState_JOB_STATE_SUCCEEDED
	}
	blobs, err := c.store(j, end)
	if err != nil {
		c.log.Error("the result of a job cannot be stored", "job", j.id, "error", err)
		end.fail(fault.New(fault.Internal, "RESULT_NOT_STORED", "the result cannot be stored: %v", err))
		end.seal(j) // the end is another one now
	}
	end.write(j, blobs)
	return end
}

func (e *ending) fail(err error) {
	e.state = cleavev1.JobState_JOB_STATE_FAILED
	e.outcome.result = nil
	f, isFault := errors.AsType[*fault.Error](err)
	switch {
	case isFault:
		e.failure = f
	case errors.Is(err, errReplayMismatch):
		e.failure = fault.New(fault.Internal, "REPLAY_MISMATCH", "%v; this is a defect in Cleave or its hardware, please report it", err)
	default:
		e.failure = fault.New(fault.Internal, "INTERNAL", "%v", err)
	}
}

// seal adds the last event to the log's others.
func (e *ending) seal(j *job) {
	last := &cleavev1.JobEnded{State: e.state, StopReason: e.stopReason(), Message: e.message(), Error: e.error()}
	others := j.log.all()
	e.event = &cleavev1.Event{Sequence: uint64(len(others) + 1), What: &cleavev1.Event_Ended{Ended: last}}
	e.events = slices.Concat(others, []*cleavev1.Event{e.event})
}

func (e *ending) stopReason() cleavev1.StopReason {
	switch {
	case e.outcome.result != nil:
		return cleavev1.StopReason(e.outcome.result.StopReason)
	case e.state == cleavev1.JobState_JOB_STATE_CANCELLED:
		return cleavev1.StopReason_STOP_REASON_CANCELLED
	}
	return cleavev1.StopReason_STOP_REASON_UNSPECIFIED
}

func (e *ending) message() string {
	switch {
	case e.state == cleavev1.JobState_JOB_STATE_CANCELLED && e.outcome.result == nil:
		return "cancelled before there were labels"
	case e.state == cleavev1.JobState_JOB_STATE_CANCELLED:
		return "cancelled; the labels are those so far"
	}
	return ""
}

// error is why the job failed, nil when it did not.
func (e *ending) error() *cleavev1.Error {
	if e.failure == nil {
		return nil
	}
	return wire.ErrorProto(e.failure)
}

// stored names the blobs of an end.
type stored struct{ outcome, labels, model, embedding string }

// store writes the labels, the model, the embedding and the outcome, into which the events are folded.
func (c *Coordinator) store(j *job, end *ending) (stored, error) {
	end.seal(j)
	blobs := stored{outcome: outcomeBlob(j.id, c.term.Revision())}
	folded := &statev1.Outcome{Events: end.events}
	if end.failure == nil {
		folded.Result = end.result()
	}
	if r := end.outcome.result; r != nil {
		if err := c.storeResult(j.id, r, &blobs); err != nil {
			return stored{}, err
		}
	}
	if err := c.putBlob(c.life, blobs.outcome, folded); err != nil {
		return stored{}, err
	}
	return blobs, nil
}

// storeResult writes what a run found, as far as it found it.
func (c *Coordinator) storeResult(id string, r *clustering.Result, blobs *stored) error {
	term := c.term.Revision()
	put := func(name *string, blob string, write func(io.Writer) error) error {
		*name = blob
		return c.blobs.Put(c.life, blob, write)
	}
	err := put(&blobs.labels, labelsBlob(id, term), func(w io.Writer) error { return binary.Write(w, binary.LittleEndian, r.Labels) })
	if err == nil && r.Model != nil {
		err = put(&blobs.model, modelBlob(id, term), func(w io.Writer) error { return wire.WriteModel(w, r.Model) })
	}
	if err == nil && r.Embedding != nil {
		err = put(&blobs.embedding, embeddingBlob(id, term), func(w io.Writer) error { return wire.WriteEmbedding(w, r.Embedding) })
	}
	return err
}

func (e *ending) result() *cleavev1.Result {
	result := &cleavev1.Result{}
	if e.outcome.result != nil {
		result = wire.ResultProto(e.outcome.result)
		result.Kernel = e.outcome.kernel
	}
	result.State, result.StopReason = e.state, e.stopReason()
	result.Plan, result.Timings = e.outcome.plan, e.outcome.timings
	return result
}

// deletesAtEnd bounds the transaction that ends a job; an etcd of default settings takes 128
// changes. Only very long runs have more batches, and what is left is deleted afterwards.
const deletesAtEnd = 100

// write lays out the transaction: the record changes, the job is no longer unfinished, and its
// events go, for they are in the outcome. If that could not be stored, the last ones come instead.
func (e *ending) write(j *job, blobs stored) {
	e.txn.Delete = []string{unfinishedKey(j.id)}
	if blobs.outcome != "" {
		e.txn.Delete = append(e.txn.Delete, j.log.keys[:min(len(j.log.keys), deletesAtEnd)]...)
	} else if puts, err := j.log.layOut(e.events[len(j.log.durable):]); err == nil {
		e.txn.Put = puts
	}
	e.change = func(record *statev1.JobRecord) {
		record.OutcomeBlob, record.LabelsBlob, record.ModelBlob = blobs.outcome, blobs.labels, blobs.model
		if blobs.model != "" {
			record.Model = wire.ModelHead(e.outcome.result.Model)
		}
		if record.EmbeddingBlob = blobs.embedding; blobs.embedding != "" {
			record.Embedding = wire.EmbeddingHead(e.outcome.result.Embedding)
		}
		job := record.GetJob()
		job.State, job.StopReason = e.state, e.stopReason()
		job.StatusMessage = e.message()
		job.LastSequence = e.event.GetSequence()
		if _, step := j.log.latest(); step != nil {
			job.Iterations, job.Objective = step.GetIteration(), step.GetObjective()
		}
		if r := e.outcome.result; r != nil {
			job.Iterations, job.Objective, job.ObjectiveName = uint32(r.Iterations), r.Objective, r.ObjectiveName
		}
		job.Error = e.error()
	}
}

// conclude commits the end and shows it.
func (c *Coordinator) conclude(j *job, end *ending) error {
	err := j.write(c.commit, end.txn, func(record *statev1.JobRecord) error {
		end.change(record)
		record.Job.EndTime = c.now()
		return nil
	})
	if err != nil {
		return err
	}
	c.forget(j.id) // before anyone hears of the end: from now on its record speaks for it
	j.log.conclude(end.events)
	if len(end.txn.Delete) > deletesAtEnd {
		if err := c.deleteKeys(j.log.keys[deletesAtEnd:]); err != nil {
			c.log.Warn("some events of a job that ended are left over", "job", j.id, "error", err)
		}
	}
	return nil
}

// deleteKeys deletes in portions that any etcd takes.
func (c *Coordinator) deleteKeys(keys []string) error {
	for len(keys) > 0 {
		portion := keys[:min(len(keys), deletesAtEnd)]
		if err := c.commit(store.Txn{Delete: portion}); err != nil {
			return err
		}
		keys = keys[len(portion):]
	}
	return nil
}
