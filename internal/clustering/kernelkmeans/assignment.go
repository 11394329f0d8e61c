package kernelkmeans

import (
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/kernel"
)

// assignment holds the labels of all points with the sums of their clusters. Sums are integers, so they are exact in
// any order.
type assignment struct {
	labels      []int32
	counts      []int32
	weightUnits []kernel.Int128 // s_c in units of the weight grid
	selfUnits   []kernel.Int128 // Q_c in units of the grid
}

func (l assignment) clone() assignment {
	return assignment{slices.Clone(l.labels), slices.Clone(l.counts), slices.Clone(l.weightUnits),
		slices.Clone(l.selfUnits)}
}

// newAssignment returns an assignment with the given self-affinities. It does not keep labels.
func (w *weightedMatrix) newAssignment(labels []int32, selfUnits []kernel.Int128) assignment {
	l := assignment{
		labels: slices.Clone(labels), selfUnits: selfUnits,
		counts: make([]int32, w.p.spec.K), weightUnits: make([]kernel.Int128, w.p.spec.K),
	}
	for i, c := range labels {
		w.count(&l, int32(i), c, 1)
	}
	return l
}

// count adds a point and its weight to a cluster (sign 1) or removes them (sign -1), exactly.
func (w *weightedMatrix) count(l *assignment, point, cluster int32, sign int64) {
	if cluster < 0 {
		return
	}
	l.counts[cluster] += int32(sign)
	l.weightUnits[cluster] = l.weightUnits[cluster].AddInt64(sign * w.weightGrid.Units(w.weights[point]))
}

// association returns sum_c Q_c/s_c over the non-empty clusters, in order, the sum of the magnitudes, and the number of
// such clusters.
func (w *weightedMatrix) association(l assignment) (sum, magnitude float64, clusters int) {
	for c, count := range l.counts {
		if count == 0 {
			continue
		}
		share := w.p.Matrix.Grid.Value(l.selfUnits[c]) / w.weightGrid.Value(l.weightUnits[c])
		sum += share
		magnitude += math.Abs(share)
		clusters++
	}
	return sum, magnitude, clusters
}

// value returns J = sum_i M_ii/a_i - sum_c Q_c/s_c, which is minimized for every objective.
func (w *weightedMatrix) value(l assignment) float64 {
	association, _, _ := w.association(l)
	return w.diagonalTerm - association
}

// objective returns the value in the form of its paper, without shift.
func (w *weightedMatrix) objective(l assignment) float64 {
	association, _, clusters := w.association(l)
	switch w.p.Objective {
	case ObjectiveRatioAssociation: // Kulis2009 (9), maximized
		return w.p.FromUnit(association)
	case ObjectiveRatioCut: // Kulis2009 (8)
		return -w.p.FromUnit(association)
	case ObjectiveNormalizedCut: // Kulis2009 (7)
		return float64(clusters) - association
	}
	return w.p.FromUnit(w.diagonalTerm - association) // Kulis2009 (3)
}

// plainObjective returns the objective on A instead of M = A + W: the cut or the association of the graph without
// constraints. It is nil for kernel k-means, whose objective is not that of a graph. Every constrained pair within a
// cluster has two entries of W in Q_c, which are subtracted exactly, on the grid.
func (w *weightedMatrix) plainObjective(l assignment) *float64 {
	if !w.p.isGraphObjective() {
		return nil
	}
	l.selfUnits = slices.Clone(l.selfUnits)
	grid := w.p.Matrix.Grid
	for _, pair := range w.constraints.Pairs() {
		if c := l.labels[pair.I]; c >= 0 && c == l.labels[pair.J] {
			l.selfUnits[c] = l.selfUnits[c].AddInt64(-2 * grid.Units(grid.Round(signedWeight(pair))))
		}
	}
	value := w.objective(l)
	return &value
}
