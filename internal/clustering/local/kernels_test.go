package local_test

import (
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// Every kernel of points works with its matrix and with landmarks, so that none is forgotten when one is added.
func TestEveryKernelOfPoints(t *testing.T) {
	points := clusteringtest.Blobs(t, clusteringtest.NewRand(1), 120, 3, 4)
	tried := 0
	for f := kernel.Function(1); f.String() != ""; f++ {
		if !f.OfPoints() {
			continue
		}
		tried++
		for _, landmarks := range []int{0, 20} {
			options := &kernelkmeans.Options{Function: f, Landmarks: landmarks}
			result, err := local.Solve(t.Context(), points, clustering.Spec{K: 4, MaxIterations: 5, Choose: true,
				Algorithm: options}, 1, clustering.NopObserver{})
			if err != nil || len(result.Labels) != points.N {
				t.Errorf("%v with %d landmarks: %v", f, landmarks, err)
			}
		}
	}
	if tried < 6 {
		t.Errorf("%d kernels were tried", tried)
	}
}
