package wire

import (
	"math"
	"reflect"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// parse reads a job as it is written in a job file.
func parse(t *testing.T, text string) *cleavev1.JobSpec {
	t.Helper()
	p := &cleavev1.JobSpec{}
	if err := protojson.Unmarshal([]byte(text), p); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

// meaning is a job as it is written in a job file, and what it means.
type meaning struct {
	text string
	want clustering.Spec
}

// checkMeanings reads jobs with the papers' settings; TestDefaults is about the others.
func checkMeanings(t *testing.T, list []meaning) {
	t.Helper()
	for _, c := range list {
		p := parse(t, c.text)
		p.PaperSettings = true
		got, err := Spec(p, &recipe.Rows{Count: 6}, NoTables)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.text, got, c.want)
		}
	}
}

// refusedSpec is a job as it is written in a job file, and the fault that it has.
type refusedSpec struct{ reason, field, text string }

func checkRefusals(t *testing.T, list []refusedSpec) {
	t.Helper()
	for _, c := range list {
		_, err := Spec(parse(t, c.text), &recipe.Rows{Count: 6}, NoTables)
		if err == nil {
			err = Validate(parse(t, c.text), 0)
		}
		f, is := err.(*fault.Error)
		if !is || f.Reason != c.reason || f.Field != c.field || f.Kind != fault.InvalidArgument {
			t.Errorf("%s: got %#v, want %s on %s", c.text, err, c.reason, c.field)
		}
	}
}

func TestSpec(t *testing.T) {
	one, half := 1.0, 0.5
	kernelKmeans := func(o kernelkmeans.Options) clustering.Spec {
		return clustering.Spec{MaxIterations: clustering.DefaultMaxIterations, Algorithm: &o}
	}
	checkMeanings(t, []meaning{
		{`{"kernelKmeans": {}}`, kernelKmeans(kernelkmeans.Options{})},
		{`{"k": 3, "seed": "18446744073709551615", "restarts": 7, "maxIterations": 0, "tolerance": 0.5,
			"storage": "STORAGE_MODE_FLOAT16",
			"supervision": {"entail": true, "constraints": {"inline": {"columns": [
				{"name": "i", "integers": {"values": [1, 2, 3]}},
				{"name": "j", "integers": {"values": [5, 0, 4]}},
				{"name": "kind", "texts": {"values": ["must", "cannot", "must"]}},
				{"name": "weight", "numbers": {"values": [0, 0.5, 2]}, "emptyRows": [0]}]}},
				"seeds": {"inline": {"columns": [{"name": "index", "integers": {"values": [4, 5]}},
				{"name": "label", "integers": {"values": [1, 2]}},
				{"name": "probability", "numbers": {"values": [0, 0.5]}, "emptyRows": [0]}]}}},
			"initialization": {"start": "START_LABELS", "farthest": "FARTHEST_RULE_MEAN",
				"labels": {"inline": {"columns": [
					{"name": "label", "integers": {"values": [0, 2147483647, 0, 1, 2, 3]}}]}}}, "kernelKmeans": {}}`,
			clustering.Spec{
				K: 3, Seed: math.MaxUint64, Restarts: 7, Tolerance: 0.5,
				Supervision: clustering.Supervision{
					Entail: true,
					Constraints: []constraint.Constraint{
						{I: 1, J: 5, Kind: constraint.MustLink},
						{I: 2, J: 0, Kind: constraint.CannotLink, Weight: 0.5, Weighted: true},
						{I: 3, J: 4, Kind: constraint.MustLink, Weight: 2, Weighted: true},
					},
					Seeds: []constraint.Seed{{Index: 4, Label: 1}, {Index: 5, Label: 2, Probability: 0.5}},
				},
				Initialization: clustering.Initialization{
					Start: clustering.StartLabels, Labels: []int32{0, math.MaxInt32, 0, 1, 2, 3}, FarthestMean: true,
				},
				Algorithm: &kernelkmeans.Options{HalfPrecision: true},
			}},
		{`{"kernelKmeans": {"objective": "OBJECTIVE_RATIO_CUT", "onRise": "RISE_POLICY_STOP",
			"onEmpty": "EMPTY_POLICY_KEEP", "affinityDiagonal": "AFFINITY_DIAGONAL_KEEP",
			"weights": {"inline": {"columns": [{"name": "index", "integers": {"values": [1]}},
				{"name": "weight", "numbers": {"values": [0.5]}}]}}, "shift": {"sigma": 0.5},
			"kernel": {"function": "KERNEL_FUNCTION_POLYNOMIAL", "gamma": 0.5, "coef0": 1, "degree": 3}}}`,
			kernelKmeans(kernelkmeans.Options{
				Objective: kernelkmeans.ObjectiveRatioCut, OnRise: kernelkmeans.RiseStop, KeepEmpty: true,
				KeepDiagonal: true, Weights: []float64{1, 0.5, 1, 1, 1, 1},
				Sigma: 0.5, Function: kernel.Polynomial, Gamma: &half, Coef0: &one, Degree: 3,
			})},
		{`{"kernelKmeans": {"kernel": {"rho": 2.5}, "shift": {"rule": "SHIFT_RULE_AUTO"}}}`,
			kernelKmeans(kernelkmeans.Options{Rho: 2.5, SigmaAuto: true})},
		{`{"kernelKmeans": {"shift": {"sigma": 0}}}`, kernelKmeans(kernelkmeans.Options{})},
	})
}

func TestSpecRefusesWhatItCannotSay(t *testing.T) {
	checkRefusals(t, []refusedSpec{
		{"BAD_START", "spec.initialization.centroids", `{"initialization": {"centroids": [1]}, "kernelKmeans": {}}`},
		{"BAD_RHO", "spec.kernel_kmeans.kernel.rho", `{"kernelKmeans": {"kernel": {"rho": 0}}}`},
		{"BAD_RHO", "spec.kernel_kmeans.kernel.rho", `{"kernelKmeans": {"kernel": {"rho": "NaN"}}}`},
		{"BAD_DEGREE", "spec.kernel_kmeans.kernel.degree", `{"kernelKmeans": {"kernel": {"degree": 0}}}`},
		{"FIELD_REQUIRED", "spec.kernel_kmeans.shift.rule", `{"kernelKmeans": {"shift": {}}}`},
		{"FIELD_REQUIRED", "spec.kernel_kmeans.shift.rule",
			`{"kernelKmeans": {"shift": {"rule": "SHIFT_RULE_UNSPECIFIED"}}}`},
		{"INDEX_OUT_OF_RANGE", "spec.supervision.constraints",
			`{"supervision": {"constraints": {"inline": {"columns": [{"name": "i", "integers": {"values": [1]}},
			{"name": "j", "integers": {"values": [6]}}, {"name": "kind", "texts": {"values": ["must"]}}]}}}}`},
		{"COLUMN_LENGTHS_DIFFER", "spec.supervision.seeds",
			`{"supervision": {"seeds": {"inline": {"columns": [{"name": "index", "integers": {"values": [1]}},
			{"name": "label", "integers": {}}]}}}}`},
		{"BAD_COLUMN_TYPE", "spec.supervision.seeds",
			`{"supervision": {"seeds": {"inline": {"columns": [{"name": "index"}]}}}}`},
		{"SIZE_MISMATCH", "spec.initialization.labels",
			`{"initialization": {"labels": {"inline": {"columns": [{"name": "label", "integers": {"values": ` +
				`[1]}}]}}}}`},
		{"DUPLICATE_INDEX", "spec.kernel_kmeans.weights", `{"kernelKmeans": {"weights": {"inline": {"columns": [
			{"name": "index", "integers": {"values": [1, 1]}}, {"name": "weight", "numbers": {"values": [1, 2]}}]}}}}`},
		{"FIELD_REQUIRED", "spec.supervision.constraints", `{"supervision": {"constraints": {}}, "kernelKmeans": {}}`},
	})
}

func TestResultProto(t *testing.T) {
	r := &clustering.Result{
		Labels: []int32{0, 1, 1}, StopReason: clustering.StopCycle, Iterations: 2, Objective: -1.5,
		ObjectiveName: "ratio-cut",
		History: []clustering.HistoryEntry{{Iteration: 0, Objective: 3},
			{Iteration: 2, Objective: -1.5, Moved: 4}},
		Kernel: clustering.KernelReport{
			Shifts: []clustering.ShiftChange{{Iteration: 1, Sigma: 0.5, Reason: "rise"}}, Sigma: 0.5,
		}, Warnings: []clustering.Notice{{Code: "A", Message: "b"}},
		Restart: 3, ClusterSizes: []int{1, 2},
		Satisfaction: constraint.Satisfaction{Total: 5, MustLinkViolated: 1, CannotLinkViolated: 2},
	}
	value := 2.5
	r.History[1].AssignmentObjective = &value
	r.History[1].Parts = &clustering.ObjectiveParts{Parts: metric.Parts{Distortion: 1, LogDet: 2, MustLink: 3,
		CannotLink: 4}, Violated: 5, Spread: 6}
	r.Inference = &clustering.Inference{Engine: inference.LP, Exact: true, LPValue: &value, Fallbacks: 7, Rounds: 8}
	r.Model = &model.Model{Distortion: metric.SquaredEuclidean, K: 1, D: 2, Centroids: []float64{1, 2},
		Metric: metric.NewIdentity(2)}
	p := ResultProto(r)
	if got, want := p.GetHistory()[1].GetParts(), (&cleavev1.ObjectiveParts{Distortion: 1, LogDet: 2, MustLink: 3,
		CannotLink: 4, Violated: 5, MetricSpread: 6}); !proto.Equal(got, want) {
		t.Errorf("parts %v, want %v", got, want)
	}
	if p.GetHistory()[0].AssignmentObjective != nil || p.GetHistory()[0].GetParts() != nil ||
		p.GetHistory()[1].GetAssignmentObjective() != value || p.GetModel().GetColumns() != 2 {
		t.Errorf("got %v", p)
	}
	if got, want := p.GetInference(), (&cleavev1.InferenceReport{Engine: cleavev1.Inference_INFERENCE_LP, Exact: true,
		LpValue: &value, Fallbacks: 7, Rounds: 8}); !proto.Equal(got, want) {
		t.Errorf("inference %v, want %v", got, want)
	}
	if p.GetStopReason() != cleavev1.StopReason_STOP_REASON_CYCLE || p.GetRows() != 3 || p.GetK() != 2 ||
		p.GetKernel() != nil ||
		p.GetConstraints().GetSatisfied() != 2 || len(p.GetHistory()) != 2 || p.GetHistory()[1].GetRestart() != 3 ||
		p.GetShifts()[0].GetWhy() != "rise" || p.GetWarnings()[0].GetReason() != "A" {
		t.Errorf("got %v", p)
	}
	for reason := clustering.StopConverged; reason <= clustering.StopCanceled; reason++ {
		if got := cleavev1.StopReason(reason).String(); got != "STOP_REASON_"+reason.String() {
			t.Errorf("stop reason %v travels as %s", reason, got)
		}
	}
}
