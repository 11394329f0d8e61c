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
	if s.loaded == nil {
		return nil
	}
	labels, k, shape := s.unlabeled(result.Labels), s.p.spec.K, s.shape()
	lane := 0
	moves := shape.AppendChanges(nil, s.loaded, 0, labels)
	for other := 1; other < s.lanes; other++ {
		if changes := shape.AppendChanges(nil, s.loaded, other, labels); len(changes) < len(moves) {
			lane, moves = other, changes
		}
	}
	self, err := s.x.Update(ctx, moves)
	if err != nil {
		return err
	}
	stats := s.statsOf(s.newAssignment(labels, self[lane*k:(lane+1)*k]), 0)
	stats.Lane = lane
	fits, err := s.x.Measure(ctx, Fits, Queries{{ClusterStats: stats}})
	if err != nil {
		return err
	}
	own, next := fits[0], fits[1]
	for i := range own {
		if own[i], next[i] = s.distanceFromUnit(own[i]), s.distanceFromUnit(next[i]); s.isIsolated(i) {
			own[i] = math.NaN()
			next[i] = math.NaN()
		}
	}
	result.SetDistances(clustering.MeasureFeatureSpace, own, next)
	return nil
}

// distanceFromUnit converts a distance from the unit of the matrix to that of the graph. If weights are degrees they
// have the unit of the matrix too, and distances, which divide entries by squares of weights, have its inverse.
func (s *Setup) distanceFromUnit(v float64) float64 {
	if s.p.Objective == ObjectiveNormalizedCut {
		return s.p.ToUnit(v)
	}
	return s.p.FromUnit(v)
}

// statsOf returns what distances to the clusters of a labeling need besides the row sums.
func (s *Setup) statsOf(l assignment, sigma float64) kernel.ClusterStats {
	stats := kernel.ClusterStats{
		Sigma:        sigma,
		Weight:       make([]float64, len(l.counts)),
		SelfAffinity: make([]float64, len(l.counts)),
		Count:        append([]int32(nil), l.counts...),
	}
	for c := range l.counts {
		stats.Weight[c] = s.weightGrid.Value(l.weightUnits[c])
		stats.SelfAffinity[c] = s.p.Matrix.Grid.Value(l.selfUnits[c])
	}
	return stats
}
