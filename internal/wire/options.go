package wire

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/text"
)

// Options of the catalog are read from and written to API messages by their paths. An option is therefore described
// once, in the catalog, and has a field here without any code of its own.

var dataNames = map[dataset.Kind]string{
	dataset.KindPoints:       catalog.Points,
	dataset.KindSparsePoints: catalog.SparsePoints,
	dataset.KindGraph:        catalog.Graph,
	dataset.KindKernel:       catalog.KernelMatrix,
}

// ChooseAlgorithm sets the algorithm of a spec that names none to the one that suits it for data of this kind. It
// fails if such a spec has fields unknown to this version: one of them may be its algorithm, and another one would not
// be what was asked for.
func ChooseAlgorithm(p *cleavev1.JobSpec, kind dataset.Kind) error {
	if p.GetAlgorithm() != nil {
		return nil
	}
	if len(p.ProtoReflect().GetUnknown()) > 0 {
		return fault.Invalid("UNKNOWN_ALGORITHM",
			"the job has options that this version does not know, and no algorithm that it knows").
			OnField("spec.algorithm")
	}
	request := Request(p, kind)
	ExpectLabels(request, LabelUseOf(p))
	a, _, err := request.ChooseAlgorithm()
	if err != nil {
		return faultOf(err)
	}
	SetAlgorithm(p, a)
	return nil
}

// faultOf converts a *catalog.Misuse to a fault with the names of the API. It returns other errors unchanged.
func faultOf(err error) error {
	misuse, is := errors.AsType[*catalog.Misuse](err)
	if !is {
		return err
	}
	text := misuse.Text(func(option string) string { return strings.ReplaceAll(option, "-", "_") })
	return fault.Invalid(misuse.Reason, "%s", text).OnField(misuse.Field())
}

// Validate rejects a spec, which must have an algorithm, that makes no sense for data of this kind (0 means any), as
// far as that can be decided without reading tables or data. The fault names a field of the API.
func Validate(p *cleavev1.JobSpec, kind dataset.Kind) error {
	if err := checkValues(p.ProtoReflect(), "spec"); err != nil {
		return err
	}
	a := Algorithm(p)
	request := Request(p, kind)
	ExpectLabels(request, LabelUseOf(p))
	for _, o := range catalog.Options {
		own, _ := catalog.FindOption(o.Name, a)
		if _, given := read(p.ProtoReflect(), o.Field); given && own.Field != o.Field {
			return fault.Invalid("OPTION_DOES_NOT_APPLY",
				"%s does not apply to the spectral family, which runs k-means on eigenvectors; set %s of its options",
				strings.TrimPrefix(o.Field, "spec."), own.Field).OnField(o.Field)
		}
	}
	if g := p.GetNeighborGraph(); g != nil && g.Neighbors == nil {
		return fault.Invalid("FIELD_REQUIRED",
			"neighbor_graph does not say how many neighbors each row has; 10 is a good number").
			OnField("spec.neighbor_graph.neighbors")
	}
	return faultOf(request.Check())
}

// checkValues rejects enum values unknown to this version, and messages that stand for a number or a rule but have
// neither.
func checkValues(m protoreflect.Message, path string) (err error) {
	if one := m.Descriptor().Oneofs().ByName("kind"); one != nil {
		set := m.WhichOneof(one)
		if set == nil || set.Kind() == protoreflect.EnumKind && m.Get(set).Enum() == 0 {
			return fault.Invalid("FIELD_REQUIRED", "%s has neither a rule nor a number; give one, or leave it out",
				path).OnField(path + ".rule")
		}
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		at := path + "." + string(field.Name())
		switch {
		case field.IsList() || field.IsMap():
		case field.Kind() == protoreflect.MessageKind:
			err = checkValues(value.Message(), at)
		case field.Kind() == protoreflect.EnumKind && field.Enum().Values().ByNumber(value.Enum()) == nil:
			err = fault.Invalid("UNKNOWN_ENUM_VALUE", "%s has the value %d, which this version does not know", at,
				value.Enum()).OnField(at)
		}
		return err == nil
	})
	return err
}

// Request returns what a spec asks for, in the names of the catalog.
func Request(p *cleavev1.JobSpec, kind dataset.Kind) catalog.Request {
	a := Algorithm(p)
	r := catalog.Request{Algorithm: a.Name, Data: dataNames[kind], Values: map[string]string{}}
	for _, o := range catalog.Options {
		o, _ = catalog.FindOption(o.Name, a)
		if value, given := read(p.ProtoReflect(), o.Path(a)); given {
			r.Values[o.Name] = value
		}
	}
	if p.GetKRange() != nil { // the first k of a range stands for k: what is rejected for it is rejected for the range
		r.Values["k"] = strconv.FormatUint(uint64(p.GetKRange().GetMin()), 10)
	}
	return r
}

// Algorithm returns the algorithm of a spec, or the zero Algorithm if it has none.
func Algorithm(p *cleavev1.JobSpec) catalog.Algorithm {
	m := p.ProtoReflect()
	if field := m.WhichOneof(m.Descriptor().Oneofs().ByName("algorithm")); field != nil {
		if a, known := catalog.FindAlgorithm(strings.ReplaceAll(string(field.Name()), "_", "-")); known {
			return a
		}
	}
	return catalog.Algorithm{}
}

// SetAlgorithm sets the algorithm of a spec. Options already set for this algorithm stay.
func SetAlgorithm(p *cleavev1.JobSpec, a catalog.Algorithm) {
	m := p.ProtoReflect()
	m.Mutable(m.Descriptor().Fields().ByName(protoreflect.Name(a.Message())))
}

// read returns the value at a path as text, and whether it is set.
func read(m protoreflect.Message, path string) (text string, given bool) {
	names := strings.Split(strings.TrimPrefix(path, "spec."), ".")
	for at, name := range names {
		field := m.Descriptor().Fields().ByName(protoreflect.Name(name))
		if field == nil || !m.Has(field) {
			return "", false
		}
		if at == len(names)-1 {
			return textOf(m, field)
		}
		m = m.Get(field).Message()
	}
	return "", false
}

// textOf returns the value of a set field as text.
func textOf(m protoreflect.Message, field protoreflect.FieldDescriptor) (string, bool) {
	value := m.Get(field)
	switch {
	case field.IsList():
		return "given", value.List().Len() > 0
	case field.Kind() == protoreflect.EnumKind:
		return enumWord(field.Enum(), value.Enum())
	case field.Kind() == protoreflect.DoubleKind:
		return strconv.FormatFloat(value.Float(), 'g', -1, 64), true
	case field.Kind() == protoreflect.MessageKind:
		// A number, or the rule that stands in its place: use the one that is set.
		if one := value.Message().Descriptor().Oneofs().ByName("kind"); one != nil {
			set := value.Message().WhichOneof(one)
			if set == nil {
				return "", false
			}
			return textOf(value.Message(), set)
		}
		return "given", true
	}
	return value.String(), true
}

// enumWord returns a value of an enum as people write it, and false for the unspecified value and unknown ones.
// DISTORTION_I_DIVERGENCE is i-divergence, START_KMEANS_PLUS_PLUS is kmeans++.
func enumWord(enum protoreflect.EnumDescriptor, number protoreflect.EnumNumber) (string, bool) {
	value := enum.Values().ByNumber(number)
	if number == 0 || value == nil {
		return "", false
	}
	word := strings.TrimPrefix(string(value.Name()), enumPrefix(enum))
	return strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(word, "_", "-")), "-plus-plus", "++"), true
}

func enumPrefix(enum protoreflect.EnumDescriptor) string {
	return strings.TrimSuffix(string(enum.Values().ByNumber(0).Name()), "UNSPECIFIED")
}

// EnumWord returns a value of an API enum as people write it, or "" if it is unspecified or unknown.
func EnumWord(value protoreflect.Enum) string {
	word, _ := enumWord(value.Descriptor(), value.Number())
	return word
}

// SetOption sets an option of the spec's algorithm from its text, which the catalog has validated. It does nothing if
// there is no field for it, as for options with implied values.
func SetOption(p *cleavev1.JobSpec, o catalog.Option, text string) {
	m := p.ProtoReflect()
	names := strings.Split(strings.TrimPrefix(o.Path(Algorithm(p)), "spec."), ".")
	for at, name := range names {
		field := m.Descriptor().Fields().ByName(protoreflect.Name(name))
		if field == nil {
			return
		}
		if at == len(names)-1 {
			set(m, field, text)
			return
		}
		m = m.Mutable(field).Message()
	}
}

// set sets a field from text. Text that is not a number clears a number, and text that names no value an enum.
func set(m protoreflect.Message, field protoreflect.FieldDescriptor, text string) {
	switch field.Kind() {
	case protoreflect.EnumKind:
		m.Set(field, protoreflect.ValueOfEnum(enumNumber(field.Enum(), text)))
	case protoreflect.BoolKind:
		m.Set(field, protoreflect.ValueOfBool(text == "true"))
	case protoreflect.Uint32Kind:
		value, _ := strconv.ParseUint(text, 10, 32)
		m.Set(field, protoreflect.ValueOfUint32(uint32(value)))
	case protoreflect.Uint64Kind:
		value, _ := strconv.ParseUint(text, 10, 64)
		m.Set(field, protoreflect.ValueOfUint64(value))
	case protoreflect.DoubleKind:
		value, err := strconv.ParseFloat(text, 64)
		if err != nil { // auto, which leaves the field unset
			m.Clear(field)
			return
		}
		m.Set(field, protoreflect.ValueOfFloat64(value))
	case protoreflect.MessageKind:
		kind := m.NewField(field).Message()
		members := kind.Descriptor().Oneofs().ByName("kind").Fields()
		for at := range members.Len() {
			_, err := strconv.ParseFloat(text, 64)
			if member := members.Get(at); (err == nil) == (member.Kind() == protoreflect.DoubleKind) {
				set(kind, member, text)
			}
		}
		m.Set(field, protoreflect.ValueOfMessage(kind))
	}
}

// enumNumber returns the number of a word, or 0 if it has none, as for storage auto.
func enumNumber(enum protoreflect.EnumDescriptor, word string) protoreflect.EnumNumber {
	name := enumPrefix(enum) + strings.ToUpper(strings.ReplaceAll(strings.ReplaceAll(word, "++", "-plus-plus"),
		"-", "_"))
	if value := enum.Values().ByName(protoreflect.Name(name)); value != nil {
		return value.Number()
	}
	return 0
}

// KernelOf returns the kernel of a spec, or nil if its algorithm has none or none is set.
func KernelOf(p *cleavev1.JobSpec) *cleavev1.Kernel {
	m := p.ProtoReflect()
	algorithm := m.WhichOneof(m.Descriptor().Oneofs().ByName("algorithm"))
	if algorithm == nil {
		return nil
	}
	options := m.Get(algorithm).Message()
	field := options.Descriptor().Fields().ByName("kernel")
	if field == nil || !options.Has(field) {
		return nil
	}
	return options.Get(field).Message().Interface().(*cleavev1.Kernel)
}

// ComparesDirections reports whether a job compares directions, and therefore rejects all-zero rows.
func ComparesDirections(p *cleavev1.JobSpec) bool {
	values := Request(p, 0).Values
	function := text.Named[kernel.Function](values["kernel"])
	return function.Directional() || values["geometry"] == "spherical" || values["distortion"] == "cosine"
}

// KernelComparesDirections reports whether a kernel function compares directions.
func KernelComparesDirections(f cleavev1.KernelFunction) bool {
	return kernelFunctions[f].Directional()
}

// Spec converts a job's specification, which Validate has accepted, for the points made from these rows, and reads its
// tables. It rejects table rows that make no sense for any algorithm.
func Spec(p *cleavev1.JobSpec, rows *recipe.Rows, tables Tables) (clustering.Spec, error) {
	r := &tableReader{rows: rows, tables: tables}
	request := Request(p, 0)
	spec := clustering.NewSpec(request)
	spec.MaxK = int(p.GetKRange().GetMax())
	spec.Supervision.Constraints = readTable(r, p.GetSupervision().GetConstraints(), fieldConstraints,
		table.Constraints)
	spec.Supervision.Seeds = readTable(r, p.GetSupervision().GetSeeds(), fieldSeeds, table.Seeds)
	spec.Initialization.Labels = readTable(r, p.GetInitialization().GetLabels(), fieldLabels, table.Clusters)
	switch Algorithm(p).Family {
	case catalog.AutoFamily:
		spec.Algorithm = auto.NewOptions(request)
	case catalog.KernelFamily:
		o := kernelkmeans.NewOptions(request)
		o.Weights = readTable(r, p.GetKernelKmeans().GetWeights(), fieldWeights, table.Weights)
		spec.Algorithm = o
	case catalog.KMeansFamily:
		o := kmeans.NewOptions(request)
		o.InitialCentroids = p.GetInitialization().GetCentroids()
		spec.Algorithm = o
	case catalog.SpectralFamily:
		o := spectral.NewOptions(request)
		o.Transfer = p.GetConstrainedSpectral().GetTransfer()
		o.Beliefs = readTable(r, p.GetConstrainedSpectral().GetBeliefs(), fieldBeliefs, table.Beliefs)
		spec.Algorithm = o
	}
	return spec, r.err
}

// tableReader reads the tables of a specification, and keeps the first error.
type tableReader struct {
	rows   *recipe.Rows
	tables Tables
	err    error
}

// LabelsProto converts labels.
func LabelsProto(list []int32) []uint32 {
	converted := make([]uint32, len(list))
	for at, label := range list {
		converted[at] = uint32(label)
	}
	return converted
}

// LabelUse is what the known classes of the rows of a table are used for.
type LabelUse string

// The uses.
const (
	LabelsAuto        LabelUse = "auto"        // see package supervision
	LabelsSeeds       LabelUse = "seeds"       // to start from and to keep
	LabelsConstraints LabelUse = "constraints" // pairs to respect
	LabelsTruth       LabelUse = "truth"       // not part of the job
)

// LabelUses returns the words of all uses.
func LabelUses() []string {
	return []string{string(LabelsAuto), string(LabelsSeeds), string(LabelsConstraints), string(LabelsTruth)}
}

// UseLabelsAs sets what the classes in the table of a job are used for.
func UseLabelsAs(p *cleavev1.JobSpec, use LabelUse) {
	if p.Supervision == nil {
		p.Supervision = &cleavev1.Supervision{}
	}
	p.Supervision.LabelAs = enumValue[cleavev1.LabelUse](string(use))
}

// LabelUseOf returns what a spec wants classes to be used for.
func LabelUseOf(p *cleavev1.JobSpec) LabelUse {
	s := p.GetSupervision()
	use := LabelUse(EnumWord(s.GetLabelAs()))
	switch {
	case p.GetTable().GetLabelColumn() == "":
		return LabelsTruth
	case use != "":
		return use
	case s.GetSeeds() != nil || s.GetConstraints() != nil: // the classes may be in them
		return LabelsTruth
	}
	return LabelsAuto
}

// ExpectLabels adds what classes will become to r.Values, as far as that is known before they are read.
func ExpectLabels(r catalog.Request, use LabelUse) {
	a, known := catalog.FindAlgorithm(r.Algorithm)
	switch {
	case use == LabelsConstraints, use == LabelsSeeds && known && !a.Takes("seeds") && a.Takes("constraints"):
		r.Values["constraints"] = "given"
	case use == LabelsSeeds, use == LabelsAuto && slices.Contains(a.Needs, "seeds"):
		r.Values["seeds"] = "given"
	}
}
