package clustertest

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/worker"
)

// startLiar starts a worker in this process whose answers a function may change on their way.
func startLiar(t testing.TB, c *Coordinator, change func(*workerv1.Done)) {
	t.Helper()
	intercept := func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
		stream, err := open(ctx, desc, conn, method, options...)
		return &changedStream{stream, change}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- worker.Run(ctx, worker.Config{Coordinator: c.Addr, Name: "liar", Threads: 1, MemoryBytes: 1 << 30, Dial: c.workerDial(),
			DialOptions: []grpc.DialOption{grpc.WithStreamInterceptor(intercept)}})
	}()
	t.Cleanup(func() {
		cancel()
		<-ended // the coordinator may be gone: then there is an error
	})
}

type changedStream struct {
	grpc.ClientStream
	change func(*workerv1.Done)
}

func (s *changedStream) SendMsg(m any) error {
	if request, is := m.(*workerv1.AttachRequest); is && request.GetAnswer().GetDone() != nil {
		s.change(request.GetAnswer().GetDone())
	}
	return s.ClientStream.SendMsg(m)
}

// TestAWorkerThatLies: one of two workers adds to its sums, now and then. The coordinator finds out which; it is named, and the job, which starts over
// without it, has the answer that it has without such a worker. Events that came of its lies are revoked.
func TestAWorkerThatLies(t *testing.T) {
	t.Parallel()
	c := startPatient(t, "--verify", "0.25")
	StartWorker(t, c, "w0")
	answers := 0
	startLiar(t, c, func(done *workerv1.Done) {
		if sums := done.GetSelfAffinity(); len(sums) > 0 {
			if answers++; answers > 30 && answers%7 == 0 {
				sums[0] ^= 4
			}
		}
	})
	c.AwaitWorkers(2)
	_, w := longPoints().run(c)
	longPoints().finish(t, "with a worker that lies", w)
	for _, each := range c.Workers() {
		if wrong := each.GetState() == cleavev1.WorkerState_WORKER_STATE_QUARANTINED; wrong != (each.GetName() == "liar") {
			t.Errorf("worker %v", each)
		}
	}
	if ran := Cleave(t, "workers", "--server", c.Addr); !strings.Contains(ran.Stdout, "QUARANTINED") || !strings.Contains(ran.Stdout, "a different answer") {
		t.Errorf("cleave workers: %+v", ran)
	}
	if says := c.Stderr(); !strings.Contains(says, "worker quarantined") || !strings.Contains(says, "restarting a job") {
		t.Error("the log does not say so")
	}
}

// A worker that answers what cannot be right is excluded, although nothing is verified.
func TestAWorkerThatAnswersNonsense(t *testing.T) {
	t.Parallel()
	c := startPatient(t)
	StartWorker(t, c, "w0")
	answers := 0
	startLiar(t, c, func(done *workerv1.Done) {
		if sums := done.GetSelfAffinity(); len(sums) > 0 {
			if answers++; answers > 30 {
				done.SelfAffinity = sums[:len(sums)-16]
			}
		}
	})
	c.AwaitWorkers(2)
	_, w := longPoints().run(c)
	longPoints().finish(t, "with a worker that answers nonsense", w)
	if says := c.Stderr(); !strings.Contains(says, "a worker gave a wrong answer") {
		t.Error("the log does not say so")
	}
}
