package wire

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/fault"
)

// anySpectral draws options that the algorithm has.
func anySpectral(t *rapid.T, kernel *clustering.KernelKmeans) *clustering.Spectral {
	o := &clustering.Spectral{
		Algorithm: rapid.SampledFrom([]clustering.SpectralAlgorithm{1, 2, 3}).Draw(t, "algorithm"),
		Function:  kernel.Function, Rho: kernel.Rho, Gamma: kernel.Gamma, Coef0: kernel.Coef0, Degree: kernel.Degree, KeepDiag: kernel.KeepDiag,
	}
	switch o.Algorithm {
	case clustering.SpectralClustering:
		o.Objective = kernel.Objective
	case clustering.ConstrainedSpectral:
		o.BetaRule = rapid.SampledFrom([]clustering.BetaRule{0, 1, 2}).Draw(t, "rule")
		if o.BetaRule == clustering.BetaGiven {
			o.Beta = rapid.SampledFrom([]float64{-1, 0, 2.5}).Draw(t, "beta")
		}
		o.Discretization = rapid.SampledFrom([]clustering.Discretization{0, 1, 2}).Draw(t, "discretization")
		o.Transfer, o.JoinComponents = rapid.Bool().Draw(t, "transfer"), rapid.Bool().Draw(t, "join")
		for range rapid.IntRange(0, 3).Draw(t, "beliefs") {
			index := rapid.Int32Range(0, 1<<31-1)
			o.Beliefs = append(o.Beliefs, clustering.Belief{I: index.Draw(t, "i"), J: index.Draw(t, "j"), Value: rapid.Float64().Draw(t, "value")})
		}
	}
	return o
}

func TestSpectralSpecsSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anySpec(t)
		want.Spectral, want.KernelKmeans = anySpectral(t, want.KernelKmeans), nil
		encoded, err := proto.Marshal(SpecProto(want))
		if err != nil {
			t.Fatal(err)
		}
		p := &cleavev1.JobSpec{}
		if err := proto.Unmarshal(encoded, p); err != nil {
			t.Fatal(err)
		}
		if got, err := Spec(p); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v %+v, %v; want %+v %+v", got, got.Spectral, err, want, want.Spectral)
		}
	})
}

// Options that are left out entirely are the defaults, of every algorithm.
func TestSpectralSpecsMayBeEmpty(t *testing.T) {
	for at, p := range []*cleavev1.JobSpec{
		{Algorithm: &cleavev1.JobSpec_Spectral{}}, {Algorithm: &cleavev1.JobSpec_SpectralLearning{}},
		{Algorithm: &cleavev1.JobSpec_ConstrainedSpectral{}},
		{Algorithm: &cleavev1.JobSpec_ConstrainedSpectral{ConstrainedSpectral: &cleavev1.ConstrainedSpectral{
			Beta: &cleavev1.Beta{Rule: &cleavev1.Beta_Strict{Strict: false}}}}},
	} {
		got, err := Spec(p)
		algorithm := clustering.SpectralAlgorithm(min(at+1, 3))
		want := clustering.Spec{Spectral: &clustering.Spectral{Algorithm: algorithm}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: got %+v, %v", p, got, err)
		}
	}
	if cleavev1.Start(clustering.StartSpectral) != cleavev1.Start_START_SPECTRAL {
		t.Error("the spectral start travels as another")
	}
}

func TestSpectralSpecRefusesWhatItCannotSay(t *testing.T) {
	zero, none := 0.0, uint32(0)
	constrained := func(o *cleavev1.ConstrainedSpectral) *cleavev1.JobSpec {
		return &cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_ConstrainedSpectral{ConstrainedSpectral: o}}
	}
	for _, c := range []struct {
		reason, field string
		spec          *cleavev1.JobSpec
	}{
		{"OPTION_DOES_NOT_APPLY", "spec.initialization.centroids", &cleavev1.JobSpec{
			Initialization: &cleavev1.Initialization{Centroids: []float64{1}}, Algorithm: &cleavev1.JobSpec_Spectral{}}},
		{"BAD_MAX_ITERATIONS", "spec.max_iterations", &cleavev1.JobSpec{MaxIterations: &none, Algorithm: &cleavev1.JobSpec_Spectral{}}},
		{"BAD_TOLERANCE", "spec.tolerance", &cleavev1.JobSpec{Tolerance: &zero, Algorithm: &cleavev1.JobSpec_SpectralLearning{}}},
		{"UNKNOWN_ENUM_VALUE", "spec.spectral.objective", &cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_Spectral{Spectral: &cleavev1.Spectral{Objective: 257}}}},
		{"UNKNOWN_ENUM_VALUE", "spec.spectral.affinity_diagonal", &cleavev1.JobSpec{
			Algorithm: &cleavev1.JobSpec_Spectral{Spectral: &cleavev1.Spectral{AffinityDiagonal: 9}}}},
		{"UNKNOWN_ENUM_VALUE", "spec.spectral_learning.kernel.function", &cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_SpectralLearning{
			SpectralLearning: &cleavev1.SpectralLearning{Kernel: &cleavev1.Kernel{Function: 99}}}}},
		{"BAD_RHO", "spec.constrained_spectral.kernel.rho", constrained(&cleavev1.ConstrainedSpectral{Kernel: &cleavev1.Kernel{Rho: &zero}})},
		{"BAD_DEGREE", "spec.constrained_spectral.kernel.degree", constrained(&cleavev1.ConstrainedSpectral{Kernel: &cleavev1.Kernel{Degree: &none}})},
		{"UNKNOWN_ENUM_VALUE", "spec.constrained_spectral.discretization", constrained(&cleavev1.ConstrainedSpectral{Discretization: 4})},
		{"UNKNOWN_ENUM_VALUE", "spec.constrained_spectral.components", constrained(&cleavev1.ConstrainedSpectral{Components: -1})},
		{"INDEX_OUT_OF_RANGE", "spec.constrained_spectral.beliefs", constrained(&cleavev1.ConstrainedSpectral{Beliefs: []*cleavev1.Belief{{I: 1, J: 1 << 31}}})},
	} {
		_, err := Spec(c.spec)
		f, is := err.(*fault.Error)
		if !is || f.Reason != c.reason || f.Field != c.field || f.Kind != fault.InvalidArgument {
			t.Errorf("got %#v, want %s on %s", err, c.reason, c.field)
		}
	}
}

func TestSpectralResultProto(t *testing.T) {
	beta, feasible, count := 2.5, 3, uint32(3)
	r := &clustering.Result{
		Embedding: &clustering.Embedding{Rows: 1, Columns: 1, Values: []float64{1}},
		Spectral: &clustering.SpectralReport{Beta: &beta, FeasibleVectors: &feasible, Volume: 14, Eigenvalues: []float64{1, 2},
			Costs: []float64{3, 4}, Satisfaction: []float64{5, 6}, Residuals: []float64{7, 8}, Products: 9},
	}
	p := ResultProto(r)
	want := &cleavev1.SpectralReport{Beta: &beta, FeasibleVectors: &count, Volume: 14, Eigenvalues: []float64{1, 2},
		Costs: []float64{3, 4}, ConstraintSatisfaction: []float64{5, 6}, Residuals: []float64{7, 8}, Products: 9}
	if p.GetEmbedding().GetColumns() != 1 || !proto.Equal(p.GetSpectral(), want) {
		t.Errorf("got %v, want %v", p, want)
	}
	if p := ResultProto(&clustering.Result{}); p.GetEmbedding() != nil || p.GetSpectral() != nil {
		t.Errorf("a run of another family is %v", p)
	}
}

func TestSolverStepProto(t *testing.T) {
	left := 12
	step := clustering.SolverStep{Step: 3, Products: 40, Residual: 0.5, Tolerance: 1e-8, Converged: 1, Wanted: 4, StepsLeft: &left}
	want := &cleavev1.SolverStep{Step: 3, Products: 40, Residual: 0.5, Tolerance: 1e-8, Converged: 1, Wanted: 4, StepsLeft: proto.Uint32(12)}
	if got := SolverStepProto(step); !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	step.StepsLeft, want.StepsLeft = nil, nil
	if got := SolverStepProto(step); !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
