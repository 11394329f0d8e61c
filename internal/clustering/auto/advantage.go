package auto

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

// advantage is by how many standard errors one way agrees better with the held-out pairs than another: the difference of
// their agreements over its standard error by the jackknife,
//
//	s^2 = (n-1)/n sum_i (d_i - mean d)^2,   d_i the difference without pair i.
//
// Pairs of the same kind that both ways have right or wrong alike are alike, so that there are eight d_i at most.
func (r *run) advantage(right, other []bool) float64 {
	var own, others counts
	cells := map[[3]bool]int{}
	for at, pair := range r.supervision.held {
		own.add(pair.must, right[at], 1)
		others.add(pair.must, other[at], 1)
		cells[[3]bool{pair.must, right[at], other[at]}]++
	}
	n := float64(len(r.supervision.held))
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
	deviation := math.Sqrt(float64((n - 1) / n * squares))
	if difference := own.agreement() - others.agreement(); deviation > 1e-12 {
		return difference / deviation
	}
	return 0
}
