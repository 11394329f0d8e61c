package local_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// fuzzCases are small jobs of every kind of piece.
func fuzzCases(t testing.TB) []resumeCase {
	t.Helper()
	points := clusteringtest.Blobs(t, clusteringtest.NewRand(1), 24, 2, 3)
	graph := clusteringtest.RandomGraph(t, clusteringtest.NewRand(2), 30, 3)
	pairs := clusteringtest.RandomConstraints(clusteringtest.NewRand(3), 24, 2, 8)
	spec := func(algorithm clustering.Algorithm) clustering.Spec {
		return clustering.Spec{
			K: 3, Restarts: 2, MaxIterations: 5, Supervision: clustering.Supervision{Constraints: pairs},
			Algorithm: algorithm,
		}
	}
	eigen := spec(&spectral.Options{Algorithm: spectral.Spectral})
	eigen.Restarts, eigen.MaxIterations = 0, 0
	multilevel := spec(&kernelkmeans.Options{KeepBest: true, OnRise: kernelkmeans.RiseIgnore})
	multilevel.Choose = true
	chosen := spec(&kmeans.Options{Algorithm: kmeans.MPCKmeans})
	chosen.Choose = true
	landmarks := spec(&kernelkmeans.Options{Landmarks: 10})
	landmarks.Supervision.Constraints = nil
	return []resumeCase{
		{points, spec(&kernelkmeans.Options{KeepBest: true, LocalSearch: 3})},
		{points, spec(&kernelkmeans.Options{Function: kernel.Sigmoid, SigmaAuto: true})},
		{points, chosen},
		{points, spec(&kmeans.Options{Algorithm: kmeans.Kmeans})},
		{graph, eigen},
		{graph, multilevel},
		{points, landmarks},
	}
}

// FuzzResume goes on from damaged states that no checksum has noticed: whatever comes out, nothing crashes, and all
// ends.
func FuzzResume(f *testing.F) {
	var head bytes.Buffer
	if err := snapshot.NewMemory(0, nil).Write(&head, snapshot.Identity{}); err != nil {
		f.Fatal(err)
	}
	cases := fuzzCases(f)
	for at, c := range cases {
		for _, moment := range someOf(moments(f, c), 3) {
			f.Add(uint8(at), moment[head.Len():])
		}
	}
	f.Fuzz(func(t *testing.T, at uint8, pieces []byte) {
		c, memory := cases[int(at)%len(cases)], snapshot.NewMemory(1<<24, nil)
		if memory.Read(append(bytes.Clone(head.Bytes()), pieces...), snapshot.Identity{}) != nil {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := local.Solve(snapshot.With(ctx, memory), c.data, c.spec, 1, &clusteringtest.Transcript{})
		if ctx.Err() != nil {
			t.Fatal("the run does not end")
		}
		if err != nil && strings.Contains(err.Error(), "panic") {
			t.Fatal(err)
		}
	})
}
