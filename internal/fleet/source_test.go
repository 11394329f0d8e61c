package fleet

import (
	"strings"
	"testing"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
)

// attachServing attaches a worker that passes data on.
func attachServing(t *testing.T, f *Fleet, name string) *session {
	t.Helper()
	s, _, err := f.admit(t.Context(), &workerv1.Hello{
		ProtocolVersion: wire.WorkerProtocol, NumericClass: kernel.NumericClass, Name: name, PeerAddress: name,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Why a worker could not read the object store is told until it tries again.
func TestAWorkerThatCannotReadTheStore(t *testing.T) {
	f := New(Config{})
	defer f.Close()
	s := attachServing(t, f, "a")
	e := f.newExecution(Task{DatasetID: "x", Need: planning.Workload{DatasetBytes: 10}}, nil)
	e.placed.members[s], f.state.executions[e] = &membership{}, struct{}{}
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
	reports{f}.SourceFailed("x", s.id, attachServing(t, f, "b").id, "wrong bytes")
	expect("another worker failed", "")
}
