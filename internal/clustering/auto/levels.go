package auto

import (
	"context"
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/component"
	"github.com/cleave-project/cleave/internal/clustering/multilevel"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// softWeight is the cost of a violated constraint on levels, as a share of what its points contribute if all their
// edges stay within their cluster. Moving a vertex with a share f of its edges there and the rest in one other cluster
// costs about 2 (2f - 1) of that, so a constraint moves vertices between clusters, but a wrong one moves none with f
// above 5/8.
const softWeight = 0.5

// openLevels cuts the graph without constraints, from coarse to fine levels. Cuts minimize the normalized cut plus the
// penalties of violated constraints.
func (ss *spaces) openLevels(ctx context.Context, s *space, g *dataset.Graph) error {
	s.graph = g
	observe := func(l multilevel.Level) { ss.journal.o.Observe(clustering.LevelStarted(l)) }
	unconstrained, left, err := ss.cutLevels(ctx, s, ss.p.none, ss.threads, observe)
	if err != nil {
		return err
	}
	if left > 0 {
		ss.journal.leftOut(left, ss.p.n)
	}
	s.unconstrained = unconstrained
	return nil
}

// levelAnswer returns an answer whose history is the cut on every level, with the labels of all runs.
func (ss *spaces) levelAnswer(s *space, labels []int32, found multilevel.Found, runs []clustering.Labeling) *answer {
	cut := normalizedCut(s.graph, labels, ss.p.spec.K)
	result := &clustering.Result{
		StopReason:    clustering.StopConverged,
		ObjectiveName: "normalized-cut",
		Objective:     cut,
		Kernel:        clustering.KernelReport{PlainObjective: &cut},
		Runs:          runs,
	}
	result.Iterations = len(found.Steps) - 1
	for i, step := range found.Steps {
		entry := clustering.HistoryEntry{Iteration: i, Objective: float64(ss.p.spec.K) - step.Value, Moved: step.Moved}
		if i == result.Iterations {
			entry.Objective = cut // including vertices that took no part
		}
		result.History = append(result.History, entry)
	}
	return ss.newAnswer(labels, result, ss.newRater(s))
}

// cutLevels cuts the graph. It returns the number of vertices left out because their component is small. With
// constraints, it both improves the labels found without them and starts anew, and takes the better answer.
func (ss *spaces) cutLevels(
	ctx context.Context, s *space, set *constraint.Set, threads int, level func(multilevel.Level),
) (a *answer, left int, err error) {
	g, rows := ss.levelMatrix(s, set).Build()
	options := multilevel.Options{
		K:       min(ss.p.spec.K, g.Rows()),
		Threads: threads,
		Brief:   ss.p.options.Brief,
		Level:   level,
	}
	if components := set.Components(); components.Count() < ss.p.n {
		options.Together, options.Groups = choose.Numbers(rows, ss.p.n, components.Of)
	}
	var best multilevel.Found
	var runs []clustering.Labeling
	bestValue := math.Inf(-1)
	try := func(from string) error {
		found, err := multilevel.Cluster(snapshot.Within(ctx, from), g, options,
			*ss.p.spec.Source(clustering.StreamLevels))
		if err != nil {
			return err
		}
		runs = append(runs, clustering.NewLabeling(found.Labels, ss.p.spec.K).Among(ss.p.n, rows))
		if value := multilevel.Value(g, options.K, found.Labels); best.Labels == nil || value > bestValue {
			best, bestValue = found, value
		}
		return nil
	}
	if s.unconstrained != nil && options.K == ss.p.spec.K {
		options.Labels = s.unconstrained.labels
		if rows != nil {
			options.Labels = choose.At(options.Labels, rows)
		}
		if err := try("from labels"); err != nil {
			return nil, 0, err
		}
		options.Labels = nil
	}
	if err := try("anew"); err != nil {
		return nil, 0, err
	}
	labels := best.Labels
	if rows != nil {
		left = ss.p.n - len(rows)
		labels = clustering.Unassigned(ss.p.n)
		for at, i := range rows {
			labels[i] = best.Labels[at]
		}
		component.AttachTo(labels, ss.p.spec.K, s.graph, set, loosestCluster(s.graph, labels, ss.p.spec.K))
	}
	return ss.levelAnswer(s, labels, best, runs), left, nil
}

// levelMatrix returns the matrix of a normalized cut. The mass of a vertex is its degree, or the mean degree if it is
// kept and has no edges. A violated constraint costs softWeight times the mean mass of its points over that of a
// cluster.
func (ss *spaces) levelMatrix(s *space, set *constraint.Set) multilevel.Matrix {
	keep, _ := ss.includedVertices(s.graph, set)
	matrix := multilevel.Matrix{Graph: s.graph, Keep: keep, Mass: make([]float64, ss.p.n)}
	total := 0.0
	for i := range matrix.Mass {
		_, weights := s.graph.Row(i)
		for _, w := range weights {
			matrix.Mass[i] += w
		}
		total += matrix.Mass[i]
	}
	mean := total / float64(ss.p.n)
	if !(mean > 0) {
		mean = 1
	}
	for i, d := range matrix.Mass {
		if keep[i] && !(d > 0) {
			matrix.Mass[i] = mean
		}
	}
	for _, pair := range set.Pairs() {
		weight := inRange(pair.Weight,
			(matrix.Mass[pair.I]+matrix.Mass[pair.J])/2*softWeight*float64(ss.p.spec.K)/total)
		if pair.Kind == constraint.CannotLink {
			weight = -weight
			matrix.Apart = append(matrix.Apart, [2]int32{pair.I, pair.J})
		}
		matrix.Penalties = append(matrix.Penalties, multilevel.Penalty{A: pair.I, B: pair.J, Weight: weight})
	}
	return matrix
}
