package worker

import (
	"context"
	"io"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/worker/exchange"
)

// nothingToFetch is a coordinator that has no payload and takes no result.
type nothingToFetch struct{ workerv1.WorkerServiceClient }

func (nothingToFetch) FetchPayload(context.Context, *workerv1.FetchPayloadRequest,
	...grpc.CallOption) (grpc.ServerStreamingClient[workerv1.FetchPayloadResponse], error) {
	return nil, status.Error(codes.NotFound, "no such payload")
}

func (nothingToFetch) FetchDataset(context.Context, *workerv1.FetchDatasetRequest,
	...grpc.CallOption) (grpc.ServerStreamingClient[workerv1.FetchDatasetResponse], error) {
	return nil, status.Error(codes.NotFound, "no such data set")
}

func (nothingToFetch) Deliver(context.Context,
	...grpc.CallOption) (grpc.BidiStreamingClient[workerv1.DeliverRequest, workerv1.DeliverResponse], error) {
	return nil, status.Error(codes.Unimplemented, "no pieces")
}

func (nothingToFetch) SendResult(context.Context,
	...grpc.CallOption) (grpc.ClientStreamingClient[workerv1.SendResultRequest, workerv1.SendResultResponse], error) {
	return nil, status.Error(codes.NotFound, "nobody waits")
}

// FuzzCommands runs three commands of any content on a worker with little memory. Each is answered; none makes it
// panic, hang, or take more memory than it has.
func FuzzCommands(f *testing.F) {
	points, err := dataset.NewPoints(40, 2, make([]float64, 80))
	if err != nil {
		f.Fatal(err)
	}
	matrix := &workerv1.Prepare_Matrix{Matrix: wire.MatrixSpecToProto(kernel.MatrixSpec{Function: kernel.Linear,
		Rows: 40, Columns: 2}, nil, nil)}
	rows := &workerv1.Prepare_Vectors{Vectors: wire.VectorSpecToProto(&vector.RowSpec{Preparation: vector.Plain,
		Rows: 40, Columns: 2}, nil, inline(wire.PackInt32s(make([]int32, 2))))}
	tiles := []*workerv1.Tile{{Tile: 0, Epoch: 1}, {Tile: 2, Epoch: 1}}
	build := &workerv1.Command{JobId: "j", Tiles: tiles, Operation: &workerv1.Command_Build{Build: &workerv1.Build{}}}
	operations := (&workerv1.Command{}).ProtoReflect().Descriptor().Oneofs().ByName("operation").Fields()
	for at := range operations.Len() {
		third := &workerv1.Command{JobId: "j", Tiles: tiles}
		third.ProtoReflect().Mutable(operations.Get(at)) // empty, but of each kind
		for _, prepare := range []*workerv1.Prepare{
			{DatasetId: "d", DatasetBytes: 1000, K: 2, Lanes: 1, What: matrix}, {DatasetId: "d", DatasetBytes: 1000,
				K: 2, Lanes: 1, What: rows},
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
		var commands []*workerv1.Command
		for _, encoded := range [][]byte{a, b, c} {
			command := &workerv1.Command{}
			if proto.Unmarshal(encoded, command) != nil {
				return
			}
			commands = append(commands, command)
		}
		runFuzzed(t, nothingToFetch{}, func(string) dataset.Dataset { return points }, commands...)
	})
}

// fuzzedMemory is the memory of a worker that gets any commands.
const fuzzedMemory = 64 << 20

// runFuzzed runs commands on a new worker with little memory, and returns the answers. None may make it panic, hang,
// or take more memory than it has.
func runFuzzed(t *testing.T, coordinator workerv1.WorkerServiceClient, shared func(string) dataset.Dataset,
	commands ...*workerv1.Command) []*workerv1.Answer {
	t.Helper()
	w := &worker{cfg: Config{Threads: 1, SharedDataset: shared}.withDefaults(), log: hclog.NewNullLogger(),
		memory: newMemory(fuzzedMemory), kept: newKept()}
	w.datasets, w.exchange = newDatasets(w.memory, w.log), exchange.New(w.exchangeConfig())
	defer w.exchange.Close()
	w.memory.reclaim = []func(int64){w.datasets.evict}
	s := newSession(w, coordinator, &workerv1.Welcome{SessionId: "s", Term: 1})
	w.session = s
	defer w.running.Wait()
	defer w.endSession()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var answers []*workerv1.Answer
	for at, command := range commands {
		command.CommandId = uint64(at + 1)
		s.accept(command)
		answer := awaitAnswer(t, s)
		if answer.GetFailure().GetReason() == "PANIC" {
			t.Fatalf("%v gives %v", command, answer)
		}
		answers = append(answers, answer)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4*fuzzedMemory {
		t.Fatalf("%d bytes were allocated by a worker of %d", grown, fuzzedMemory)
	}
	return answers
}

// FuzzSteps gives a worker with vectors any labels, tiles, models and moves: a load, a step, the same step again, and
// an update. A step that is repeated has the same answer.
func FuzzSteps(f *testing.F) {
	points, err := dataset.NewPoints(40, 2, slices.Repeat([]float64{1, 2, -3, 0.5}, 20))
	if err != nil {
		f.Fatal(err)
	}
	spec := &vector.RowSpec{Preparation: vector.Plain, Rows: 40, Columns: 2, Grids: make([]int32, 2)}
	prepare := &workerv1.Prepare{DatasetId: "d", DatasetBytes: 1000, K: 2, Lanes: 2, What: &workerv1.Prepare_Vectors{
		Vectors: wire.VectorSpecToProto(spec, nil, inline(wire.PackInt32s(spec.Grids)))}}
	labels := make([]int32, 80)
	for i := range labels {
		labels[i] = int32(i/40*2 + i%2)
	}
	model := &vector.Model{Clusters: 2, Centroids: []float64{1, 2, 0, 0}, Absent: []bool{false, true},
		Metric: []float64{1, 0.5}}
	for lanes := range 3 {
		var queries []vector.Query
		for lane := range lanes {
			queries = append(queries, vector.Query{Lane: lane, Model: model, Points: []int32{0, 39},
				Counts: []int32{20, 20}})
		}
		encoded, err := proto.Marshal(queriesOf(queries))
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte{0, 1, 2}, wire.PackInt32s(labels), encoded, uint64(1),
			wire.PackMoves([]labeling.Move{{Point: 3, From: 0, To: 1}}, 2))
		f.Add([]byte{1, 1}, wire.PackInt32s(labels[:40]), encoded, uint64(math.MaxUint64), []byte{0})
	}
	f.Fuzz(func(t *testing.T, numbers, labels, encoded []byte, step uint64, moves []byte) {
		queries := &workerv1.VectorQueries{}
		if proto.Unmarshal(encoded, queries) != nil || len(numbers) > 8 {
			return
		}
		var tiles []*workerv1.Tile
		for _, n := range numbers {
			tiles = append(tiles, &workerv1.Tile{Tile: uint32(n), Epoch: 1})
		}
		all := []*workerv1.Tile{{Tile: 0, Epoch: 1}, {Tile: 1, Epoch: 1}, {Tile: 2, Epoch: 1}}
		one := func() *workerv1.Command {
			return &workerv1.Command{JobId: "j", Tiles: tiles,
				Operation: &workerv1.Command_VectorStep{VectorStep: &workerv1.VectorStep{Step: step, Queries: queries}}}
		}
		answers := runFuzzed(t, nothingToFetch{}, func(string) dataset.Dataset { return points },
			&workerv1.Command{JobId: "j", Operation: &workerv1.Command_Prepare{Prepare: prepare}},
			&workerv1.Command{JobId: "j", Tiles: all, Operation: &workerv1.Command_Build{Build: &workerv1.Build{}}},
			&workerv1.Command{JobId: "j", Tiles: all,
				Operation: &workerv1.Command_Load{Load: &workerv1.Load{Step: step, Labels: inline(labels)}}},
			one(), one(),
			&workerv1.Command{JobId: "j", Tiles: tiles,
				Operation: &workerv1.Command_Update{Update: &workerv1.Update{Step: step + 1,
					PackedMoves: inline(moves)}}})
		for at, answer := range answers[:2] {
			if answer.GetFailure() != nil {
				t.Fatalf("command %d: %v", at, answer.GetFailure())
			}
		}
		first, second := answers[3], answers[4]
		if first.GetDone() != nil && !proto.Equal(first.GetDone(), second.GetDone()) {
			t.Fatalf("the first answer is %v, the second %v", first, second)
		}
	})
}

// rangesOf is a coordinator that sends some bytes of a data set for any range of it.
type rangesOf struct {
	nothingToFetch
	data []byte
	size int // of a message
}

func (r rangesOf) FetchDataset(context.Context, *workerv1.FetchDatasetRequest,
	...grpc.CallOption) (grpc.ServerStreamingClient[workerv1.FetchDatasetResponse], error) {
	return &rangeStream{left: slices.Collect(slices.Chunk(r.data, r.size))}, nil
}

type rangeStream struct {
	grpc.ClientStream
	left [][]byte
}

func (s *rangeStream) Recv() (*workerv1.FetchDatasetResponse, error) {
	if len(s.left) == 0 {
		return nil, io.EOF
	}
	next := s.left[0]
	s.left = s.left[1:]
	return &workerv1.FetchDatasetResponse{Data: next}, nil
}

// FuzzRows prepares a worker for a job by rows of any size, and builds tiles from ranges of the data set that have
// any bytes, repeated up to their expected length or not.
func FuzzRows(f *testing.F) {
	const rows = 5_000_000 // their bytes are more than what is fetched as a whole
	spec := &vector.RowSpec{Preparation: vector.Plain, Rows: rows, Columns: 1, Grids: make([]int32, 1)}
	_, bytes := dataset.RowRange(1, 0, rows)
	offset, _ := dataset.RowRange(1, 0, 0)
	for _, size := range []int64{offset + bytes, bytes, 1 << 62} {
		encoded, err := proto.Marshal(&workerv1.Prepare{DatasetId: "d", DatasetBytes: uint64(size), K: 2, Lanes: 1,
			ByRows: true, What: &workerv1.Prepare_Vectors{
				Vectors: wire.VectorSpecToProto(spec, nil, inline(wire.PackInt32s(spec.Grids)))}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(encoded, uint32(0), uint32(7), make([]byte, 8), true)
		f.Add(encoded, uint32(3), uint32(3), []byte{0xf0, 0x7f}, false)
	}
	f.Fuzz(func(t *testing.T, encoded []byte, first, second uint32, data []byte, repeat bool) {
		prepare := &workerv1.Prepare{}
		if proto.Unmarshal(encoded, prepare) != nil || len(data) == 0 {
			return
		}
		if repeat {
			data = slices.Repeat(data, wire.PieceBytes/len(data)+1)[:wire.PieceBytes]
		}
		tiles := []*workerv1.Tile{{Tile: first, Epoch: 1}, {Tile: second, Epoch: 1}}
		runFuzzed(t, rangesOf{data: data, size: max(1, len(data)/3)}, nil,
			&workerv1.Command{JobId: "j", Operation: &workerv1.Command_Prepare{Prepare: prepare}},
			&workerv1.Command{JobId: "j", Tiles: tiles, Operation: &workerv1.Command_Build{Build: &workerv1.Build{}}},
			&workerv1.Command{JobId: "j", Tiles: tiles, Operation: &workerv1.Command_Drop{Drop: &workerv1.Drop{}}})
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
