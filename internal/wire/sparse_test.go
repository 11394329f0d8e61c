package wire

import (
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

// anySparse draws n sparse rows, some of them empty.
func anySparse(t *rapid.T, n int) *dataset.SparsePoints {
	d := rapid.IntRange(1, 6).Draw(t, "d")
	starts := []int64{0}
	columns := []int32{}
	entries := []float64{}
	for range n {
		for c := range d {
			if rapid.Bool().Draw(t, "there") {
				columns = append(columns, int32(c))
				entries = append(entries, rapid.Float64Range(0.5, 9).Draw(t, "v"))
			}
		}
		starts = append(starts, int64(len(columns)))
	}
	points, err := dataset.NewSparsePoints(n, d, starts, columns, entries)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

func sparse(rows, columns uint32) *cleavev1.CreateDatasetRequest {
	return headed(&cleavev1.DatasetHeader{Form: &cleavev1.DatasetHeader_SparsePoints{
		SparsePoints: &cleavev1.SparsePointsForm{Rows: rows, Columns: columns}}})
}

func sparseRowsPart(lengths, columns []uint32, v ...float64) *cleavev1.CreateDatasetRequest {
	return &cleavev1.CreateDatasetRequest{Part: &cleavev1.CreateDatasetRequest_SparseRows{
		SparseRows: &cleavev1.SparseRows{Lengths: lengths, Columns: columns, Values: v}}}
}

func TestSparseUploadMayBeCutAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anySparse(t, rapid.IntRange(1, 8).Draw(t, "n"))
		u := NewUpload(roomy)
		if err := u.Add(sparse(uint32(want.N), uint32(want.D))); err != nil {
			t.Fatal(err)
		}
		row, entry := 0, 0
		for row < want.N || entry < len(want.Column) {
			part := &cleavev1.SparseRows{}
			for range rapid.IntRange(0, want.N-row).Draw(t, "rows") {
				part.Lengths = append(part.Lengths, uint32(want.RowStart[row+1]-want.RowStart[row]))
				row++
			}
			for range rapid.IntRange(0, len(want.Column)-entry).Draw(t, "entries") {
				part.Columns = append(part.Columns, uint32(want.Column[entry]))
				part.Values = append(part.Values, want.Value[entry])
				entry++
			}
			if err := u.Add(&cleavev1.CreateDatasetRequest{
				Part: &cleavev1.CreateDatasetRequest_SparseRows{SparseRows: part}}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := u.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if !sameBytes(t, got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

// Entries that are 0 make no other data set of the same points.
func TestSparseZerosAreDropped(t *testing.T) {
	got, err := upload(roomy, sparse(2, 3), sparseRowsPart([]uint32{2, 1}, []uint32{0, 1, 2}, 0, 5, 7))
	if err != nil {
		t.Fatal(err)
	}
	if p := DatasetProto(got); p.GetNonZeros() != 2 || p.GetColumns() != 3 ||
		p.GetKind() != cleavev1.DatasetKind_DATASET_KIND_SPARSE_POINTS {
		t.Errorf("described as %v", p)
	}
}

func TestSparseUploadRefuses(t *testing.T) {
	type parts = []*cleavev1.CreateDatasetRequest
	for _, c := range []struct {
		name   string
		parts  parts
		reason string
		words  string
	}{
		{"no rows", parts{sparse(0, 3)}, "EMPTY_DATA", "without a row"},
		{"an entry without a row", parts{sparse(0, 3), sparseRowsPart(nil, []uint32{0}, 1)}, "EMPTY_DATA",
			"without a row"},
		{"no columns", parts{sparse(3, 0)}, "EMPTY_DATA", "0 columns"},
		{"too many rows", parts{sparse(1<<31, 1)}, "TOO_MANY_ROWS", "2147483648"},
		{"too many columns", parts{sparse(1, 1<<31)}, "TOO_MANY_COLUMNS", "2147483648"},
		{"over the limit", parts{sparse(1<<30, 1)}, "DATASET_TOO_LARGE", "at most"},
		{"values", parts{sparse(1, 1), values(1)}, "UNEXPECTED_PART", "send sparse_rows"},
		{"edges", parts{sparse(1, 1), edges(&cleavev1.Edges{})}, "UNEXPECTED_PART", "send sparse_rows"},
		{"sparse rows of points", parts{points(1, 1), sparseRowsPart(nil, nil)}, "UNEXPECTED_PART", "send values"},
		{"sparse rows of a graph", parts{graph(1), sparseRowsPart(nil, nil)}, "UNEXPECTED_PART", "send edges"},
		{"a value without a column", parts{sparse(1, 1), sparseRowsPart([]uint32{1}, nil, 1)}, "ENTRY_COUNTS_DIFFER",
			"0 columns and 1 values"},
		{"a row too many", parts{sparse(1, 1), sparseRowsPart([]uint32{0, 0}, nil)}, "TOO_MANY_ROWS",
			"at least 2 rows"},
		{"a row too few", parts{sparse(2, 1), sparseRowsPart([]uint32{0}, nil)}, "TOO_FEW_ROWS",
			"after the lengths of 1 rows"},
		{"nothing after the header", parts{sparse(2, 1)}, "TOO_FEW_ROWS", "0 rows"},
		{"an entry too few", parts{sparse(1, 2), sparseRowsPart([]uint32{2}, []uint32{0}, 1)}, "ENTRY_COUNTS_DIFFER",
			"2 entries by their lengths"},
		{"an entry too many", parts{sparse(1, 2), sparseRowsPart([]uint32{0}, []uint32{0}, 1)}, "ENTRY_COUNTS_DIFFER",
			"the upload has 1"},
		{"a column too far", parts{sparse(1, 2), sparseRowsPart([]uint32{1}, []uint32{2}, 1)}, "INDEX_OUT_OF_RANGE",
			"column 2"},
		{"a column beyond int32", parts{sparse(1, 2), sparseRowsPart([]uint32{1}, []uint32{math.MaxUint32}, 1)},
			"INDEX_OUT_OF_RANGE", "4294967295"},
		{"columns out of order", parts{sparse(1, 2), sparseRowsPart([]uint32{2}, []uint32{1, 0}, 1, 1)},
			"COLUMNS_OUT_OF_ORDER", "row 0"},
		{"a column twice", parts{sparse(1, 2), sparseRowsPart([]uint32{2}, []uint32{1, 1}, 1, 1)},
			"COLUMNS_OUT_OF_ORDER", "row 0"},
		{"not finite", parts{sparse(1, 2), sparseRowsPart([]uint32{1}, []uint32{1}, math.NaN())}, "NOT_FINITE",
			"row 0, column 1"},
		{"columns alone", parts{sparse(1, 1<<30), sparseRowsPart([]uint32{1}, []uint32{1}, 1)}, "TOO_FEW_ENTRIES",
			"only 1 entries"},
	} {
		_, err := upload(1<<30, c.parts...)
		f, is := err.(*fault.Error)
		if !is || f.Reason != c.reason || !strings.Contains(f.Message, c.words) {
			t.Errorf("%s: got %v, want %s with %q", c.name, err, c.reason, c.words)
		}
	}
}

func TestSparseUploadsStayWithinTheLimit(t *testing.T) {
	const limit = 24 + 8*3 + 12*4 // two rows of four entries
	four := []uint32{0, 1, 2, 3}
	if _, err := upload(limit, sparse(2, 4), sparseRowsPart([]uint32{4, 0}, four, 1, 2, 3, 4)); err != nil {
		t.Error(err)
	}
	if _, err := upload(limit-1, sparse(2, 4), sparseRowsPart([]uint32{4, 0}, four, 1, 2, 3, 4)); !fault.Is(err,
		"DATASET_TOO_LARGE") {
		t.Errorf("got %v", err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 { // lengths that promise much cost nothing
		if _, err := upload(roomy, sparse(3, 1<<30),
			sparseRowsPart([]uint32{math.MaxUint32, math.MaxUint32, math.MaxUint32}, nil)); !fault.Is(err,
			"ENTRY_COUNTS_DIFFER") {
			t.Errorf("got %v", err)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("%d bytes were allocated for uploads of a few", grown)
	}
}

func TestLargeSparsePointsTravelInParts(t *testing.T) {
	const n = partEntries + 1 // the first row is longer than a part
	starts := []int64{0}
	columns := []int32{}
	entries := []float64{}
	for c := range n {
		columns = append(columns, int32(c))
		entries = append(entries, 1)
	}
	for range partLengths + 1 {
		starts = append(starts, n)
	}
	points, err := dataset.NewSparsePoints(partLengths+1, 1<<20, starts, columns, entries)
	if err != nil {
		t.Fatal(err)
	}
	u := NewUpload(roomy)
	count := 0
	err = Parts("", points, UploadStart{}, func(part *cleavev1.CreateDatasetRequest) error {
		count++
		if size := proto.Size(part); size > 2<<20 {
			t.Errorf("a part has %d bytes", size)
		}
		return u.Add(part)
	})
	if err != nil || count != 5 {
		t.Errorf("%d parts, %v", count, err)
	}
	if got, err := u.Finish(); err != nil || !reflect.DeepEqual(got, points) {
		t.Errorf("it came back differently (%v)", err)
	}
}
