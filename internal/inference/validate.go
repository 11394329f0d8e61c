package inference

import (
	"math"

	"github.com/cleave-project/cleave/internal/fault"
)

// check returns an error unless all costs are finite, those of pairs are at least 0, and their sum is so small that no
// energy overflows. All else, such as the points of the pairs, is the caller's to get right.
func (t *terms) check() error {
	total := 0.0
	for i, cost := range t.unary {
		if math.IsNaN(cost) || math.IsInf(cost, 0) {
			return fault.Invalid("BAD_COST", "the cost of label %[3]d for point %[1]d is %[2]g; costs must be finite",
				i/t.k, cost, i%t.k)
		}
		total += math.Abs(cost)
	}
	for i, pair := range t.pairs {
		if !(pair.Cost >= 0) || math.IsInf(pair.Cost, 0) {
			return fault.Invalid("BAD_COST", "pair %d (%d,%d) costs %g; costs of pairs must be finite and at least 0",
				i, pair.I, pair.J, pair.Cost)
		}
		total += pair.Cost
	}
	if total > math.MaxFloat64/16 {
		return fault.Invalid("BAD_COST", "the costs add up to %g, which is not a finite number; scale them down", total)
	}
	return nil
}
