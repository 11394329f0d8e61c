package fleet

import (
	"context"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/fleet/outbox"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
)

const fuzzRows, fuzzK = 40, 2

// attachFuzzed attaches a worker that the test plays, without a network.
func attachFuzzed(t *testing.T, f *Fleet) (*session, *attachment) {
	t.Helper()
	s, a, err := f.admit(t.Context(), &workerv1.Hello{ProtocolVersion: wire.WorkerProtocol,
		NumericClass: kernel.NumericClass, Name: "fuzzed", Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s, a
}

// FuzzWorkerMessages sends messages of any content on the stream of a worker: heartbeats, answers that nobody waits
// for, a second hello.
func FuzzWorkerMessages(f *testing.F) {
	for _, m := range []*workerv1.AttachRequest{
		{},
		{
			Message: &workerv1.AttachRequest_Heartbeat{Heartbeat: &workerv1.Heartbeat{Sequence: 1,
				Running: []*workerv1.Progress{{CommandId: 1, Pieces: 2}}}}},
		{
			Message: &workerv1.AttachRequest_Answer{
				Answer: &workerv1.Answer{CommandId: 1, Outcome: &workerv1.Answer_Done{Done: &workerv1.Done{}}}}},
		{Message: &workerv1.AttachRequest_Leaving{Leaving: &workerv1.Leaving{}}},
		{Message: &workerv1.AttachRequest_Hello{Hello: &workerv1.Hello{}}},
	} {
		encoded, _ := proto.Marshal(m)
		f.Add(encoded, encoded)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		fleet := New(Config{})
		defer fleet.Close()
		s, a := attachFuzzed(t, fleet)
		for _, encoded := range [][]byte{first, second} {
			m := &workerv1.AttachRequest{}
			if proto.Unmarshal(encoded, m) != nil {
				return
			}
			if hello := m.GetHello(); hello != nil && checkCompatible(hello) == nil {
				if _, _, err := fleet.admit(t.Context(), hello); err != nil {
					t.Fatal(err)
				}
			}
			fleet.receive(s, a, m)
			fleet.Workers()
		}
	})
}

// FuzzAnswers gives answers of any content to the commands of the executors of both families. An operation ends with
// what the answer says or with an error: it does not panic, does not hang, and takes no more memory than the answer.
func FuzzAnswers(f *testing.F) {
	inline := func(bytes int) *workerv1.Payload {
		return &workerv1.Payload{Where: &workerv1.Payload_Inline{Inline: make([]byte, bytes)}}
	}
	for _, outcome := range []*workerv1.Answer{
		{Outcome: &workerv1.Answer_Done{Done: &workerv1.Done{}}},
		{Outcome: &workerv1.Answer_Done{Done: &workerv1.Done{Values: inline(8 * fuzzRows)}}},
		{
			Outcome: &workerv1.Answer_Done{Done: &workerv1.Done{Values: inline(12),
				SelfAffinity: make([]byte, 16*fuzzK)}}},
		{Outcome: &workerv1.Answer_Done{Done: &workerv1.Done{Farthest: []*workerv1.Candidate{{}}}}},
		{
			Outcome: &workerv1.Answer_Failure{
				Failure: &workerv1.Failure{Kind: workerv1.FailureKind_FAILURE_KIND_NO_MEMORY}}},
		{Outcome: &workerv1.Answer_Failure{Failure: &workerv1.Failure{Kind: workerv1.FailureKind_FAILURE_KIND_INVALID,
			Reason: "X"}}},
		{},
	} {
		encoded, _ := proto.Marshal(outcome)
		for operation := range byte(12) {
			f.Add(encoded, operation)
		}
	}
	f.Fuzz(func(t *testing.T, encoded []byte, operation byte) {
		answer := &workerv1.Answer{}
		if proto.Unmarshal(encoded, answer) != nil {
			return
		}
		timing := DefaultTiming()
		timing.LostAfter = time.Hour
		fleet := New(Config{Timing: timing, Logger: hclog.New(&hclog.LoggerOptions{Output: panics{t}})})
		s, a := attachFuzzed(t, fleet)
		var answering sync.WaitGroup
		stop := make(chan struct{})
		answering.Go(func() { fleet.answerAll(s, a, answer, stop) })
		defer answering.Wait()
		defer close(stop)
		defer fleet.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		performFuzzed(ctx, t, fleet, operation)
		runtime.ReadMemStats(&after)
		if ctx.Err() != nil {
			t.Fatalf("an operation hangs with the answer %v", answer)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > uint64(8<<20+2000*len(encoded)) {
			t.Fatalf("%d bytes were allocated for an answer of %d", grown, len(encoded))
		}
	})
}

// answerAll prepares and builds as it should, and gives one answer to everything else.
func (f *Fleet) answerAll(s *session, a *attachment, answer *workerv1.Answer, stop <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_ = outbox.Serve(silent{ctx: ctx, stop: stop}, a, outbox.Handler[workerv1.AttachRequest, workerv1.AttachResponse]{
		Sent: func(m *workerv1.AttachResponse) {
			c := m.GetCommand()
			if c == nil {
				return
			}
			reply := proto.CloneOf(answer)
			if c.GetPrepare() != nil || c.GetBuild() != nil || c.GetSetOperands() != nil {
				reply.Outcome = &workerv1.Answer_Done{Done: &workerv1.Done{}}
			}
			reply.CommandId = c.GetCommandId()
			f.receive(s, a, &workerv1.AttachRequest{Message: &workerv1.AttachRequest_Answer{Answer: reply}})
		},
		Broke: func(error) error { return nil },
	})
}

// silent is the stream of a worker that takes everything and says nothing until it ends.
type silent struct {
	grpc.ServerStream
	ctx  context.Context
	stop <-chan struct{}
}

func (s silent) Context() context.Context          { return s.ctx }
func (silent) Send(*workerv1.AttachResponse) error { return nil }

func (s silent) Recv() (*workerv1.AttachRequest, error) {
	<-s.stop
	return nil, io.EOF
}

// performFuzzed runs one operation until it ends, however it does, or says that it waits for another worker.
func performFuzzed(ctx context.Context, t *testing.T, f *Fleet, operation byte) {
	t.Helper()
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	report := func(s Status) { // nobody else comes
		if s.Waiting != "" {
			giveUp()
		}
	}
	labels := make([]int32, fuzzRows)
	if operation%2 == 0 {
		spec := &vector.RowSpec{Rows: fuzzRows, Columns: 2, Grids: make([]int32, 2)}
		x, err := f.NewKMeansExecutor(ctx, Task{JobID: "j", Report: report, Vectors: spec, Need: planning.Workload{
			Vectors: &planning.Vectors{Rows: fuzzRows, Columns: 2, Width: 2}, K: fuzzK, Lanes: 1}})
		if err != nil {
			return
		}
		defer x.Release()
		queries := []vector.Query{{Points: []int32{1, 3}, Counts: []int32{20, 20},
			Model: &vector.Model{Clusters: fuzzK, Centroids: make([]float64, 2*fuzzK)}}}
		switch operation / 2 {
		case 0:
			_ = x.Update(ctx, []labeling.Move{{Point: 0, From: -1, To: 1}})
		case 1:
			_, _ = x.Assign(ctx, queries)
		case 2:
			_, _ = x.Distances(ctx, queries)
		case 3:
			_, _ = x.Scatter(ctx, queries)
		case 4:
			_, _ = x.Step(ctx, queries)
		default:
			_, _ = x.Farthest(ctx, queries)
			_, _ = x.Nearest(ctx, queries)
		}
		return
	}
	spec := kernel.MatrixSpec{Function: kernel.Linear, Rows: fuzzRows, Columns: 2}
	x, err := f.NewExecutor(ctx, Task{JobID: "j", Report: report,
		Need: planning.Workload{Matrix: &planning.Matrix{Spec: spec, Products: 2, Block: 4}, K: fuzzK, Lanes: 1}})
	if err != nil {
		return
	}
	defer x.Release()
	weights := make([]float64, fuzzRows)
	for i := range weights {
		weights[i] = 1
	}
	switch operation / 2 {
	case 0:
		_, _ = x.Degrees(ctx)
		return
	case 1:
		_, _ = x.Multiply(ctx, [][]float64{weights, weights})
		return
	case 2:
		_, _ = x.ColumnSums(ctx, [][]int32{{1, 2}, {3}})
		return
	}
	if x.SetOperands(ctx, kernel.Operands{K: fuzzK, Weights: weights}) != nil {
		return
	}
	if _, err := x.Load(ctx, labels); err != nil {
		return
	}
	_, _ = x.Update(ctx, []labeling.Move{{Point: 0, From: 0, To: 1}})
	_, _ = x.Assign(ctx, make([]kernel.ClusterStats, fuzzK))
	_, _ = x.Farthest(ctx, make([]kernel.ClusterStats, fuzzK))
}
