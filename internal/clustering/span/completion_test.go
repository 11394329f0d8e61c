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

// X, by links and by conjugate gradients, is the solution of the least squares problem in all entries of the upper
// triangle.
func TestCompletionSolvesLeastSquares(t *testing.T) {
	const n, k, width = 30, 3, 6
	rng := clusteringtest.NewRand(5)
	for _, m := range []int{1, 10, 80} { // fewer and more than unknowns
		b := randomBasis(rng, n, k, 9)
		c := b.newCompletion(b.newLinks(randomPairs(rng, n, m)), width)
		for _, rho := range []float64{30, 1, 0.03} {
			want := leastSquares(c, rho, choose.All[int](m))
			byLinks := c.solveByLinks(rho, choose.All[int](m))
			byGradients := c.solveByGradients(rho, choose.All[int](m))
			for a := range width {
				for d := range width {
					near(t, "an entry of X by links", byLinks.At(a, d), want.At(a, d), 1e-9)
					near(t, "an entry of X by gradients", byGradients.At(a, d), want.At(a, d), 1e-3)
				}
			}
		}
	}
}

// leastSquares solves (2) by its normal equations, in the entries a <= d of X.
func leastSquares(c *completion, rho float64, of []int) *mat.SymDense {
	type place struct{ a, d int }
	var places []place
	for a := range c.width {
		for d := a; d < c.width; d++ {
			places = append(places, place{a, d})
		}
	}
	normal := mat.NewDense(len(places), len(places), nil)
	right := mat.NewVecDense(len(places), nil)
	for at, p := range places {
		normal.Set(at, at, rho)
		if p.a != p.d {
			normal.Set(at, at, 2*rho) // such an entry is there twice
		}
	}
	for _, which := range of {
		pair := c.all[which]
		row := make([]float64, len(places))
		for at, p := range places {
			row[at] = c.damped[p.a][pair.i] * c.damped[p.d][pair.j]
			if p.a != p.d {
				row[at] += c.damped[p.d][pair.i] * c.damped[p.a][pair.j]
			}
		}
		for at, v := range row {
			right.SetVec(at, right.AtVec(at)+pair.weight*v*c.residual(pair))
			for other, u := range row {
				normal.Set(at, other, normal.At(at, other)+pair.weight*v*u)
			}
		}
	}
	var solved mat.VecDense
	if err := solved.SolveVec(normal, right); err != nil {
		panic(err)
	}
	x := mat.NewSymDense(c.width, nil)
	for at, p := range places {
		x.SetSym(p.a, p.d, solved.AtVec(at))
	}
	return x
}

// The damping is 1 for the first k vectors and falls with the cost.
func TestDamping(t *testing.T) {
	b := randomBasis(clusteringtest.NewRand(6), 30, 3, 9)
	c := b.newCompletion(b.newLinks(randomPairs(clusteringtest.NewRand(6), 30, 5)), 9)
	for a, root := range c.damping {
		want := 1.0
		if a >= 3 {
			want = math.Exp(1 - math.Log1p(-b.costs[a])/math.Log1p(-b.costs[2]))
		}
		near(t, "a damping", root*root, want, 1e-12)
	}
}

// Coordinates are the best approximation of Y M Y' by inner products of k coordinates: its k leading eigenpairs.
func TestCompletionCoordinatesAreTheLeadingOnes(t *testing.T) {
	const n, k, width, rho = 25, 3, 6, 0.3
	rng := clusteringtest.NewRand(7)
	b := randomBasis(rng, n, k, width)
	c := b.newCompletion(b.newLinks(randomPairs(rng, n, 30)), width)
	all := choose.All[int](30)
	f := c.factors(rho, all)
	m := mat.NewDense(width, width, nil)
	x := c.solve(rho, all)
	for a := range width {
		for d := range width {
			m.Set(a, d, c.damping[a]*x.At(a, d)*c.damping[d])
			if a == d && a < k {
				m.Set(a, d, m.At(a, d)+1)
			}
		}
	}
	y := scaledRows(b, width)
	var similar mat.Dense
	similar.Product(y, m, y.T())
	var eigen mat.EigenSym
	eigen.Factorize(symmetrized(&similar), true)
	values := eigen.Values(nil)
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	want := make([][]float64, n)
	for i := range want {
		for at := n - k; at < n; at++ {
			want[i] = append(want[i], vectors.At(i, at)*math.Sqrt(values[at]))
		}
	}
	e := coordinates(b.vectors, f)
	for i := range n {
		for j := range n {
			got := elementary.Dot(e.Values[i*k:(i+1)*k], e.Values[j*k:(j+1)*k])
			near(t, "an inner product", got,
				elementary.Dot(want[i], want[j])/math.Sqrt(elementary.Dot(want[i], want[i])*elementary.Dot(want[j],
					want[j])), 1e-7)
		}
	}
}

// The kernels of a fold have the same bits whether they are cached or not.
func TestCachedKernels(t *testing.T) {
	const n, m, width = 300, 130, 7
	for _, quick := range []bool{false, true} {
		rng := clusteringtest.NewRand(3)
		b := randomBasis(rng, n, 3, width)
		b.quick = quick
		c := b.newCompletion(b.newLinks(randomPairs(rng, n, m)), width)
		folds := newFolds(c.links, n, rng)
		var computed []*mat.SymDense
		for _, f := range folds {
			matrix, _, _ := c.kernels(f.known)
			computed = append(computed, matrix)
		}
		c.cacheKernels(folds)
		for at, f := range folds {
			if matrix, _, _ := c.kernels(f.known); c.between == nil || !mat.Equal(matrix, computed[at]) {
				t.Errorf("quick %v: the kernels of fold %d differ", quick, at)
			}
		}
	}
}

// If two points have all links and are held out together, a fold knows no link, but the kernels of all would take
// gigabytes.
func TestKernelsOfManyLinksAreNotCached(t *testing.T) {
	const n, each = 20_000, 5000
	var pairs []constraint.Pair
	for hub := range int32(2) {
		for other := range int32(each) {
			pairs = append(pairs, constraint.Pair{I: hub, J: 2 + other, Kind: constraint.MustLink, Weight: 1})
		}
	}
	b := randomBasis(clusteringtest.NewRand(1), n, 2, 3)
	c := b.newCompletion(b.newLinks(pairs), 3)
	c.cacheKernels([]fold{{held: choose.All[int](len(pairs))}})
	if c.between != nil {
		t.Errorf("the kernels of %d links are cached", len(pairs))
	}
}

// What is missed of a link that is left out is what a completion of the others really misses.
func TestLeftOutEqualsRefits(t *testing.T) {
	for _, quick := range []bool{false, true} {
		for _, width := range []int{4, 7} { // of as many features as half of the links, and of more
			leftOutEqualsRefits(t, width, quick)
		}
	}
}

func leftOutEqualsRefits(t *testing.T, width int, quick bool) {
	t.Helper()
	const n, k, m = 25, 3, 20
	rng := clusteringtest.NewRand(8)
	b := randomBasis(rng, n, k, 8)
	b.quick = quick
	c := b.newCompletion(b.newLinks(randomPairs(rng, n, m)), width)
	losses := c.leftOut(choose.All[int](m))
	for at, rho := range rhos {
		for left, pair := range c.all {
			var rest []int
			for other := range c.all {
				if other != left {
					rest = append(rest, other)
				}
			}
			x := leastSquares(c, rho, rest)
			predicted := pair.target() - c.residual(pair)
			for a := range width {
				for d := range width {
					predicted += c.damped[a][pair.i] * x.At(a, d) * c.damped[d][pair.j]
				}
			}
			near(t, "a loss", losses[at][left], loss(predicted, pair), 1e-8)
		}
	}
}
