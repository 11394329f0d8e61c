package fleet

import (
	"strings"
	"testing"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fleet/swarm"
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

// Why a worker could not read the object store is told until it reads another data set from there.
func TestAWorkerThatCannotReadTheStore(t *testing.T) {
	f := New(Config{})
	defer f.Close()
	s := attachServing(t, f, "a")
	e := f.newExecution(Task{DatasetID: "x", Need: planning.Workload{DatasetBytes: 10}}, nil)
	e.placed.members[s], f.executions[e] = &membership{}, struct{}{}
	expect := func(when, want string) {
		t.Helper()
		if message := f.infoLocked(s).Message; !strings.Contains(message, want) || (message == "") != (want == "") {
			t.Errorf("%s: %q", when, message)
		}
	}
	store := swarm.Source{Kind: swarm.Store}
	reports{f}.SourceFailed("x", s.id, store, &workerv1.PieceFailed{Message: "403"})
	expect("it failed", "403")
	reports{f}.Arrived(s.id, store)
	expect("the next piece arrived", "403")
	if _, _, _, err := f.checkJoin(t.Context(), &workerv1.Join{SessionId: s.id, DatasetId: "x", Bytes: 10}); err != nil {
		t.Fatal(err)
	}
	expect("it joined a data set", "403")
	reports{f}.Arrived(s.id, swarm.Source{Kind: swarm.Peer, Peer: s.id})
	expect("a piece arrived from another worker", "403")
	reports{f}.Arrived(s.id, store)
	expect("a piece arrived from the object store", "")
}
