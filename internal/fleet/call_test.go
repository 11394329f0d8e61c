package fleet

import (
	"strings"
	"testing"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fleet/placing"
)

// What a broken worker says becomes part of records and events, which have to fit into a transaction.
func TestLongFailuresAreCut(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	answer := &workerv1.Answer{
		Outcome: &workerv1.Answer_Failure{Failure: &workerv1.Failure{Reason: long, Message: long}}}
	_, err := (&call{}).reply(&session{name: "w"}, answer)
	if failed, is := err.(*failure); !is || len(failed.Error()) > 2000 || len(failed.reported.GetReason()) > 100 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

// A worker that stalls on the commands of two jobs is not trusted until it runs neither.
func TestAWorkerStallsOnEveryCommandThatItHangsOn(t *testing.T) {
	f := New(Config{Timing: DefaultTiming()})
	defer f.Close()
	s, _, err := f.admit(t.Context(), &workerv1.Hello{Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	var running []*workerv1.Progress
	for _, job := range []string{"a", "b"} {
		c := s.commandLocked(&workerv1.Command{JobId: job}, 0)
		c.movedAt = time.Now().Add(-f.cfg.StalledAfter)
		running = append(running, &workerv1.Progress{CommandId: c.message.GetCommand().GetCommandId()})
		f.mu.Unlock()
		if left := f.timeLeft(s, c, time.Now(), f.cfg.StalledAfter); left > 0 {
			t.Errorf("the command of job %s has %v left", job, left)
		}
		f.mu.Lock()
	}
	defer f.mu.Unlock()
	b := newBlame(nil)
	for _, step := range []struct {
		running []*workerv1.Progress
		want    placing.Doubt
	}{{running, placing.Unreliable}, {running[:1], placing.Unreliable}, {nil, placing.NoDoubt}} {
		f.noteProgressLocked(s, step.running)
		if is := b.doubtsLocked(s); is != step.want {
			t.Errorf("with %d commands that hang, the doubt is %d instead of %d", len(step.running), is, step.want)
		}
	}
}
