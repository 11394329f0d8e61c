package spectral

import (
	"slices"

	"github.com/cleave-project/cleave/internal/data/constraint"
)

// labelBeliefs is the Q of points whose labels are known or known to be likely. If the labels of i have the
// probabilities pi_i, the belief in a pair is the probability that its labels are equal minus that they differ,
//
//	Q_ij = 2 pi_i'pi_j - 1,    i != j
//
// which is 1 or -1 if both are certain. Except for its diagonal Q has rank k, so it is never stored.
type labelBeliefs struct {
	seeds []constraint.SeededPoint
	k     int
}

func newLabelBeliefs(seeds []constraint.SeededPoint, k int) labelBeliefs {
	return labelBeliefs{seeds, k}
}

func (q labelBeliefs) points() []int32 {
	points := make([]int32, len(q.seeds))
	for i, s := range q.seeds {
		points[i] = s.Point
	}
	return points
}

func (q labelBeliefs) groups() [][]int32 { return [][]int32{q.points()} }

// entry returns 2p-1, where p is the chance that two points have the same label; 0 for points without seeds.
func (q labelBeliefs) entry(i, j int32) float64 {
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

func (q labelBeliefs) find(point int32) (constraint.SeededPoint, bool) {
	at, found := slices.BinarySearchFunc(q.seeds, point, func(s constraint.SeededPoint, point int32) int { return int(s.Point - point) })
	if !found {
		return constraint.SeededPoint{}, false
	}
	return q.seeds[at], true
}

func (q labelBeliefs) count() int { return len(q.seeds) * (len(q.seeds) - 1) }

func (q labelBeliefs) stored() int { return len(q.seeds) }

// sum returns the sum of all entries of Q in time O(seeds + k). All entries of P P', where P holds the chances, add up
// to the sum of the squared column sums of P; the diagonal, which Q does not have, is subtracted.
func (q labelBeliefs) sum() float64 {
	byLabel, diagonal := make([]float64, q.k), 0.0
	for _, s := range q.seeds {
		for i, label := range s.Labels {
			byLabel[label] += s.Chances[i]
		}
		diagonal += diagonalOf(s)
	}
	n := float64(len(q.seeds))
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
func (q labelBeliefs) multiply(dst, x [][]float64, scale []float64) {
	byLabel := make([]float64, q.k)
	for v := range x {
		clear(byLabel)
		total := 0.0
		for _, s := range q.seeds {
			t := float64(scale[s.Point] * x[v][s.Point])
			total += t
			for i, label := range s.Labels {
				byLabel[label] += float64(s.Chances[i] * t)
			}
		}
		for _, s := range q.seeds {
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

// sumOfBeliefs is the sum of several Q.
type sumOfBeliefs []beliefs

func (q sumOfBeliefs) points() []int32 {
	var all []int32
	for _, part := range q {
		all = append(all, part.points()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (q sumOfBeliefs) groups() [][]int32 { return [][]int32{q.points()} }

// total adds up a number of all parts.
func total[T int | float64](q sumOfBeliefs, of func(beliefs) T) (sum T) {
	for _, part := range q {
		sum += of(part)
	}
	return sum
}

func (q sumOfBeliefs) entry(i, j int32) float64 {
	return total(q, func(part beliefs) float64 { return part.entry(i, j) })
}

func (q sumOfBeliefs) count() int { return total(q, beliefs.count) }

func (q sumOfBeliefs) stored() int { return total(q, beliefs.stored) }

func (q sumOfBeliefs) sum() float64 { return total(q, beliefs.sum) }

func (q sumOfBeliefs) multiply(dst, x [][]float64, scale []float64) {
	for _, part := range q {
		part.multiply(dst, x, scale)
	}
}
