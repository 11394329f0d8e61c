package spectral

import (
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
)

// seedBeliefs is the part of Q for points whose labels are known or known to be likely. If the labels of i have the
// probabilities pi_i, the belief in a pair is the probability that its labels are equal minus that they differ,
//
//	Q_ij = 2 pi_i'pi_j - 1,    i != j
//
// which is 1 or -1 if both are certain. Except for its diagonal Q has rank k, so it is never stored.
type seedBeliefs struct {
	points []constraint.SeededPoint // by number
	k      int
}

func newSeedBeliefs(spec clustering.Spec) seedBeliefs {
	return seedBeliefs{constraint.GatherSeeds(spec.Supervision.Seeds), spec.K}
}

// entry returns 2p-1, where p is the chance that two points have the same label; 0 for points without seeds.
func (q seedBeliefs) entry(i, j int32) float64 {
	if i == j {
		return 0
	}
	a, known := q.find(i)
	b, also := q.find(j)
	if !known || !also {
		return 0
	}
	same := 0.0
	for at, label := range a.Labels {
		if place := slices.Index(b.Labels, label); place >= 0 {
			same += float64(a.Chances[at] * b.Chances[place])
		}
	}
	return float64(2*same) - 1
}

func (q seedBeliefs) find(point int32) (constraint.SeededPoint, bool) {
	at, found := slices.BinarySearchFunc(q.points, point, func(s constraint.SeededPoint, point int32) int {
		return int(s.Point - point)
	})
	if !found {
		return constraint.SeededPoint{}, false
	}
	return q.points[at], true
}

// sum returns the sum of all entries of Q in time O(seeds + k). All entries of P P', where P holds the chances, add up
// to the sum of the squared column sums of P; the diagonal, which Q does not have, is subtracted.
func (q seedBeliefs) sum() float64 {
	byLabel := make([]float64, q.k)
	diagonal := 0.0
	for _, s := range q.points {
		for i, label := range s.Labels {
			byLabel[label] += s.Chances[i]
		}
		diagonal += diagonalOf(s)
	}
	n := float64(len(q.points))
	total := -float64(n*n) - diagonal
	for _, v := range byLabel {
		total += float64(2 * float64(v*v))
	}
	return total
}

// diagonalOf returns 2 pi'pi - 1.
func diagonalOf(s constraint.SeededPoint) float64 {
	square := 0.0
	for _, chance := range s.Chances {
		square += float64(chance * chance)
	}
	return float64(2*square) - 1
}

// multiply adds the products with x to dst. It takes time proportional to the number of labels of all seeds,
// although the matrix has an entry for every two of them.
func (q seedBeliefs) multiply(dst, x [][]float64, scale []float64) {
	byLabel := make([]float64, q.k)
	for v := range x {
		clear(byLabel)
		total := 0.0
		for _, s := range q.points {
			t := float64(scale[s.Point] * x[v][s.Point])
			total += t
			for i, label := range s.Labels {
				byLabel[label] += float64(s.Chances[i] * t)
			}
		}
		for _, s := range q.points {
			same := 0.0
			for i, label := range s.Labels {
				same += float64(s.Chances[i] * byLabel[label])
			}
			t := float64(scale[s.Point] * x[v][s.Point])
			image := float64(2*same) - total - float64(diagonalOf(s)*t)
			dst[v][s.Point] += float64(scale[s.Point] * image)
		}
	}
}
