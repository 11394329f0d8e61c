package spectral

import (
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/connected"
)

// beliefs is the symmetric matrix Q of Wang2014. Q_ij is positive if i and j belong together and negative if they
// belong apart; its magnitude is how certain that is.
type beliefs interface {
	// points returns the rows that have entries, ascending.
	points() []int32
	// groups divides the points so that there are no entries between groups. Each is ascending.
	groups() [][]int32
	// entry returns Q_ij.
	entry(i, j int32) float64
	count() int   // number of entries, counting both orders of a pair
	stored() int  // number of values in memory
	sum() float64 // 1'Q1
	// multiply adds scale_i Q_ij scale_j x_j to every row of dst, for each of several x.
	multiply(dst, x [][]float64, scale []float64)
}

// satisfaction returns u'Qu.
func satisfaction(q beliefs, u []float64) float64 {
	image := make([]float64, len(u))
	q.multiply([][]float64{image}, [][]float64{u}, clustering.Ones(len(u)))
	total := 0.0
	for i, v := range u {
		total += float64(v * image[i])
	}
	return total
}

// allBeliefs returns Q: as given by the spec, or made from its constraints and seeds.
func (p *Problem) allBeliefs() (beliefs, error) {
	if len(p.options.Beliefs) > 0 {
		return p.givenBeliefs()
	}
	var parts sumOfBeliefs
	if len(p.given.Pairs()) > 0 {
		parts = append(parts, beliefsOf(p.n, p.given.Pairs()))
	}
	if seeds := constraint.GatherSeeds(p.spec.Seeds); len(seeds) > 0 {
		parts = append(parts, newLabelBeliefs(seeds, p.spec.K))
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return parts, nil
}

// beliefsOf returns the Q of pairs: plus or minus their weights.
func beliefsOf(n int, pairs []constraint.Pair) beliefs {
	all := make([]constraint.Belief, len(pairs))
	for at, pair := range pairs {
		all[at] = constraint.Belief{I: pair.I, J: pair.J, Value: pair.Weight}
		if pair.Kind == constraint.CannotLink {
			all[at].Value = -pair.Weight
		}
	}
	return pairBeliefs{newSymmetric(n, all)}
}

// givenBeliefs returns the Q given by the spec.
func (p *Problem) givenBeliefs() (beliefs, error) {
	const field = "spec.constrained_spectral.beliefs"
	seen := make(map[[2]int32]bool, len(p.options.Beliefs))
	for at, b := range p.options.Beliefs {
		if b.I < 0 || b.J < 0 || int(max(b.I, b.J)) >= p.n {
			return nil, fault.Invalid("INDEX_OUT_OF_RANGE", "belief %d is about %d and %d; rows are 0..%d", at, b.I, b.J, p.n-1).OnField(field)
		}
		if math.IsNaN(b.Value) || math.IsInf(b.Value, 0) {
			return nil, fault.Invalid("BAD_BELIEF", "belief %d about %d and %d is %v; beliefs are finite numbers", at, b.I, b.J, b.Value).OnField(field)
		}
		key := [2]int32{min(b.I, b.J), max(b.I, b.J)}
		if seen[key] {
			return nil, fault.Invalid("REPEATED_BELIEF", "the pair %d, %d has two beliefs; give each unordered pair once", b.I, b.J).OnField(field)
		}
		seen[key] = true
	}
	return pairBeliefs{newSymmetric(p.n, p.options.Beliefs)}, nil
}

// pairBeliefs is a Q whose entries are stored.
type pairBeliefs struct{ *symmetric }

func (q pairBeliefs) points() []int32 { return q.rows }

// groups returns the sets of points that pairs connect.
func (q pairBeliefs) groups() [][]int32 {
	return connected.Parts(q.n, q.rows, func(i int32) []int32 {
		columns, _ := q.row(int(i))
		return columns
	})
}

func (q pairBeliefs) entry(i, j int32) float64 {
	columns, values := q.row(int(i))
	if at, found := slices.BinarySearch(columns, j); found {
		return values[at]
	}
	return 0
}

func (q pairBeliefs) count() int { return len(q.value) }

func (q pairBeliefs) stored() int { return len(q.value) }

func (q pairBeliefs) sum() float64 {
	total := 0.0
	for _, v := range q.value {
		total += v
	}
	return total
}
