package inference

import (
	"math"

	"github.com/cleave-project/cleave/internal/invalid"
)

// check returns an error unless all costs are finite, those of pairs are at least 0, and their sum is so small that no
// energy overflows. All else, such as the points of the pairs, is the caller's to get right.
func (t *terms) check() error {
	total := 0.0
	for i, cost := range t.unary {
		if math.IsNaN(cost) || math.IsInf(cost, 0) {
			return invalid.New(invalid.LabelCost, "point", i/t.k, "label", i%t.k, "cost", cost)
		}
		total += math.Abs(cost)
	}
	for i, pair := range t.pairs {
		if !(pair.Cost >= 0) || math.IsInf(pair.Cost, 0) {
			return invalid.New(invalid.PairCost, "pair", i, "i", pair.I, "j", pair.J, "cost", pair.Cost)
		}
		total += pair.Cost
	}
	if total > math.MaxFloat64/16 {
		return invalid.New(invalid.CostOverflow, "total", total)
	}
	return nil
}
