package auto

import (
	"context"
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// score adds the distances of rows, in the space of the answer, to the result.
func (r *run) score(ctx context.Context, found *answer, result *clustering.Result) error {
	switch s := r.opened[result.Choice.Chosen.Space]; {
	case found.own != nil:
		result.SetDistances(clustering.MeasureGroupScores, found.own, found.next)
	case s.levels != nil:
		own, next := edgeShares(s.graph, result.Labels, r.spec.K)
		result.SetDistances(clustering.MeasureEdgeShare, own, next)
	case found.at != nil:
		own, next := result.Embedding.Distances(result.Labels, r.spec.K, found.at.kept)
		result.SetDistances(clustering.MeasureEmbedding, own, next)
	default:
		return kmeans.Score(ctx, s.rows.problem, s.rows.x, result)
	}
	return nil
}

// rememberFolds keeps the labels that a method found in each fold. Without constraints they are all the same, and a
// discriminant labels only some rows.
func (r *run) rememberFolds(m clustering.Method, answers []*answer) {
	if m.ConstraintUse == clustering.UseNone || m.ConstraintUse == clustering.UseDiscriminant {
		return
	}
	for _, a := range answers {
		r.ofFolds[m] = append(r.ofFolds[m], clustering.NewLabeling(a.labels, r.spec.K))
	}
}

// edgeShares returns, for every vertex, the share of its edge weight that leads out of its own cluster, and out of the
// other cluster with the most of it. Loops do not count. Both are +Inf for a vertex without edges.
func edgeShares(g *dataset.Graph, labels []int32, k int) (own, next []float64) {
	own, next = make([]float64, g.N), make([]float64, g.N)
	to, seen := make([]float64, k), make([]int32, 0, k)
	for i := range g.N {
		total := 0.0
		neighbors, weights := g.Row(i)
		for at, j := range neighbors {
			if int(j) == i || weights[at] == 0 {
				continue
			}
			c := labels[j]
			if to[c] == 0 {
				seen = append(seen, c)
			}
			to[c] += weights[at]
			total += weights[at]
		}
		most := 0.0
		for _, c := range seen {
			if c != labels[i] {
				most = max(most, to[c])
			}
		}
		own[i], next[i] = 1-to[labels[i]]/total, 1-most/total
		if !(total > 0) {
			own[i], next[i] = math.Inf(1), math.Inf(1)
		}
		if k == 1 {
			next[i] = math.Inf(1)
		}
		for _, c := range seen {
			to[c] = 0
		}
		seen = seen[:0]
	}
	return own, next
}
