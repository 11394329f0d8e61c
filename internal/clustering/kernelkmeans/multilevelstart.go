package kernelkmeans

import (
	"context"
	"runtime"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/component"
	"github.com/cleave-project/cleave/internal/clustering/multilevel"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// StartsMultilevel reports whether a run begins with the labels of package multilevel. That is the default on graphs:
// in a sparse graph most vertices are equally far from all clusters of a few vertices, so other starts fail.
func (p *Problem) StartsMultilevel() bool {
	return p.spec.Start == clustering.StartMultilevel || p.graph != nil && p.mixesStarts()
}

// multilevelStart computes the first labels from the graph, which the coordinator has in any case. Small pieces, which
// would be clusters at no cost, are left out and then join the others.
func (m *method) multilevelStart(ctx context.Context) ([]int32, error) {
	large, keep := m.largePieces(), make([]bool, m.p.n)
	for i := range keep {
		keep[i] = !large.Left(int32(i))
	}
	labels := clustering.Unassigned(m.p.n)
	k := min(m.p.spec.K, large.Size(m.p.n))
	if k == 0 {
		return labels, nil
	}
	g, rows := m.multilevelGraph(keep).Build()
	options := multilevel.Options{K: k, Threads: runtime.GOMAXPROCS(0), Level: func(l multilevel.Level) { m.o.Level(clustering.LevelBegan(l)) }}
	if components := m.constraints.Components(); components.Count() < m.p.n {
		options.Together, options.Groups = multilevel.Numbers(rows, m.p.n, components.Of)
	}
	found, err := multilevel.Cluster(ctx, g, options, m.rng)
	if err != nil {
		return nil, err
	}
	if rows == nil {
		return found.Labels, nil
	}
	for at, i := range rows {
		labels[i] = found.Labels[at]
	}
	component.Attach(labels, m.p.spec.K, m.p.graph, m.constraints)
	return labels, nil
}

// multilevelGraph returns M with its weights.
func (m *method) multilevelGraph(keep []bool) multilevel.Matrix {
	matrix := multilevel.Matrix{Graph: m.p.graph, Scale: m.p.Matrix.Scale, Keep: keep, Diagonal: m.diagonal, Mass: m.rowWeights()}
	for _, pair := range m.constraints.Pairs() {
		matrix.Entries = append(matrix.Entries, dataset.Edge{Source: pair.I, Target: pair.J, Weight: signedWeight(pair)})
		if pair.Kind == constraint.CannotLink {
			matrix.Apart = append(matrix.Apart, [2]int32{pair.I, pair.J})
		}
	}
	if m.p.Objective == ObjectiveRatioCut {
		// The associations of A - D are negative. Adding the mean degree to the diagonal makes them positive and does not
		// change the differences between labelings.
		mean := 0.0
		for _, d := range m.diagonal {
			mean -= d / float64(m.p.n)
		}
		matrix.Diagonal = slices.Clone(m.diagonal)
		for i := range matrix.Diagonal {
			matrix.Diagonal[i] += mean
		}
	}
	return matrix
}
