// Package simworker has workers that only seem to work. They speak the worker protocol over real connections and answer
// every command with a message of the right shape and size, but hold no data and compute nothing. A coordinator with
// thousands of them does everything that it would do with real ones.
package simworker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/wire"
)

// Config describes simulated workers.
type Config struct {
	Address string // of the coordinator
	Count   int
	Threads int // that each of them claims to have
	// MovedEvery is how many points there are for each one that an iteration moves.
	MovedEvery int
	// Whole is how many workers, the first to attach, fetch the payloads of commands whole. The others fetch at most
	// FetchBytes of each, so that thousands of workers do not move terabytes within one machine.
	Whole      int
	FetchBytes int
	// RowTime is how long a command takes for each row, but no longer than MaxTime in all.
	RowTime, MaxTime time.Duration
}

// attachPause is how long a worker waits before it attaches again.
const attachPause = 500 * time.Millisecond

// Serve runs simulated workers until ctx ends. A worker whose stream breaks attaches again.
func Serve(ctx context.Context, cfg Config) {
	var running sync.WaitGroup
	defer running.Wait()
	attaching := make(chan struct{}, 32) // no more handshakes at a time
	for at := range cfg.Count {
		attached := make(chan struct{})
		once := sync.OnceFunc(func() { close(attached) })
		wait := func() {
			select {
			case <-attached:
			case <-ctx.Done():
			}
			<-attaching
		}
		select {
		case attaching <- struct{}{}:
		case <-ctx.Done():
			return
		}
		running.Go(func() {
			for run(ctx, cfg, at, once) != nil {
				select {
				case <-time.After(attachPause):
				case <-ctx.Done():
					return
				}
			}
		})
		if at < cfg.Whole { // whoever counts bytes knows them by their order
			wait()
		} else {
			running.Go(wait)
		}
	}
	<-ctx.Done()
}

// worker is one simulated worker.
type worker struct {
	Config
	whole   bool
	client  workerv1.WorkerServiceClient
	session string
	stream  grpc.BidiStreamingClient[workerv1.AttachRequest, workerv1.AttachResponse]
	sending sync.Mutex // one Send at a time

	mu   sync.Mutex
	jobs map[string]*job
}

// run attaches one worker and answers its commands until ctx ends or the stream breaks.
func run(ctx context.Context, cfg Config, number int, attached func()) error {
	connection, err := grpc.NewClient("passthrough:///"+cfg.Address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithReadBufferSize(4<<10), grpc.WithWriteBufferSize(4<<10))
	if err != nil {
		return err
	}
	defer connection.Close()
	w := &worker{Config: cfg, whole: number < cfg.Whole, client: workerv1.NewWorkerServiceClient(connection),
		jobs: map[string]*job{}}
	if w.stream, err = w.client.Attach(ctx); err != nil {
		return err
	}
	err = w.send(&workerv1.AttachRequest{Message: &workerv1.AttachRequest_Hello{Hello: &workerv1.Hello{
		ProtocolVersion: wire.WorkerProtocol, NumericClass: kernel.NumericClass,
		Name: fmt.Sprintf("simulated-%05d", number), SoftwareVersion: "simulated", Threads: uint32(cfg.Threads),
	}}})
	if err != nil {
		return err
	}
	first, err := w.stream.Recv()
	if err != nil {
		return err
	}
	welcome := first.GetWelcome()
	if welcome == nil {
		return errors.New("the first message of the coordinator is no welcome")
	}
	w.session = welcome.GetSessionId()
	attached()
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	running.Go(func() { w.beat(ctx, time.Duration(welcome.GetHeartbeatMillis())*time.Millisecond) })
	for {
		m, err := w.stream.Recv()
		if err != nil {
			return err
		}
		if c := m.GetCommand(); c != nil {
			running.Go(func() { w.answer(ctx, c) })
		}
	}
}

// beat sends heartbeats until ctx ends.
func (w *worker) beat(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for sequence := uint64(1); ; sequence++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		beat := &workerv1.Heartbeat{Sequence: sequence}
		if w.send(&workerv1.AttachRequest{Message: &workerv1.AttachRequest_Heartbeat{Heartbeat: beat}}) != nil {
			return // Recv gets the error too
		}
	}
}

func (w *worker) send(m *workerv1.AttachRequest) error {
	w.sending.Lock()
	defer w.sending.Unlock()
	return w.stream.Send(m)
}

// answer answers one command after the time that it takes.
func (w *worker) answer(ctx context.Context, c *workerv1.Command) {
	answer := &workerv1.Answer{CommandId: c.GetCommandId()}
	done, err := w.perform(ctx, c)
	if err == nil {
		answer.Outcome = &workerv1.Answer_Done{Done: done}
	} else {
		answer.Outcome = &workerv1.Answer_Failure{Failure: &workerv1.Failure{
			Kind: workerv1.FailureKind_FAILURE_KIND_INTERNAL, Reason: "SIMULATED", Message: err.Error(),
		}}
	}
	// Recv gets the error too
	_ = w.send(&workerv1.AttachRequest{Message: &workerv1.AttachRequest_Answer{Answer: answer}})
}

// fetch reads the payloads of a command, and throws them away.
func (w *worker) fetch(ctx context.Context, payloads ...*workerv1.Payload) error {
	for _, p := range payloads {
		if p.GetReference() == "" {
			continue
		}
		if err := w.fetchOne(ctx, p.GetReference()); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) fetchOne(ctx context.Context, reference string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := w.client.FetchPayload(ctx, &workerv1.FetchPayloadRequest{SessionId: w.session, Reference: reference})
	if err != nil {
		return err
	}
	for got := 0; w.whole || got < w.FetchBytes; {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		got += len(m.GetData())
	}
	return nil
}

// values returns a payload of a result: inline if it is small, and otherwise sent by reference, like that of a real
// worker.
func (w *worker) values(ctx context.Context, c *workerv1.Command, data []byte) (*workerv1.Payload, error) {
	if len(data) <= wire.InlineBytes {
		return &workerv1.Payload{Where: &workerv1.Payload_Inline{Inline: data}}, nil
	}
	stream, err := w.client.SendResult(ctx)
	if err != nil {
		return nil, err
	}
	reference := fmt.Sprint(c.GetCommandId())
	for len(data) > 0 {
		chunk := data[:min(len(data), wire.ChunkBytes)]
		data = data[len(chunk):]
		if err := stream.Send(&workerv1.SendResultRequest{SessionId: w.session, Reference: reference,
			Data: chunk}); err != nil {
			break // CloseAndRecv says why
		}
	}
	if _, err := stream.CloseAndRecv(); err != nil {
		return nil, err
	}
	return &workerv1.Payload{Where: &workerv1.Payload_Reference{Reference: reference}}, nil
}
