package kernelkmeans

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// For a positive semidefinite kernel J never rises: no undo, no shift, a falling history.
func TestObjectiveNeverRisesForPositiveKernels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := clusteringtest.NewRand(rapid.Uint64().Draw(t, "seed"))
		n := rapid.IntRange(2, 120).Draw(t, "n")
		k := rapid.IntRange(1, min(n, 9)).Draw(t, "k")
		values := make([]float64, 3*n)
		for i := range values {
			values[i] = math.Round(4 * rng.NormFloat64()) // copies and ties on purpose
		}
		points, err := dataset.NewPoints(n, 3, values)
		if err != nil {
			t.Fatal(err)
		}
		o := &Options{OnRise: RiseStop, Function: rapid.SampledFrom([]kernel.Function{
			kernel.Linear, kernel.Gaussian, kernel.Laplacian, kernel.Polynomial}).Draw(t, "kernel")}
		if o.Function == kernel.Gaussian || o.Function == kernel.Laplacian {
			o.Rho = 2
		}
		result, err := trySolve(points, clustering.Spec{
			K: k, MaxIterations: 200, Initialization: clustering.Initialization{Start: clustering.StartRandom}, Seed: 5,
			Algorithm: o,
		})
		if err != nil {
			t.Fatal(err)
		}
		if result.StopReason != clustering.StopConverged {
			t.Fatalf("stopped by %v after %d iterations", result.StopReason, result.Iterations)
		}
		for at := 1; at < len(result.History); at++ {
			if rise := result.History[at].Objective -
				result.History[at-1].Objective; rise > 1e-9*(1+math.Abs(result.History[0].Objective)) {
				t.Fatalf("iteration %d raised J by %g", at, rise)
			}
		}
	})
}

// A shift changes no reported value of the same labels.
func TestShiftLeavesReportedObjectiveAlone(t *testing.T) {
	for name, c := range cases(t, 3) {
		c.spec.MaxIterations = 0
		plain := solve(t, c.data, c.spec)
		optionsOf(c.spec).Sigma = 17.5
		shifted := solve(t, c.data, c.spec)
		if plain.Objective != shifted.Objective {
			t.Errorf("%s: %v without shift, %v with", name, plain.Objective, shifted.Objective)
		}
		if shifted.Kernel.Sigma != 17.5 {
			t.Errorf("%s: sigma %v is reported", name, shifted.Kernel.Sigma)
		}
	}
}

// The automatic shift is max(0, -lambda_min), from just below to 5% above; with it a run never rises.
func TestAutoShiftBoundsLeastEigenvalue(t *testing.T) {
	for seed := range uint64(6) {
		for name, c := range cases(t, seed) {
			problem, err := Prepare(c.data, c.spec)
			if err != nil {
				t.Fatal(err)
			}
			ctx := context.Background()
			x, err := NewLocal(ctx, problem, c.data, 1)
			if err != nil {
				t.Fatal(err)
			}
			setup, err := NewSetup(ctx, problem, x, &clusteringtest.Recorder{})
			if err != nil {
				t.Fatal(err)
			}
			shift, err := setup.autoShift(ctx)
			if err != nil {
				t.Fatal(err)
			}
			least := leastEigenvalue(t, x, setup.matrix.weights)
			if least < -1e-6 && (shift < -least*(1-1e-6) || shift > -1.05*least) {
				t.Errorf("%s: shift %g for least eigenvalue %g", name, shift, least)
			}
			if least > 1e-6 && shift > 1e-6 {
				t.Errorf("%s: shift %g though the least eigenvalue is %g", name, shift, least)
			}
			optionsOf(c.spec).SigmaAuto, optionsOf(c.spec).OnRise = true, RiseStop
			if result := solve(t, c.data, c.spec); result.StopReason == clustering.StopRise ||
				result.StopReason == clustering.StopCycle {
				t.Errorf("%s: %v with sigma auto", name, result.StopReason)
			}
		}
	}
}

// leastEigenvalue is that of diag(a)^-1/2 M diag(a)^-1/2, densely, from the columns of M.
func leastEigenvalue(t *testing.T, x Executor, a []float64) float64 {
	t.Helper()
	m := mat.NewSymDense(len(a), nil)
	for j := range a {
		columns, err := x.Matrix().ColumnSums(context.Background(), [][]int32{{int32(j)}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range j + 1 {
			m.SetSym(i, j, columns[0][i]/math.Sqrt(a[i]*a[j]))
		}
	}
	var e mat.EigenSym
	e.Factorize(m, false)
	return e.Values(nil)[0]
}

// Doubling a point equals doubling its weight.
func TestDoubledPointEqualsDoubledWeight(t *testing.T) {
	rng := clusteringtest.NewRand(21)
	const n, k = 40, 3
	points := clusteringtest.Blobs(t, rng, n, 3, k)
	labels := clusteringtest.RandomLabels(rng, n, k)
	weights := make([]float64, n)
	var values []float64
	var doubledLabels []int32
	for i := range n {
		weights[i] = 1
		values = append(values, points.Row(i)...)
		doubledLabels = append(doubledLabels, labels[i])
		if i%4 == 0 {
			weights[i] = 2
			values = append(values, points.Row(i)...)
			doubledLabels = append(doubledLabels, labels[i])
		}
	}
	doubled, err := dataset.NewPoints(len(doubledLabels), 3, values)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Function: kernel.Polynomial} // not centered: the same kernel values in both
	twice := solve(t, doubled, clustering.Spec{
		K: k, MaxIterations: 30,
		Initialization: clustering.Initialization{Start: clustering.StartLabels, Labels: doubledLabels}, Algorithm: &o,
	})
	o.Weights = weights
	weighted := solve(t, points, clustering.Spec{
		K: k, MaxIterations: 30,
		Initialization: clustering.Initialization{Start: clustering.StartLabels, Labels: labels}, Algorithm: &o,
	})
	if math.Abs(twice.Objective-weighted.Objective) > 1e-6*math.Abs(twice.Objective) {
		t.Errorf("J %g doubled, %g weighted", twice.Objective, weighted.Objective)
	}
	at := 0
	for i := range n {
		if twice.Labels[at] != weighted.Labels[i] {
			t.Errorf("point %d: label %d doubled, %d weighted", i, twice.Labels[at], weighted.Labels[i])
		}
		at += int(weights[i])
	}
}

// The answer does not depend on the order of the constraints, their direction, or their being split
// into statements that add up.
func TestConstraintsAreASet(t *testing.T) {
	rng := clusteringtest.NewRand(9)
	points := clusteringtest.Blobs(t, rng, 80, 2, 3)
	cs := clusteringtest.RandomConstraints(rng, 80, 3, 30)
	for at := range cs {
		cs[at].Weight, cs[at].Weighted = 0.5, true
	}
	spec := clustering.Spec{
		K: 3, MaxIterations: 50, Supervision: clustering.Supervision{Constraints: cs}, Algorithm: &Options{Rho: 2},
	}
	want := solve(t, points, spec)
	var turned []constraint.Constraint
	for _, c := range slices.Backward(cs) {
		c.I, c.J, c.Weight = c.J, c.I, 0.25
		turned = append(turned, c, c)
	}
	spec.Supervision.Constraints = turned
	got := solve(t, points, spec)
	if !slices.Equal(got.Labels, want.Labels) || got.Objective != want.Objective {
		t.Errorf("objective %v with the constraints turned and split, %v before", got.Objective, want.Objective)
	}
}

// Permuting the points permutes the answer.
func TestPermutedPointsPermuteLabels(t *testing.T) {
	rng := clusteringtest.NewRand(31)
	const n, k = 90, 3
	points := clusteringtest.Blobs(t, rng, n, 3, k)
	labels := clusteringtest.RandomLabels(rng, n, k)
	order := rng.Perm(n)
	values := make([]float64, 0, 3*n)
	moved := make([]int32, 0, n)
	for _, i := range order {
		values = append(values, points.Row(i)...)
		moved = append(moved, labels[i])
	}
	permuted, err := dataset.NewPoints(n, 3, values)
	if err != nil {
		t.Fatal(err)
	}
	spec := clustering.Spec{
		K: k, MaxIterations: 50,
		Initialization: clustering.Initialization{Start: clustering.StartLabels, Labels: labels},
		Algorithm:      &Options{Rho: 3},
	}
	want := solve(t, points, spec)
	spec.Initialization.Labels = moved
	got := solve(t, permuted, spec)
	for at, i := range order {
		if got.Labels[at] != want.Labels[i] {
			t.Fatalf("point %d has label %d, %d when permuted", i, want.Labels[i], got.Labels[at])
		}
	}
}

// The number of threads changes no bit.
func TestThreadsChangeNoBit(t *testing.T) {
	for name, c := range cases(t, 2) {
		var want *clustering.Result
		for threads := 1; threads <= 5; threads++ {
			problem, err := Prepare(c.data, c.spec)
			if err != nil {
				t.Fatal(err)
			}
			x, err := NewLocal(context.Background(), problem, c.data, threads)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Run(context.Background(), problem, x, &clusteringtest.Recorder{})
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if !slices.Equal(got.Labels, want.Labels) ||
				math.Float64bits(got.Objective) != math.Float64bits(want.Objective) {
				t.Errorf("%s: %d threads give another answer", name, threads)
			}
		}
	}
}

// A given kernel matrix of gaussian values gives the labels of the gaussian kernel.
func TestGivenKernelEqualsComputed(t *testing.T) {
	all := cases(t, 5)
	spec := all["gaussian/25-constraints"].spec
	spec.Algorithm = &Options{Function: kernel.Gaussian, Rho: 3}
	computed := solve(t, all["gaussian/25-constraints"].data, spec)
	spec.Algorithm = &Options{}
	given := solve(t, all["given/25-constraints"].data, spec)
	if !slices.Equal(computed.Labels, given.Labels) || math.Abs(computed.Objective-given.Objective) > 1e-5 {
		t.Errorf("objective %g computed, %g given", computed.Objective, given.Objective)
	}
}
