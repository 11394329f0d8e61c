package events

import (
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/store"
)

func iterationEvent(n uint32, objective float64) *cleavev1.Event {
	return &cleavev1.Event{
		What: &cleavev1.Event_Iteration{Iteration: &cleavev1.Iteration{Iteration: n, Objective: objective}}}
}

// The first run of a coordinator of another numeric class repeats what still holds and revokes the rest. So does that
// of the next class, and what a later coordinator has to repeat are the events that hold.
func TestEventsOfAnotherClassAreRevoked(t *testing.T) {
	state := store.NewMemory()
	defer state.Close()
	if _, err := state.Lead(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	open := func() *Log {
		t.Helper()
		l, err := Load(t.Context(), state, "job", func(txn store.Txn) error {
			_, err := state.Commit(t.Context(), txn)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := open()
	run := func(objectives ...float64) {
		t.Helper()
		for i, objective := range objectives {
			if err := l.Append(iterationEvent(uint32(i), objective)); err != nil {
				t.Fatal(err)
			}
		}
	}
	upgrade := func(class string) {
		t.Helper()
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
		l = open()
		l.SetDoubt("the class is now " + class)
	}
	run(9, 8, 7.5, 6.5)
	upgrade("second")
	run(9, 8, 7, 6.25)
	upgrade("third")
	run(9, 8, 7, 6)
	if !l.FullyRepeated() {
		t.Error("something is left to be repeated")
	}
	upgrade("fourth")
	run(9, 8) // it ends sooner
	l.RevokeRest()

	var numbers []float64
	for at, e := range l.All() {
		if e.GetSequence() != uint32(at+1) {
			t.Errorf("event %d is %v", at+1, e)
		}
		if r := e.GetRevoked(); r != nil && r.GetMessage() == "" {
			t.Errorf("event %d does not say why", at+1)
		}
	}
	for _, e := range valid(l.All()) {
		numbers = append(numbers, e.GetIteration().GetObjective())
	}
	if len(numbers) != 2 || numbers[0] != 9 || numbers[1] != 8 {
		t.Errorf("the valid objectives are %v", numbers)
	}
	if got := len(l.All()); got != 4+1+2+1+1+1 {
		t.Errorf("%d events", got)
	}
}

// Without a change of the class, a run that does not repeat its events is a defect.
func TestEventsAreNotRevokedWithoutDoubt(t *testing.T) {
	l := New("job", func(store.Txn) error { return nil })
	l.toRepeat = []*cleavev1.Event{iterationEvent(0, 9)}
	if l.Append(iterationEvent(0, 8)) == nil {
		t.Error("another event was taken")
	}
	l.RevokeRest()
	if l.FullyRepeated() {
		t.Error("an event was revoked")
	}
}
