package jobs

import (
	"errors"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/events"
	"github.com/cleave-project/cleave/internal/coordinator/results"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/refusal"
	"github.com/cleave-project/cleave/internal/wire"
)

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

// addEnd appends the last event, JobEnded, to the other events of a job.
func (d decision) addEnd(others []*cleavev1.Event) []*cleavev1.Event {
	ended := &cleavev1.JobEnded{State: d.state, StopReason: d.stopReason(), Message: d.message(), Error: d.error()}
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
