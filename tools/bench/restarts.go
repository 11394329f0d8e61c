package bench

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
)

// How many times as long as one run ten restarts may take: of kernel k-means, and of k-means on the points themselves.
const (
	restartsGoal       = 3
	vectorRestartsGoal = 4
)

// iterationCounter counts the iterations of a run.
type iterationCounter struct{ count int }

// Observe implements clustering.Observer.
func (o *iterationCounter) Observe(e clustering.Event) {
	if _, is := e.(clustering.IterationDone); is {
		o.count++
	}
}

// restartRun are the measurements with one number of restarts.
type restartRun struct {
	restarts   int
	build, run times
	iterations int
}

func measureRestarts(ctx context.Context, b *benchmark) error {
	s, err := b.loadPendigits()
	if err != nil {
		return err
	}
	one, many, err := b.compareRestarts(ctx, s, b.restart)
	if err != nil {
		return err
	}
	add := func(what string, one, many times, goal int) {
		ratio := many.best() / one.best()
		b.report.add(Row{
			What: fmt.Sprintf("%s, k = %d: %d restarts against 1, %s", s.name, s.k, b.restarts, what),
			Ours: many.String(), Peer: "1: " + one.String(),
			Ratio: fmt.Sprintf("%.2fx (%.2fx)", ratio, many.median()/one.median()),
			Goal:  fmt.Sprintf("<= %dx", goal), Verdict: b.report.verdict(ratio <= float64(goal)),
		})
	}
	add("with the build", sum(one.build, one.run), sum(many.build, many.run), restartsGoal)
	add("start and iterations", one.run, many.run, restartsGoal)
	b.report.note("all from k-means++ with one seed, so that the single run is the first of the many; %d iterations "+
		"in the single run, %d in the %d.", one.iterations, many.iterations, b.restarts)
	b.report.note("restarts share the reading of the matrix, not the additions: %d lanes convert and add %d times as "+
		"many numbers from the cache, at some 50 GB/s a core against some 20 GB/s from memory, so that a shared "+
		"sweep of all takes about four times a single one; what each restart moves later is its own.",
		b.restarts, b.restarts)
	if one, many, err = b.compareRestarts(ctx, s, b.restartVectors); err != nil {
		return err
	}
	add("k-means", sum(one.build, one.run), sum(many.build, many.run), vectorRestartsGoal)
	b.report.note("k-means has %d iterations in the single run, %d in the %d.", one.iterations, many.iterations,
		b.restarts)
	return nil
}

// compareRestarts measures one run and many restarts in turn.
func (b *benchmark) compareRestarts(ctx context.Context, s set, restart func(context.Context, set,
	*restartRun) error) (one, many *restartRun, err error) {
	one = &restartRun{restarts: 1}
	many = &restartRun{restarts: b.restarts}
	for round := range b.longRounds {
		for _, r := range []*restartRun{one, many} {
			if err := restart(ctx, s, r); err != nil {
				return nil, nil, err
			}
			b.Say("%d restarts, round %d: %s", r.restarts, round+1, duration(r.run[round]))
		}
	}
	return one, many, nil
}

// restartVectors runs k-means on the points.
func (b *benchmark) restartVectors(ctx context.Context, s set, r *restartRun) error {
	b.waitForIdle()
	var problem *kmeans.Problem
	var local kmeans.Executor
	build, err := stopwatch(func() (err error) {
		problem, err = kmeans.Prepare(s.points, clustering.Spec{
			K: s.k, Restarts: r.restarts, MaxIterations: iterationLimit,
			Algorithm: &kmeans.Options{Algorithm: kmeans.Kmeans},
		})
		if err != nil {
			return err
		}
		local, err = kmeans.NewLocal(ctx, problem, s.points, b.Threads)
		return err
	})
	if err != nil {
		return err
	}
	counter := &iterationCounter{}
	seconds, err := stopwatch(func() error {
		_, err := kmeans.Run(ctx, problem, local, counter)
		return err
	})
	r.build = append(r.build, build)
	r.run = append(r.run, seconds)
	r.iterations = counter.count
	return err
}

func (b *benchmark) restart(ctx context.Context, s set, r *restartRun) error {
	debug.FreeOSMemory()
	b.waitForIdle()
	var problem *kernelkmeans.Problem
	var local kernelkmeans.Executor
	build, err := stopwatch(func() (err error) {
		problem, err = kernelkmeans.Prepare(s.points, clustering.Spec{
			K: s.k, Restarts: r.restarts, MaxIterations: iterationLimit,
			Initialization: clustering.Initialization{Start: clustering.StartKmeansPlusPlus},
			Algorithm:      &kernelkmeans.Options{},
		})
		if err != nil {
			return err
		}
		local, err = kernelkmeans.NewLocal(ctx, problem, s.points, b.Threads)
		return err
	})
	if err != nil {
		return err
	}
	counter := &iterationCounter{}
	seconds, err := stopwatch(func() error {
		_, err := kernelkmeans.Run(ctx, problem, local, counter)
		return err
	})
	r.build = append(r.build, build)
	r.run = append(r.run, seconds)
	r.iterations = counter.count - r.restarts
	return err
}
