package fleet

import (
	"context"
	"errors"
	"fmt"
	"testing"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fleet/round"
)

// Every error of a group is the problem that the round has a verdict about, also where something was added to it.
func TestProblemsOfErrors(t *testing.T) {
	reported := func(kind workerv1.FailureKind) error {
		return &failure{worker: "w", reported: &workerv1.Failure{Kind: kind}}
	}
	for _, c := range []struct {
		err  error
		want round.Problem
	}{
		{nil, round.NoProblem},
		{errOvertaken, round.Overtaken},
		{errLost, round.Lost},
		{errWorkerJoined, round.Joined},
		{errStalled, round.Stalled},
		{&wrongAnswer{errors.New("too short")}, round.Wrong},
		{reported(workerv1.FailureKind_FAILURE_KIND_INVALID), round.Invalid},
		{reported(workerv1.FailureKind_FAILURE_KIND_UNPREPARED), round.NotReady},
		{reported(workerv1.FailureKind_FAILURE_KIND_NOT_READY), round.NotReady},
		{reported(workerv1.FailureKind_FAILURE_KIND_NO_MEMORY), round.NoMemory},
		{reported(workerv1.FailureKind_FAILURE_KIND_INTERNAL), round.Internal},
		{reported(workerv1.FailureKind_FAILURE_KIND_UNSPECIFIED), round.Internal},
		{ErrReleased, round.Fatal},
		{context.Canceled, round.Fatal},
	} {
		if got := problemOf(c.err); got != c.want {
			t.Errorf("%v is problem %d, want %d", c.err, got, c.want)
		}
		if c.err == nil {
			continue
		}
		if got := problemOf(fmt.Errorf("while it builds: %w", c.err)); got != c.want {
			t.Errorf("%v, wrapped, is problem %d, want %d", c.err, got, c.want)
		}
	}
}
