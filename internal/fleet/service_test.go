package fleet

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/wire"
)

// payloadStream counts the bytes that a worker gets.
type payloadStream struct {
	grpc.ServerStreamingServer[workerv1.FetchPayloadResponse]
	ctx context.Context
	got int
}

func (s *payloadStream) Context() context.Context { return s.ctx }

func (s *payloadStream) Send(m *workerv1.FetchPayloadResponse) error {
	s.got += len(m.GetData())
	return nil
}

// as returns the context of a call by a worker with this name.
func as(t *testing.T, name string) context.Context {
	return identity.NewContext(t.Context(), identity.Caller{Name: name, Role: identity.Worker})
}

// attach opens or resumes the session of a worker.
func attach(t *testing.T, f *Fleet, caller, sessionID string) *session {
	t.Helper()
	s, _, err := f.admit(as(t, caller), &workerv1.Hello{SessionId: sessionID})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A worker fetches the payloads of its own jobs and no others, although it can guess how they are called.
func TestWorkersFetchThePayloadsOfTheirJobs(t *testing.T) {
	f := New(Config{})
	defer f.Close()
	member := attach(t, f, "a", "")
	stranger := attach(t, f, "b", "")
	e := &execution{fleet: f, placed: placement{members: map[*session]*membership{member: {}}}}
	const size = wire.InlineBytes + 1
	p := e.newPayload(func() []byte { return make([]byte, size) })
	reference := p.message().GetReference()
	fetch := func(caller string, s *session) (int, codes.Code) {
		stream := &payloadStream{ctx: as(t, caller)}
		err := (&service{fleet: f}).FetchPayload(&workerv1.FetchPayloadRequest{SessionId: s.id, Reference: reference},
			stream)
		return stream.got, status.Code(err)
	}
	if got, code := fetch("a", member); got != size || code != codes.OK {
		t.Errorf("a worker of the job gets %d bytes, %v", got, code)
	}
	if got, code := fetch("b", stranger); got != 0 || code != codes.NotFound {
		t.Errorf("a worker without the job gets %d bytes, %v", got, code)
	}
	if got, code := fetch("b", member); got != 0 || code != codes.Aborted {
		t.Errorf("with the session of another worker it gets %d bytes, %v", got, code)
	}
	p.free()
	if got, code := fetch("a", member); got != 0 || code != codes.NotFound {
		t.Errorf("after the payload was freed, a worker gets %d bytes, %v", got, code)
	}
}

// A worker that knows the session of another one cannot take it over, and finds nothing in it.
func TestSessionsBelongToWhoAttachedThem(t *testing.T) {
	f := New(Config{})
	defer f.Close()
	victim := attach(t, f, "a", "")
	stream := victim.stream
	if thief := attach(t, f, "b", victim.id); thief == victim || victim.stream != stream {
		t.Error("another worker has taken the session over")
	}
	if again := attach(t, f, "a", victim.id); again != victim {
		t.Error("the worker cannot resume its session")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for caller, want := range map[string]error{"a": nil, "b": errOver, "": errOver} {
		if _, err := f.liveSessionLocked(as(t, caller), victim.id); err != want {
			t.Errorf("for %q the session is %v", caller, err)
		}
	}
}
