package dataset

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/fault"
)

func TestInvalidPoints(t *testing.T) {
	for name, c := range map[string]struct {
		n, d   int
		values []float64
		reason string
		says   string
	}{
		"nan":      {2, 2, []float64{1, 2, 3, math.NaN()}, "NOT_FINITE", "row 1, column 1"},
		"infinite": {2, 2, []float64{1, math.Inf(1), 3, 4}, "NOT_FINITE", "row 0, column 1"},
		"empty":    {0, 2, nil, "EMPTY_DATA", "0 rows"},
		"short":    {2, 2, []float64{1}, "SIZE_MISMATCH", "1 values"},
		"overflow": {1 << 30, 1 << 40, nil, "SIZE_MISMATCH", ""},
	} {
		if _, err := NewPoints(c.n, c.d, c.values); !fault.Is(err, c.reason) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKernelMustBeSquareAndSymmetric(t *testing.T) {
	if _, err := NewKernel(2, 3, make([]float64, 6)); !fault.Is(err, "NOT_SQUARE") {
		t.Errorf("2 x 3: %v", err)
	}
	if _, err := NewKernel(2, 2, []float64{1, 0.5, 0.4, 1}); !fault.Is(err, "ASYMMETRIC_KERNEL") ||
		!strings.Contains(err.Error(), "(1,0)") {
		t.Errorf("asymmetric: %v", err)
	}
	k, err := NewKernel(2, 2, []float64{1, 0.5, 0.5 + 1e-12, 1})
	if err != nil || k.Values[1] != k.Values[2] {
		t.Errorf("rounding noise: %v, %v", k, err)
	}
}

func TestGraphAddsRepeatsAndKeepsLoops(t *testing.T) {
	g, err := NewGraph(0, []Edge{{2, 0, 1}, {0, 2, 2}, {1, 1, 5}, {3, 2, 1}})
	if err != nil {
		t.Fatal(err)
	}
	want := &Graph{N: 4, RowStart: []int64{0, 1, 2, 4, 5}, Column: []int32{2, 1, 0, 3, 2},
		Weight: []float64{3, 5, 3, 1, 1}}
	if !reflect.DeepEqual(g, want) {
		t.Errorf("got %+v", g)
	}
	for name, c := range map[string]struct {
		n      int
		edges  []Edge
		reason string
	}{
		"no edges":      {0, nil, "EMPTY_DATA"},
		"outside":       {3, []Edge{{0, 3, 1}}, "INDEX_OUT_OF_RANGE"},
		"negative":      {3, []Edge{{-1, 2, 1}}, "INDEX_OUT_OF_RANGE"},
		"nan":           {3, []Edge{{0, 1, math.NaN()}}, "NOT_FINITE"},
		"sum overflows": {3, []Edge{{0, 1, math.MaxFloat64}, {1, 0, math.MaxFloat64}}, "NOT_FINITE"},
		"absurd vertex": {0, []Edge{{0, 2_000_000_000, 1}}, "TOO_MANY_VERTICES"},
	} {
		if _, err := NewGraph(c.n, c.edges); !fault.Is(err, c.reason) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func randomDataset(t *rapid.T) Dataset {
	n := rapid.IntRange(1, 20).Draw(t, "n")
	value := rapid.Float64Range(-1e6, 1e6)
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		d := rapid.IntRange(1, 5).Draw(t, "d")
		p, err := NewPoints(n, d, rapid.SliceOfN(value, n*d, n*d).Draw(t, "values"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	case 1:
		var edges []Edge
		for range rapid.IntRange(0, 40).Draw(t, "edges") {
			edges = append(edges, Edge{int32(rapid.IntRange(0, n-1).Draw(t, "i")),
				int32(rapid.IntRange(0, n-1).Draw(t, "j")), value.Draw(t, "w")})
		}
		g, err := NewGraph(n, edges)
		if err != nil {
			t.Fatal(err)
		}
		return g
	case 2:
		p, _ := randomSparse(t)
		return p
	}
	values := make([]float64, n*n)
	for i := range n {
		for j := range i + 1 {
			v := value.Draw(t, "v")
			values[i*n+j], values[j*n+i] = v, v
		}
	}
	k, err := NewKernel(n, n, values)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestCodecRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := randomDataset(t)
		raw, err := Marshal(d)
		if err != nil || int64(len(raw)) != EncodedSize(d) {
			t.Fatalf("%d bytes, %d announced, %v", len(raw), EncodedSize(d), err)
		}
		back, err := Decode(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			t.Fatal(err)
		}
		again, err := Marshal(back)
		if err != nil || !bytes.Equal(raw, again) {
			t.Fatal("decoding and encoding changed the bytes")
		}
		if k, isKernel := d.(*Kernel); isKernel && k.N > 1 {
			offset, length := RowRange(k.N, 1, k.N)
			rows, err := DecodeRows(bytes.NewReader(raw[offset:offset+length]), (k.N-1)*k.N)
			if err != nil || !reflect.DeepEqual(rows, k.Values[k.N:]) {
				t.Fatalf("rows by range: %v", err)
			}
		}
	})
}

// Bytes that no data set is encoded to are refused, so that equal data sets have equal bytes.
func TestDecodeRefusesOtherBytes(t *testing.T) {
	good, err := Marshal(&Kernel{N: 2, Values: []float64{1, 0.5, 0.5, 1}})
	if err != nil {
		t.Fatal(err)
	}
	// the unused bytes of the header, and the last bit of entry (0, 1)
	for _, at := range []int{5, 6, 7, headerSize + 8} {
		raw := slices.Clone(good)
		raw[at] = 1
		if d, err := Decode(bytes.NewReader(raw), int64(len(raw))); err == nil {
			t.Errorf("byte %d is 1: decoded as %+v", at, d)
		}
	}
}

func FuzzDecode(f *testing.F) {
	g, err := NewGraph(0, []Edge{{0, 1, 1}, {1, 2, 2}})
	if err != nil {
		f.Fatal(err)
	}
	p, err := NewPoints(2, 2, []float64{1, 2, 3, 4})
	if err != nil {
		f.Fatal(err)
	}
	s, err := NewSparsePoints(3, 1<<30, []int64{0, 2, 2, 3}, []int32{0, 7, 1 << 29}, []float64{1, -2, 0.5})
	if err != nil {
		f.Fatal(err)
	}
	for _, d := range []Dataset{g, p, s, &Kernel{N: 1, Values: []float64{1}}} {
		raw, err := Marshal(d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := Decode(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			return
		}
		again, err := Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again, raw) {
			t.Fatal("decoding and encoding changed the bytes")
		}
	})
}

func TestNameOfAnUnknownKind(t *testing.T) {
	for _, kind := range []Kind{0, KindSparsePoints + 1} {
		if got := kind.String(); got != "unknown" {
			t.Errorf("kind %d is called %q", kind, got)
		}
	}
}
