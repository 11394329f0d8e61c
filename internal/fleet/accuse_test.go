package fleet

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet/swarm"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
)

// attachServing attaches a worker that passes data on. before is the session that it had before, or empty.
func attachServing(t *testing.T, f *Fleet, name, before string) *session {
	t.Helper()
	s, _, err := f.admit(t.Context(), &workerv1.Hello{ProtocolVersion: wire.WorkerProtocol, NumericClass: kernel.NumericClass, Name: name, PeerAddress: name, SessionId: before}, false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A worker passes no data on once two others got wrong bytes from it. One that gets wrong bytes from everybody is
// faulty itself, in all of its sessions, and bars nobody.
func TestWhoPassesNoDataOn(t *testing.T) {
	f := New(Config{})
	defer f.Close()
	workers := map[string]*session{}
	for _, name := range []string{"a", "b", "c", "faulty"} {
		workers[name] = attachServing(t, f, name, "")
	}
	accuse := func(by, of string) {
		reports{f}.SourceFailed("x", workers[by].id, swarm.Source{Kind: swarm.Peer, Peer: workers[of].id},
			&workerv1.PieceFailed{Failure: workerv1.PieceFailure_PIECE_FAILURE_WRONG})
	}
	expect := func(when string, barred ...string) {
		t.Helper()
		serving := map[string]bool{"a": true, "b": true, "c": true, "faulty": true}
		for _, name := range barred {
			serving[name] = false
		}
		for name, want := range serving {
			if workers[name].passesOnLocked() != want {
				t.Errorf("%s: %s passes data on: %v", when, name, !want)
			}
		}
	}
	accuse("faulty", "a")
	accuse("faulty", "a")
	expect("one accuser")
	accuse("faulty", "b")
	f.endSessionLocked(workers["faulty"], nil)
	workers["faulty"] = attachServing(t, f, "faulty", workers["faulty"].id)
	accuse("faulty", "c")
	accuse("b", "a")
	expect("one accuser that is believed")
	if message := f.infoLocked(workers["faulty"]).Message; message == "" {
		t.Error("nobody is told of the faulty worker")
	}
	accuse("c", "a")
	expect("two accusers", "a")
}

// Why a worker could not read the object store is told until it reads another data set from there.
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

// What a worker did wrong is kept once, however often it attaches again.
func TestConductIsKeptOnce(t *testing.T) {
	f := New(Config{})
	defer f.Close()
	s := attachServing(t, f, "x", "")
	s.sentWrong = "wrong bytes"
	for range 5 {
		f.endSessionLocked(s, nil)
		attachServing(t, f, "x", s.id) // it does not learn of this session
		s = attachServing(t, f, "x", s.id)
		f.receive(s, s.stream, &workerv1.AttachRequest{Message: &workerv1.AttachRequest_Heartbeat{Heartbeat: &workerv1.Heartbeat{}}})
		if s.passesOnLocked() {
			t.Fatal("the worker passes data on again")
		}
	}
	if len(f.conducts) > 0 {
		t.Errorf("%d conducts are kept", len(f.conducts))
	}
}

// A worker whose answers turn out to be wrong after its session has ended is quarantined, whether its process has
// attached again by then or attaches later, however much later. A process without blame is forgotten if it does not attach
// again.
func TestAVerdictFollowsTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(Config{})
		defer f.Close()
		first := attachServing(t, f, "x", "")
		f.endSessionLocked(first, nil)
		second := attachServing(t, f, "x", first.id)
		f.endSessionLocked(second, nil)
		f.quarantineLocked(first, fault.New(fault.Internal, workerWrong, "it is wrong"))
		third := attachServing(t, f, "x", second.id)
		f.endSessionLocked(third, nil)
		sound := attachServing(t, f, "sound", "")
		f.endSessionLocked(sound, nil)
		time.Sleep(conductKept + time.Second)
		fourth := attachServing(t, f, "x", third.id)
		for at, s := range []*session{second, third, fourth} {
			if s.wrong == nil {
				t.Errorf("session %d of the process is not quarantined", at+2)
			}
		}
		f.endSessionLocked(fourth, nil)
		if f.conducts[sound.id] != nil {
			t.Error("a process without blame is not forgotten")
		}
	})
}

// The verdicts about processes that never come back take little memory: the oldest are forgotten.
func TestFewVerdictsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(Config{})
		defer f.Close()
		var first, last string
		for n := range maxBlamedConducts + 5 {
			s := attachServing(t, f, "x", "")
			s.sentWrong = "wrong bytes"
			f.endSessionLocked(s, nil)
			time.Sleep(time.Second)
			if last = s.id; n == 0 {
				first = s.id
			}
		}
		if len(f.conducts) != maxBlamedConducts || f.conducts[first] != nil || f.conducts[last] == nil {
			t.Errorf("%d conducts are kept; the first: %v, the last: %v", len(f.conducts), f.conducts[first], f.conducts[last])
		}
	})
}
