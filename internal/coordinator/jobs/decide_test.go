package jobs

import (
	"errors"
	"fmt"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/events"
	"github.com/cleave-project/cleave/internal/fault"
)

func result(iterations int, stop clustering.StopReason) *clustering.Result {
	return &clustering.Result{Labels: []int32{0, 1, 0, 1}, StopReason: stop, Iterations: iterations}
}

// A cancellation decides how a job ends, then its time limit, then what ended its context or its run; what cannot be
// stored comes last.
func TestHowJobsEnd(t *testing.T) {
	const (
		succeeded, failed, canceled = cleavev1.JobState_JOB_STATE_SUCCEEDED, cleavev1.JobState_JOB_STATE_FAILED,
			cleavev1.JobState_JOB_STATE_CANCELLED
		none, converged      = cleavev1.StopReason_STOP_REASON_UNSPECIFIED, cleavev1.StopReason_STOP_REASON_CONVERGED
		onRequest, timeLimit = cleavev1.StopReason_STOP_REASON_CANCELLED, cleavev1.StopReason_STOP_REASON_TIME_LIMIT
	)
	whole := result(3, clustering.StopConverged)
	cut := result(1, clustering.StopCanceled)
	damaged := fault.New(fault.DataLoss, events.Damaged, "gone")
	full := errors.New("disk full")
	broken := errors.New("broken")
	for _, c := range []struct {
		result          *clustering.Result
		failure, cause  error
		canceled        bool
		unstored        error
		state           cleavev1.JobState
		stop            cleavev1.StopReason
		reason, message string
		hasResult       bool
	}{
		{result: whole, state: succeeded, stop: converged, hasResult: true},
		{result: whole, unstored: full, state: failed, stop: none, reason: "RESULT_NOT_STORED"},
		{result: whole, canceled: true, state: canceled, stop: converged, hasResult: true,
			message: "canceled; labels are from the last completed step"},
		{result: cut, canceled: true, state: canceled, stop: onRequest, hasResult: true,
			message: "canceled; labels are from the last completed step"},
		{result: cut, canceled: true, unstored: full, state: canceled, stop: onRequest,
			message: "canceled while its result could not be stored"},
		{failure: broken, canceled: true, state: canceled, stop: onRequest,
			message: "canceled before there were labels"},
		{result: cut, cause: errTimeLimit, canceled: true, state: canceled, stop: onRequest, hasResult: true,
			message: "canceled; labels are from the last completed step"},
		{result: cut, cause: errTimeLimit, state: canceled, stop: timeLimit, hasResult: true,
			message: "ended by its time limit; labels are from the last completed step"},
		{result: cut, cause: errTimeLimit, unstored: full, state: canceled, stop: timeLimit,
			message: "ended by its time limit; its labels could not be stored"},
		{failure: broken, cause: errTimeLimit, state: canceled, stop: timeLimit,
			message: "ended by its time limit before there were labels"},
		{result: whole, cause: errTimeLimit, state: succeeded, stop: converged, hasResult: true},
		{result: whole, cause: errTimeLimit, unstored: full, state: failed, stop: none, reason: "RESULT_NOT_STORED"},
		{failure: broken, state: failed, stop: none, reason: "INTERNAL"},
		{failure: broken, unstored: full, state: failed, stop: none, reason: "INTERNAL"},
		{failure: broken, cause: damaged, state: failed, stop: none, reason: events.Damaged},
		{result: cut, cause: fmt.Errorf("%w: another", events.ErrMismatch), state: failed, stop: none,
			reason: "REPLAY_MISMATCH"},
		{result: whole, cause: damaged, canceled: true, state: canceled, stop: converged, hasResult: true,
			message: "canceled; labels are from the last completed step"},
	} {
		d := decide(runOutcome{result: c.result, err: c.failure}, c.cause, c.canceled, c.unstored)
		if d.state != c.state || d.stopReason() != c.stop || d.error().GetReason() != c.reason ||
			d.message() != c.message ||
			(d.run.result != nil) != c.hasResult || (d.result("1") != nil) != (d.failure == nil) {
			t.Errorf("%+v: the job ends as %v, %v, %v, %q with the result %v", c, d.state, d.stopReason(), d.error(),
				d.message(), d.run.result)
		}
	}
}
