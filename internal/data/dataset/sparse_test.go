package dataset

import (
	"bytes"
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/fault"
)

// randomSparse draws a small dense table, about half of it zeros, and the same table as sparse points,
// made from entries some of which are 0.
func randomSparse(t *rapid.T) (*SparsePoints, [][]float64) {
	n := rapid.IntRange(1, 8).Draw(t, "rows")
	d := rapid.IntRange(1, 8).Draw(t, "columns")
	value := rapid.OneOf(rapid.Float64Range(-1e6, 1e6), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 5e-324}))
	dense := make([][]float64, n)
	starts := []int64{0}
	columns := []int32{}
	values := []float64{}
	for i := range dense {
		dense[i] = make([]float64, d)
		for c := range d {
			if rapid.Bool().Draw(t, "stored") {
				v := value.Draw(t, "value")
				dense[i][c] = v
				columns = append(columns, int32(c))
				values = append(values, v)
			}
		}
		starts = append(starts, int64(len(columns)))
	}
	p, err := NewSparsePoints(n, d, starts, columns, values)
	if err != nil {
		t.Fatal(err)
	}
	return p, dense
}

func TestSparseRowsAreThoseOfTheDenseTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, dense := randomSparse(t)
		nonZeros := 0
		for i, want := range dense {
			got := make([]float64, p.D)
			columns, values := p.Row(i)
			for at, c := range columns {
				if values[at] == 0 {
					t.Fatalf("row %d stores a zero in column %d", i, c)
				}
				got[c] = values[at]
			}
			nonZeros += len(columns)
			if !slices.Equal(got, want) {
				t.Fatalf("row %d is %v, want %v", i, got, want)
			}
		}
		if p.Rows() != len(dense) || p.NonZeros() != nonZeros || p.Kind().String() != "sparse points" {
			t.Fatalf("%d %s with %d entries", p.Rows(), p.Kind(), p.NonZeros())
		}
	})
}

// The bytes name the data, so it must not matter whether a zero was given as an entry or left out.
func TestSparsePointsHaveTheSameBytesWithAndWithoutZeros(t *testing.T) {
	with, err := NewSparsePoints(2, 9, []int64{0, 3, 4}, []int32{0, 1, 8, 2}, []float64{1, 0, 2, math.Copysign(0, -1)})
	if err != nil {
		t.Fatal(err)
	}
	without, err := NewSparsePoints(2, 9, []int64{0, 2, 2}, []int32{0, 8}, []float64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	a, errA := Marshal(with)
	b, errB := Marshal(without)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("%x (%v) and %x (%v)", a, errA, b, errB)
	}
}

func TestInvalidSparsePoints(t *testing.T) {
	for name, c := range map[string]struct {
		n, d    int
		starts  []int64
		columns []int32
		values  []float64
		reason  string
		says    string
	}{
		"no rows":         {0, 3, []int64{0}, nil, nil, "EMPTY_DATA", "0 rows"},
		"no columns":      {1, 0, []int64{0, 0}, nil, nil, "EMPTY_DATA", "0 columns"},
		"many rows":       {MaxRows + 1, 1, nil, nil, nil, "TOO_MANY_ROWS", "2147483648"},
		"many columns":    {1, MaxColumns + 1, []int64{0, 0}, nil, nil, "TOO_MANY_COLUMNS", "2147483648"},
		"too few starts":  {2, 3, []int64{0, 0}, nil, nil, "SIZE_MISMATCH", "2 row starts"},
		"value missing":   {1, 3, []int64{0, 1}, []int32{0}, nil, "SIZE_MISMATCH", "0 values"},
		"late start":      {1, 3, []int64{1, 1}, []int32{0}, []float64{1}, "BAD_ROW_STARTS", "1 to 1"},
		"early end":       {1, 3, []int64{0, 0}, []int32{0}, []float64{1}, "BAD_ROW_STARTS", "1 entries"},
		"starts fall":     {2, 3, []int64{0, 5, 1}, []int32{0}, []float64{1}, "BAD_ROW_STARTS", "row 1"},
		"negative start":  {2, 3, []int64{0, -5, 1}, []int32{0}, []float64{1}, "BAD_ROW_STARTS", "row 0"},
		"column outside":  {1, 3, []int64{0, 1}, []int32{3}, []float64{1}, "INDEX_OUT_OF_RANGE", "0..2"},
		"negative column": {1, 3, []int64{0, 1}, []int32{-1}, []float64{1}, "INDEX_OUT_OF_RANGE", "column -1"},
		"repeated column": {2, 3, []int64{0, 0, 2}, []int32{1, 1}, []float64{1, 1}, "COLUMNS_OUT_OF_ORDER",
			"row 1 has column 1 after column 1"},
		"falling columns": {1, 3, []int64{0, 2}, []int32{2, 1}, []float64{1, 1}, "COLUMNS_OUT_OF_ORDER",
			"column 1 after column 2"},
		"not a number": {1, 3, []int64{0, 1}, []int32{2}, []float64{math.NaN()}, "NOT_FINITE", "row 0, column 2"},
		"infinite, row 1": {2, 3, []int64{0, 0, 1}, []int32{2}, []float64{math.Inf(-1)}, "NOT_FINITE",
			"row 1, column 2"},
		"zero out of line": {1, 3, []int64{0, 2}, []int32{2, 1}, []float64{0, 0}, "COLUMNS_OUT_OF_ORDER", ""},
	} {
		if _, err := NewSparsePoints(c.n, c.d, c.starts, c.columns, c.values); !fault.Is(err, c.reason) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDecodeRefusesInvalidSparsePoints(t *testing.T) {
	p, err := NewSparsePoints(2, 5, []int64{0, 1, 2}, []int32{3, 4}, []float64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	good, err := Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	put := func(at int, v uint64) func([]byte) []byte {
		return func(raw []byte) []byte {
			binary.LittleEndian.PutUint64(raw[at:], v)
			return raw
		}
	}
	for name, corrupt := range map[string]func([]byte) []byte{
		"one byte short": func(raw []byte) []byte { return raw[:len(raw)-1] },
		"an entry short": func(raw []byte) []byte { return raw[:len(raw)-12] },
		"an entry more":  func(raw []byte) []byte { return append(raw, make([]byte, 12)...) },
		"rows claimed":   put(8, MaxRows),
		"columns: 4":     put(16, 4),
		"columns: 2^40":  put(16, 1<<40),
		"columns: 0":     put(16, 0),
		"a stored zero":  put(len(good)-8, 0),
		"a stored NaN":   put(len(good)-8, math.Float64bits(math.NaN())),
		"starts past":    put(headerSize+8, 3),
		"starts before":  put(headerSize+8, 1<<63),
	} {
		raw := corrupt(slices.Clone(good))
		if d, err := Decode(bytes.NewReader(raw), int64(len(raw))); err == nil {
			t.Errorf("%s: decoded as %+v", name, d)
		}
	}
}

// Bytes and memory must grow with the entries, not with the number of features.
func TestManyFeaturesCostNoMemory(t *testing.T) {
	const n, d, each = 20_000, 60_000, 100
	starts := make([]int64, n+1)
	columns := make([]int32, n*each)
	values := make([]float64, n*each)
	for at := range columns {
		columns[at] = int32(at%each*(d/each) + at/each%(d/each))
		values[at] = float64(at + 1)
	}
	for i := range starts {
		starts[i] = int64(i * each)
	}
	p, err := NewSparsePoints(n, d, starts, columns, values)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := Marshal(p)
	if want := int64(headerSize + 8*(n+1) + 12*n*each); err != nil || int64(len(raw)) != want ||
		EncodedSize(p) != want {
		t.Fatalf("%d bytes, want %d, %v", len(raw), want, err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	back, err := Decode(bytes.NewReader(raw), int64(len(raw)))
	runtime.ReadMemStats(&after)
	if err != nil || back.(*SparsePoints).NonZeros() != n*each {
		t.Fatal(err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 4*uint64(len(raw)) {
		t.Errorf("decoding %d bytes allocated %d", len(raw), used)
	}
	// Nothing is allocated for what a header claims before the bytes are there.
	claim := slices.Clone(raw[:headerSize+64])
	binary.LittleEndian.PutUint64(claim[8:], MaxRows)
	runtime.ReadMemStats(&before)
	_, err = Decode(bytes.NewReader(claim), headerSize+8*(MaxRows+1)+12)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; !fault.Is(err, "CORRUPT_DATASET") || used > 1<<20 {
		t.Errorf("a false header allocated %d bytes: %v", used, err)
	}
}
