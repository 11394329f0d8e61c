package wire

import (
	"bytes"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

const roomy = 1 << 30

func anyDataset(t *rapid.T) dataset.Dataset {
	value := rapid.Float64Range(-10, 10)
	n := rapid.IntRange(1, 12).Draw(t, "n")
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 3:
		return anySparse(t, n)
	case 0:
		d := rapid.IntRange(1, 4).Draw(t, "d")
		points, err := dataset.NewPoints(n, d, rapid.SliceOfN(value, n*d, n*d).Draw(t, "values"))
		if err != nil {
			t.Fatal(err)
		}
		return points
	case 1:
		values := make([]float64, n*n)
		for i := range n {
			for j := range i + 1 {
				values[i*n+j] = value.Draw(t, "v")
				values[j*n+i] = values[i*n+j]
			}
		}
		given, err := dataset.NewKernel(n, n, values)
		if err != nil {
			t.Fatal(err)
		}
		return given
	}
	vertex := rapid.Int32Range(0, int32(n-1))
	var edges []dataset.Edge
	for range rapid.IntRange(0, 20).Draw(t, "edges") {
		edges = append(edges, dataset.Edge{Source: vertex.Draw(t, "a"), Target: vertex.Draw(t, "b"),
			Weight: value.Draw(t, "w")})
	}
	graph, err := dataset.NewGraph(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	return graph
}

func TestDatasetsSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyDataset(t)
		u := NewUpload(roomy)
		err := Parts("some name", want, UploadStart{}, func(part *cleavev1.CreateDatasetRequest) error {
			encoded, err := proto.Marshal(part)
			if err != nil {
				return err
			}
			received := &cleavev1.CreateDatasetRequest{}
			if err := proto.Unmarshal(encoded, received); err != nil {
				return err
			}
			return u.Add(received)
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := u.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if u.Name() != "some name" || !sameBytes(t, got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		p := DatasetProto(got)
		if Kind(p.GetKind()) != want.Kind() || p.GetBytes() != uint64(dataset.EncodedSize(want)) ||
			p.GetRows() != uint32(want.Rows()) {
			t.Fatalf("described as %v", p)
		}
	})
}

// sameBytes tells whether data sets have the same canonical bytes, which name them.
func sameBytes(t *rapid.T, a, b dataset.Dataset) bool {
	first, err := dataset.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	second, err := dataset.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(first, second)
}

func TestLargeDatasetsTravelInParts(t *testing.T) {
	values := make([]float64, 2*partValues+1)
	points, err := dataset.NewPoints(len(values), 1, values)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	err = Parts("", points, UploadStart{}, func(part *cleavev1.CreateDatasetRequest) error {
		count++
		if size := proto.Size(part); size > 2<<20 {
			t.Errorf("a part has %d bytes", size)
		}
		return nil
	})
	if err != nil || count != 4 {
		t.Errorf("%d parts, %v", count, err)
	}
}

func points(rows, columns uint32) *cleavev1.CreateDatasetRequest {
	return headed(
		&cleavev1.DatasetHeader{
			Form: &cleavev1.DatasetHeader_Points{Points: &cleavev1.PointsForm{Rows: rows, Columns: columns}}})
}

func graph(vertices uint32) *cleavev1.CreateDatasetRequest {
	return headed(
		&cleavev1.DatasetHeader{Form: &cleavev1.DatasetHeader_Graph{Graph: &cleavev1.GraphForm{Vertices: vertices}}})
}

func headed(h *cleavev1.DatasetHeader) *cleavev1.CreateDatasetRequest {
	return &cleavev1.CreateDatasetRequest{Part: &cleavev1.CreateDatasetRequest_Header{Header: h}}
}

func values(v ...float64) *cleavev1.CreateDatasetRequest {
	return &cleavev1.CreateDatasetRequest{
		Part: &cleavev1.CreateDatasetRequest_Values{Values: &cleavev1.DenseValues{Values: v}}}
}

func edges(e *cleavev1.Edges) *cleavev1.CreateDatasetRequest {
	return &cleavev1.CreateDatasetRequest{Part: &cleavev1.CreateDatasetRequest_Edges{Edges: e}}
}

func upload(limit int64, parts ...*cleavev1.CreateDatasetRequest) (dataset.Dataset, error) {
	u := NewUpload(limit)
	for _, part := range parts {
		if err := u.Add(part); err != nil {
			return nil, err
		}
	}
	return u.Finish()
}

func TestUploadRefuses(t *testing.T) {
	type parts = []*cleavev1.CreateDatasetRequest
	for _, c := range []struct {
		name   string
		parts  parts
		reason string
		words  string
	}{
		{"nothing", nil, "HEADER_MISSING", "empty"},
		{"values first", parts{values(1)}, "HEADER_MISSING", "begin"},
		{"two headers", parts{points(1, 1), points(1, 1)}, "HEADER_REPEATED", "second"},
		{"no form", parts{headed(&cleavev1.DatasetHeader{})}, "FORM_MISSING", "points"},
		{"an empty part", parts{points(1, 1), {}}, "PART_EMPTY", "neither"},
		{"edges of points", parts{points(1, 1), edges(&cleavev1.Edges{})}, "UNEXPECTED_PART", "values"},
		{"values of a graph", parts{graph(1), values(1)}, "UNEXPECTED_PART", "edges"},
		{"no rows", parts{points(0, 3)}, "EMPTY_DATA", "without a row"},
		{"no rows, no columns", parts{points(0, 0)}, "EMPTY_DATA", "0 columns"},
		{"part of a row", parts{points(0, 3), values(1, 2, 3), values(4)}, "TOO_FEW_VALUES", "1 values of row 1"},
		{"more columns than come", parts{points(0, 1<<31), values(1)}, "TOO_FEW_VALUES", "row 0"},
		{"no columns", parts{points(3, 0)}, "EMPTY_DATA", "0 columns"},
		{"too many rows", parts{points(1<<31, 1)}, "TOO_MANY_ROWS", "2147483647"},
		{"overflow", parts{points(1<<30, 1<<31)}, "SIZE_OVERFLOW", "counted"},
		{"over the limit", parts{points(1<<20, 1<<10)}, "DATASET_TOO_LARGE", "at most"},
		{"too many", parts{points(1, 2), values(1, 2), values(3)}, "TOO_MANY_VALUES", "1 rows of 2 columns are 2"},
		{"too few", parts{points(2, 2), values(1, 2, 3)}, "TOO_FEW_VALUES", "after 3 values"},
		{"not finite", parts{points(2, 2), values(1, 2, 3, math.Inf(1))}, "NOT_FINITE", "row 1, column 1"},
		{"too many vertices", parts{graph(1 << 31)}, "TOO_MANY_ROWS", "2147483648"},
		{"a vertex too far",
			parts{graph(0), edges(&cleavev1.Edges{Sources: []uint32{0}, Targets: []uint32{math.MaxInt32}})},
			"INDEX_OUT_OF_RANGE", "edge 0"},
		{"a vertex beyond those declared",
			parts{graph(2), edges(&cleavev1.Edges{Sources: []uint32{0}, Targets: []uint32{2}})},
			"INDEX_OUT_OF_RANGE", "0..1"},
		{"a target missing", parts{graph(2), edges(&cleavev1.Edges{Sources: []uint32{0}})}, "EDGE_COUNTS_DIFFER",
			"1 sources, 0 targets"},
		{"a weight missing",
			parts{graph(2), edges(&cleavev1.Edges{Sources: []uint32{0, 0}, Targets: []uint32{1, 1},
				Weights: []float64{1}})},
			"EDGE_COUNTS_DIFFER", "1 weights"},
		{"one far vertex", parts{graph(0), edges(&cleavev1.Edges{Sources: []uint32{0}, Targets: []uint32{100 << 20}})},
			"TOO_FEW_EDGES", "only 1 edges"},
		{"vertices alone", parts{graph(100 << 20)}, "TOO_FEW_EDGES", "only 0 edges"},
		{"a name too long", parts{headed(&cleavev1.DatasetHeader{DisplayName: strings.Repeat("x", 1001)})},
			"NAME_TOO_LONG", "1001"},
	} {
		_, err := upload(roomy, c.parts...)
		if !fault.Is(err, c.reason) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: got %v, want %s with %q", c.name, err, c.reason, c.words)
		}
	}
}

// TestRowsMayBeCounted: whoever uploads need not know how many rows there will be.
func TestRowsMayBeCounted(t *testing.T) {
	dense := parted{declared: points(3, 2), counted: points(0, 2),
		parts: []*cleavev1.CreateDatasetRequest{values(1, 2, 3), values(4), values(5, 6)}}
	thin := parted{declared: sparse(3, 4), counted: sparse(0, 4), parts: []*cleavev1.CreateDatasetRequest{
		sparseRowsPart([]uint32{1}, []uint32{3, 0}, 7, 8), sparseRowsPart([]uint32{1, 0}, nil)}}
	for name, c := range map[string]parted{"points": dense, "sparse points": thin} {
		want, err := upload(roomy, append([]*cleavev1.CreateDatasetRequest{c.declared}, c.parts...)...)
		if err != nil {
			t.Fatal(err)
		}
		all := append([]*cleavev1.CreateDatasetRequest{c.counted}, c.parts...)
		if got, err := upload(roomy, all...); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
		if _, err := upload(int64(dataset.EncodedSize(want)), all...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := upload(int64(dataset.EncodedSize(want))-1, all...); !fault.Is(err, "DATASET_TOO_LARGE") {
			t.Errorf("%s: beyond the limit got %v", name, err)
		}
	}
}

// parted is one upload, with its rows declared and not.
type parted struct {
	declared, counted *cleavev1.CreateDatasetRequest
	parts             []*cleavev1.CreateDatasetRequest
}

func TestEdgesStopAtTheLimit(t *testing.T) {
	two := &cleavev1.Edges{Sources: []uint32{0, 1}, Targets: []uint32{1, 2}}
	if _, err := upload(200, graph(3), edges(two)); err != nil {
		t.Error(err)
	}
	_, err := upload(200, graph(3), edges(two), edges(two), edges(two), edges(two))
	if f, is := err.(*fault.Error); !is || f.Reason != "DATASET_TOO_LARGE" || f.Kind != fault.ResourceExhausted ||
		f.Metadata["limit_bytes"] != "200" {
		t.Errorf("got %#v", err)
	}
}

// TestUploadAllocatesWhatArrived: a header may claim a gigabyte and bring eight bytes.
func TestUploadAllocatesWhatArrived(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := upload(roomy, points(1<<26, 1), values(1)); !fault.Is(err, "TOO_FEW_VALUES") {
		t.Errorf("got %v", err)
	}
	if _, err := upload(roomy, graph(60<<20)); !fault.Is(err, "TOO_FEW_EDGES") {
		t.Errorf("got %v", err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("%d bytes were allocated for uploads of a few", grown)
	}
}

// FuzzUpload feeds parts in any order and of any content; all that may come out is a data set
// that its own codec takes, or a fault.
func FuzzUpload(f *testing.F) {
	for _, parts := range [][]*cleavev1.CreateDatasetRequest{
		{points(2, 2), values(1, 2), values(3, 4)},
		{points(0, 2), values(1, 2), values(3, 4)},
		{graph(0), edges(&cleavev1.Edges{Sources: []uint32{0, 1}, Targets: []uint32{1, 1}, Weights: []float64{1, -2}})},
		{headed(&cleavev1.DatasetHeader{Form: &cleavev1.DatasetHeader_Kernel{Kernel: &cleavev1.KernelForm{Rows: 2}}}),
			values(1, 2, 2, 1)},
		{sparse(2, 3), sparseRowsPart([]uint32{1}, []uint32{2}, 1), sparseRowsPart([]uint32{2}, []uint32{0, 1}, 3, 0)},
	} {
		var encoded [3][]byte
		for at, part := range parts {
			encoded[at], _ = proto.Marshal(part)
		}
		f.Add(encoded[0], encoded[1], encoded[2])
	}
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		u := NewUpload(1 << 20)
		for _, encoded := range [][]byte{a, b, c} {
			part := &cleavev1.CreateDatasetRequest{}
			if proto.Unmarshal(encoded, part) != nil {
				return
			}
			if err := u.Add(part); err != nil {
				mustBeFault(t, err)
				return
			}
		}
		d, err := u.Finish()
		if err != nil {
			mustBeFault(t, err)
			return
		}
		encoded, err := dataset.Marshal(d)
		if err != nil || len(encoded) > 1<<20 {
			t.Fatalf("%d bytes, %v", len(encoded), err)
		}
		if _, err := dataset.Decode(strings.NewReader(string(encoded)), int64(len(encoded))); err != nil {
			t.Fatal(err)
		}
	})
}

func mustBeFault(t *testing.T, err error) {
	t.Helper()
	if f, is := err.(*fault.Error); !is || f.Reason == "" {
		t.Fatalf("%v is no fault", err)
	}
}
