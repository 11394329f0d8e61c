package bench

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/synth"
)

// lloydGoal is how many times as fast as scikit-learn an iteration of k-means should be.
const lloydGoal = 1

// The time of an iteration is computed from the difference of a long and a short run, so that what happens
// once in a run does not count.
const (
	shortLloyd = 2
	longLloyd  = 12
)

// measureLloyd compares plain k-means with scikit-learn's, from the same first centroids.
func measureLloyd(ctx context.Context, b *benchmark) error {
	const d, k = 16, 100
	n := b.lloydRows
	points, _, err := synth.Gaussians(n, d, k, clusterSpread, rand.New(rand.NewPCG(5, 5)))
	if err != nil {
		return err
	}
	first := points.Values[:k*d]
	var executor *kmeans.Local
	problemOf := func(iterations int) (*kmeans.Problem, error) {
		return kmeans.Prepare(points, clustering.Spec{
			K: k, MaxIterations: iterations, Start: clustering.StartCentroids,
			Algorithm: &kmeans.Options{Algorithm: kmeans.Kmeans, InitialCentroids: first},
		})
	}
	problems := map[int]*kmeans.Problem{}
	for _, iterations := range []int{shortLloyd, longLloyd} {
		if problems[iterations], err = problemOf(iterations); err != nil {
			return err
		}
	}
	if executor, err = kmeans.NewLocal(ctx, problems[longLloyd], points, b.Threads); err != nil {
		return err
	}
	difference := func(work func(iterations int) (float64, int, error)) func() (float64, error) {
		return func() (float64, error) {
			short, few, err := work(shortLloyd)
			if err != nil {
				return 0, err
			}
			long, many, err := work(longLloyd)
			if err != nil {
				return 0, err
			}
			if many <= few {
				return 0, fmt.Errorf("the long run had %d iterations, the short one %d", many, few)
			}
			return (long - short) / float64(many-few), nil
		}
	}
	var ours, double, single times
	measurements := []measurement{{difference(func(iterations int) (float64, int, error) {
		var result *clustering.Result
		seconds, err := stopwatch(func() (err error) {
			result, err = kmeans.Run(ctx, problems[iterations], executor, clustering.NopObserver{})
			return err
		})
		if err != nil {
			return 0, 0, err
		}
		return seconds, result.Iterations, nil
	}), &ours}}
	if b.peer.has("sklearn") {
		path, err := b.writePoints(points)
		if err != nil {
			return err
		}
		ask := func(kind string) func(int) (float64, int, error) {
			return func(iterations int) (float64, int, error) {
				seconds, err := b.peer.seconds(map[string]any{
					"do": "lloyd", "points": path, "n": n, "d": d, "k": k, "iterations": iterations, "kind": kind,
				})
				return seconds, iterations, err
			}
		}
		measurements = append(measurements, measurement{difference(ask("float64")), &double}, measurement{difference(ask("float32")), &single})
	}
	if err := b.interleave(b.longRounds, measurements...); err != nil {
		return err
	}
	what := fmt.Sprintf("k-means, %d x %d, k = %d: one iteration", n, d, k)
	b.report.compare(what, ours, double, ours.String(), "scikit-learn, Lloyd, float64: "+double.String(), lloydGoal)
	if len(single) > 0 {
		b.report.compare(what+", against float32", ours, single, ours.String(), "scikit-learn, Lloyd, float32: "+single.String(), lloydGoal)
	}
	b.report.note("an iteration assigns all points, takes the means and, on our side, sums up the objective twice, before and after the means. It is the difference of runs of %d and %d iterations from the same centroids, divided.", shortLloyd, longLloyd)
	return nil
}
