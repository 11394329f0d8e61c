package kernelkmeans

import (
	"context"
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/kernel"
)

// RunAndScore is Run with the distances of all points to their clusters.
func RunAndScore(ctx context.Context, p *Problem, x Executor, o clustering.Observer) (*clustering.Result, error) {
	j := &job{p: p, x: x}
	result, err := clustering.Run(ctx, j, o)
	if err != nil || ctx.Err() != nil {
		return result, err
	}
	if err := j.family.score(ctx, result); err != nil && ctx.Err() == nil {
		return nil, err
	}
	return result, nil
}

// score adds to a result the distances of all points to their own clusters and to the nearest others, those of Kulis2009 (1)
// without shift. It asks the lane whose labels are nearest to those of the answer: mostly they are the same.
func (f *Family) score(ctx context.Context, result *clustering.Result) error {
	labels, n, k := f.unlabeled(result.Labels), f.p.n, f.p.spec.K
	if f.loaded == nil {
		return nil
	}
	lane, least := 0, n+1
	for l := range f.lanes {
		if others := f.otherLabels(l, labels); others < least {
			lane, least = l, others
		}
	}
	moves := make([]kernel.Move, 0, least)
	for i, from := range f.loaded[lane*n : (lane+1)*n] {
		if to := f.inLane(lane, labels[i]); from != to {
			moves = append(moves, kernel.Move{Point: int32(i), From: from, To: to})
		}
	}
	self, err := f.x.Update(ctx, moves)
	if err != nil {
		return err
	}
	stats := f.statsOf(f.newLabeling(labels, self[lane*k:(lane+1)*k]), 0)
	stats.Lane = lane
	fits, err := f.x.Fits(ctx, []kernel.ClusterStats{stats})
	if err != nil {
		return err
	}
	own, next := fits[0], fits[1]
	for i := range own {
		if own[i], next[i] = f.distanceFromUnit(own[i]), f.distanceFromUnit(next[i]); f.isIsolated(i) {
			own[i], next[i] = math.NaN(), math.NaN()
		}
	}
	result.SetDistances(clustering.MeasureFeatureSpace, own, next)
	return nil
}

// inLane is the number of a cluster among those of all lanes.
func (f *Family) inLane(lane int, c int32) int32 {
	if c < 0 {
		return c
	}
	return c + int32(lane*f.p.spec.K)
}

// otherLabels is how many points have another label in a lane.
func (f *Family) otherLabels(lane int, labels []int32) (count int) {
	for i, c := range f.loaded[lane*f.p.n : (lane+1)*f.p.n] {
		if c != f.inLane(lane, labels[i]) {
			count++
		}
	}
	return count
}

// distanceFromUnit converts a distance in the unit of the matrix to that of the graph. Weights that are degrees have the unit
// of the matrix too, so that distances, in which entries are divided by their squares, have its inverse.
func (f *Family) distanceFromUnit(v float64) float64 {
	if f.p.Objective == ObjectiveNormalizedCut {
		return f.p.ToUnit(v)
	}
	return f.p.FromUnit(v)
}

// statsOf are what distances to the clusters of a labeling need beside the row sums.
func (f *Family) statsOf(l labeling, sigma float64) kernel.ClusterStats {
	s := kernel.ClusterStats{
		Sigma:        sigma,
		Weight:       make([]float64, len(l.counts)),
		SelfAffinity: make([]float64, len(l.counts)),
		Count:        append([]int32(nil), l.counts...),
	}
	for c := range l.counts {
		s.Weight[c] = f.weightGrid.Value(l.weightUnits[c])
		s.SelfAffinity[c] = f.p.Matrix.Grid.Value(l.selfUnits[c])
	}
	return s
}
