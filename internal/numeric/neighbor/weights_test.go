package neighbor

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// naiveWeight is exp(-d²/(s_i s_j)) by package math, from all distances.
func naiveWeight(distances [][]float64, nearest func(i int) []int32, i, j int) float64 {
	farthest := func(i int) (s float64) {
		for _, neighbor := range nearest(i) {
			if neighbor != None {
				s = max(s, distances[i][neighbor])
			}
		}
		return s
	}
	scale := func(i, other int) float64 { return cmp.Or(farthest(i), farthest(other)) }
	d := distances[i][j]
	if d == 0 {
		return 1
	}
	return max(1e-6, math.Exp(-d/scale(i, j)*d/scale(j, i)))
}

// drawRows draws points of a few distances, and many equal ones.
func drawRows(t *rapid.T, n, d int) *dataset.Points {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	p := &dataset.Points{N: n, D: d, Values: make([]float64, n*d)}
	whole := rapid.Bool().Draw(t, "whole")
	for at := range p.Values {
		if p.Values[at] = random.NormFloat64(); whole {
			p.Values[at] = float64(random.IntN(3))
		}
	}
	return p
}

func drawKernel(t *rapid.T, n int) *dataset.Kernel {
	points := drawRows(t, n, 3)
	k := &dataset.Kernel{N: n, Values: make([]float64, n*n)}
	for i := range n {
		for j := range n {
			for f := range 3 {
				k.Values[i*n+j] += float64(points.Row(i)[f] * points.Row(j)[f])
			}
		}
	}
	return k
}

// distancesOf are all distances of a data set, by their definition.
func distancesOf(data dataset.Dataset) [][]float64 {
	n := data.Rows()
	dense := make([][]float64, n)
	for i := range dense {
		switch data := data.(type) {
		case *dataset.Points:
			dense[i] = data.Row(i)
		case *dataset.SparsePoints:
			dense[i] = make([]float64, data.D)
			length := 0.0
			columns, values := data.Row(i)
			for _, v := range values {
				length = math.Hypot(length, v)
			}
			for at, f := range columns {
				dense[i][f] = values[at] / length
			}
		}
	}
	all := make([][]float64, n)
	for i := range all {
		all[i] = make([]float64, n)
		for j := range all[i] {
			if k, ok := data.(*dataset.Kernel); ok {
				all[i][j] = math.Sqrt(max(0, k.Row(i)[i]-2*k.Row(i)[j]+k.Row(j)[j]))
				continue
			}
			for f, x := range dense[i] {
				all[i][j] = math.Hypot(all[i][j], x-dense[j][f])
			}
		}
	}
	return all
}

func TestWeightsEqualTheirFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(t, "n")
		var data dataset.Dataset
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			data = drawRows(t, n, rapid.IntRange(1, 5).Draw(t, "d"))
		case 1:
			data, _ = drawSparse(t, n, 6)
		case 2:
			data = drawKernel(t, n)
		}
		count := rapid.IntRange(1, n-1).Draw(t, "count")
		search, err := NewSearch(data)
		if err != nil {
			t.Fatal(err)
		}
		nearest, err := search.All(context.Background(), count, 1)
		if err != nil {
			t.Fatal(err)
		}
		graph, err := Graph(n, count, nearest)
		if err != nil {
			t.Fatal(err)
		}
		again := *graph
		again.Weight = slices.Clone(graph.Weight)
		if err := Weigh(context.Background(), graph, data, count, nearest, 1); err != nil {
			t.Fatal(err)
		}
		if err := Weigh(context.Background(), &again, data, count, nearest, 3); err != nil ||
			!slices.Equal(again.Weight, graph.Weight) {
			t.Fatalf("three threads: %v, %v; want %v", again.Weight, err, graph.Weight)
		}
		distances := distancesOf(data)
		for i := range n {
			columns, weights := graph.Row(i)
			for at, j := range columns {
				want := naiveWeight(distances, func(i int) []int32 { return nearest[i*count : (i+1)*count] }, i, int(j))
				if math.Abs(weights[at]-want) > 1e-6 {
					t.Fatalf("the edge %d-%d weighs %v, want %v", i, j, weights[at], want)
				}
				back, backWeights := graph.Row(int(j))
				if mirrored, _ := slices.BinarySearch(back, int32(i)); backWeights[mirrored] != weights[at] {
					t.Fatalf("the edge %d-%d weighs %v, and %v from its other end", i, j, weights[at],
						backWeights[mirrored])
				}
			}
		}
	})
}

// Rows that are equal, and distances that overflow, have weights.
func TestWeightsOfEqualAndFarRows(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64 // of the edge between the last two rows
	}{
		{[]float64{1, 1, 1}, 1},
		{[]float64{0, 0, 0, 1}, math.Exp(-1)},      // the scale of the zeros is that of the last row
		{[]float64{-1e300, 0, 1e300}, 1},           // whose squares overflow
		{[]float64{0, 1e-9, 2e-9, 1e9}, minWeight}, // an outlier
	} {
		points := &dataset.Points{N: len(c.values), D: 1, Values: c.values}
		search, err := NewSearch(points)
		if err != nil {
			t.Fatal(err)
		}
		const count = 2
		nearest, err := search.All(context.Background(), count, 1)
		if err != nil {
			t.Fatal(err)
		}
		graph, err := Graph(points.N, count, nearest)
		if err != nil {
			t.Fatal(err)
		}
		if err := Weigh(context.Background(), graph, points, count, nearest, 1); err != nil {
			t.Fatal(err)
		}
		columns, weights := graph.Row(points.N - 1)
		if got := weights[len(weights)-1]; math.Abs(got-c.want) > 1e-12 || math.IsNaN(got) {
			t.Errorf("%v: the edges of the last row to %v weigh %v, want %v", c.values, columns, weights, c.want)
		}
	}
}
