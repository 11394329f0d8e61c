package fleet

import (
	"testing"
	"testing/synctest"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
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

// What a worker did wrong is kept once, however often it attaches again.
func TestConductIsKeptOnce(t *testing.T) {
	f := New(Config{})
	defer f.Close()
	s := attachServing(t, f, "x", "")
	s.wrong = fault.New(fault.Internal, workerWrong, "it is wrong")
	for range 5 {
		f.endSessionLocked(s, nil)
		attachServing(t, f, "x", s.id) // it does not learn of this session
		s = attachServing(t, f, "x", s.id)
		f.receive(s, s.stream, &workerv1.AttachRequest{Message: &workerv1.AttachRequest_Heartbeat{Heartbeat: &workerv1.Heartbeat{}}})
		if s.wrong == nil {
			t.Fatal("the worker is trusted again")
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
			s.wrong = fault.New(fault.Internal, workerWrong, "it is wrong")
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
