package clustertest

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/worker"
)

// startLiar starts a worker in this process whose answers a function may change on their way.
func startLiar(t testing.TB, c *Coordinator, change func(*workerv1.Done)) {
	t.Helper()
	intercept := func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
		open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
		stream, err := open(ctx, desc, conn, method, options...)
		return &changedStream{stream, change}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- worker.Run(ctx, worker.Config{Coordinator: c.Addr, Name: "liar", Threads: 1, MemoryBytes: 1 << 30,
			Dial:        c.workerDial(),
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

// A worker that answers what cannot be right is excluded from the job and named.
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
	if says := c.Stderr(); !strings.Contains(says, "a worker gave a wrong answer") ||
		!strings.Contains(says, "worker=liar") {
		t.Error("the log does not say so")
	}
}
