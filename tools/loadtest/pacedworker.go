package loadtest

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/worker"
)

// pacedWorker is a real worker to which the commands that make an iteration come late, so that each job has an event at
// the given pace. It notes when it answered.
type pacedWorker struct {
	pace time.Duration

	mu       sync.Mutex
	commands map[uint64]string    // the jobs of those commands, by their ids
	answered map[string]time.Time // the last one of each job
}

// run serves a coordinator until ctx ends.
func (w *pacedWorker) run(ctx context.Context, address string, dial credentials.Dial) error {
	w.commands, w.answered = map[uint64]string{}, map[string]time.Time{}
	return worker.Run(ctx, worker.Config{
		Coordinator: address, Name: "paced", Threads: 1, Dial: dial,
		DialOptions: []grpc.DialOption{grpc.WithChainStreamInterceptor(w.intercept)},
	})
}

// lastAnswer returns when the worker last answered a command that makes an iteration of the job.
func (w *pacedWorker) lastAnswer(job string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answered[job]
}

func (w *pacedWorker) intercept(ctx context.Context, desc *grpc.StreamDesc, connection *grpc.ClientConn, method string,
	streamer grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := streamer(ctx, desc, connection, method, options...)
	if err != nil || method != workerv1.WorkerService_Attach_FullMethodName {
		return stream, err
	}
	return &pacedStream{ClientStream: stream, worker: w, received: make(chan received, 1)}, nil
}

// pacedStream delays the commands of a stream, each for itself: those of other jobs pass.
type pacedStream struct {
	grpc.ClientStream
	worker   *pacedWorker
	once     sync.Once
	received chan received
}

type received struct {
	message *workerv1.AttachResponse
	err     error
}

func (s *pacedStream) RecvMsg(into any) error {
	s.once.Do(func() { go s.receive() })
	next := <-s.received
	if next.err == nil {
		proto.Merge(into.(proto.Message), next.message)
	}
	return next.err
}

func (s *pacedStream) receive() {
	for {
		message := &workerv1.AttachResponse{}
		err := s.ClientStream.RecvMsg(message)
		deliver := func() {
			select {
			case s.received <- received{message, err}:
			case <-s.Context().Done():
			}
		}
		if command := message.GetCommand(); command.GetVectorAssign() != nil || command.GetVectorStep() != nil {
			s.worker.mu.Lock()
			// what follows tells its parts apart
			s.worker.commands[command.GetCommandId()] = command.GetJobId()[:len(uuid.Nil.String())]
			s.worker.mu.Unlock()
			time.AfterFunc(s.worker.pace, deliver)
			continue
		}
		if deliver(); err != nil {
			return
		}
	}
}

func (s *pacedStream) SendMsg(message any) error {
	if answer := message.(*workerv1.AttachRequest).GetAnswer(); answer != nil {
		w := s.worker
		w.mu.Lock()
		if job, paced := w.commands[answer.GetCommandId()]; paced {
			w.answered[job] = time.Now()
			delete(w.commands, answer.GetCommandId())
		}
		w.mu.Unlock()
	}
	return s.ClientStream.SendMsg(message)
}
