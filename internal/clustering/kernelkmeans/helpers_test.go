package kernelkmeans

import (
	"context"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

func solve(t testing.TB, data dataset.Dataset, spec clustering.Spec) *clustering.Result {
	t.Helper()
	result, err := trySolve(data, spec)
	if err != nil {
		t.Fatalf("solve: %v", err)
	}
	return result
}

func trySolve(data dataset.Dataset, spec clustering.Spec) (*clustering.Result, error) {
	problem, err := Prepare(data, spec)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	x, err := NewLocal(ctx, problem, data, 2)
	if err != nil {
		return nil, err
	}
	return Run(ctx, problem, x, &clusteringtest.Recorder{})
}

func optionsOf(spec clustering.Spec) *Options { return spec.Algorithm.(*Options) }
