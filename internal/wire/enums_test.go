package wire

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// every checks that a map knows each value of its enum, and refuses others. The numbers of values that have
// no default begin at 1.
func every[P apiEnum, D comparable](t *testing.T, m enumMap[P, D], smallest int) {
	t.Helper()
	var zero P
	for at := range zero.Descriptor().Values().Len() {
		value := zero.Descriptor().Values().Get(at)
		if _, known := m[P(value.Number())]; known != (int(value.Number()) >= smallest) {
			t.Errorf("%s: in the map: %v", value.FullName(), known)
		}
	}
	if extra := len(m) + smallest - zero.Descriptor().Values().Len(); extra != 0 {
		t.Errorf("%s: %d values more than the API has", zero.Descriptor().FullName(), extra)
	}
	for _, unknown := range []P{-1, 0, 77, 257} {
		if d, err := m.decode(unknown); err == nil {
			t.Errorf("%s %d is read as %v", zero.Descriptor().FullName(), unknown, d)
		}
	}
}

// back checks that every value returns as itself.
func back[P apiEnum, D comparable](t *testing.T, m enumMap[P, D]) {
	t.Helper()
	for p, d := range m {
		if m.write(d) != p {
			t.Errorf("%v returns as %v", p, m.write(d))
		}
	}
}

// Enums that are converted by their names.
var (
	inferences = enumMap[cleavev1.Inference, inference.Engine]{
		cleavev1.Inference_INFERENCE_UNSPECIFIED: 0,
		cleavev1.Inference_INFERENCE_ICM:         inference.ICM,
		cleavev1.Inference_INFERENCE_BP:          inference.BP,
		cleavev1.Inference_INFERENCE_LP:          inference.LP,
		cleavev1.Inference_INFERENCE_EXACT:       inference.Exact,
	}
	metrics = enumMap[cleavev1.Metric, metric.Form]{
		cleavev1.Metric_METRIC_UNSPECIFIED: 0,
		cleavev1.Metric_METRIC_IDENTITY:    metric.Identity,
		cleavev1.Metric_METRIC_DIAGONAL:    metric.Diagonal,
		cleavev1.Metric_METRIC_FULL:        metric.Full,
	}
	missingPolicies = enumMap[cleavev1.MissingPolicy, recipe.Missing]{
		cleavev1.MissingPolicy_MISSING_POLICY_UNSPECIFIED: "",
		cleavev1.MissingPolicy_MISSING_POLICY_AUTO:        recipe.Auto,
		cleavev1.MissingPolicy_MISSING_POLICY_ERROR:       recipe.Error,
		cleavev1.MissingPolicy_MISSING_POLICY_DROP:        recipe.Drop,
		cleavev1.MissingPolicy_MISSING_POLICY_MEAN:        recipe.Mean,
		cleavev1.MissingPolicy_MISSING_POLICY_MEDIAN:      recipe.Median,
	}
	labelUses = enumMap[cleavev1.LabelUse, LabelUse]{
		cleavev1.LabelUse_LABEL_USE_UNSPECIFIED: "",
		cleavev1.LabelUse_LABEL_USE_AUTO:        LabelsAuto,
		cleavev1.LabelUse_LABEL_USE_SEEDS:       LabelsSeeds,
		cleavev1.LabelUse_LABEL_USE_CONSTRAINTS: LabelsConstraints,
		cleavev1.LabelUse_LABEL_USE_TRUTH:       LabelsTruth,
	}
)

func TestEnumMaps(t *testing.T) {
	every(t, kinds, 0)
	every(t, kernelFunctions, 0)
	every(t, distortions, 0)
	every(t, metrics, 0)
	every(t, missingPolicies, 0)
	every(t, labelUses, 0)
	every(t, inferences, 0)
	every(t, columnTypes, 0)
	back(t, columnTypes)
	back(t, kinds)
	back(t, distortions)
	back(t, metrics)
	back(t, inferences)
}

// The names are those of the domain.
func TestEnumMapsByName(t *testing.T) {
	same(t, distortions)
	same(t, metrics)
	same(t, missingPolicies)
	same(t, labelUses)
	same(t, inferences)
}

func same[P apiEnum, D comparable](t *testing.T, m enumMap[P, D]) {
	t.Helper()
	for p, d := range m {
		if p != 0 && EnumWord(p) != strings.TrimPrefix(fmt.Sprint(d), "squared-") {
			t.Errorf("%v is %v", p, d)
		}
	}
}

// TestEveryEnumIsRefusedByItsField sets each enum of each algorithm, and of what all share, to a number that
// nobody knows.
func TestEveryEnumIsRefusedByItsField(t *testing.T) {
	count := 0
	var visit func(m protoreflect.Message, path string, spec *cleavev1.JobSpec)
	visit = func(m protoreflect.Message, path string, spec *cleavev1.JobSpec) {
		for at := range m.Descriptor().Fields().Len() {
			field := m.Descriptor().Fields().Get(at)
			switch {
			case field.IsList():
			case field.Message() != nil && (field.ContainingOneof() == nil || path != "spec"):
				visit(m.Mutable(field).Message(), path+"."+string(field.Name()), spec)
				m.Clear(field)
			case field.Enum() != nil:
				m.Set(field, protoreflect.ValueOfEnum(99))
				err := Validate(spec, 0)
				if f, is := err.(*fault.Error); !is || f.Reason != "UNKNOWN_ENUM_VALUE" ||
					f.Field != path+"."+string(field.Name()) {
					t.Errorf("%s.%s: got %#v", path, field.Name(), err)
				}
				m.Clear(field)
				count++
			}
		}
	}
	algorithms := (&cleavev1.JobSpec{}).ProtoReflect().Descriptor().Oneofs().ByName("algorithm").Fields()
	for at := range algorithms.Len() {
		spec := &cleavev1.JobSpec{}
		m := spec.ProtoReflect()
		options := m.Mutable(algorithms.Get(at)).Message()
		visit(options, "spec."+string(algorithms.Get(at).Name()), spec)
		visit(m, "spec", spec)
	}
	if count < 60 {
		t.Errorf("only %d enums were visited", count)
	}
}
