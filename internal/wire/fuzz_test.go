package wire

import (
	"runtime"
	"testing"

	"google.golang.org/protobuf/proto"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/status"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/refusal"
	"github.com/cleave-project/cleave/test/tabletest"
)

// ceiling fails the test if read allocates much more than its input is long.
func ceiling(t *testing.T, input int, read func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	read()
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > uint64(4<<20+256*input) {
		t.Fatalf("%d bytes were allocated for an input of %d", grown, input)
	}
}

// FuzzSpec checks the spec of a job, of any content, as the coordinator does before it looks at the data: it is
// taken, or refused with a fault.
func FuzzSpec(f *testing.F) {
	for _, spec := range []*cleavev1.JobSpec{
		{},
		{Clusters: &cleavev1.JobSpec_K{K: 2}, Data: &cleavev1.JobSpec_DatasetId{DatasetId: "x"},
			Algorithm: &cleavev1.JobSpec_Auto{Auto: &cleavev1.Auto{Folds: proto.Uint32(3)}}},
		{Clusters: &cleavev1.JobSpec_K{K: 2}, Restarts: 3,
			Algorithm: &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{
				Kernel: &cleavev1.Kernel{Function: cleavev1.KernelFunction_KERNEL_FUNCTION_GAUSSIAN}}}},
		{Clusters: &cleavev1.JobSpec_K{K: 3}, Algorithm: &cleavev1.JobSpec_Spectral{Spectral: &cleavev1.Spectral{}},
			NeighborGraph: &cleavev1.NeighborGraph{Neighbors: proto.Uint32(4)}},
		{Clusters: &cleavev1.JobSpec_K{K: 2}, Algorithm: &cleavev1.JobSpec_PcKmeans{PcKmeans: &cleavev1.PcKmeans{}},
			Supervision: &cleavev1.Supervision{
				Constraints: InlineTable(
					tabletest.Constraints([]constraint.Constraint{{I: 1, J: 2, Kind: constraint.MustLink}}))}},
	} {
		encoded, _ := proto.Marshal(spec)
		for kind := range byte(4) {
			f.Add(encoded, kind)
		}
	}
	f.Fuzz(func(t *testing.T, encoded []byte, kind byte) {
		spec := &cleavev1.JobSpec{}
		if proto.Unmarshal(encoded, spec) != nil {
			return
		}
		of := []dataset.Kind{dataset.KindPoints, dataset.KindGraph, dataset.KindKernel,
			dataset.KindSparsePoints}[kind%4]
		const rows = 10
		ceiling(t, len(encoded), func() {
			err := ChooseAlgorithm(spec, of)
			if err == nil {
				err = Validate(spec, of)
			}
			var domain clustering.Spec
			if err == nil {
				domain, err = Spec(spec, &recipe.Rows{Count: rows}, NoTables)
			}
			if err == nil {
				err = clustering.Validate(rows, domain)
			}
			if err != nil {
				mustBeFault(t, refusal.Of(err))
			}
		})
	})
}

// FuzzPayload unpacks any bytes as every kind of list that the worker protocol has, and packs them again.
func FuzzPayload(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, 48))
	f.Add(make([]byte, 7))
	f.Fuzz(func(t *testing.T, packed []byte) {
		ceiling(t, len(packed), func() {
			comesBack(t, packed, UnpackFloat64s, PackFloat64s)
			comesBack(t, packed, UnpackInt32s, PackInt32s)
			comesBack(t, packed, UnpackInt64s, PackInt64s)
			comesBack(t, packed, UnpackInt128s, PackInt128s)
			if moves, values, err := UnpackStep(packed); err == nil && len(moves)+len(values) > len(packed) {
				t.Errorf("%d moves and %d bytes of values in %d bytes", len(moves), len(values), len(packed))
			}
		})
	})
}

func comesBack[T any](t *testing.T, packed []byte, unpack func([]byte) ([]T, error), pack func([]T) []byte) {
	t.Helper()
	values, err := unpack(packed)
	if again := pack(values); err == nil && string(again) != string(packed) {
		t.Fatalf("%x comes back as %x", packed, again)
	}
}

// FuzzWorkerParts reads the parts of worker messages that are more than lists of numbers.
func FuzzWorkerParts(f *testing.F) {
	matrix, _ := proto.Marshal(&workerv1.MatrixSpec{Rows: 4, Columns: 2})
	vectors, _ := proto.Marshal(&workerv1.VectorSpec{Rows: 4, Columns: 2})
	f.Add(matrix, make([]byte, 16), make([]byte, 8))
	f.Add(vectors, make([]byte, 16), make([]byte, 8))
	f.Fuzz(func(t *testing.T, encoded, floats, integers []byte) {
		values, err := UnpackFloat64s(floats)
		if err != nil {
			return
		}
		numbers, err := UnpackInt32s(integers)
		if err != nil {
			return
		}
		ceiling(t, len(encoded)+len(floats)+len(integers), func() {
			decode(encoded, &workerv1.MatrixSpec{}, func(m *workerv1.MatrixSpec) {
				_, _ = MatrixSpecFromProto(m, values, nil)
			})
			decode(encoded, &workerv1.VectorSpec{}, func(m *workerv1.VectorSpec) {
				_, _ = VectorSpecFromProto(m, values, numbers)
			})
			decode(encoded, &workerv1.KernelFeatures{}, func(m *workerv1.KernelFeatures) {
				_, _ = FeaturesFromProto(m, 2, nil, numbers, values, values)
			})
			decode(encoded, &workerv1.VectorQueries{}, func(m *workerv1.VectorQueries) {
				_, _ = QueriesFromProto(m, 2, values, numbers)
			})
			decode(encoded, &workerv1.ClusterStats{}, func(m *workerv1.ClusterStats) {
				_, _ = StatsFromProto([]*workerv1.ClusterStats{m})
			})
			decode(encoded, &workerv1.Candidate{}, func(m *workerv1.Candidate) {
				_, _ = CandidatesFromProto([]*workerv1.Candidate{m})
			})
			decode(encoded, &workerv1.Block{}, func(m *workerv1.Block) { _, _ = BlocksFromProto([]*workerv1.Block{m}) })
		})
	})
}

func decode[M proto.Message](encoded []byte, message M, use func(M)) {
	if proto.Unmarshal(encoded, message) == nil {
		use(message)
	}
}

// FuzzNeighborGraph feeds parts of any content; a graph that is taken has the vertices that its head says.
func FuzzNeighborGraph(f *testing.F) {
	head, _ := proto.Marshal(&cleavev1.GetNeighborGraphResponse{Part: &cleavev1.GetNeighborGraphResponse_Head{
		Head: &cleavev1.NeighborGraphHead{Vertices: 3, Edges: 2}}})
	edges, _ := proto.Marshal(&cleavev1.GetNeighborGraphResponse{Part: &cleavev1.GetNeighborGraphResponse_Edges{
		Edges: &cleavev1.Edges{Sources: []uint32{0, 1}, Targets: []uint32{1, 2}}}})
	f.Add(head, edges, []byte{})
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		var parts []*cleavev1.GetNeighborGraphResponse
		for _, encoded := range [][]byte{a, b, c} {
			part := &cleavev1.GetNeighborGraphResponse{}
			if proto.Unmarshal(encoded, part) != nil {
				return
			}
			parts = append(parts, part)
		}
		ceiling(t, len(a)+len(b)+len(c), func() {
			g, err := ReceiveNeighborGraph(stream(parts))
			if err == nil && uint32(g.N) != parts[0].GetHead().GetVertices() {
				t.Fatalf("%d vertices of %v", g.N, parts[0])
			}
		})
	})
}

// FuzzStatus reads the status of a call that failed, of any content.
func FuzzStatus(f *testing.F) {
	encoded, _ := proto.Marshal(status.Convert(Unavailable("AWAY", "not now")).Proto())
	f.Add(encoded)
	f.Fuzz(func(t *testing.T, encoded []byte) {
		s := &spb.Status{}
		if proto.Unmarshal(encoded, s) != nil {
			return
		}
		if err := Fault(status.ErrorProto(s)); s.GetCode() != 0 && err == nil {
			t.Fatalf("%v is no error", s)
		}
	})
}
