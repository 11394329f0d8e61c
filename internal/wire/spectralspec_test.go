package wire

import (
	"testing"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/kernel"
)

func TestSpectralSpec(t *testing.T) {
	half := 0.5
	spec := func(o spectral.Options) clustering.Spec { return clustering.Spec{Algorithm: &o} }
	checkMeanings(t, []meaning{
		{`{"spectral": {}}`, spec(spectral.Options{Algorithm: spectral.Spectral})},
		{`{"spectralLearning": {}}`, spec(spectral.Options{Algorithm: spectral.Learning})},
		{`{"constrainedSpectral": {}}`,
			spec(spectral.Options{Algorithm: spectral.Constrained, BetaRule: spectral.BetaPaper})},
		{`{"spectral": {"objective": "OBJECTIVE_RATIO_ASSOCIATION", "affinityDiagonal": "AFFINITY_DIAGONAL_KEEP",
			"kernel": {"rho": 2},
			"eigenvectors": {"tolerance": 0.125, "kmeansRestarts": 3, "kmeansMaxIterations": 4}}}`,
			spec(spectral.Options{
				Algorithm: spectral.Spectral, Objective: kernelkmeans.ObjectiveRatioAssociation,
				KeepDiagonal: true, Rho: 2,
				Eigenvectors: spectral.Eigenvectors{Tolerance: 0.125, KmeansRestarts: 3, KmeansMaxIterations: 4},
			})},
		{`{"spectralLearning": {"kernel": {"function": "KERNEL_FUNCTION_SIGMOID", "gamma": 0.5, "coef0": 0.5}, ` +
			`"eigenvectors": {"tolerance": 0.25}}}`,
			spec(spectral.Options{Algorithm: spectral.Learning, Function: kernel.Sigmoid, Gamma: &half, Coef0: &half,
				Eigenvectors: spectral.Eigenvectors{Tolerance: 0.25}})},
		{`{"constrainedSpectral": {"kernel": {"function": "KERNEL_FUNCTION_POLYNOMIAL", "degree": 3},
			"beta": {"value": -1}, "discretization": "DISCRETIZATION_SIGN",
			"transfer": true, "components": "COMPONENT_POLICY_JOIN",
			"beliefs": {"inline": {"columns": [{"name": "i", "integers": {"values": [5]}},
				{"name": "j", "integers": {"values": [1]}}, {"name": "belief", "numbers": {"values": [-0.5]}}]}},
			"eigenvectors": {"kmeansRestarts": 2}}}`,
			spec(spectral.Options{
				Algorithm: spectral.Constrained, Function: kernel.Polynomial, Degree: 3, BetaRule: spectral.BetaGiven,
				Beta:           -1,
				Discretization: spectral.DiscretizeSign, Transfer: true, Components: spectral.ComponentsJoin,
				Beliefs:      []constraint.Belief{{I: 5, J: 1, Value: -0.5}},
				Eigenvectors: spectral.Eigenvectors{KmeansRestarts: 2},
			})},
		{`{"constrainedSpectral": {"beta": {"rule": "BETA_RULE_STRICT"}, "discretization": "DISCRETIZATION_WEIGHTED"}}`,
			spec(spectral.Options{
				Algorithm: spectral.Constrained, BetaRule: spectral.BetaStrict,
				Discretization: spectral.DiscretizeWeighted})},
		{`{"constrainedSpectral": {"beta": {"rule": "BETA_RULE_AUTO"}}}`,
			spec(spectral.Options{Algorithm: spectral.Constrained})},
		{`{"constrainedSpectral": {"beta": {"rule": "BETA_RULE_PAPER"}}}`,
			spec(spectral.Options{Algorithm: spectral.Constrained, BetaRule: spectral.BetaPaper})},
		{`{"constrainedSpectral": {"discretization": "DISCRETIZATION_PLAIN"}}`,
			spec(spectral.Options{Algorithm: spectral.Constrained, BetaRule: spectral.BetaPaper})},
		{`{"constrainedSpectral": {"beta": {"value": 0}}}`,
			spec(spectral.Options{Algorithm: spectral.Constrained, BetaRule: spectral.BetaGiven})},
	})
}

func TestSpectralSpecRefusesWhatItCannotSay(t *testing.T) {
	for _, name := range []string{"spectral", "spectral_learning", "constrained_spectral"} {
		field := "spec." + name + "."
		checkRefusals(t, []refusedSpec{
			{"BAD_START", "spec.initialization.centroids",
				`{"initialization": {"centroids": [1]}, "` + name + `": {}}`},
			{"OPTION_DOES_NOT_APPLY", "spec.restarts", `{"restarts": 3, "` + name + `": {}}`},
			{"OPTION_DOES_NOT_APPLY", "spec.max_iterations", `{"maxIterations": 0, "` + name + `": {}}`},
			{"OPTION_DOES_NOT_APPLY", "spec.tolerance", `{"tolerance": 0, "` + name + `": {}}`},
			{"BAD_TOLERANCE", field + "eigenvectors.tolerance", `{"` + name + `": {"eigenvectors": {"tolerance": 0}}}`},
			{"BAD_RESTARTS", field + "eigenvectors.kmeans_restarts",
				`{"` + name + `": {"eigenvectors": {"kmeansRestarts": 0}}}`},
			{"BAD_MAX_ITERATIONS", field + "eigenvectors.kmeans_max_iterations",
				`{"` + name + `": {"eigenvectors": {"kmeansMaxIterations": 0}}}`},
			{"BAD_RHO", field + "kernel.rho", `{"` + name + `": {"kernel": {"rho": 0}}}`},
			{"BAD_DEGREE", field + "kernel.degree", `{"` + name + `": {"kernel": {"degree": 0}}}`},
		})
	}
	checkRefusals(t, []refusedSpec{
		{"FIELD_REQUIRED", "spec.constrained_spectral.beta.rule", `{"constrainedSpectral": {"beta": {}}}`},
		{"FIELD_REQUIRED", "spec.constrained_spectral.beta.rule",
			`{"constrainedSpectral": {"beta": {"rule": "BETA_RULE_UNSPECIFIED"}}}`},
		{"MISSING_COLUMN", "spec.constrained_spectral.beliefs",
			`{"constrainedSpectral": {"beliefs": {"inline": {"columns": [{"name": "i", "integers": {}}]}}}}`},
	})
}

func TestSpectralResultProto(t *testing.T) {
	beta, feasible, count := 2.5, 3, uint32(3)
	r := &clustering.Result{
		Spectral: clustering.SpectralReport{Embedding: &clustering.Embedding{
			Rows: 1, Columns: 1, Values: []float64{1},
		}, Eigen: &clustering.EigenReport{Beta: &beta, FeasibleVectors: &feasible, Volume: 14,
			Eigenvalues: []float64{1, 2},
			Costs:       []float64{3, 4}, Satisfaction: []float64{5, 6}, Residuals: []float64{7, 8}, Products: 9}},
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
	step := clustering.SolverStep{Step: 3, Products: 40, Residual: 0.5, Tolerance: 1e-8, Converged: 1, Wanted: 4,
		StepsLeft: &left}
	want := &cleavev1.SolverStep{Step: 3, Products: 40, Residual: 0.5, Tolerance: 1e-8, Converged: 1, Wanted: 4,
		StepsLeft: proto.Uint32(12)}
	if got := SolverStepProto(step); !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	step.StepsLeft, want.StepsLeft = nil, nil
	if got := SolverStepProto(step); !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
