package bench

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/data/synth"
)

const (
	blocks      = 16
	insideShare = 0.8 // of a vertex's edges, that stay in its block
	graphGoal   = 60  // seconds; the goal is "a matter of seconds"
)

// measureGraph cuts a graph of the stochastic block model.
func measureGraph(ctx context.Context, b *benchmark) error {
	neighbors := 2 * b.edgesPerVertex
	b.Say("drawing a graph of %d vertices", b.vertices)
	edges, truth, err := synth.Blocks(b.vertices, blocks, insideShare*neighbors, (1-insideShare)*neighbors,
		rand.New(rand.NewPCG(4, 4)))
	if err != nil {
		return err
	}
	count := len(edges)
	graph, err := dataset.NewGraph(b.vertices, edges)
	if err != nil {
		return err
	}
	var prepare, run times
	var result *clustering.Result
	for round := range b.longRounds {
		if result, err = b.cut(ctx, graph, &prepare, &run); err != nil {
			return err
		}
		b.Say("round %d: prepared in %s, %d iterations in %s", round+1, duration(prepare[round]), result.Iterations,
			duration(run[round]))
		if run[round] > graphGoal {
			break // another round would only cost time
		}
	}
	scores, err := evaluate.Compare(result.Labels, truth, nil)
	if err != nil {
		return err
	}
	total := sum(prepare, run)
	b.report.add(Row{
		What: fmt.Sprintf("normalized cut, %d vertices, %d edges, k = %d", graph.N, count, blocks),
		Ours: total.String(), Goal: fmt.Sprintf("seconds (<= %d s)", graphGoal),
		Verdict: b.report.verdict(total.best() <= graphGoal),
	})
	b.report.note("from a graph in memory and random first labels, rises ignored, to %s after %d iterations; "+
		"preparing %s, clustering %s; NMI with the blocks %.3f.",
		result.StopReason, result.Iterations, duration(prepare.best()), duration(run.best()), scores.NMI)
	return nil
}

func (b *benchmark) cut(ctx context.Context, graph *dataset.Graph,
	prepare, run *times) (result *clustering.Result, err error) {
	b.waitForIdle()
	var problem *kernelkmeans.Problem
	var local kernelkmeans.Executor
	seconds, err := stopwatch(func() (err error) {
		problem, err = kernelkmeans.Prepare(graph, clustering.Spec{
			K: blocks, MaxIterations: iterationLimit,
			Initialization: clustering.Initialization{Start: clustering.StartRandom},
			// After a random start of a million vertices all clusters are nearly alike: a step may raise the
			// objective a little, and a shift of the diagonal would then stop the run at once.
			Algorithm: &kernelkmeans.Options{Objective: kernelkmeans.ObjectiveNormalizedCut,
				OnRise: kernelkmeans.RiseIgnore},
		})
		if err != nil {
			return err
		}
		local, err = kernelkmeans.NewLocal(ctx, problem, graph, b.Threads)
		return err
	})
	if err != nil {
		return nil, err
	}
	*prepare = append(*prepare, seconds)
	seconds, err = stopwatch(func() (err error) {
		result, err = kernelkmeans.Run(ctx, problem, local, clustering.NopObserver{})
		return err
	})
	*run = append(*run, seconds)
	return result, err
}

// levelGoals are how long a graph of 200,000 vertices and 2.2 million edges may take from its file to the labels of so
// many clusters, in seconds.
var levelGoals = []struct {
	k       int
	seconds float64
}{{20, 3}, {1000, 5}}

// measureLevels clusters a graph by default, on many levels, beside reading it.
func measureLevels(ctx context.Context, b *benchmark) error {
	if b.Cleave == "" {
		b.report.add(Row{What: "a graph: file to labels", Verdict: Missing})
		return nil
	}
	f, err := b.writeEdgeFile()
	if err != nil {
		return err
	}
	var reading times
	found := make([]times, len(levelGoals))
	measurements := []measurement{{func() (float64, error) {
		return stopwatch(func() error { return f.load(f.plain) })
	}, &reading}}
	for at, goal := range levelGoals {
		measurements = append(measurements, measurement{func() (float64, error) {
			return b.cleave(ctx, "run", "--graph", f.plain, "--k", fmt.Sprint(min(goal.k, f.vertices/2)), "--quiet")
		}, &found[at]})
	}
	if err := b.interleave(b.rounds, measurements...); err != nil {
		return err
	}
	for at, goal := range levelGoals {
		b.report.add(Row{
			What: fmt.Sprintf("%d vertices, %d edges, k = %d: file to labels", f.vertices, f.edges, goal.k),
			Ours: found[at].String(), Peer: "reading alone: " + reading.String(),
			Ratio: fmt.Sprintf("%.1fx (%.1fx) the time", found[at].best()/reading.best(),
				found[at].median()/reading.median()),
			Goal: fmt.Sprintf("<= %g s", goal.seconds), Verdict: b.report.verdict(found[at].best() <= goal.seconds),
		})
	}
	b.report.note("the program, from its start to its end, without any option but k; it writes nothing.")
	return nil
}
