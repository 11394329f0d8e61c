package fleet

import (
	"context"
	"strings"
	"sync"
	"testing"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
)

// panics fails a test when a fleet that logs to it has recovered from a panic.
type panics struct{ *testing.T }

func (p panics) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "recovered from a panic") {
		p.Errorf("%s", line)
	}
	return len(line), nil
}

// A panic in an operation, whether it handles an answer or makes a request, is the error of the operation. One in a
// handover ends the handover. Neither ends the program.
func TestAPanicIsTheErrorOfItsJob(t *testing.T) {
	f := New(Config{Timing: DefaultTiming()})
	s, a := attachFuzzed(t, f)
	var answering sync.WaitGroup
	stop := make(chan struct{})
	answering.Go(func() {
		f.answerAll(s, a, &workerv1.Answer{Outcome: &workerv1.Answer_Done{Done: &workerv1.Done{}}}, stop)
	})
	defer answering.Wait()
	defer close(stop)
	defer f.Close()
	spec := kernel.MatrixSpec{Function: kernel.Linear, Rows: fuzzRows, Columns: 2}
	need := planning.Workload{Matrix: &planning.Matrix{Spec: spec},
		K: fuzzK, Lanes: 1}
	x, err := f.NewExecutor(t.Context(), Task{JobID: "j", Need: need})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	for name, op := range map[string]*operation{
		"request": {request: func(*workerv1.Command, *group, []int) { panic("a defect") }},
		"answer":  {request: always(&workerv1.Command{}), decode: func(*reply) error { panic("a defect") }},
	} {
		if err := x.job.perform(t.Context(), op); !fault.Is(err, "PANIC") ||
			!strings.Contains(err.Error(), "a defect") {
			t.Errorf("%s: %v", name, err)
		}
	}
	other, _ := attachFuzzed(t, f)
	f.mu.Lock()
	x.job.family = defective{x.job.family}
	x.job.startHandoverLocked(0, other, false)
	f.mu.Unlock()
	x.job.handovers.active.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !x.job.blame.ofLocked(other).failedAside || len(x.job.handovers.to) > 0 {
		t.Error("the handover goes on")
	}
}

// A panic about what an object contains is the error of its import.
func TestAPanicIsTheErrorOfItsImport(t *testing.T) {
	f := New(Config{Timing: DefaultTiming()})
	defer f.Close()
	if _, _, err := f.admit(t.Context(), &workerv1.Hello{Name: "reader",
		TableRules: wire.TableRules}); err != nil {
		t.Fatal(err)
	}
	unit := &ObjectUnit{Request: func(context.Context, uint64) (*workerv1.ReadObject, error) { panic("a defect") }}
	if err := f.ReadObjects(t.Context(), []*ObjectUnit{unit}, nil); !fault.Is(err, "PANIC") {
		t.Errorf("the import ended with %v", err)
	}
}

// defective is a family with a defect.
type defective struct{ family }

func (defective) describe(*workerv1.Prepare) { panic("a defect") }
