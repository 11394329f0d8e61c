package constraint

import (
	"github.com/cleave-project/cleave/internal/fault"
)

// MaxEntailed bounds the pairs that Entail makes: the closure is quadratic in the components.
const MaxEntailed = 20_000_000

// Entail states every implied pair: those that were stated keep their weights, the others get the
// default weight of the number of all of them.
func (s *Set) Entail(defaultWeight func(distinct int) float64) (*Set, error) {
	count := 0
	s.Entailed(func(int32, int32, Kind) bool {
		count++
		return count <= MaxEntailed
	})
	if count > MaxEntailed {
		return nil, fault.Invalid("TOO_MANY_ENTAILED",
			"the constraints imply more than %d pairs; leave entail off (the closure is used implicitly anyway)", MaxEntailed)
	}
	stated := make(map[Pair]float64, len(s.pairs))
	for _, p := range s.pairs {
		stated[Pair{I: p.I, J: p.J, Kind: p.Kind}] = p.Weight
	}
	all := make([]Constraint, 0, count)
	s.Entailed(func(i, j int32, kind Kind) bool {
		weight, given := stated[Pair{I: i, J: j, Kind: kind}]
		delete(stated, Pair{I: i, J: j, Kind: kind})
		all = append(all, Constraint{I: i, J: j, Kind: kind, Weight: weight, Weighted: given})
		return true
	})
	// Left over are the conflicts: cannot-links inside a component, which no closure implies.
	for _, p := range s.pairs {
		if _, left := stated[Pair{I: p.I, J: p.J, Kind: p.Kind}]; left {
			all = append(all, Constraint{I: p.I, J: p.J, Kind: p.Kind, Weight: p.Weight, Weighted: true})
		}
	}
	return NewSet(s.n, all, defaultWeight)
}
