package jobs

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// The time left is the number of steps left times the duration of recent steps, less the time since the last
// step. It is absent while tiles are built again and once iterations have begun.
func TestTimeLeftOfAnEigensolver(t *testing.T) {
	now := time.Unix(1000, 0)
	l := newProgress(func() time.Time { return now })
	left := func() time.Duration {
		p := l.Current()
		if p.GetTimeLeft() == nil {
			return -1
		}
		return p.GetTimeLeft().AsDuration()
	}
	step := func(after time.Duration, stepsLeft *uint32) {
		now = now.Add(after)
		l.Show(&cleavev1.Event{What: &cleavev1.Event_Solver{Solver: &cleavev1.SolverStep{StepsLeft: stepsLeft}}})
	}
	l.Enter(cleavev1.Phase_PHASE_ITERATING, "")
	step(time.Minute, proto.Uint32(50)) // the time before the first step does not count
	if got := left(); got != -1 {
		t.Errorf("after one step %v are left", got)
	}
	step(2*time.Second, nil)
	if got := left(); got != -1 {
		t.Errorf("while nothing can be told %v are left", got)
	}
	step(2*time.Second, proto.Uint32(10))
	if got := left(); got != 20*time.Second {
		t.Errorf("%v are left, not 20s", got)
	}
	now = now.Add(time.Second)
	if got := left(); got != 19*time.Second {
		t.Errorf("a second later %v are left", got)
	}
	now = now.Add(time.Hour)
	if got := left(); got != 0 {
		t.Errorf("an hour later %v are left", got)
	}
	now = now.Add(-time.Hour - time.Second)
	for range 100 {
		step(time.Second, proto.Uint32(3))
	}
	if got := left(); got < 3*time.Second || got > 3100*time.Millisecond {
		t.Errorf("at the new pace %v are left, not 3s", got)
	}
	l.Enter(cleavev1.Phase_PHASE_BUILDING, "")
	if got := left(); got != -1 {
		t.Errorf("while tiles are built %v are left", got)
	}
	l.Enter(cleavev1.Phase_PHASE_ITERATING, "")
	l.Show(&cleavev1.Event{What: &cleavev1.Event_Iteration{Iteration: &cleavev1.Iteration{}}})
	if p := l.Current(); p.GetTimeLeft() != nil || p.GetSolver() != nil {
		t.Errorf("an iteration shows %v", p)
	}
}

// What is announced follows the clock of the caller, both in how often and in how old it may get.
func TestAnnouncementsFollowTheClock(t *testing.T) {
	now := time.Unix(1000, 0)
	l := newProgress(func() time.Time { return now })
	first := l.Announced()
	l.Enter(cleavev1.Phase_PHASE_LOADING, "") // at once, since nothing was announced before
	now = now.Add(announceInterval)
	l.Enter(cleavev1.Phase_PHASE_ITERATING, "")
	if second := l.Announced(); second.Progress.GetPhase() != cleavev1.Phase_PHASE_ITERATING ||
		second.Version != first.Version+2 {
		t.Errorf("after an interval version %d is announced: %v", second.Version, second.Progress)
	}
	now = now.Add(KeepAlive)
	if p := l.Announced().Progress; p.GetElapsed().AsDuration() != announceInterval+KeepAlive {
		t.Errorf("after %v, %v have elapsed", announceInterval+KeepAlive, p.GetElapsed().AsDuration())
	}
}
