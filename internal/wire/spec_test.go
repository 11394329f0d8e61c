package wire

import (
	"math"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/metric"
)

func anySpec(t *rapid.T) clustering.Spec {
	number := rapid.Int32Range(0, math.MaxInt32)
	real := rapid.Float64Range(0.001, 1000)
	pointer := rapid.Ptr(real, true)
	s := clustering.Spec{
		K:             rapid.IntRange(0, 1<<30).Draw(t, "k"),
		Seed:          rapid.Uint64().Draw(t, "seed"),
		Restarts:      rapid.IntRange(0, 100).Draw(t, "restarts"),
		MaxIterations: rapid.IntRange(0, 1000).Draw(t, "iterations"),
		Tolerance:     real.Draw(t, "tolerance"),
		Entail:        rapid.Bool().Draw(t, "entail"),
		FarthestMean:  rapid.Bool().Draw(t, "mean"),
		Start:         rapid.SampledFrom([]clustering.Start{0, 1, 2, 3, 4, 5}).Draw(t, "start"),
		KernelKmeans: &clustering.KernelKmeans{
			Objective: rapid.SampledFrom([]clustering.Objective{0, 1, 2, 3, 4}).Draw(t, "objective"),
			Function:  rapid.SampledFrom([]kernel.Function{0, 1, 2, 3, 4, 5, 6}).Draw(t, "function"),
			Rho:       rapid.SampledFrom([]float64{0, 0.5, 2}).Draw(t, "rho"),
			Gamma:     pointer.Draw(t, "gamma"),
			Coef0:     pointer.Draw(t, "coef0"),
			Degree:    rapid.IntRange(0, 9).Draw(t, "degree"),
			SigmaAuto: rapid.Bool().Draw(t, "auto"),
			OnRise:    rapid.SampledFrom([]clustering.RisePolicy{0, 1, 2}).Draw(t, "rise"),
			KeepEmpty: rapid.Bool().Draw(t, "empty"),
			KeepDiag:  rapid.Bool().Draw(t, "diagonal"),
		},
	}
	if !s.KernelKmeans.SigmaAuto {
		s.KernelKmeans.Sigma = real.Draw(t, "sigma")
	}
	for range rapid.IntRange(0, 4).Draw(t, "constraints") {
		c := constraint.Constraint{
			I: number.Draw(t, "i"), J: number.Draw(t, "j"),
			Kind: rapid.SampledFrom([]constraint.Kind{constraint.MustLink, constraint.CannotLink}).Draw(t, "kind"),
		}
		if c.Weighted = rapid.Bool().Draw(t, "weighted"); c.Weighted {
			c.Weight = real.Draw(t, "weight")
		}
		s.Constraints = append(s.Constraints, c)
	}
	for range rapid.IntRange(0, 3).Draw(t, "seeds") {
		s.Seeds = append(s.Seeds, clustering.Seed{Index: number.Draw(t, "index"), Label: number.Draw(t, "label")})
	}
	for range rapid.IntRange(0, 3).Draw(t, "labels") {
		s.InitialLabels = append(s.InitialLabels, number.Draw(t, "label"))
		s.KernelKmeans.Weights = append(s.KernelKmeans.Weights, real.Draw(t, "weight"))
	}
	return s
}

func TestSpecsSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anySpec(t)
		encoded, err := proto.Marshal(SpecProto(want))
		if err != nil {
			t.Fatal(err)
		}
		p := &cleavev1.JobSpec{}
		if err := proto.Unmarshal(encoded, p); err != nil {
			t.Fatal(err)
		}
		got, err := Spec(p)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

func TestSpecDefaults(t *testing.T) {
	got, err := Spec(&cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{}}})
	if err != nil {
		t.Fatal(err)
	}
	want := clustering.Spec{MaxIterations: DefaultMaxIterations, KernelKmeans: &clustering.KernelKmeans{}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestSpecRefusesWhatItCannotSay(t *testing.T) {
	zero, nan, none := 0.0, math.NaN(), uint32(0)
	kmeans := func(k *cleavev1.KernelKmeans) *cleavev1.JobSpec {
		return &cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_KernelKmeans{KernelKmeans: k}}
	}
	for _, c := range []struct {
		reason, field string
		spec          *cleavev1.JobSpec
	}{
		{"ALGORITHM_MISSING", "spec.kernel_kmeans", &cleavev1.JobSpec{}},
		{"OPTION_DOES_NOT_APPLY", "spec.initialization.centroids", &cleavev1.JobSpec{
			Initialization: &cleavev1.Initialization{Centroids: []float64{1}},
			Algorithm:      &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{}}}},
		{"BAD_RHO", "spec.kernel_kmeans.kernel.rho", kmeans(&cleavev1.KernelKmeans{Kernel: &cleavev1.Kernel{Rho: &zero}})},
		{"BAD_RHO", "spec.kernel_kmeans.kernel.rho", kmeans(&cleavev1.KernelKmeans{Kernel: &cleavev1.Kernel{Rho: &nan}})},
		{"BAD_DEGREE", "spec.kernel_kmeans.kernel.degree", kmeans(&cleavev1.KernelKmeans{Kernel: &cleavev1.Kernel{Degree: &none}})},
		{"BAD_SHIFT", "spec.kernel_kmeans.shift", kmeans(&cleavev1.KernelKmeans{Shift: &cleavev1.Shift{Auto: true, Sigma: 1}})},
		{"UNKNOWN_ENUM_VALUE", "spec.kernel_kmeans.objective", kmeans(&cleavev1.KernelKmeans{Objective: 77})},
		{"UNKNOWN_ENUM_VALUE", "spec.kernel_kmeans.kernel.function", kmeans(&cleavev1.KernelKmeans{Kernel: &cleavev1.Kernel{Function: 77}})},
		{"UNKNOWN_ENUM_VALUE", "spec.initialization.start", &cleavev1.JobSpec{Initialization: &cleavev1.Initialization{Start: -1}}},
		{"INDEX_OUT_OF_RANGE", "spec.supervision.constraints", &cleavev1.JobSpec{Supervision: &cleavev1.Supervision{
			Constraints: []*cleavev1.Constraint{{I: 1, J: 1 << 31}}}}},
		{"INDEX_OUT_OF_RANGE", "spec.supervision.seeds", &cleavev1.JobSpec{Supervision: &cleavev1.Supervision{
			Seeds: []*cleavev1.Seed{{Index: math.MaxUint32}}}}},
		{"INDEX_OUT_OF_RANGE", "spec.initialization.labels", &cleavev1.JobSpec{Initialization: &cleavev1.Initialization{
			Labels: []uint32{1 << 31}}}},
	} {
		_, err := Spec(c.spec)
		f, is := err.(*fault.Error)
		if !is || f.Reason != c.reason || f.Field != c.field || f.Kind != fault.InvalidArgument {
			t.Errorf("got %#v, want %s on %s", err, c.reason, c.field)
		}
	}
}

func TestResultProto(t *testing.T) {
	r := &clustering.Result{
		Labels: []int32{0, 1, 1}, StopReason: clustering.StopCycle, Iterations: 2, Objective: -1.5, ObjectiveName: "ratio-cut",
		History: []clustering.Entry{{Iteration: 0, Objective: 3}, {Iteration: 2, Objective: -1.5, Moved: 4}},
		Shifts:  []clustering.ShiftChange{{Iteration: 1, Sigma: 0.5, Why: "rise"}}, Warnings: []clustering.Notice{{Code: "A", Message: "b"}},
		Sigma: 0.5, Restart: 3, ClusterSizes: []int{1, 2},
		Satisfaction: constraint.Satisfaction{Total: 5, MustLinkViolated: 1, CannotLinkViolated: 2},
	}
	value := 2.5
	r.History[1].AssignmentObjective = &value
	r.History[1].Parts = &clustering.Parts{Parts: metric.Parts{Distortion: 1, LogDet: 2, MustLink: 3, CannotLink: 4}, Violated: 5, Spread: 6}
	r.Inference = &clustering.Inference{Engine: inference.LP, Exact: true, LPValue: &value, Fallbacks: 7, Rounds: 8}
	r.Model = &clustering.Model{Distortion: metric.SquaredEuclidean, K: 1, D: 2, Centroids: []float64{1, 2}, Metric: metric.NewIdentity(2)}
	p := ResultProto(r)
	if got, want := p.GetHistory()[1].GetParts(), (&cleavev1.ObjectiveParts{Distortion: 1, LogDet: 2, MustLink: 3, CannotLink: 4, Violated: 5, MetricSpread: 6}); !proto.Equal(got, want) {
		t.Errorf("parts %v, want %v", got, want)
	}
	if p.GetHistory()[0].AssignmentObjective != nil || p.GetHistory()[0].GetParts() != nil || p.GetHistory()[1].GetAssignmentObjective() != value || p.GetModel().GetColumns() != 2 {
		t.Errorf("got %v", p)
	}
	if got, want := p.GetInference(), (&cleavev1.InferenceReport{Engine: cleavev1.Inference_INFERENCE_LP, Exact: true, LpValue: &value, Fallbacks: 7, Rounds: 8}); !proto.Equal(got, want) {
		t.Errorf("inference %v, want %v", got, want)
	}
	if p.GetStopReason() != cleavev1.StopReason_STOP_REASON_CYCLE || p.GetRows() != 3 || p.GetK() != 2 || p.GetKernel() != nil ||
		p.GetConstraints().GetSatisfied() != 2 || len(p.GetHistory()) != 2 || p.GetHistory()[1].GetRestart() != 3 ||
		p.GetShifts()[0].GetWhy() != "rise" || p.GetWarnings()[0].GetCode() != "A" {
		t.Errorf("got %v", p)
	}
	for reason := clustering.StopConverged; reason <= clustering.StopCancelled; reason++ {
		if got := cleavev1.StopReason(reason).String(); got != "STOP_REASON_"+reason.String() {
			t.Errorf("stop reason %v travels as %s", reason, got)
		}
	}
}
