package kernelkmeans

import (
	"context"
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/kernel"
)

// RunAndScore is Run with the distances of all points to their clusters.
func (p *Problem) RunAndScore(ctx context.Context, x Executor, o clustering.Observer) (*clustering.Result, error) {
	j := &job{p: p, x: x}
	result, err := clustering.Run(ctx, j, o)
	if err != nil || ctx.Err() != nil {
		return result, err
	}
	if err := j.setup.score(ctx, result); err != nil && ctx.Err() == nil {
		return nil, err
	}
	return result, nil
}

// score adds the distances of all points to their own clusters and to the nearest others to a result: those of
// Kulis2009 (1) without shift. It updates the lane whose labels are closest to those of the answer; usually they are
// the same.
func (s *Setup) score(ctx context.Context, result *clustering.Result) error {
	loaded := s.server.loaded
	if loaded == nil {
		return nil
	}
	labels := s.matrix.unlabeled(result.Labels)
	shape := s.server.shape()
	lane := 0
	least := len(shape.AppendChanges(nil, loaded, 0, labels))
	for other := 1; other < s.server.lanes; other++ {
		if changes := len(shape.AppendChanges(nil, loaded, other, labels)); changes < least {
			lane, least = other, changes
		}
	}
	self, err := s.server.load(ctx, lane, labels)
	if err != nil {
		return err
	}
	stats := s.matrix.statsOf(s.matrix.newAssignment(labels, self), 0)
	stats.Lane = lane
	fits, err := s.server.x.Measure().Fits(ctx, []kernel.ClusterStats{stats})
	if err != nil {
		return err
	}
	own, next := fits[0].Own, fits[0].Next
	for i := range own {
		own[i] = s.matrix.distanceFromUnit(own[i])
		next[i] = s.matrix.distanceFromUnit(next[i])
		if s.matrix.isIsolated(i) {
			own[i] = math.NaN()
			next[i] = math.NaN()
		}
	}
	result.SetDistances(clustering.MeasureFeatureSpace, own, next)
	return nil
}

// distanceFromUnit converts a distance from the unit of the matrix to that of the graph. If weights are degrees they
// have the unit of the matrix too, and distances, which divide entries by squares of weights, have its inverse.
func (w *weightedMatrix) distanceFromUnit(v float64) float64 {
	if w.p.Objective == ObjectiveNormalizedCut {
		return w.p.ToUnit(v)
	}
	return w.p.FromUnit(v)
}

// statsOf returns what distances to the clusters of a labeling need besides the row sums.
func (w *weightedMatrix) statsOf(l assignment, sigma float64) kernel.ClusterStats {
	stats := kernel.ClusterStats{
		Sigma:        sigma,
		Weight:       make([]float64, len(l.counts)),
		SelfAffinity: make([]float64, len(l.counts)),
		Count:        append([]int32(nil), l.counts...),
	}
	for c := range l.counts {
		stats.Weight[c] = w.weightGrid.Value(l.weightUnits[c])
		stats.SelfAffinity[c] = w.p.Matrix.Grid.Value(l.selfUnits[c])
	}
	return stats
}
