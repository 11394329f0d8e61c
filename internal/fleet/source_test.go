package fleet

import (
	"strings"
	"testing"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/planning"
)

// Why a worker could not read the object store is told until it tries again.
func TestAWorkerThatCannotReadTheStore(t *testing.T) {
	f := New(Config{})
	defer f.Close()
	s := attachServing(t, f, "a", "")
	e := f.newExecution(Task{DatasetID: "x", Need: planning.Workload{DatasetBytes: 10}}, nil)
	e.placed.members[s], f.executions[e] = &membership{}, struct{}{}
	expect := func(when, want string) {
		t.Helper()
		if message := f.infoLocked(s).Message; !strings.Contains(message, want) || (message == "") != (want == "") {
			t.Errorf("%s: %q", when, message)
		}
	}
	reports{f}.SourceFailed("x", s.id, "", "403")
	expect("it failed", "403")
	if _, _, err := f.checkJoin(t.Context(), &workerv1.Join{SessionId: s.id, DatasetId: "x", Bytes: 9}); err == nil {
		t.Error("a data set of another size is delivered")
	}
	expect("it asked for something else", "403")
	if _, _, err := f.checkJoin(t.Context(), &workerv1.Join{SessionId: s.id, DatasetId: "x", Bytes: 10}); err != nil {
		t.Fatal(err)
	}
	expect("it tries again", "")
	reports{f}.SourceFailed("x", s.id, attachServing(t, f, "b", "").id, "wrong bytes")
	expect("another worker failed", "")
}
