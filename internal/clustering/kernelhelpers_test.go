package clustering

import (
	"context"
	"testing"

	"github.com/cleave-project/cleave/internal/dataset"
)

func solve(t testing.TB, data dataset.Dataset, spec Spec) *Result {
	t.Helper()
	result, err := trySolve(data, spec)
	if err != nil {
		t.Fatalf("solve: %v", err)
	}
	return result
}

func trySolve(data dataset.Dataset, spec Spec) (*Result, error) {
	problem, err := Prepare(data, spec)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	x, err := NewLocal(ctx, problem, data, 2)
	if err != nil {
		return nil, err
	}
	return RunKernel(ctx, problem, x, &recorder{})
}

func kernelOptions(spec Spec) *KernelKmeans { return spec.Algorithm.(*KernelKmeans) }
