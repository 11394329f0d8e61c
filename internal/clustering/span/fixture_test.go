package span

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// randomBasis has r orthonormal vectors of n entries, the first of which is above 0 everywhere, and ascending costs.
func randomBasis(rng *rand.Rand, n, k, r int) *basis {
	vectors := make([][]float64, r)
	for a := range vectors {
		vectors[a] = make([]float64, n)
		for i := range n {
			vectors[a][i] = rng.NormFloat64()
			if a == 0 {
				vectors[a][i] = 0.5 + rng.Float64()
			}
		}
	}
	costs := make([]float64, r)
	for a := range costs {
		costs[a] = 0.9 * rng.Float64()
	}
	slices.Sort(costs)
	costs[0] = 0
	return newBasis(eigen.Orthonormalize(n, vectors), costs, k)
}

// randomPairs are distinct pairs of random kinds and weights.
func randomPairs(rng *rand.Rand, n, m int) []constraint.Pair {
	seen := map[[2]int32]bool{}
	var pairs []constraint.Pair
	for len(pairs) < m {
		i := int32(rng.IntN(n))
		j := int32(rng.IntN(n))
		if i >= j || seen[[2]int32{i, j}] {
			continue
		}
		seen[[2]int32{i, j}] = true
		pairs = append(pairs, constraint.Pair{I: i, J: j, Kind: constraint.Kind(1 + rng.IntN(2)),
			Weight: 0.5 + rng.Float64()})
	}
	return pairs
}

// truePairs are distinct pairs of points with equal weights, told from classes.
func truePairs(rng *rand.Rand, classes []int32, m int) []constraint.Pair {
	pairs := randomPairs(rng, len(classes), m)
	for at := range pairs {
		pairs[at].Kind, pairs[at].Weight = constraint.CannotLink, 1
		if classes[pairs[at].I] == classes[pairs[at].J] {
			pairs[at].Kind = constraint.MustLink
		}
	}
	return pairs
}

// symmetrized is (m + m')/2.
func symmetrized(m mat.Matrix) *mat.SymDense {
	n, _ := m.Dims()
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			s.SetSym(i, j, (m.At(i, j)+m.At(j, i))/2)
		}
	}
	return s
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*(1+math.Abs(want))) {
		t.Fatalf("%s is %.12g, not %.12g", what, got, want)
	}
}

// scaledRows are Y, row by row.
func scaledRows(b *basis, width int) *mat.Dense {
	y := mat.NewDense(b.n, width, nil)
	for i := range b.n {
		for a := range width {
			y.Set(i, a, b.vectors[a][i]/b.lengths[i])
		}
	}
	return y
}

func TestSizes(t *testing.T) {
	for _, c := range []struct{ n, k, m, want int }{
		{1000, 3, 1, 5}, {1000, 3, 100, 23}, {1000, 3, 1000, 24}, {1000, 2, 0, 3}, {4, 3, 50, 4}, {3, 3, 50, 3},
		{2_000_000, 3, 1000, 12},
	} {
		if got := Size(c.n, c.k, c.m); got != c.want {
			t.Errorf("%d pairs of %d points choose %d coordinates from %d vectors, not %d", c.m, c.n, c.k, got, c.want)
		}
	}
	rng := clusteringtest.NewRand(1)
	for _, c := range []struct {
		k, r int
		want []int
	}{{2, 16, []int{3, 4, 8, 16}}, {3, 5, []int{4, 5}}, {1, 2, []int{2}}, {3, 24, []int{4, 6, 12, 24}},
		{4, 4, []int{4}}} {
		if got := randomBasis(rng, 40, c.k, c.r).widths(); !slices.Equal(got, c.want) {
			t.Errorf("the widths of %d vectors for %d coordinates are %d, not %d", c.r, c.k, got, c.want)
		}
	}
}

// Every link is held out once, and what is known has no link that is held out.
func TestFolds(t *testing.T) {
	rng := clusteringtest.NewRand(20)
	for m := 1; m < 40; m++ {
		b := randomBasis(rng, 40, 2, 4)
		l := b.newLinks(randomPairs(rng, 40, m))
		if l.repeatPoints(b.n) {
			t.Fatalf("%d random pairs repeat their %d points", m, len(l.points))
		}
		folds := newFolds(l, b.n, rng)
		if len(folds) != min(5, m) {
			t.Fatalf("%d pairs are in %d folds", m, len(folds))
		}
		for _, f := range folds {
			if len(f.held) < m/len(folds) || len(f.held) > m/len(folds)+1 || len(f.held)+len(f.known) != m {
				t.Errorf("of %d pairs %d are held out and %d known", m, len(f.held), len(f.known))
			}
		}
		checkFolds(t, l, folds)
	}
	var few []constraint.Pair // among the first points of many
	for i := range int32(9) {
		for j := range i {
			few = append(few, constraint.Pair{I: j, J: i, Kind: constraint.MustLink, Weight: 1})
		}
	}
	b := randomBasis(rng, 200, 2, 4)
	l := b.newLinks(few)
	if !l.repeatPoints(b.n) {
		t.Fatalf("%d pairs of %d points do not repeat them", len(few), len(l.points))
	}
	folds := newFolds(l, b.n, rng)
	checkFolds(t, l, folds)
	for _, f := range folds { // of every link that is held out, what is known lacks a point
		for _, held := range f.held {
			seen := map[int]bool{}
			for _, known := range f.known {
				seen[l.all[known].i], seen[l.all[known].j] = true, true
			}
			if seen[l.all[held].i] && seen[l.all[held].j] {
				t.Errorf("both points of %+v are known", l.all[held])
			}
		}
	}
}

func checkFolds(t *testing.T, l *links, folds []fold) {
	t.Helper()
	var all []int
	for _, f := range folds {
		all = append(all, f.held...)
		for _, which := range f.known {
			if slices.Contains(f.held, which) {
				t.Errorf("%d is known and held out", which)
			}
		}
	}
	slices.Sort(all)
	if !slices.Equal(all, choose.All[int](len(l.all))) {
		t.Errorf("held out are %d", all)
	}
}
