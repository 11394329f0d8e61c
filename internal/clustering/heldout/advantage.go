package heldout

import (
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/evaluate"
)

// counts counts pairs that belong together (together, parted) or apart (apart, joined) by whether labels have them
// right.
type counts struct{ together, parted, joined, apart int }

// add counts n pairs that belong together (must) or apart.
func (c *counts) add(must, correct bool, n int) {
	switch {
	case must && correct:
		c.together += n
	case must:
		c.parted += n
	case correct:
		c.apart += n
	default:
		c.joined += n
	}
}

func (c counts) agreement() float64 {
	return evaluate.AdjustedRand(c.together, c.parted, c.joined, c.apart)
}

// Agreement returns how well an answer agrees with the held-out pairs; see evaluate.AdjustedRand.
func (s *Supervision) Agreement(correct []bool) float64 { return s.AgreementWithout(None, correct) }

// AgreementWithout returns the agreement with the pairs outside a fold.
func (s *Supervision) AgreementWithout(fold int, correct []bool) float64 {
	var all counts
	for i, pair := range s.Pairs {
		if pair.Fold != fold {
			all.add(pair.Must, correct[i], 1)
		}
	}
	return all.agreement()
}

// Advantage returns by how many standard errors one answer agrees better with the held-out pairs than another. It
// divides the difference of their agreements by its standard error, estimated by the jackknife:
//
//	s^2 = (n-1)/n sum_i (d_i - mean d)^2,   d_i the difference without pair i.
//
// Pairs of the same kind that both answers treat the same have the same d_i, so there are at most eight values. If all
// d_i are equal, as when one answer has everything right and the other is a single cluster, s is 1/n. With seeds, all
// pairs of a held-out seed are left out together, because they are not independent.
func (s *Supervision) Advantage(correct, other []bool) float64 {
	if len(s.Seeds) > 0 {
		return s.seedAdvantage(correct, other)
	}
	var own, others counts
	cells := map[[3]bool]int{}
	for i, pair := range s.Pairs {
		own.add(pair.Must, correct[i], 1)
		others.add(pair.Must, other[i], 1)
		cells[[3]bool{pair.Must, correct[i], other[i]}]++
	}
	var differences, sizes []float64
	for cell := range 8 { // in a fixed order
		key := [3]bool{cell&1 > 0, cell&2 > 0, cell&4 > 0}
		if cells[key] == 0 {
			continue
		}
		a, b := own, others
		a.add(key[0], key[1], -1)
		b.add(key[0], key[2], -1)
		differences = append(differences, a.agreement()-b.agreement())
		sizes = append(sizes, float64(cells[key]))
	}
	return standardErrors(own.agreement()-others.agreement(), float64(len(s.Pairs)), differences, sizes)
}

// standardErrors divides a difference by its standard error, given the differences without each of n units. Each of
// differences stands for as many units as sizes says.
func standardErrors(difference, n float64, differences, sizes []float64) float64 {
	mean, squares := 0.0, 0.0
	for i, d := range differences {
		mean += float64(d*sizes[i]) / n
	}
	for i, d := range differences {
		squares += float64(sizes[i] * float64((d-mean)*(d-mean)))
	}
	deviation := math.Sqrt(float64((n - 1) / n * squares))
	if deviation <= 1e-12 {
		deviation = 1 / n
	}
	return difference / deviation
}

// seedAdvantage implements Advantage with a jackknife that leaves out one seed or one constraint at a time.
func (s *Supervision) seedAdvantage(correct, other []bool) float64 {
	var own, others counts
	var units [][2]counts
	number := map[int32]int{} // index of the unit of each held-out seed
	for i, pair := range s.Pairs {
		own.add(pair.Must, correct[i], 1)
		others.add(pair.Must, other[i], 1)
		unit := len(units)
		if i >= len(s.Constraints) {
			known, exists := number[pair.I]
			if !exists {
				known, number[pair.I] = unit, unit
			}
			unit = known
		}
		if unit == len(units) {
			units = append(units, [2]counts{})
		}
		units[unit][0].add(pair.Must, correct[i], 1)
		units[unit][1].add(pair.Must, other[i], 1)
	}
	differences := make([]float64, len(units))
	for i, unit := range units {
		differences[i] = own.without(unit[0]).agreement() - others.without(unit[1]).agreement()
	}
	difference := own.agreement() - others.agreement()
	return standardErrors(difference, float64(len(units)), differences, clustering.Ones(len(units)))
}

func (c counts) without(other counts) counts {
	return counts{c.together - other.together, c.parted - other.parted, c.joined - other.joined, c.apart - other.apart}
}
