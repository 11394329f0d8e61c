package profile

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// bothKinds are the same rows as sparse and as dense points, and labels.
func bothKinds(t *testing.T) (*dataset.SparsePoints, *dataset.Points, []int32) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 8))
	const n, d = 40, 7
	dense := &dataset.Points{N: n, D: d, Values: make([]float64, n*d)}
	starts := []int64{0}
	columns := []int32(nil)
	values := []float64(nil)
	labels := make([]int32, n)
	for i := range n {
		labels[i] = int32(i % 3)
		for j := range d {
			if v := rng.Float64() + float64(j%3*i%3); rng.IntN(2) == 0 && v != 0 {
				dense.Values[i*d+j] = v
				columns = append(columns, int32(j))
				values = append(values, v)
			}
		}
		starts = append(starts, int64(len(values)))
	}
	sparse, err := dataset.NewSparsePoints(n, d, starts, columns, values)
	if err != nil {
		t.Fatal(err)
	}
	return sparse, dense, labels
}

// Traits of sparse columns are the positive ones of the same columns with their zeros.
func TestSparseTraits(t *testing.T) {
	sparse, dense, labels := bothKinds(t)
	columns := make([]Column, dense.D)
	for i := range dense.N {
		for j, v := range dense.Row(i) {
			columns[j].Numbers = append(columns[j].Numbers, v)
		}
	}
	all := Traits(columns, labels, 3)
	for cluster, got := range SparseTraits(sparse, labels, 3, 4) {
		var want []Trait
		for _, trait := range all[cluster] {
			if trait.Difference > 0 && len(want) < 4 {
				want = append(want, trait)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("cluster %d has %d traits, want %d", cluster, len(got), len(want))
		}
		for at, g := range got {
			w := want[at]
			if g.Column != w.Column || math.Abs(g.Difference-w.Difference) > 1e-9 ||
				math.Abs(g.Inside.Mean-w.Inside.Mean) > 1e-9 || math.Abs(g.Outside.Mean-w.Outside.Mean) > 1e-9 {
				t.Errorf("cluster %d: %+v, want %+v", cluster, g, w)
			}
			here := 0
			for i, label := range labels {
				if label == int32(cluster) && dense.Row(i)[g.Column] != 0 {
					here++
				}
			}
			if g.Inside.Present != float64(here)/float64(g.Inside.Count) {
				t.Errorf("cluster %d: %v of %d rows have column %d, want %d", cluster, g.Inside.Present, g.Inside.Count,
					g.Column, here)
			}
		}
	}
}

// Sparse rows are as far from each other and from the means as the same dense rows.
func TestSparseDistances(t *testing.T) {
	sparse, dense, labels := bothKinds(t)
	rows := Sample(labels, 3, len(labels))
	want := Places(dense, labels, 3, rows)
	for at, got := range SparsePlaces(sparse, labels, 3, rows) {
		if got.Next != want[at].Next || math.Abs(got.Own-want[at].Own) > 1e-9 ||
			math.Abs(got.Distance-want[at].Distance) > 1e-9 {
			t.Errorf("%+v, want %+v", got, want[at])
		}
	}
	of := SparseEuclidean(sparse)
	wanted := Euclidean(dense)
	for i := range rows {
		if got, want := of(0, int32(i)), wanted(0, int32(i)); math.Abs(got-want) > 1e-9 {
			t.Errorf("row 0 is %v from row %d, want %v", got, i, want)
		}
		_, values := Directions(sparse).Row(i)
		if length := sumOfSquares(values); len(values) > 0 && math.Abs(length-1) > 1e-9 {
			t.Errorf("the square of the length of row %d is %v", i, length)
		}
	}
}
