package wire

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	vectors "github.com/cleave-project/cleave/internal/numeric/vector"
)

// roundTrip checks that unpacking undoes packing, and that a truncated array is refused.
func roundTrip[T any](t *rapid.T, values []T, size int, pack func([]T) []byte, unpack func([]byte) ([]T, error)) {
	t.Helper()
	packed := pack(values)
	if len(packed) != size*len(values) {
		t.Fatalf("%d values take %d bytes", len(values), len(packed))
	}
	got, err := unpack(packed)
	if err != nil || len(got) != len(values) || len(values) > 0 && !reflect.DeepEqual(got, values) {
		t.Fatalf("got %v, %v; want %v", got, err, values)
	}
	if len(packed) > 0 {
		if _, err := unpack(packed[:len(packed)-1]); err == nil {
			t.Fatal("a truncated array was accepted")
		}
	}
}

func TestPackedNumbersRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		roundTrip(t, rapid.SliceOf(rapid.Float64()).Draw(t, "float64"), 8, PackFloat64s, UnpackFloat64s)
		roundTrip(t, rapid.SliceOf(rapid.Int32()).Draw(t, "int32"), 4, PackInt32s, UnpackInt32s)
		roundTrip(t, rapid.SliceOf(rapid.Int64()).Draw(t, "int64"), 8, PackInt64s, UnpackInt64s)
		wide := rapid.Custom(func(t *rapid.T) kernel.Int128 {
			return kernel.Int128{Lo: rapid.Uint64().Draw(t, "low"), Hi: rapid.Int64().Draw(t, "high")}
		})
		roundTrip(t, rapid.SliceOf(wide).Draw(t, "int128"), 16, PackInt128s, UnpackInt128s)
	})
}

func TestPackedFloatsAreLittleEndianBits(t *testing.T) {
	if got := PackFloat64s([]float64{1}); !reflect.DeepEqual(got, []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}) {
		t.Errorf("1 is packed as % x", got)
	}
	lists := [][]float64{{1, 2}, nil, {3}}
	if !slices.Equal(PackFloat64Lists(lists), PackFloat64s([]float64{1, 2, 3})) {
		t.Error("lists are not packed one after the other")
	}
	negativeZero, err := UnpackFloat64s(PackFloat64s([]float64{math.Copysign(0, -1)}))
	if err != nil || !math.Signbit(negativeZero[0]) {
		t.Errorf("-0 came back as %v, %v", negativeZero, err)
	}
	if UnpackFloat64sInto(make([]float64, 2), make([]byte, 8)) == nil {
		t.Error("one value filled two")
	}
}

func TestMatrixSpecsRoundTrip(t *testing.T) {
	spec := kernel.MatrixSpec{
		Function: kernel.Polynomial, Rho: 0.1, Gamma: 1.0 / 3, Coef0: -2.5, Degree: 3, ZeroDiagonal: true,
		Grid: -40, Rows: 3, Columns: 2, Entries: 7, Mean: []float64{1, 2}, Scale: []float64{1, 0.5, 0.25},
	}
	got, err := MatrixSpecFromProto(MatrixSpecToProto(spec, nil, nil), spec.Mean, spec.Scale)
	if err != nil || !reflect.DeepEqual(got, spec) {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, damage := range map[string]func(*workerv1.MatrixSpec){
		"function 0":    func(m *workerv1.MatrixSpec) { m.Function = 0 },
		"function 257":  func(m *workerv1.MatrixSpec) { m.Function = 257 },
		"no rows":       func(m *workerv1.MatrixSpec) { m.Rows = 0 },
		"too many rows": func(m *workerv1.MatrixSpec) { m.Rows = math.MaxUint64 },
		"wrong mean":    func(m *workerv1.MatrixSpec) { m.Columns = 3 },
		"wrong scale":   func(m *workerv1.MatrixSpec) { m.Rows = 4 },
	} {
		m := MatrixSpecToProto(spec, nil, nil)
		damage(m)
		if _, err := MatrixSpecFromProto(m, spec.Mean, spec.Scale); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestVectorSpecsRoundTrip(t *testing.T) {
	spec := &vectors.RowSpec{
		Preparation: vectors.Plain, Rows: 3, Columns: 2, Mean: []float64{1, 2}, Grids: []int32{-40, -1074},
		BackgroundGrid: -90,
	}
	got, err := VectorSpecFromProto(VectorSpecToProto(spec, nil, nil), spec.Mean, spec.Grids)
	if err != nil || !reflect.DeepEqual(got, spec) {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, damage := range map[string]func(*workerv1.VectorSpec){
		"preparation 0":      func(p *workerv1.VectorSpec) { p.Preparation = 0 },
		"preparation 257":    func(p *workerv1.VectorSpec) { p.Preparation = 257 },
		"no rows":            func(p *workerv1.VectorSpec) { p.Rows = 0 },
		"too many rows":      func(p *workerv1.VectorSpec) { p.Rows = math.MaxUint64 },
		"other columns":      func(p *workerv1.VectorSpec) { p.Columns = 3 },
		"too many columns":   func(p *workerv1.VectorSpec) { p.Columns = math.MaxUint64 },
		"a wide full metric": func(p *workerv1.VectorSpec) { p.FullMetric, p.Columns = true, metric.MaxFullFeatures+1 },
	} {
		p := VectorSpecToProto(spec, nil, nil)
		damage(p)
		if _, err := VectorSpecFromProto(p, spec.Mean, spec.Grids); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := VectorSpecFromProto(VectorSpecToProto(spec, nil, nil), spec.Mean[:1], spec.Grids); err == nil {
		t.Error("a short mean was accepted")
	}
}

func TestQueriesRoundTrip(t *testing.T) {
	queries := []vectors.Query{
		{Lane: 1, Model: &vectors.Model{Distortion: metric.Cosine, Clusters: 2, Centroids: []float64{1, 2, 3, 4}},
			Points: []int32{7, 9}},
		{Lane: 3, Model: &vectors.Model{Distortion: metric.SquaredEuclidean, Clusters: 3,
			Centroids: []float64{1, 2, 3, 4, 5, 6}, Absent: []bool{true, false, true}, Metric: []float64{1, 2}},
			Counts: []int32{4, 5, 6}, Kind: vectors.Diagonal},
	}
	p := QueriesToProto(queries, nil, nil)
	values := QueryValues(queries)
	integers := QueryIntegers(queries)
	got, err := QueriesFromProto(p, 2, values, integers)
	if err != nil || !reflect.DeepEqual(got, queries) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := QueriesFromProto(p, 3, values, integers); err == nil {
		t.Error("centroids of other columns were accepted")
	}
	if _, err := QueriesFromProto(p, 2, append(values, 1), integers); err == nil {
		t.Error("more values than there are were accepted")
	}
	if _, err := QueriesFromProto(p, 2, values, integers[1:]); err == nil {
		t.Error("too few integers were accepted")
	}
	for _, q := range []*workerv1.VectorQuery{
		{Distortion: 1}, {Clusters: 1}, {Distortion: 257, Clusters: 1}, {Distortion: 1, Clusters: math.MaxUint32},
		{Distortion: 1, Clusters: 1, Lane: math.MaxUint32},
		{Distortion: 1, Clusters: 1, Kind: 257}, {Distortion: 1, Clusters: 1, Absent: 1},
		{Distortion: 1, Clusters: 1, Points: math.MaxUint32},
	} {
		if _, err := QueriesFromProto(&workerv1.VectorQueries{Queries: []*workerv1.VectorQuery{q}}, 1, []float64{1},
			[]int32{3}[:min(1, q.GetAbsent())]); err == nil {
			t.Errorf("%v was accepted", q)
		}
	}
}

func TestStatsRoundTrip(t *testing.T) {
	stats := []kernel.ClusterStats{
		{Lane: 3, Sigma: -1.5, Weight: []float64{1, 2}, SelfAffinity: []float64{3, -4}, Count: []int32{5, 6}},
		{Weight: []float64{1}, SelfAffinity: []float64{0.5}, Count: []int32{9}},
	}
	got, err := StatsFromProto(StatsToProto(stats))
	if err != nil || !reflect.DeepEqual(got, stats) {
		t.Errorf("got %+v, %v", got, err)
	}
	p := StatsToProto(stats)
	p[0].Count = p[0].Count[:4]
	if _, err := StatsFromProto(p); err == nil {
		t.Error("statistics of different lengths were accepted")
	}
}

func TestBlocksRoundTrip(t *testing.T) {
	blocks := []kernel.Block{{Lane: 2, Points: []int32{1, 5, 9}}, {Points: []int32{}}}
	got, err := BlocksFromProto(BlocksToProto(blocks))
	if err != nil || !reflect.DeepEqual(got, blocks) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := BlocksFromProto([]*workerv1.Block{{Points: []byte{1, 2, 3}}}); err == nil {
		t.Error("three bytes were accepted as points")
	}
}
