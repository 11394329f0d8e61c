package bench

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
)

// How many times as long as spectral clustering of one graph of neighbors auto may take: without constraints, and with
// so many, when it compares ways by folds.
const (
	autoGoal        = 2
	autoFoldsGoal   = 25
	autoConstraints = 500
)

// measureAuto compares auto with spectral clustering of the graph of nearest neighbors that it makes itself.
func measureAuto(ctx context.Context, b *benchmark) error {
	s, err := b.loadPendigits()
	if err != nil {
		return err
	}
	search, err := neighbor.NewSearch(s.points)
	if err != nil {
		return err
	}
	nearest, err := search.All(ctx, auto.DefaultNeighbors, b.Threads)
	if err != nil {
		return err
	}
	graph, err := neighbor.Graph(s.points.N, neighbor.Count(s.points.N, auto.DefaultNeighbors), nearest)
	if err != nil {
		return err
	}
	pairs, err := synth.Constraints(toInt32(s.truth), autoConstraints, rand.New(rand.NewPCG(8, 8)))
	if err != nil {
		return err
	}
	solve := func(data dataset.Dataset, algorithm clustering.Algorithm,
		pairs []constraint.Constraint) func() (float64, error) {
		return func() (float64, error) {
			return stopwatch(func() error {
				_, err := local.Solve(ctx, data, clustering.Spec{
					K: s.k, Supervision: clustering.Supervision{Constraints: pairs}, Algorithm: algorithm,
				}, b.Threads, clustering.NopObserver{})
				return err
			})
		}
	}
	var cut, alone, folds times
	if err := b.interleave(b.longRounds,
		measurement{solve(graph, &spectral.Options{Algorithm: spectral.Spectral}, nil), &cut},
		measurement{solve(s.points, &auto.Options{}, nil), &alone},
		measurement{solve(s.points, &auto.Options{}, pairs), &folds},
	); err != nil {
		return err
	}
	add := func(what string, ours times, goal int) {
		ratio := ours.best() / cut.best()
		b.report.add(Row{
			What: fmt.Sprintf("%s, k = %d: auto, %s", s.name, s.k, what), Ours: ours.String(),
			Peer:  "spectral: " + cut.String(),
			Ratio: fmt.Sprintf("%.2fx (%.2fx) the time", ratio, ours.median()/cut.median()),
			Goal:  fmt.Sprintf("<= %dx", goal), Verdict: b.report.verdict(ratio <= float64(goal)),
		})
	}
	add("no constraints", alone, autoGoal)
	add(fmt.Sprintf("%d constraints", autoConstraints), folds, autoFoldsGoal)
	b.report.note("auto from points to labels, with its search for neighbors; spectral from the graph of the %d "+
		"nearest neighbors to labels.", auto.DefaultNeighbors)
	return nil
}
