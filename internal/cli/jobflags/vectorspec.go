package jobflags

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/cleave-project/cleave/internal/cli/shell"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// vectorOptions are the flags of the vector family that take a name. Each flag is named like the field that it
// sets in the algorithm's options, and its values like those of the field's enumeration.
var vectorOptions = []string{"geometry", "distortion", "metric", "penalty", "inference"}

// applyVector sets the options of the algorithm. An option without a field has a fixed value, and checkScope
// accepts no other.
func (f *Flags) applyVector(spec *cleavev1.JobSpec) {
	options := optionsOf(spec)
	fields := options.Descriptor().Fields()
	for _, option := range vectorOptions {
		if field := fields.ByName(protoreflect.Name(option)); field != nil && f.Given(option) {
			options.Set(field, protoreflect.ValueOfEnum(enumOf(field, f.set.Lookup(option).Value.String())))
		}
	}
	if cop := spec.GetCopKmeans(); cop != nil && f.Given("max-restarts") {
		restarts := uint32(f.maxRestarts.Value)
		cop.MaxRestarts = &restarts
	}
}

// enumOf is the number of a name: i-divergence of the field distortion is DISTORTION_I_DIVERGENCE.
func enumOf(field protoreflect.FieldDescriptor, name string) protoreflect.EnumNumber {
	full := strings.ToUpper(string(field.Name()) + "_" + strings.ReplaceAll(name, "-", "_"))
	return field.Enum().Values().ByName(protoreflect.Name(full)).Number()
}

// EnumName is an enumeration's value as the flags write it, "" for none: DISTORTION_I_DIVERGENCE is
// i-divergence.
func EnumName(value protoreflect.Enum) string {
	known := value.Descriptor().Values().ByNumber(value.Number())
	if known == nil || known.Number() == 0 {
		return ""
	}
	name := strings.TrimPrefix(string(known.Name()), strings.ToUpper(string(value.Descriptor().Name()))+"_")
	return strings.ToLower(strings.ReplaceAll(name, "_", "-"))
}

// optionValue is the value of a vector option in a spec as the flags write it, "" when it is not set.
func optionValue(spec *cleavev1.JobSpec, option string) string {
	options := optionsOf(spec)
	field := options.Descriptor().Fields().ByName(protoreflect.Name(option))
	if field == nil {
		return ""
	}
	return EnumName(dynamicpb.NewEnumType(field.Enum()).New(options.Get(field).Enum()))
}

// checkVector refuses combinations that the vector family does not have.
func (f *Flags) checkVector(a algorithm, spec *cleavev1.JobSpec, kind cleavev1.DatasetKind) error {
	switch kind {
	case cleavev1.DatasetKind_DATASET_KIND_GRAPH:
		return shell.Usage("%s clusters points: give them by --data; graphs go with %s and the spectral family", a.name, kernelKmeans)
	case cleavev1.DatasetKind_DATASET_KIND_KERNEL:
		return shell.Usage("%s clusters points: give them by --data; kernel matrices go with %s and the spectral family", a.name, kernelKmeans)
	}
	distortion, metric := optionValue(spec, "distortion"), optionValue(spec, "metric")
	if distortion != "" && distortion != "euclidean" && metric != "" && metric != "identity" {
		return shell.Usage("--metric %s goes with --distortion euclidean only: nothing is learned for the distortion %s", metric, distortion)
	}
	if a.takes("seeds") && f.seeds == "" && spec.GetSupervision().GetSeeds() == nil {
		return shell.Usage("%s needs points of known label: give --seeds FILE", a.name)
	}
	return nil
}
