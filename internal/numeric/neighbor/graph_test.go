package neighbor

import (
	"context"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/refusal"
)

func TestTheGraphIsTheMeanOfBothDirections(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 120).Draw(t, "n")
		count := rapid.IntRange(1, 120).Draw(t, "count")
		var data dataset.Dataset = drawPoints(t, n, rapid.IntRange(1, 4).Draw(t, "d"))
		if rapid.Bool().Draw(t, "sparse") {
			data, _ = drawSparse(t, n, 3)
		}
		search, err := NewSearch(data)
		if err != nil {
			t.Fatal(err)
		}
		neighbors := ok(t)(search.All(context.Background(), count, 1))
		count = Count(n, count)
		g, err := Graph(n, count, neighbors)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float64, n*n)
		for i := range n {
			for _, j := range neighbors[i*count : (i+1)*count] {
				if j != None {
					want[i*n+int(j)] += 0.5
					want[int(j)*n+i] += 0.5
				}
			}
		}
		got := make([]float64, n*n)
		for i := range n {
			columns, weights := g.Row(i)
			for at, j := range columns {
				got[i*n+int(j)] = weights[at]
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestWhatIsRefused(t *testing.T) {
	for name, neighbors := range map[string][]int32{
		"itself":       {0, 0, 1},
		"out of range": {1, 3, 1},
		"negative":     {1, 0, -2},
		"too few":      {1, 0},
	} {
		if _, err := Graph(3, 1, neighbors); err == nil {
			t.Errorf("%s: %v was accepted", name, neighbors)
		}
	}
	if _, err := Graph(3, 2, []int32{1, 1, 0, 2, 0, 1}); err == nil {
		t.Error("the same neighbor twice was accepted")
	}
	lonely, err := Graph(2, 1, []int32{None, None})
	if err != nil || lonely.N != 2 || len(lonely.Column) != 0 {
		t.Errorf("rows without neighbors: %v, %v", lonely, err)
	}
	if _, err := NewSearch(lonely); !fault.Is(refusal.Of(err), "UNSUPPORTED_DATA") {
		t.Errorf("a graph was searched: %v", err)
	}
	search, err := NewSearch(&dataset.Points{N: 2, D: 1, Values: []float64{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err := search.All(ctx, -1, 1); !fault.Is(refusal.Of(err), "OUT_OF_RANGE") {
		t.Errorf("less than none: %v", err)
	}
	if _, err := search.Rows(ctx, []int32{2}, 1, 1); err == nil {
		t.Error("a row that is not there was searched")
	}
	for _, other := range []dataset.Dataset{&dataset.Points{N: 1, D: 2, Values: []float64{1, 2}},
		&dataset.SparsePoints{N: 1, D: 1, RowStart: []int64{0, 0}}} {
		if _, err := search.Of(ctx, other, 1, 1); !fault.Is(refusal.Of(err), "UNSUPPORTED_DATA") {
			t.Errorf("%T: %v", other, err)
		}
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := search.All(canceled, 1, 2); err == nil {
		t.Error("a canceled search succeeded")
	}
}

// Memory does not grow with the columns. A query may have columns that no row has.
func TestFarMoreColumnsThanEntries(t *testing.T) {
	wide := &dataset.SparsePoints{N: 3, D: math.MaxInt32, RowStart: []int64{0, 1, 2, 3},
		Column: []int32{5, math.MaxInt32 - 1, 5}, Value: []float64{1, 2, 3}}
	other := &dataset.SparsePoints{N: 2, D: math.MaxInt32, RowStart: []int64{0, 1, 2},
		Column: []int32{7, math.MaxInt32 - 1}, Value: []float64{1, 1}}
	search, err := NewSearch(wide)
	if err != nil {
		t.Fatal(err)
	}
	if of := ok(t)(search.Of(t.Context(), other, 2, 1)); !slices.Equal(of, []int32{None, None, 1, None}) {
		t.Errorf("the neighbors are %v", of)
	}
}
