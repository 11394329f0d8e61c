package jobflags

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/cleave-project/cleave/internal/cli/shell"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// vectorOptions are the flags of the vector family that are a word. Each is called like the field of the
// algorithm's options that it sets, and its words like the values of that field's enumeration.
var vectorOptions = []string{"geometry", "distortion", "metric", "penalty", "inference"}

// applyVector lays the flags over the options of the algorithm. An option that it has no field for is
// settled, and checkScope has seen that the flag says the same.
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

// enumOf is the number of a word: i-divergence of the field distortion is DISTORTION_I_DIVERGENCE.
func enumOf(field protoreflect.FieldDescriptor, word string) protoreflect.EnumNumber {
	name := strings.ToUpper(string(field.Name()) + "_" + strings.ReplaceAll(word, "-", "_"))
	return field.Enum().Values().ByName(protoreflect.Name(name)).Number()
}

// EnumName is a value of the API as the flags write it, "" for none: DISTORTION_I_DIVERGENCE is
// i-divergence.
func EnumName(value protoreflect.Enum) string {
	known := value.Descriptor().Values().ByNumber(value.Number())
	if known == nil || known.Number() == 0 {
		return ""
	}
	word := strings.TrimPrefix(string(known.Name()), strings.ToUpper(string(value.Descriptor().Name()))+"_")
	return strings.ToLower(strings.ReplaceAll(word, "_", "-"))
}

// optionName is the value of a vector option in a spec, "" when it is not set.
func optionName(spec *cleavev1.JobSpec, option string) string {
	options := optionsOf(spec)
	field := options.Descriptor().Fields().ByName(protoreflect.Name(option))
	if field == nil {
		return ""
	}
	return EnumName(dynamicpb.NewEnumType(field.Enum()).New(options.Get(field).Enum()))
}

// checkVector refuses what does not go together in the vector family.
func (f *Flags) checkVector(a algorithm, spec *cleavev1.JobSpec, kind cleavev1.DatasetKind) error {
	switch kind {
	case cleavev1.DatasetKind_DATASET_KIND_GRAPH:
		return shell.Usage("%s clusters points: give them by --data; graphs go with %s and the spectral family", a.name, KernelKmeans)
	case cleavev1.DatasetKind_DATASET_KIND_KERNEL:
		return shell.Usage("%s clusters points: give them by --data; kernel matrices go with %s and the spectral family", a.name, KernelKmeans)
	}
	distortion, metric := optionName(spec, "distortion"), optionName(spec, "metric")
	if distortion != "" && distortion != "euclidean" && metric != "" && metric != "identity" {
		return shell.Usage("--metric %s goes with --distortion euclidean only: nothing is learned for the distortion %s", metric, distortion)
	}
	if a.takes("seeds") && f.seeds == "" && spec.GetSupervision().GetSeeds() == nil {
		return shell.Usage("%s needs points of known label: give --seeds FILE", a.name)
	}
	return nil
}
