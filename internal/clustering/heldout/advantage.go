package heldout

import (
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
)

// counts are pairs that belong together and those that belong apart, by whether labels have them right.
type counts struct{ together, parted, joined, apart int }

func (c *counts) add(must, right bool, n int) {
	switch {
	case must && right:
		c.together += n
	case must:
		c.parted += n
	case right:
		c.apart += n
	default:
		c.joined += n
	}
}

func (c counts) agreement() float64 {
	return clustering.PairAgreement(c.together, c.parted, c.joined, c.apart)
}

// Agreement is how well an answer agrees with the held-out pairs: see clustering.PairAgreement.
func (s *Supervision) Agreement(right []bool) float64 { return s.AgreementWithout(None, right) }

// AgreementWithout is the same for the pairs outside a fold.
func (s *Supervision) AgreementWithout(fold int, right []bool) float64 {
	var all counts
	for at, pair := range s.Pairs {
		if pair.Fold != fold {
			all.add(pair.Must, right[at], 1)
		}
	}
	return all.agreement()
}

// Advantage is by how many standard errors one answer agrees better with the held-out pairs than another: the difference
// of their agreements over its standard error by the jackknife,
//
//	s^2 = (n-1)/n sum_i (d_i - mean d)^2,   d_i the difference without pair i.
//
// Pairs of the same kind that both answers have right or wrong alike are alike, so that there are eight d_i at most. If
// all are the same, as where one answer has everything right and the other is one cluster, s is that of n pairs at
// best, 1/n. Of seeds, all pairs of a seed that is held out are left out together, since they stand and fall with it.
func (s *Supervision) Advantage(right, other []bool) float64 {
	if len(s.Seeds) > 0 {
		return s.seedAdvantage(right, other)
	}
	var own, others counts
	cells := map[[3]bool]int{}
	for at, pair := range s.Pairs {
		own.add(pair.Must, right[at], 1)
		others.add(pair.Must, other[at], 1)
		cells[[3]bool{pair.Must, right[at], other[at]}]++
	}
	n := float64(len(s.Pairs))
	mean, differences, sizes := 0.0, []float64{}, []float64{}
	for cell := range 8 { // in a fixed order
		key := [3]bool{cell&1 > 0, cell&2 > 0, cell&4 > 0}
		if cells[key] == 0 {
			continue
		}
		a, b := own, others
		a.add(key[0], key[1], -1)
		b.add(key[0], key[2], -1)
		d, size := a.agreement()-b.agreement(), float64(cells[key])
		differences, sizes = append(differences, d), append(sizes, size)
		mean += float64(d*size) / n
	}
	squares := 0.0
	for at, d := range differences {
		squares += float64(sizes[at] * float64((d-mean)*(d-mean)))
	}
	difference, deviation := own.agreement()-others.agreement(), math.Sqrt(float64((n-1)/n*squares))
	if deviation <= 1e-12 {
		deviation = 1 / n
	}
	return difference / deviation
}

// seedAdvantage is Advantage by a jackknife that leaves out one seed, or one constraint, after the other.
func (s *Supervision) seedAdvantage(right, other []bool) float64 {
	var own, others counts
	var units [][2]counts
	number := map[int32]int{} // of the unit of a seed that is held out
	for at, pair := range s.Pairs {
		own.add(pair.Must, right[at], 1)
		others.add(pair.Must, other[at], 1)
		unit := len(units)
		if at >= len(s.Constraints) {
			known, exists := number[pair.I]
			if !exists {
				known, number[pair.I] = unit, unit
			}
			unit = known
		}
		if unit == len(units) {
			units = append(units, [2]counts{})
		}
		units[unit][0].add(pair.Must, right[at], 1)
		units[unit][1].add(pair.Must, other[at], 1)
	}
	n, mean := float64(len(units)), 0.0
	differences := make([]float64, len(units))
	for at, unit := range units {
		differences[at] = own.without(unit[0]).agreement() - others.without(unit[1]).agreement()
		mean += differences[at] / n
	}
	squares := 0.0
	for _, d := range differences {
		squares += float64((d - mean) * (d - mean))
	}
	difference, deviation := own.agreement()-others.agreement(), math.Sqrt(float64((n-1)/n*squares))
	if deviation <= 1e-12 {
		deviation = 1 / n
	}
	return difference / deviation
}

func (c counts) without(other counts) counts {
	return counts{c.together - other.together, c.parted - other.parted, c.joined - other.joined, c.apart - other.apart}
}
