package inference

import (
	"math"

	"github.com/cleave-project/cleave/internal/fault"
)

// check returns an error for invalid input. The sum of all magnitudes must be finite too, so that no energy overflows.
func check(engine Engine, p *terms, current []int32) error {
	if engine < ICM || engine > Exact {
		return fault.Invalid("UNKNOWN_ENGINE", "there is no inference engine %d; use icm, bp, lp or exact", engine)
	}
	if p.k < 1 {
		return fault.Invalid("BAD_K", "k is %d; at least one cluster is needed", p.k)
	}
	if int64(p.k) > math.MaxInt32 {
		return fault.Invalid("BAD_K", "k is %d; at most %d is supported", p.k, math.MaxInt32)
	}
	if len(p.unary)%p.k != 0 || len(p.unary)/p.k > math.MaxInt32 {
		return fault.Invalid("SIZE_MISMATCH", "there are %d costs for k = %d; each point needs one for each cluster", len(p.unary), p.k)
	}
	if len(current) != p.points() {
		return fault.Invalid("SIZE_MISMATCH", "there are %d labels for %d points; each point needs one, -1 for none", len(current), p.points())
	}
	for i, label := range current {
		if label < -1 || int(label) >= p.k {
			return fault.Invalid("LABEL_OUT_OF_RANGE", "point %d has label %d; labels are 0..%d, or -1 for none", i, label, p.k-1)
		}
	}
	return checkCosts(p)
}

// checkCosts returns an error unless all costs, and their sum, are finite and pairs join two different points.
func checkCosts(p *terms) error {
	total := 0.0
	for i, cost := range p.unary {
		if math.IsNaN(cost) || math.IsInf(cost, 0) {
			return fault.Invalid("BAD_COST", "the cost of label %[3]d for point %[1]d is %[2]g; costs must be finite", i/p.k, cost, i%p.k)
		}
		total += math.Abs(cost)
	}
	for i, pair := range p.pairs {
		switch {
		case pair.I < 0 || int(pair.I) >= p.points() || pair.J < 0 || int(pair.J) >= p.points():
			return fault.Invalid("POINT_OUT_OF_RANGE", "pair %d (%d,%d) has a point outside 0..%d",
				i, pair.I, pair.J, p.points()-1)
		case pair.I == pair.J:
			return fault.Invalid("SELF_PAIR", "pair %d joins point %d with itself; leave it out", i, pair.I)
		case !(pair.Cost >= 0) || math.IsInf(pair.Cost, 0):
			return fault.Invalid("BAD_COST", "pair %d (%d,%d) costs %g; costs of pairs must be finite and at least 0", i, pair.I, pair.J, pair.Cost)
		}
		total += pair.Cost
	}
	if total > math.MaxFloat64/16 {
		return fault.Invalid("BAD_COST", "the costs add up to %g, which is not a finite number; scale them down", total)
	}
	return nil
}
