package clustertest

import (
	"fmt"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/wire"
)

// TestIncompatibleWorkersAreRefused attaches workers that the coordinator cannot use.
func TestIncompatibleWorkersAreRefused(t *testing.T) {
	t.Parallel()
	c := StartCoordinator(t, Options{})
	hello := func(version uint32, class string) *workerv1.AttachRequest {
		return &workerv1.AttachRequest{Message: &workerv1.AttachRequest_Hello{
			Hello: &workerv1.Hello{ProtocolVersion: version, Name: "stranger", NumericClass: class, Threads: 1}}}
	}
	for _, refused := range []struct {
		name   string
		first  *workerv1.AttachRequest
		code   codes.Code
		reason string
	}{
		{"a newer protocol", hello(wire.WorkerProtocol+1, kernel.NumericClass), codes.FailedPrecondition,
			"PROTOCOL_VERSION_MISMATCH"},
		{"an older protocol", hello(wire.WorkerProtocol-1, kernel.NumericClass), codes.FailedPrecondition,
			"PROTOCOL_VERSION_MISMATCH"},
		{"other bits", hello(wire.WorkerProtocol, "f16"), codes.FailedPrecondition, "NUMERIC_CLASS_MISMATCH"},
		{"no hello", &workerv1.AttachRequest{}, codes.InvalidArgument, "NO_HELLO"},
	} {
		stream, err := workerv1.NewWorkerServiceClient(c.Conn).Attach(t.Context())
		must(t, stream, err)
		if err := stream.Send(refused.first); err != nil {
			t.Fatal(err)
		}
		_, err = stream.Recv()
		wantError(t, refused.name, err, refused.code, refused.reason)
	}
	if workers := c.Workers(); len(workers) != 0 {
		t.Errorf("incompatible workers are attached: %v", workers)
	}
}

// TestAWorkerOfAnotherVersionEnds starts a real worker with a coordinator that refuses it. The worker does
// not try again; it ends and prints the reason.
func TestAWorkerOfAnotherVersionEnds(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, listener, err)
	server := grpc.NewServer()
	workerv1.RegisterWorkerServiceServer(server, otherVersion{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)

	ran := Command(t, Build(t).Worker, "--coordinator", listener.Addr().String(), "--name", "old")
	wantSentence(t, ran, 2,
		fmt.Sprintf("worker: speaks worker protocol %d, this coordinator speaks 99; run versions that are at most "+
			"one release apart", wire.WorkerProtocol))
}

// otherVersion refuses every worker, as a coordinator of another version does.
type otherVersion struct {
	workerv1.UnimplementedWorkerServiceServer
}

func (otherVersion) Attach(stream workerv1.WorkerService_AttachServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	return wire.Status(fault.New(fault.FailedPrecondition, "PROTOCOL_VERSION_MISMATCH",
		"speaks worker protocol %d, this coordinator speaks 99; run versions that are at most one release apart",
		first.GetHello().GetProtocolVersion()))
}

// TestAWorkerWaitsForItsCoordinator starts the worker first.
func TestAWorkerWaitsForItsCoordinator(t *testing.T) {
	t.Parallel()
	c := StartCoordinator(t, Options{})
	c.Kill()
	w := StartWorker(t, c, "early")
	Eventually(t, "the worker has tried", func() (bool, string) { return len(w.Stderr()) > 0, "it is silent" })
	c.Restart()
	c.AwaitWorkers(1)
	if code := w.Terminate(); code != 0 {
		t.Errorf("the worker ended with exit code %d", code)
	}
}
