package span

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/elementary"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// G is Z'QZ with a Q of all points.
func TestPairMatrixIsThatOfAllPoints(t *testing.T) {
	const n, k, r = 30, 3, 9
	rng := clusteringtest.NewRand(2)
	b := randomBasis(rng, n, k, r)
	pairs := randomPairs(rng, n, 25)
	l := b.newLinks(pairs)
	g := b.pairMatrix(l, choose.All[int](len(pairs)))
	q := mat.NewDense(n, n, nil)
	mean := 0.0
	for _, p := range pairs {
		mean += p.Weight / float64(len(pairs))
	}
	for _, p := range pairs {
		v := p.Weight / mean
		if p.Kind == constraint.CannotLink {
			v /= -(k - 1)
		}
		q.Set(int(p.I), int(p.J), v)
		q.Set(int(p.J), int(p.I), v)
	}
	z := scaledRows(b, r).Slice(0, n, 1, r)
	var want mat.Dense
	want.Product(z.T(), q, z)
	for a := range r - 1 {
		for c := range r - 1 {
			near(t, "an entry of G", g.At(a, c), want.At(a, c), 1e-10)
		}
	}
}

// C spans the k - 1 generalized eigenvectors of the largest mu.
func TestPencilHasTheLargestEigenvectors(t *testing.T) {
	const n, k, r = 40, 4, 12
	rng := clusteringtest.NewRand(3)
	b := randomBasis(rng, n, k, r)
	pairs := randomPairs(rng, n, 60)
	l := b.newLinks(pairs)
	g := b.pairMatrix(l, choose.All[int](len(pairs)))
	for _, width := range b.widths() {
		p := b.newPencil(width, g)
		for _, theta := range thetas {
			f := p.factors(theta)
			var eigen mat.EigenSym
			eigen.Factorize(g.SliceSym(0, width-1), false)
			values := eigen.Values(nil) // ascending
			beta, usable := theta*values[width-2], values[width-2] >= 0
			if theta > 0 {
				beta, usable = theta*values[width-k], values[width-k] > 0
			}
			if usable != (f != nil) {
				t.Fatalf("theta %g is usable: %t", theta, f != nil)
			}
			if f == nil {
				continue
			}
			scaled := mat.NewSymDense(width-1, nil)
			for a := range width - 1 {
				for c := a; c < width-1; c++ {
					v := g.At(a, c)
					if a == c {
						v -= beta
					}
					scaled.SetSym(a, c, v/math.Sqrt(b.costs[a+1]*b.costs[c+1]))
				}
			}
			eigen.Factorize(scaled, true)
			var vectors mat.Dense
			eigen.VectorsTo(&vectors)
			for at := width - k; at < width-1; at++ { // each lies in the span of C
				c := make([]float64, width-1)
				for a := range c {
					c[a] = vectors.At(a, at) / math.Sqrt(b.costs[a+1])
				}
				within := 0.0
				for column := 1; column < k; column++ {
					part := 0.0
					for a, v := range c {
						part += v * f.At(a+1, column)
					}
					within += part * part
				}
				near(t, "the part of an eigenvector in the span", within, elementary.Dot(c, c), 1e-9)
			}
			for a := range width { // and v_1 is beside them
				row := f.RawRowView(a)
				if (a == 0) != (row[0] == 1) || a == 0 && (row[1] != 0 || row[2] != 0) {
					t.Fatalf("row %d of the factors is %g", a, row)
				}
			}
		}
	}
}

// Where a matrix has no positive eigenvalue, no theta above 0 means anything; without pairs the coordinates are the
// unconstrained ones.
func TestPencilOfNothing(t *testing.T) {
	b := randomBasis(clusteringtest.NewRand(4), 20, 3, 8)
	p := b.newPencil(6, mat.NewSymDense(7, nil))
	if p.factors(0.25) != nil || p.factors(0.5) != nil {
		t.Error("a share of nothing can be demanded")
	}
	f := p.factors(0)
	for a := range 6 {
		for c, v := range f.RawRowView(a) {
			want := 0.0
			if a == c {
				want = 1
			}
			near(t, "a factor", math.Abs(v), want, 1e-12)
		}
	}
	minus := mat.NewSymDense(7, nil)
	for a := range 7 {
		minus.SetSym(a, a, -1)
	}
	for _, theta := range thetas {
		if b.newPencil(6, minus).factors(theta) != nil {
			t.Errorf("theta %g means something where every cut violates the pairs", theta)
		}
	}
}
