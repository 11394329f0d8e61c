package landmark_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/landmark"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/clustering/predict"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

func solve(t testing.TB, data dataset.Dataset, spec clustering.Spec) *clustering.Result {
	t.Helper()
	result, err := local.Solve(t.Context(), data, spec, 2, clustering.NopObserver{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func spec(k, landmarks int) clustering.Spec {
	return clustering.Spec{K: k, Seed: 5, MaxIterations: 100, Choose: true,
		Algorithm: &kernelkmeans.Options{Landmarks: landmarks, KeepBest: true, OnRise: kernelkmeans.RiseIgnore}}
}

func gaussians(t testing.TB, n, d, k int, spread float64) (*dataset.Points, []int32) {
	t.Helper()
	points, truth, err := synth.Gaussians(n, d, k, spread, clusteringtest.NewRand(3))
	if err != nil {
		t.Fatal(err)
	}
	return points, truth
}

func agreement(t testing.TB, a, b []int32) float64 {
	t.Helper()
	scores, err := evaluate.Compare(a, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return scores.NMI
}

// Where the landmarks are all points, and few features have all of the kernel, landmarks change nothing: the objective
// of the labels is that of kernel k-means.
func TestAllPointsAsLandmarksAreTheKernel(t *testing.T) {
	points, _ := gaussians(t, 150, 3, 4, 2)
	for _, function := range []kernel.Function{kernel.Gaussian, kernel.Linear, kernel.Polynomial, kernel.Cosine} {
		s := spec(4, 200)
		s.Algorithm.(*kernelkmeans.Options).Function = function
		got := solve(t, points, s)
		s.Initialization.Start, s.Initialization.Labels, s.Restarts, s.MaxIterations = clustering.StartLabels,
			got.Labels, 1, 0
		s.Algorithm = &kernelkmeans.Options{Function: function}
		want := solve(t, points, s)
		if math.Abs(got.Objective-want.Objective) > 2e-3*want.Objective || got.Objective < want.Objective*(1-1e-6) {
			t.Errorf("%v: the objective of the labels is %v by landmarks, %v by the kernel; %+v", function,
				got.Objective, want.Objective, got.Landmarks)
		}
		if got.Landmarks.Count != 150 || got.Landmarks.Lost > 2e-3 ||
			!slices.ContainsFunc(got.Warnings, func(n clustering.Notice) bool { return n.Code == "FEW_POINTS" }) {
			t.Errorf("%v: %+v, %v", function, got.Landmarks, got.Warnings)
		}
	}
}

// A few landmarks find what kernel k-means finds, and their objective is at least that of the labels in the kernel.
func TestFewLandmarksFindTheSame(t *testing.T) {
	points, truth := gaussians(t, 1500, 8, 6, 2)
	got := solve(t, points, spec(6, 100))
	exact := solve(t, points, spec(6, 0))
	if of, want := agreement(t, got.Labels, truth), agreement(t, exact.Labels, truth); of < want-0.02 {
		t.Errorf("NMI %v by landmarks, %v by the kernel", of, want)
	}
	again := spec(6, 0)
	again.Initialization.Start, again.Initialization.Labels, again.Restarts, again.MaxIterations =
		clustering.StartLabels, got.Labels, 1, 0
	if j := solve(t, points, again).Objective; got.Objective < j*(1-1e-6) || got.Objective > 1.1*j {
		t.Errorf("the objective is %v, in the kernel %v", got.Objective, j)
	}
	if got.Landmarks.ExactNMI == nil || *got.Landmarks.ExactNMI != agreement(t, got.Labels, exact.Labels) ||
		*got.Landmarks.ExactObjective != exact.Objective {
		t.Errorf("%+v; the exact objective is %v", got.Landmarks, exact.Objective)
	}
	if last := got.History[len(got.History)-1].Objective; last != got.Objective {
		t.Errorf("the history ends at %v, the objective is %v", last, got.Objective)
	}
}

func TestCircles(t *testing.T) {
	points, truth, err := synth.TwoCircles(1000, 0.1, clusteringtest.NewRand(1))
	if err != nil {
		t.Fatal(err)
	}
	s := spec(2, 50)
	s.Algorithm.(*kernelkmeans.Options).Rho = 1
	if of := agreement(t, solve(t, points, s).Labels, truth); of < 0.99 {
		t.Errorf("NMI %v", of)
	}
}

// The eigenvectors of many landmarks take long; a canceled job does not wait for them.
func TestPrepareEndsIfCanceled(t *testing.T) {
	points, _ := gaussians(t, 150, 3, 4, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := landmark.Prepare(ctx, points, spec(4, 100)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// Where clusters overlap, constraints help.
func TestConstraints(t *testing.T) {
	points, truth := gaussians(t, 1000, 3, 5, 4)
	links, err := synth.Constraints(truth, 400, clusteringtest.NewRand(2))
	if err != nil {
		t.Fatal(err)
	}
	s := spec(5, 80)
	free := solve(t, points, s)
	s.Supervision.Constraints = links
	linked := solve(t, points, s)
	if linked.Satisfaction.Total < 400 || linked.Satisfaction.Satisfied() < linked.Satisfaction.Total*9/10 {
		t.Errorf("%+v", linked.Satisfaction)
	}
	if of, without := agreement(t, linked.Labels, truth), agreement(t, free.Labels, truth); of < without+0.01 {
		t.Errorf("NMI %v with constraints, %v without", of, without)
	}
	if parts := linked.History[len(linked.History)-1].Parts; parts == nil ||
		math.Abs(parts.Total()-linked.Objective) > 1e-9*linked.Objective {
		t.Errorf("the parts %+v are not those of the objective %v", parts, linked.Objective)
	}
}

// alike tells whether two distances differ by rounding only: the features of new points are rounded in another order.
func alike(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(b)) }

// Labels and objective do not depend on threads, and new points go where the old ones are.
func TestThreadsAndPrediction(t *testing.T) {
	points, _ := gaussians(t, 900, 5, 4, 3)
	for _, scale := range []clustering.Scale{clustering.ScaleNone, clustering.ScaleZscore} {
		s := spec(4, 60)
		s.Scale = scale
		one, err := local.Solve(t.Context(), points, s, 1, clustering.NopObserver{})
		if err != nil {
			t.Fatal(err)
		}
		two := solve(t, points, s)
		if !slices.Equal(one.Labels, two.Labels) || one.Objective != two.Objective ||
			!slices.Equal(one.Model.Centroids, two.Model.Centroids) {
			t.Errorf("%v: objectives %v and %v", scale, one.Objective, two.Objective)
		}
		if one.StopReason != clustering.StopConverged {
			t.Fatalf("it ends by %v", one.StopReason)
		}
		got, err := predict.ByModel(t.Context(), one.Model, points, 2)
		if err != nil || !slices.Equal(got.Labels, one.Labels) ||
			!slices.EqualFunc(got.Rows.Distance, one.Rows.Distance, alike) {
			t.Errorf("%v: other labels for the same points, %v", scale, err)
		}
		few := &dataset.Points{N: 7, D: points.D, Values: points.Values[:7*points.D]}
		if got, err = predict.ByModel(t.Context(), one.Model, few, 1); err != nil ||
			!slices.Equal(got.Labels, one.Labels[:7]) {
			t.Errorf("%v: %v for the first points, %v; want %v", scale, got, err, one.Labels[:7])
		}
		if _, err := predict.ByModel(t.Context(), one.Model, &dataset.Points{N: 1, D: 2, Values: []float64{1, 2}},
			1); err == nil {
			t.Error("points of other columns were taken")
		}
	}
}

func TestStarts(t *testing.T) {
	points, truth := gaussians(t, 400, 4, 3, 1)
	var seeds []constraint.Seed
	for i := 0; i < len(truth); i += 20 {
		seeds = append(seeds, constraint.Seed{Index: int32(i), Label: truth[i]})
	}
	links := []constraint.Constraint{clusteringtest.MustLink(0, 1), clusteringtest.CannotLink(0, 2)}
	for name, change := range map[string]func(s *clustering.Spec){
		"seeds":           func(s *clustering.Spec) { s.Supervision.Seeds = seeds },
		"seeds and links": func(s *clustering.Spec) { s.Supervision.Seeds, s.Supervision.Constraints = seeds, links },
		"labels": func(s *clustering.Spec) {
			s.Initialization.Start, s.Initialization.Labels = clustering.StartLabels, truth
		},
		"random": func(s *clustering.Spec) { s.Initialization.Start = clustering.StartRandom },
	} {
		s := spec(3, 50)
		change(&s)
		result := solve(t, points, s)
		if of := agreement(t, result.Labels, truth); of < 0.95 {
			t.Errorf("%s: NMI %v", name, of)
		}
		if name != "random" && !slices.Equal(result.Labels[:60], truth[:60]) && name != "seeds and links" {
			t.Errorf("%s: clusters are numbered otherwise than given", name)
		}
	}
}

// A kernel that is not positive semidefinite has features too: those of its positive part.
func TestIndefiniteKernels(t *testing.T) {
	points, truth := gaussians(t, 400, 3, 3, 0.5)
	for _, coef0 := range []float64{-0.5, 0.5} {
		s := spec(3, 60)
		gamma := 0.05
		s.Algorithm = &kernelkmeans.Options{Function: kernel.Sigmoid, Gamma: &gamma, Coef0: &coef0, Landmarks: 60,
			KeepBest: true, OnRise: kernelkmeans.RiseIgnore}
		got := solve(t, points, s)
		if l := got.Landmarks.Lost; !(l >= 0 && l <= 1) || math.IsNaN(got.Objective) ||
			agreement(t, got.Labels, truth) < 0.3 {
			t.Errorf("coef0 %v: %+v, objective %v, NMI %v", coef0, got.Landmarks, got.Objective,
				agreement(t, got.Labels, truth))
		}
	}
}

func TestWhatLandmarksRefuse(t *testing.T) {
	points, _ := gaussians(t, 100, 2, 3, 1)
	_, err := local.Solve(t.Context(), points, spec(30, 20), 1, clustering.NopObserver{})
	clusteringtest.WantFault(t, err, "BAD_LANDMARKS", "20 landmarks", "30 clusters")
	graph := clusteringtest.RandomGraph(t, clusteringtest.NewRand(1), 50, 2)
	_, err = local.Solve(t.Context(), graph, spec(2, 20), 1, clustering.NopObserver{})
	clusteringtest.WantFault(t, err, "OPTION_DOES_NOT_APPLY", "dense points")
	same := &dataset.Points{N: 50, D: 1, Values: make([]float64, 50)}
	s := spec(2, 10)
	s.Algorithm.(*kernelkmeans.Options).Function = kernel.Linear
	_, err = local.Solve(t.Context(), same, s, 1, clustering.NopObserver{})
	clusteringtest.WantFault(t, err, "NO_FEATURES")
}
