package jobflags

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cleave-project/cleave/internal/cli/shell"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

const kernelKmeans = "kernel-kmeans"

// family is what an algorithm works on.
type family uint8

const (
	kernelFamily   family = iota // sweeps over a matrix
	vectorFamily                 // points and centroids
	spectralFamily               // eigenvectors of a matrix
)

// algorithm is an algorithm and what applies to it of the options that not all algorithms have.
type algorithm struct {
	family
	name    string
	options string            // options that can be set, space separated
	implied map[string]string // options with a fixed value: given that value, they are accepted and dropped
	starts  string            // values of --init, none for algorithms without a start
}

// Fixed values of the vector family. k-means and its seeded variants fill empty clusters, all others keep
// their means; storage is about a matrix, which this family does not have.
var (
	impliedByKmeans = map[string]string{"metric": "identity", "empty": "farthest", "storage": "auto"}
	impliedByCop    = map[string]string{"metric": "identity", "empty": "keep", "storage": "auto"}
	impliedByPC     = map[string]string{"geometry": "euclidean", "distortion": "euclidean", "metric": "identity", "penalty": "potts", "empty": "keep", "storage": "auto"}
	impliedByMPC    = map[string]string{"geometry": "euclidean", "distortion": "euclidean", "empty": "keep", "storage": "auto"}
	impliedByHMRF   = map[string]string{"empty": "keep", "storage": "auto"}
)

// Fixed values of the spectral family. The rows of an embedding are clustered by k-means, and
// constrained-spectral minimizes the normalized cut.
var (
	impliedBySpectral    = map[string]string{"empty": "farthest", "discretize": "plain", "components": "keep"}
	impliedByConstrained = map[string]string{"empty": "farthest", "objective": "normalized-cut"}
)

const affinityOptions = "kernel rho gamma coef0 degree affinity-diagonal storage constraints entail"

const neighborhoodStarts = "neighborhoods weighted-farthest-first random kmeans++ labels centroids"

// algorithms says which options apply to which algorithm. An option in no line applies to all.
var algorithms = []algorithm{
	{kernelFamily, kernelKmeans, "objective kernel rho gamma coef0 degree sigma on-rise empty affinity-diagonal weights storage farthest constraints entail seeds",
		nil, "farthest-first random kmeans++ seeds labels spectral"},
	{vectorFamily, "kmeans", "geometry", impliedByKmeans, "kmeans++ random labels centroids"},
	{vectorFamily, "seeded-kmeans", "geometry seeds", impliedByKmeans, "seeds"},
	{vectorFamily, "constrained-kmeans", "geometry seeds", impliedByKmeans, "seeds"},
	{vectorFamily, "cop-kmeans", "geometry max-restarts constraints entail", impliedByCop, "random kmeans++ labels centroids"},
	{vectorFamily, "pc-kmeans", "inference constraints entail", impliedByPC, neighborhoodStarts},
	{vectorFamily, "m-kmeans", "metric constraints entail", impliedByMPC, neighborhoodStarts},
	{vectorFamily, "mpc-kmeans", "metric penalty inference constraints entail", impliedByMPC, neighborhoodStarts},
	{vectorFamily, "hmrf-kmeans", "distortion metric penalty inference constraints entail", impliedByHMRF, neighborhoodStarts},
	{spectralFamily, "spectral", "objective " + affinityOptions, impliedBySpectral, ""},
	{spectralFamily, "spectral-learning", affinityOptions, impliedBySpectral, ""},
	{spectralFamily, "constrained-spectral", "beta discretize beliefs source-graph source-data components seeds " + affinityOptions, impliedByConstrained, ""},
}

func algorithmNames() []string {
	var names []string
	for _, a := range algorithms {
		names = append(names, a.name)
	}
	return names
}

// algorithmOf is the algorithm of a spec that has one.
func algorithmOf(spec *cleavev1.JobSpec) algorithm {
	name := AlgorithmName(spec)
	return algorithms[slices.IndexFunc(algorithms, func(a algorithm) bool { return a.name == name })]
}

// ClustersVectors tells whether the algorithm of a spec works on points and centroids, not on a matrix.
func ClustersVectors(spec *cleavev1.JobSpec) bool { return algorithmOf(spec).family == vectorFamily }

// AlgorithmName is the name of a spec's algorithm, the API's with hyphens, or "" when it has none.
func AlgorithmName(spec *cleavev1.JobSpec) string {
	m := spec.ProtoReflect()
	field := m.WhichOneof(m.Descriptor().Oneofs().ByName("algorithm"))
	if field == nil {
		return ""
	}
	return strings.ReplaceAll(string(field.Name()), "_", "-")
}

// setAlgorithm sets the algorithm of a spec. It keeps the options only if the spec has this algorithm already.
func setAlgorithm(spec *cleavev1.JobSpec, name string) {
	m := spec.ProtoReflect()
	m.Mutable(m.Descriptor().Fields().ByName(protoreflect.Name(strings.ReplaceAll(name, "-", "_"))))
}

// optionsOf is the message with the options of the spec's algorithm.
func optionsOf(spec *cleavev1.JobSpec) protoreflect.Message {
	m := spec.ProtoReflect()
	return m.Mutable(m.WhichOneof(m.Descriptor().Oneofs().ByName("algorithm"))).Message()
}

func (a algorithm) takes(option string) bool {
	return slices.Contains(strings.Fields(a.options), option)
}

// impliedValue is the fixed value of an option, "" when it has none. A geometry implies a distortion, and the
// other way around.
func (a algorithm) impliedValue(option string, spec *cleavev1.JobSpec) string {
	switch {
	case option == "distortion" && a.takes("geometry"):
		if optionValue(spec, "geometry") == "spherical" {
			return "cosine"
		}
		return "euclidean"
	case option == "geometry" && a.takes("distortion"):
		return map[string]string{"": "euclidean", "euclidean": "euclidean", "cosine": "spherical"}[optionValue(spec, "distortion")]
	}
	return a.implied[option]
}

// checkScope refuses flags that do not apply to the algorithm.
func (f *Flags) checkScope(a algorithm, spec *cleavev1.JobSpec) error {
	for _, option := range scopedOptions() {
		if !f.Given(option) || a.takes(option) {
			continue
		}
		value, implied := f.set.Lookup(option).Value.String(), a.impliedValue(option, spec)
		switch {
		case implied == "":
			return shell.Usage("--%s does not apply to %s, only to %s", option, a.name, joinOr(algorithmsTaking(option)))
		case value != implied:
			return shell.Usage("--%s %s does not apply to %s, where it is always %s; it goes with %s", option, value, a.name, implied, joinOr(algorithmsTaking(option)))
		}
	}
	if f.Given("init") && a.starts == "" {
		return shell.Usage("--init does not apply to %s: its coordinates depend on no start", a.name)
	}
	if f.Given("init") && !slices.Contains(strings.Fields(a.starts), f.init.Value) {
		return shell.Usage("--init %s does not apply to %s; use %s", f.init.Value, a.name, joinOr(startNames(a)))
	}
	return nil
}

// scopedOptions are the options that not all algorithms have, in the order of the table.
func scopedOptions() []string {
	var options []string
	for _, a := range algorithms {
		for _, option := range strings.Fields(a.options) {
			if !slices.Contains(options, option) {
				options = append(options, option)
			}
		}
	}
	return options
}

func algorithmsTaking(option string) []string {
	var names []string
	for _, a := range algorithms {
		if a.takes(option) {
			names = append(names, a.name)
		}
	}
	return names
}

func startNames(a algorithm) []string {
	names := strings.Fields(a.starts)
	for at, name := range names {
		if name == "labels" || name == "centroids" {
			names[at] += ":FILE"
		}
	}
	return names
}
