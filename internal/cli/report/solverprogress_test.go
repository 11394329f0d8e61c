package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func TestProgressOfASolver(t *testing.T) {
	var plain, terminal bytes.Buffer
	lines := &Progress{display: display{w: &plain, now: time.Now, all: true}}
	live := &Progress{display: display{w: &terminal, width: 120, now: time.Now}}
	progressed := func(phase cleavev1.Phase, step *cleavev1.WatchJobResponse,
		left time.Duration) *cleavev1.WatchJobResponse {
		p := &cleavev1.Progress{Phase: phase, Workers: 2, Solver: step.GetEvent().GetSolver()}
		if step == nil && phase == cleavev1.Phase_PHASE_ITERATING {
			p.Iteration, p.Objective = 1, 1.5
		}
		if left > 0 {
			p.TimeLeft = durationpb.New(left)
		}
		return clitest.ProgressItem(p)
	}
	first := clitest.SolverItem(1, 0.51234, 0)
	second := clitest.SolverItem(2, 1e-4, 1)
	third := clitest.SolverItem(3, 1e-9, 2)
	second.GetEvent().GetSolver().StepsLeft = proto.Uint32(7)
	third.GetEvent().GetSolver().StepsLeft = proto.Uint32(0)
	starting := cleavev1.Phase_PHASE_INITIALIZING
	iterating := cleavev1.Phase_PHASE_ITERATING
	for _, p := range []*Progress{lines, live} {
		for _, item := range []*cleavev1.WatchJobResponse{
			progressed(starting, nil, 0), first, progressed(starting, first, 0),
			progressed(iterating, second, 3500*time.Millisecond), second,
			progressed(iterating, third, 0), third, clitest.IterationItem(1, 3, 1.5, 0), progressed(iterating, nil, 0),
		} {
			p.Item(item)
		}
	}
	const want = "start  2 workers\neigenvectors: step 1, residual 0.512 of 1e-08, 0 of 2 converged\n" +
		"eigenvectors: step 2, residual 0.0001 of 1e-08, 1 of 2 converged, about 7 steps, about 4s left\n" +
		"eigenvectors: step 3, residual 1e-09 of 1e-08, 2 of 2 converged\niteration 1: objective 1.5, 3 moved\n"
	if plain.String() != want {
		t.Errorf("got\n%s\nwant\n%s", plain.String(), want)
	}
	for _, want := range []string{
		"start  step 1  residual 0.512 of 1e-08  0 of 2 converged  2 workers",
		"iterate  step 2  residual 0.0001 of 1e-08  1 of 2 converged  about 7 steps  about 4s left  2 workers",
		"iterate  step 3  residual 1e-09 of 1e-08  2 of 2 converged  2 workers", "iterate  iteration 1",
	} {
		if !strings.Contains(terminal.String(), want) {
			t.Errorf("the terminal shows %q, without %q", terminal.String(), want)
		}
	}
}
