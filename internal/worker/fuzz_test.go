package worker

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/worker/exchange"
)

// nothingToFetch is a coordinator that has no payload and takes no result.
type nothingToFetch struct{ workerv1.WorkerServiceClient }

func (nothingToFetch) FetchPayload(context.Context, *workerv1.FetchPayloadRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[workerv1.FetchPayloadResponse], error) {
	return nil, status.Error(codes.NotFound, "no such payload")
}

func (nothingToFetch) FetchDataset(context.Context, *workerv1.FetchDatasetRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[workerv1.FetchDatasetResponse], error) {
	return nil, status.Error(codes.NotFound, "no such data set")
}

func (nothingToFetch) Distribute(context.Context, ...grpc.CallOption) (grpc.BidiStreamingClient[workerv1.DistributeRequest, workerv1.DistributeResponse], error) {
	return nil, status.Error(codes.Unimplemented, "no pieces")
}

func (nothingToFetch) SendResult(context.Context, ...grpc.CallOption) (grpc.ClientStreamingClient[workerv1.SendResultRequest, workerv1.SendResultResponse], error) {
	return nil, status.Error(codes.NotFound, "nobody waits")
}

// FuzzCommands runs three commands of any content on a worker with little memory. Each is answered; none makes it panic,
// hang, or take more memory than it has.
func FuzzCommands(f *testing.F) {
	const limit = 64 << 20
	points, err := dataset.NewPoints(40, 2, make([]float64, 80))
	if err != nil {
		f.Fatal(err)
	}
	matrix := &workerv1.Prepare_Matrix{Matrix: wire.MatrixSpecToProto(kernel.MatrixSpec{Function: kernel.Linear, Rows: 40, Columns: 2}, nil, nil)}
	rows := &workerv1.Prepare_Vectors{Vectors: wire.VectorSpecToProto(&vector.RowSpec{Rows: 40, Columns: 2}, nil, nil)}
	tiles := []*workerv1.Tile{{Tile: 0, Epoch: 1}, {Tile: 2, Epoch: 1}}
	build := &workerv1.Command{JobId: "j", Tiles: tiles, Operation: &workerv1.Command_Build{Build: &workerv1.Build{}}}
	operations := (&workerv1.Command{}).ProtoReflect().Descriptor().Oneofs().ByName("operation").Fields()
	for at := range operations.Len() {
		third := &workerv1.Command{JobId: "j", Tiles: tiles}
		third.ProtoReflect().Mutable(operations.Get(at)) // empty, but of each kind
		for _, prepare := range []*workerv1.Prepare{
			{DatasetId: "d", DatasetBytes: 1000, K: 2, Lanes: 1, What: matrix}, {DatasetId: "d", DatasetBytes: 1000, K: 2, Lanes: 1, What: rows},
		} {
			first := &workerv1.Command{JobId: "j", Operation: &workerv1.Command_Prepare{Prepare: prepare}}
			var encoded [3][]byte
			for at, c := range []*workerv1.Command{first, build, third} {
				encoded[at], _ = proto.Marshal(c)
			}
			f.Add(encoded[0], encoded[1], encoded[2])
		}
	}
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		w := &worker{
			cfg: Config{Threads: 1, SharedDataset: func(string) dataset.Dataset { return points }}.withDefaults(),
			log: hclog.NewNullLogger(), memory: newMemory(limit), kept: newKept(),
		}
		w.datasets, w.exchange = newDatasets(w.memory), exchange.New(w.exchangeConfig())
		defer w.exchange.Close()
		w.memory.reclaim = w.datasets.evict
		s := newSession(w, nothingToFetch{}, "s", 1)
		w.session = s
		defer w.running.Wait()
		defer w.endSession()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for at, encoded := range [][]byte{a, b, c} {
			command := &workerv1.Command{}
			if proto.Unmarshal(encoded, command) != nil {
				return
			}
			command.CommandId = uint64(at + 1)
			s.accept(command)
			if answer := awaitAnswer(t, s); answer.GetFailure().GetReason() == "PANIC" {
				t.Fatalf("%v gives %v", command, answer)
			}
		}
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 4*limit {
			t.Fatalf("%d bytes were allocated by a worker of %d", grown, limit)
		}
	})
}

// awaitAnswer waits for the answer to the only command that is under way.
func awaitAnswer(t *testing.T, s *session) *workerv1.Answer {
	t.Helper()
	for {
		if answers := s.takeAnswers(); len(answers) > 0 {
			return answers[0]
		}
		select {
		case <-s.wake:
		case <-time.After(20 * time.Second):
			t.Fatal("a command is not answered")
		}
	}
}
