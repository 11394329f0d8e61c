package fleet_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/refusal"
	"github.com/cleave-project/cleave/internal/wire"
)

// scriptedWorker answers commands by a function of the test instead of computing.
type scriptedWorker struct {
	c      *cluster
	stream grpc.BidiStreamingClient[workerv1.AttachRequest, workerv1.AttachResponse]
	client workerv1.WorkerServiceClient
	id     string
	mu     sync.Mutex // one Send at a time
}

func validHello() *workerv1.Hello {
	return &workerv1.Hello{ProtocolVersion: wire.WorkerProtocol, NumericClass: kernel.NumericClass, Name: "scripted",
		Threads: 1}
}

// attachScripted attaches a scripted worker and returns the answer to its hello.
func (c *cluster) attachScripted(hello *workerv1.Hello) (*scriptedWorker, *workerv1.Welcome, error) {
	c.Helper()
	conn, err := grpc.NewClient("passthrough:///"+c.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		c.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.Cleanup(func() { cancel(); conn.Close() })
	a := &scriptedWorker{c: c, client: workerv1.NewWorkerServiceClient(conn)}
	if a.stream, err = a.client.Attach(ctx); err != nil {
		c.Fatal(err)
	}
	a.send(&workerv1.AttachRequest{Message: &workerv1.AttachRequest_Hello{Hello: hello}})
	m, err := a.stream.Recv()
	a.id = m.GetWelcome().GetSessionId()
	return a, m.GetWelcome(), err
}

func (w *scriptedWorker) send(m *workerv1.AttachRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.stream.Send(m); err != nil && !errors.Is(err, io.EOF) {
		w.c.Error(err)
	}
}

// answerCommands answers commands until the stream ends: with the failure that script returns, or with
// Done if it returns nil.
func (w *scriptedWorker) answerCommands(script func(*workerv1.Command) *workerv1.Failure) error {
	for {
		m, err := w.stream.Recv()
		if err != nil {
			return err
		}
		if c := m.GetCommand(); c != nil {
			answer := &workerv1.Answer{CommandId: c.GetCommandId(),
				Outcome: &workerv1.Answer_Done{Done: &workerv1.Done{}}}
			if f := script(c); f != nil {
				answer.Outcome = &workerv1.Answer_Failure{Failure: f}
			}
			w.send(&workerv1.AttachRequest{Message: &workerv1.AttachRequest_Answer{Answer: answer}})
		}
	}
}

func failureOf(kind workerv1.FailureKind, reason, message string) *workerv1.Failure {
	return &workerv1.Failure{Kind: kind, Reason: reason, Message: message}
}

func TestIncompatibleWorkersAreRefused(t *testing.T) {
	c := newCluster(t)
	hello := validHello()
	hello.ProtocolVersion = 99
	_, _, err := c.attachScripted(hello)
	if status.Code(err) != codes.FailedPrecondition || !fault.Is(wire.Fault(err), "PROTOCOL_VERSION_MISMATCH") {
		t.Errorf("another protocol: %v", err)
	}
	hello = validHello()
	hello.NumericClass = "decimal"
	_, _, err = c.attachScripted(hello)
	if status.Code(err) != codes.FailedPrecondition || !fault.Is(wire.Fault(err), "NUMERIC_CLASS_MISMATCH") {
		t.Errorf("another numeric class: %v", err)
	}
	if workers := c.fleet.Workers(); len(workers) != 0 {
		t.Errorf("workers %+v", workers)
	}
}

func TestAnUnknownSessionIsNotResumed(t *testing.T) {
	c := newCluster(t)
	hello := validHello()
	hello.SessionId = "of-a-coordinator-before-this-one"
	_, welcome, err := c.attachScripted(hello)
	if err != nil || welcome.GetResumed() || welcome.GetSessionId() == hello.GetSessionId() {
		t.Errorf("welcome %v, %v", welcome, err)
	}
}

func TestASecondStreamOfASessionReplacesTheFirst(t *testing.T) {
	c := newCluster(t)
	first, _, err := c.attachScripted(validHello())
	if err != nil {
		t.Fatal(err)
	}
	hello := validHello()
	hello.SessionId = first.id
	_, welcome, err := c.attachScripted(hello)
	if err != nil || !welcome.GetResumed() || welcome.GetSessionId() != first.id {
		t.Fatalf("welcome %v, %v", welcome, err)
	}
	if _, err := first.stream.Recv(); status.Code(err) != codes.Aborted {
		t.Errorf("the first stream ended with %v", err)
	}
	if len(c.fleet.Workers()) != 1 {
		t.Errorf("workers %+v", c.fleet.Workers())
	}
}

func TestASilentWorkerIsToldThatItsSessionIsOver(t *testing.T) {
	c := newCluster(t, losing)
	a, _, err := c.attachScripted(validHello())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.stream.Recv(); status.Code(err) != codes.Aborted {
		t.Errorf("the stream ended with %v", err)
	}
	if len(c.fleet.Workers()) != 0 {
		t.Errorf("workers %+v", c.fleet.Workers())
	}
	hello := validHello()
	hello.SessionId = a.id
	if _, welcome, err := c.attachScripted(hello); err != nil || welcome.GetResumed() {
		t.Errorf("welcome %v, %v", welcome, err)
	}
	stream, err := a.client.FetchPayload(c.ctx, &workerv1.FetchPayloadRequest{SessionId: a.id, Reference: "payload-1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Aborted {
		t.Errorf("a dead session's fetch ended with %v", err)
	}
}

func TestInvalidInputFailsTheJobWithItsReason(t *testing.T) {
	c := newCluster(t)
	c.startWorker("a")
	c.startWorker("b")
	p := newProblem(t, randomPoints(t, 203, 3, 1), kernel.MatrixSpec{Function: kernel.Linear, Columns: 3})
	_, local := p.shard.Degrees(c.ctx, p.tiles)
	e := c.submit(p, nil)
	for range 3 {
		_, err := e.Degrees(c.ctx)
		if !fault.Is(err, "NEGATIVE_AFFINITY") || err.Error() != refusal.Of(local).Error() {
			t.Errorf("got %v, want %v", err, local)
		}
	}
}

// startHeartbeats sends heartbeats until stop is called. With each it sends an answer to a command that
// does not exist, which the coordinator must ignore.
func (w *scriptedWorker) startHeartbeats() (stop func()) {
	ticker := time.NewTicker(heartbeat)
	over := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() {
		for sequence := uint64(0); ; sequence++ {
			select {
			case <-ticker.C:
				w.send(
					&workerv1.AttachRequest{
						Message: &workerv1.AttachRequest_Heartbeat{Heartbeat: &workerv1.Heartbeat{Sequence: sequence}}})
				w.send(
					&workerv1.AttachRequest{
						Message: &workerv1.AttachRequest_Answer{Answer: &workerv1.Answer{CommandId: 1 << 40}}})
			case <-over:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(over)
		beating.Wait()
	}
}
