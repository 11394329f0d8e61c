package local_test

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/test/clusteringtest"
	"github.com/cleave-project/cleave/test/testscale"
)

// resumeCase is a job that is interrupted.
type resumeCase struct {
	data dataset.Dataset
	spec clustering.Spec
}

// resumeCases has a job for every algorithm, and for everything that a step or a start depends on.
func resumeCases(t *testing.T) map[string]resumeCase {
	t.Helper()
	const n, k = 160, 4
	points := clusteringtest.Blobs(t, clusteringtest.NewRand(1), n, 3, k)
	moons, truth, err := synth.TwoMoons(150, 0.1, clusteringtest.NewRand(2))
	if err != nil {
		t.Fatal(err)
	}
	pairs := clusteringtest.RandomConstraints(clusteringtest.NewRand(3), n, k, 30)
	// some contradict
	soft := append(slices.Clone(pairs), clusteringtest.RandomConstraints(clusteringtest.NewRand(4), n, 3, 12)...)
	graph, blocks := blockGraph(t, 60, k, 12, 4, 5)
	large, _ := blockGraph(t, 20_000, k, 10, 4, 6) // of more entries than several descents read
	graphPairs := pairsOf(t, blocks, 24, 0, clusteringtest.NewRand(7))
	doubtful := pairsOf(t, blocks, 36, 7, clusteringtest.NewRand(7))
	overlapping := clusteringtest.Blobs(t, clusteringtest.NewRand(8), n, 3, 9)
	negative := -1.0

	kernelSpec := func(o kernelkmeans.Options, restarts int) clustering.Spec {
		return clustering.Spec{K: k, Restarts: restarts, MaxIterations: 30, Algorithm: &o}
	}
	vectorSpec := func(o kmeans.Options, constraints []constraint.Constraint) clustering.Spec {
		return clustering.Spec{
			K: k, Restarts: 3, MaxIterations: 30, Supervision: clustering.Supervision{Constraints: constraints},
			Algorithm: &o,
		}
	}
	cutSpec := func(o spectral.Options, constraints []constraint.Constraint) clustering.Spec {
		return clustering.Spec{K: k, Supervision: clustering.Supervision{Constraints: constraints}, Algorithm: &o}
	}
	autoSpec := func(k int, constraints []constraint.Constraint) clustering.Spec {
		return clustering.Spec{
			K: k, MaxIterations: 30, Restarts: 3, Supervision: clustering.Supervision{Constraints: constraints},
			Algorithm: &auto.Options{Folds: 3},
		}
	}
	cases := map[string]resumeCase{
		"kernel k-means": {overlapping,
			kernelSpec(kernelkmeans.Options{OnRise: kernelkmeans.RiseStop}, 5)},
		"local search": {overlapping,
			kernelSpec(kernelkmeans.Options{KeepBest: true, LocalSearch: 10, OnRise: kernelkmeans.RiseIgnore}, 4)},
		"sigma auto": {overlapping,
			kernelSpec(kernelkmeans.Options{Function: kernel.Polynomial, Coef0: &negative, Degree: 3, SigmaAuto: true},
				2)},
		"shift at a rise": {overlapping,
			kernelSpec(kernelkmeans.Options{Function: kernel.Polynomial, Coef0: &negative, Degree: 3}, 3)},
		"multilevel start": {graph, kernelSpec(kernelkmeans.Options{KeepBest: true}, 2)},
		"large multilevel start": {large,
			kernelSpec(kernelkmeans.Options{KeepBest: true, OnRise: kernelkmeans.RiseIgnore, RiseOpen: true}, 1)},
		"k-means": {overlapping, vectorSpec(kmeans.Options{Algorithm: kmeans.Kmeans}, nil)},
		"spherical k-means": {overlapping,
			vectorSpec(kmeans.Options{Algorithm: kmeans.Kmeans, Distortion: metric.Cosine}, nil)},
		"cop": {points, vectorSpec(kmeans.Options{Algorithm: kmeans.CopKmeans},
			pairs[:12])},
		"pc": {overlapping,
			vectorSpec(kmeans.Options{Algorithm: kmeans.PCKmeans}, soft)},
		"m": {overlapping, vectorSpec(kmeans.Options{Algorithm: kmeans.MKmeans}, soft)},
		"mpc": {overlapping,
			vectorSpec(kmeans.Options{Algorithm: kmeans.MPCKmeans}, soft)},
		"mpc full": {overlapping,
			vectorSpec(kmeans.Options{Algorithm: kmeans.MPCKmeans, Metric: metric.Full}, soft)},
		"hmrf icm": {overlapping,
			vectorSpec(kmeans.Options{Algorithm: kmeans.HMRFKmeans}, soft)},
		"hmrf bp": {overlapping,
			vectorSpec(kmeans.Options{Algorithm: kmeans.HMRFKmeans, Inference: inference.BP}, soft)},
		"hmrf lp": {overlapping,
			vectorSpec(kmeans.Options{Algorithm: kmeans.HMRFKmeans, Inference: inference.LP}, soft)},
		"hmrf exact": {overlapping,
			vectorSpec(kmeans.Options{Algorithm: kmeans.HMRFKmeans, Inference: inference.Exact,
				Distortion: metric.Cosine}, pairs[:8])},
		"spectral": {graph, cutSpec(spectral.Options{Algorithm: spectral.Spectral},
			graphPairs)},
		"spectral learning": {points, cutSpec(spectral.Options{Algorithm: spectral.Learning}, pairs)},
		"constrained spectral": {graph, cutSpec(spectral.Options{Algorithm: spectral.Constrained},
			graphPairs)},
		"constrained spectral by the paper": {graph,
			cutSpec(spectral.Options{Algorithm: spectral.Constrained, BetaRule: spectral.BetaPaper}, graphPairs)},
		"auto on points":                   {moons, autoSpec(2, nil)},
		"auto on points with constraints":  {moons, autoSpec(2, pairsOf(t, truth, 60, 9, clusteringtest.NewRand(9)))},
		"auto with trusted constraints":    {moons, autoSpec(2, pairsOf(t, truth, 80, 0, clusteringtest.NewRand(9)))},
		"auto on a graph":                  {graph, autoSpec(k, nil)},
		"auto on a graph with constraints": {graph, autoSpec(k, doubtful)},
		"landmarks":                        {overlapping, kernelSpec(kernelkmeans.Options{Landmarks: 40}, 2)},
	}
	chosen := func(name string, of resumeCase, constraints []constraint.Constraint) {
		of.spec.Choose, of.spec.Supervision.Constraints = true, constraints
		cases[name] = of
	}
	chosen("kernel k-means with constraints", cases["local search"], soft)
	chosen("kernel k-means from all starts", cases["local search"], nil)
	chosen("multilevel start with constraints", cases["multilevel start"], graphPairs)
	chosen("mpc with an unconstrained answer", cases["mpc"], soft)
	several := func(name string, of resumeCase) {
		of.spec.K, of.spec.MaxK = 2, 4
		cases[name] = of
	}
	several("a range of k", cases["auto on points"])
	several("a range of k by held-out constraints", resumeCase{moons, func() clustering.Spec {
		spec := cases["mpc"].spec
		spec.Supervision.Constraints = pairsOf(t, truth, 60, 0, clusteringtest.NewRand(9))
		return spec
	}()})
	neighbors := cases["multilevel start"]
	neighbors.data, neighbors.spec.Neighbors.Count, neighbors.spec.Neighbors.Weights = points, 8, neighbor.Gaussian
	neighbors.spec.Choose = true
	cases["neighbors"] = neighbors
	return cases
}

// moments runs a job and returns snapshots of it: one before each state and each result that it keeps.
func moments(t testing.TB, c resumeCase) [][]byte {
	t.Helper()
	var mu sync.Mutex
	var found [][]byte
	var memory *snapshot.Memory
	memory = snapshot.NewMemory(1<<30, func(encode func()) {
		var b bytes.Buffer
		mu.Lock()
		defer mu.Unlock()
		if err := memory.Write(&b, snapshot.Identity{}); err != nil {
			t.Error(err)
		}
		found = append(found, b.Bytes())
		memory.Ask()
		encode()
	})
	if _, err := local.Solve(snapshot.With(context.Background(), memory), c.data, c.spec, 2,
		clustering.NopObserver{}); err != nil {
		t.Fatal(err)
	}
	if repeated := memory.Repeated(); len(repeated) > 0 {
		t.Errorf("pieces with these names were opened more than once, so not all was saved: %q", repeated)
	}
	return found
}

// No two pieces of a run have the same name, or the work of the second would not be saved. Methods of auto run others.
func TestEveryPieceHasItsOwnName(t *testing.T) {
	for name, c := range resumeCases(t) {
		if c.spec.Algorithm.Name() != "auto" || len(c.spec.Supervision.Constraints) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory := snapshot.NewMemory(1<<30, nil)
			if _, err := local.Solve(snapshot.With(t.Context(), memory), c.data, c.spec, 2,
				clustering.NopObserver{}); err != nil {
				t.Fatal(err)
			}
			if repeated := memory.Repeated(); len(repeated) > 0 {
				t.Errorf("opened more than once: %q", repeated)
			}
		})
	}
}

// someOf are at most so many moments, evenly spread, with the last.
func someOf(all [][]byte, most int) [][]byte {
	var some [][]byte
	for at := range min(most, len(all)) {
		some = append(some, all[len(all)-1-at*len(all)/min(most, len(all))])
	}
	return some
}

// A job that goes on from any snapshot has the answer of one that was not interrupted, and tells of the same events.
func TestResumedJobsAnswerTheSame(t *testing.T) {
	cases := resumeCases(t)
	for _, name := range testscale.Some(slices.Sorted(maps.Keys(cases)), 8) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			heard := &clusteringtest.Transcript{}
			undisturbed, err := local.Solve(t.Context(), c.data, c.spec, 2, heard)
			if err != nil {
				t.Fatal(err)
			}
			want := clusteringtest.Bits(undisturbed)
			all := moments(t, c)
			snapshots := 10
			if strings.Contains(name, "multilevel") || c.spec.Algorithm.Name() == "auto" {
				snapshots = 3 // they take long
			}
			for at, snap := range someOf(all, snapshots) {
				var kept atomic.Int64
				var memory *snapshot.Memory
				memory = snapshot.NewMemory(1<<30, func(encode func()) { kept.Add(1); memory.Ask(); encode() })
				if err := memory.Read(snap, snapshot.Identity{}); err != nil {
					t.Fatal(err)
				}
				again := &clusteringtest.Transcript{}
				resumed, err := local.Solve(snapshot.With(t.Context(), memory), c.data, c.spec, 1, again)
				if err != nil {
					t.Fatal(err)
				}
				if again := int(kept.Load()); at == 0 && len(all) >= 10 && again > len(all)/2 {
					t.Errorf("of %d states and results, the last snapshot leaves %d to be made again", len(all), again)
				}
				if got := clusteringtest.Bits(resumed); got != want {
					t.Errorf("snapshot %d: the result is\n%s\nand not\n%s", at, got, want)
				}
				if !slices.Equal(again.Lines, heard.Lines) {
					t.Errorf("snapshot %d: the events differ: %d and %d", at, len(again.Lines), len(heard.Lines))
				}
			}
		})
	}
}
