package kmeans

import (
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
)

// RunAndScore is Run followed by Score.
func (p *Problem) RunAndScore(ctx context.Context, x Executor, o clustering.Observer) (*clustering.Result, error) {
	result, err := Run(ctx, p, x, o)
	if err != nil {
		return nil, err
	}
	return result, Score(ctx, p, x, result)
}

// Score adds the distances of all rows to their own centroids and to the nearest others to a result, measured as by
// Predict. A canceled run gets none.
func Score(ctx context.Context, p *Problem, x Executor, result *clustering.Result) error {
	if ctx.Err() != nil || result.Model == nil || result.StopReason == clustering.StopCanceled {
		return nil
	}
	m, err := p.rowModel(result.Model)
	if err != nil {
		return err
	}
	m.Absent = make([]bool, m.Clusters)
	for c, size := range result.ClusterSizes {
		m.Absent[c] = size == 0
	}
	own, next, err := distancesOf(ctx, x.Measure(), m, result.Labels)
	if ctx.Err() != nil {
		return nil
	}
	if err == nil {
		result.SetDistances(clustering.MeasureDistortion, own, next)
	}
	return err
}

// rowModel converts the model of a result to the coordinates of prepared rows.
func (p *Problem) rowModel(m *model.Model) (*vector.Model, error) {
	centroids, err := m.Centroids, error(nil)
	if p.Vectors.Features == nil {
		centroids, err = centroidsInUnits(m)
	}
	return preparedModel(m, centroids, p.Vectors.Mean), err
}

// preparedModel converts a model whose centroids are in the units of the rows to the coordinates of rows centered by
// mean, which may be nil.
func preparedModel(m *model.Model, centroids, mean []float64) *vector.Model {
	prepared := &vector.Model{Distortion: m.Distortion, Clusters: m.K, Centroids: centered(centroids, mean)}
	if m.Metric.Form() != metric.Identity {
		prepared.Metric = m.Metric.Values()
	}
	return prepared
}

// pointsAtOnce is the number of points whose distances to all centroids are requested at a time.
const pointsAtOnce = 1 << 16

// distancesOf returns the distances of all rows to the centroids of their labels and to the nearest others. Most rows
// are nearest to their own centroid. For the few others, because of constraints or because means have moved, it
// requests all distances.
func distancesOf(ctx context.Context, x Measurer, m *vector.Model, labels []int32) (own, next []float64, err error) {
	found, err := x.NearestTwo(ctx, []vector.Query{{Model: m}})
	if err != nil {
		return nil, nil, err
	}
	own = make([]float64, len(labels))
	next = make([]float64, len(labels))
	var others []int32
	for i, c := range labels {
		nearest, first, second := found[0].Of(i)
		if nearest != c {
			others = append(others, int32(i))
			continue
		}
		own[i] = first
		next[i] = second
	}
	for points := range slices.Chunk(others, pointsAtOnce) {
		distances, err := x.Distances(ctx, []vector.Query{{Model: m, Points: points}})
		if err != nil {
			return nil, nil, err
		}
		for at, i := range points {
			row := distances[0][at*m.Clusters:][:m.Clusters]
			own[i], next[i] = row[labels[i]], math.Inf(1)
			for c, distance := range row {
				if int32(c) != labels[i] {
					next[i] = min(next[i], distance)
				}
			}
		}
	}
	return own, next, nil
}
