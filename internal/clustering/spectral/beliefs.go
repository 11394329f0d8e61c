package spectral

import (
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/numeric/connected"
	"github.com/cleave-project/cleave/internal/numeric/elementary"
	"github.com/cleave-project/cleave/internal/parallel"
)

// beliefs is the symmetric matrix Q of Wang2014: Q_ij is positive if i and j belong together, negative if they belong
// apart, and its magnitude is how certain that is. It is the sum of the entries of pairs and those of seeds.
type beliefs struct {
	pairs *dataset.Graph
	seeds seedBeliefs
}

// newBeliefs returns the Q of n points. The values of a repeated pair add up.
func newBeliefs(n int, pairs []constraint.Belief, seeds seedBeliefs) (*beliefs, error) {
	entries, err := newSymmetric(n, pairs)
	return &beliefs{entries, seeds}, err
}

// newSymmetric returns the matrix that has each value at (i, j) and (j, i).
func newSymmetric(n int, values []constraint.Belief) (*dataset.Graph, error) {
	edges := make([]dataset.Edge, len(values))
	for at, v := range values {
		edges[at] = dataset.Edge{Source: v.I, Target: v.J, Weight: v.Value}
	}
	return dataset.NewGraph(n, edges)
}

// groups divides the points that have entries so that there are no entries between groups. Each is ascending.
func (q *beliefs) groups() [][]int32 {
	var points []int32
	for i := range q.pairs.N {
		if q.pairs.RowStart[i] < q.pairs.RowStart[i+1] {
			points = append(points, int32(i))
		}
	}
	if len(q.seeds.points) > 0 { // any two seeds have an entry
		for _, s := range q.seeds.points {
			points = append(points, s.Point)
		}
		slices.Sort(points)
		return [][]int32{slices.Compact(points)}
	}
	return connected.Parts(q.pairs.N, points, func(i int32) []int32 {
		columns, _ := q.pairs.Row(int(i))
		return columns
	})
}

// entry returns Q_ij.
func (q *beliefs) entry(i, j int32) float64 {
	value := q.seeds.entry(i, j)
	columns, values := q.pairs.Row(int(i))
	if at, found := slices.BinarySearch(columns, j); found {
		value += values[at]
	}
	return value
}

// count returns the number of entries, counting both orders of a pair.
func (q *beliefs) count() int {
	return len(q.pairs.Weight) + len(q.seeds.points)*(len(q.seeds.points)-1)
}

// stored returns the number of values in memory.
func (q *beliefs) stored() int { return len(q.pairs.Weight) + len(q.seeds.points) }

// sum returns 1'Q1.
func (q *beliefs) sum() float64 {
	total := 0.0
	for _, v := range q.pairs.Weight {
		total += v
	}
	return total + q.seeds.sum()
}

// multiply adds scale_i Q_ij scale_j x_j to every row of dst, for each of several x.
func (q *beliefs) multiply(ctx context.Context, dst, x [][]float64, scale []float64) error {
	q.seeds.multiply(dst, x, scale)
	return addProducts(ctx, dst, q.pairs, x, scale)
}

// addProducts adds scale_i m_ij scale_j x_j to every row of dst, for each of several x.
func addProducts(ctx context.Context, dst [][]float64, m *dataset.Graph, x [][]float64, scale []float64) error {
	const entriesPerPiece = 1 << 14 // fewer are not worth a thread
	pieces := 1 + len(m.Weight)*len(x)/entriesPerPiece
	return parallel.Ranges(ctx, m.N, (m.N+pieces-1)/pieces, func(from, to int) {
		for i := from; i < to; i++ {
			columns, values := m.Row(i)
			if len(columns) == 0 {
				continue
			}
			for v := range x {
				sum := 0.0
				for at, j := range columns {
					sum += float64(float64(values[at]*scale[j]) * x[v][j])
				}
				dst[v][i] += float64(scale[i] * sum)
			}
		}
	})
}

// satisfaction returns u'Qu.
func (q *beliefs) satisfaction(ctx context.Context, u []float64) (float64, error) {
	image := make([]float64, len(u))
	err := q.multiply(ctx, [][]float64{image}, [][]float64{u}, clustering.Ones(len(u)))
	return elementary.Dot(u, image), err
}

// allBeliefs returns Q: as given by the spec, or made from its constraints and seeds.
func (p *Problem) allBeliefs() (*beliefs, error) {
	if len(p.options.Beliefs) > 0 {
		return p.givenBeliefs()
	}
	return newBeliefs(p.n, beliefsOf(p.given.Pairs()), newSeedBeliefs(p.spec))
}

// beliefsOf returns plus or minus the weights of pairs.
func beliefsOf(pairs []constraint.Pair) []constraint.Belief {
	all := make([]constraint.Belief, len(pairs))
	for at, pair := range pairs {
		all[at] = constraint.Belief{I: pair.I, J: pair.J, Value: pair.Weight}
		if pair.Kind == constraint.CannotLink {
			all[at].Value = -pair.Weight
		}
	}
	return all
}

// givenBeliefs returns the Q given by the spec.
func (p *Problem) givenBeliefs() (*beliefs, error) {
	seen := make(map[[2]int32]bool, len(p.options.Beliefs))
	for at, b := range p.options.Beliefs {
		if b.I < 0 || b.J < 0 || int(max(b.I, b.J)) >= p.n {
			return nil, invalid.New(invalid.BeliefRows, "belief", at, "i", b.I, "j", b.J, "limit", p.n-1)
		}
		if math.IsNaN(b.Value) || math.IsInf(b.Value, 0) {
			return nil, invalid.New(invalid.BeliefValue, "belief", at, "i", b.I, "j", b.J, "value", b.Value)
		}
		key := [2]int32{min(b.I, b.J), max(b.I, b.J)}
		if seen[key] {
			return nil, invalid.New(invalid.RepeatedBelief, "i", b.I, "j", b.J)
		}
		seen[key] = true
	}
	return newBeliefs(p.n, p.options.Beliefs, seedBeliefs{})
}
