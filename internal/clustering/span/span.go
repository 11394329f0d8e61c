// Package span clusters points in the span of a few eigenvectors, by coordinates that must-links and cannot-links
// select. Several kinds of coordinates compete (pencil.go, completion.go) with those of spectral clustering without
// pairs. Held-out pairs decide which is best (choose.go), and k-means with penalties for violated pairs turns the
// winner into labels (compare.go).
//
// V holds the eigenvectors of Lbar = I - D^-1/2 A D^-1/2 with the smallest eigenvalues w, one per column; V[i,:k] is
// the first k entries of row i. All coordinates have the form
//
//	E = rows of V[:,:width] F, scaled to length 1                                                  (1)
//
// with a width x k matrix F of *mat.Dense, and differ only in F.
package span

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/numeric/elementary"
)

// Size returns the number of eigenvectors from which m pairs between n points can select k coordinates,
//
//	r = max(k+1, min(8k, k + ceil(2 sqrt(m))))
//
// or at most 4k if there are so many points that each eigenvector takes long.
func Size(n, k, m int) int {
	const manyPoints = 1_000_000
	widest := 8 * k
	if n >= manyPoints {
		widest = 4 * k
	}
	return min(n, max(k+1, min(widest, k+int(math.Ceil(2*math.Sqrt(float64(m)))))))
}

// basis holds the eigenvectors and what all fits derive from them.
type basis struct {
	n, k    int
	quick   bool          // see Problem
	vectors [][]float64   // V
	costs   []float64     // w, floored
	lengths []float64     // l_i = |V[i,:k]|, floored
	whole   *mat.TriDense // R with R R' = Y'Y/n, Y = V/l; nil until needed
}

// newBasis floors the divisors: w_i is at least 1e-3 w_k + 1e-12 and at most 1 - 1e-6, and l_i is at least 1e-3
// sqrt(k/n), a thousandth of its mean.
func newBasis(vectors [][]float64, costs []float64, k int) *basis {
	n := len(vectors[0])
	b := &basis{n: n, k: k, vectors: vectors, costs: slices.Clone(costs), lengths: make([]float64, n)}
	least := float64(1e-3*max(0, costs[k-1])) + 1e-12
	for a, w := range costs {
		b.costs[a] = min(max(w, least), 1-1e-6)
	}
	shortest := 1e-3 * math.Sqrt(float64(k)/float64(n))
	for i := range b.lengths {
		square := 0.0
		for _, v := range vectors[:k] {
			square += float64(v[i] * v[i])
		}
		b.lengths[i] = max(math.Sqrt(square), shortest)
	}
	return b
}

// widths returns the numbers of eigenvectors to try: k+1, max(2k, k+2), 4k and 8k, limited by those available.
func (b *basis) widths() []int {
	var widths []int
	for _, width := range []int{b.k + 1, max(2*b.k, b.k+2), 4 * b.k, 8 * b.k} {
		width = min(width, len(b.vectors))
		if !slices.Contains(widths, width) {
			widths = append(widths, width)
		}
	}
	return widths
}

func newFactors(width, k int) *mat.Dense { return mat.NewDense(width, k, nil) }

// unconstrained returns the factors of spectral clustering, which uses the first k vectors.
func (b *basis) unconstrained() *mat.Dense {
	f := newFactors(b.k, b.k)
	for a := range b.k {
		f.Set(a, a, 1)
	}
	return f
}

// coordinates returns (1), with factors F, for the rows of some columns, those of all points or of a sample.
func coordinates(columns [][]float64, f *mat.Dense) *clustering.Embedding {
	width, _ := f.Dims()
	return embedding.New(eigen.Combination(len(columns[0]), columns[:width], f), true)
}

// link is a pair of constrained points, given by their indices in links.points. Weights have mean 1.
type link struct {
	i, j   int
	must   bool
	weight float64
}

// target returns the desired inner product of the coordinates of the two points.
func (l link) target() float64 {
	if l.must {
		return 1
	}
	return 0
}

// links holds pairs with the rows of V that they need.
type links struct {
	points []int32     // the constrained points, ascending
	rows   [][]float64 // V[i,:]
	scaled [][]float64 // Y: V[i,:] / l_i
	all    []link
}

// newLinks returns pairs as links between rows of the basis, with weights of mean 1.
func (b *basis) newLinks(pairs []constraint.Pair) *links {
	l := &links{}
	total := 0.0
	for _, p := range pairs {
		l.points = append(l.points, p.I, p.J)
		total += p.Weight
	}
	slices.Sort(l.points)
	l.points = slices.Compact(l.points)
	mean := total / float64(len(pairs))
	for _, p := range pairs {
		i, _ := slices.BinarySearch(l.points, p.I)
		j, _ := slices.BinarySearch(l.points, p.J)
		l.all = append(l.all, link{i, j, p.Kind == constraint.MustLink, p.Weight / mean})
	}
	for _, point := range l.points {
		row := make([]float64, len(b.vectors))
		scaled := make([]float64, len(b.vectors))
		for a, v := range b.vectors {
			row[a], scaled[a] = v[point], v[point]/b.lengths[point]
		}
		l.rows = append(l.rows, row)
		l.scaled = append(l.scaled, scaled)
	}
	return l
}

// losses returns (e_i'e_j - [must])^2 of some links, with inner products clamped to 0 to 1.
func (l *links) losses(f *mat.Dense, subset []int) []float64 {
	known := make([][]float64, len(l.rows))
	at := func(point int) []float64 {
		if known[point] == nil {
			known[point] = unitRow(l.rows[point], f)
		}
		return known[point]
	}
	losses := make([]float64, len(subset))
	for place, which := range subset {
		pair := l.all[which]
		losses[place] = loss(elementary.Dot(at(pair.i), at(pair.j)), pair)
	}
	return losses
}

func loss(product float64, pair link) float64 {
	miss := min(max(product, 0), 1) - pair.target()
	return float64(miss * miss)
}

// unitRow returns (1) for one row.
func unitRow(row []float64, f *mat.Dense) []float64 {
	width, k := f.Dims()
	e := make([]float64, k)
	for a := range width {
		for c, v := range f.RawRowView(a) {
			e[c] += float64(row[a] * v)
		}
	}
	if length := math.Sqrt(elementary.Dot(e, e)); length > 0 {
		for c := range e {
			e[c] /= length
		}
	}
	return e
}
