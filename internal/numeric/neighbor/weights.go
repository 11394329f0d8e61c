package neighbor

import (
	"context"
	"math"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/elementary"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/text"
)

// Weights selects how the edges of a neighbor graph are weighted.
type Weights uint8

// The weights of an edge between i and j, at least one of which is a neighbor of the other.
const (
	WeightsDefault Weights = iota // Unweighted
	Unweighted                    // 1 if both are neighbors of each other, 1/2 if only one is
	// exp(-d_ij²/(s_i s_j)), where s is the distance of a row to the last of its neighbors
	Gaussian
)

// String returns the name of the weights in the catalog, or "" for WeightsDefault.
func (w Weights) String() string { return text.Name(w, "", "unweighted", "gaussian") }

// minWeight is the minimum weight of an edge. It keeps outliers connected.
const minWeight = 1e-6

// Weigh gives the edges of a neighbor graph Gaussian weights, in place. neighbors lists count neighbors for each row of
// the data set.
//
// The weight depends on the distance of two rows relative to how far each is from its own neighbors (Zelnik-Manor and
// Perona 2004), so that sparse regions are connected as well as dense ones.
func Weigh(ctx context.Context, g *dataset.Graph, data dataset.Dataset, count int, neighbors []int32,
	threads int) error {
	const rowsAtOnce = 1024
	weights := newGaussians(data, count, neighbors)
	return parallel.Run(ctx, max(1, threads), (g.N+rowsAtOnce-1)/rowsAtOnce, func(piece int) error {
		for i := piece * rowsAtOnce; i < min((piece+1)*rowsAtOnce, g.N); i++ {
			columns, values := g.Row(i)
			for at, j := range columns { // same argument order from both ends: symmetric to the last bit
				values[at] = weights.weight(min(int32(i), j), max(int32(i), j))
			}
		}
		return nil
	})
}

// gaussians are self-tuning weights: exp(-d(i,j)^2 / (scale i * scale j)).
type gaussians struct {
	squared func(i, j int32) float64
	scales  []float64
}

// newGaussians sets the scale of each row to the distance of the farthest of its count neighbors.
func newGaussians(data dataset.Dataset, count int, neighbors []int32) *gaussians {
	g := &gaussians{squared: squaredDistances(data), scales: make([]float64, data.Rows())}
	for i := range g.scales {
		for _, j := range neighbors[i*count : (i+1)*count] {
			if j != None {
				g.scales[i] = max(g.scales[i], math.Sqrt(g.squared(int32(i), j)))
			}
		}
	}
	return g
}

// weight returns exp(-d²/(s_i s_j)). A row whose scale is 0, because all its neighbors equal it, uses that of the
// other.
func (g *gaussians) weight(i, j int32) float64 {
	distance := math.Sqrt(g.squared(i, j))
	a := g.scales[i]
	b := g.scales[j]
	if a == 0 {
		a = b
	}
	if b == 0 {
		b = a
	}
	exponent := float64((distance / a) * (distance / b))
	if distance == 0 || math.IsNaN(exponent) { // squares overflowed: all rows count as equally far
		return 1
	}
	return max(minWeight, elementary.Exp(-exponent))
}

// squaredDistances returns a function that computes the squared distance of two rows, as used to compare neighbors. For
// sparse points it is that of the rows scaled to length 1, 2 - 2 cos.
func squaredDistances(data dataset.Dataset) func(i, j int32) float64 {
	switch data := data.(type) {
	case *dataset.SparsePoints:
		unit := unitRows(data)
		return func(i, j int32) float64 { return difference(2, float64(2*unit.Dot(int(i), int(j)))) }
	case *dataset.Kernel:
		return func(i, j int32) float64 {
			row := data.Row(int(i))
			return 2 * difference(row[i]/2+data.Row(int(j))[j]/2, row[j]) // exact, fused or not
		}
	case *dataset.Points:
		return func(i, j int32) float64 {
			sum := 0.0
			y := data.Row(int(j))
			for f, x := range data.Row(int(i)) {
				sum = math.FMA(x-y[f], x-y[f], sum)
			}
			return sum
		}
	}
	return nil
}

// difference returns a - b, or 0 if that is no more than the rounding error for equal rows.
func difference(a, b float64) float64 {
	const rounding = 1e-13
	if d := a - b; d > rounding*math.Abs(a) {
		return d
	}
	return 0
}
