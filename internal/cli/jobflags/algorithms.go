package jobflags

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cleave-project/cleave/internal/cli/shell"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

const KernelKmeans = "kernel-kmeans"

// family is what an algorithm works on.
type family uint8

const (
	kernelFamily   family = iota // sweeps over a matrix
	vectorFamily                 // points and centroids
	spectralFamily               // eigenvectors of a matrix
)

// algorithm is one of them and what it does with the options that not all of them have.
type algorithm struct {
	family
	name    string
	options string            // options that are the user's to set, space separated
	implies map[string]string // options that are settled: given so, they are accepted and dropped
	starts  string            // words of --init, none when there is nothing to start from
}

// What is settled for several algorithms. An empty cluster is filled by k-means and its seeded variants,
// and keeps its mean in all others; storage is about a matrix that none of them has.
var (
	impliedByKmeans = map[string]string{"metric": "identity", "empty": "farthest", "storage": "auto"}
	impliedByCop    = map[string]string{"metric": "identity", "empty": "keep", "storage": "auto"}
	impliedByPC     = map[string]string{"geometry": "euclidean", "distortion": "euclidean", "metric": "identity", "penalty": "potts", "empty": "keep", "storage": "auto"}
	impliedByMPC    = map[string]string{"geometry": "euclidean", "distortion": "euclidean", "empty": "keep", "storage": "auto"}
	impliedByHMRF   = map[string]string{"empty": "keep", "storage": "auto"}
)

// Of the spectral family. Rows of an embedding are clustered by k-means; the graph of constrained-spectral is
// cut by the normalized cut.
var (
	impliedBySpectral    = map[string]string{"empty": "farthest", "discretize": "plain", "components": "keep"}
	impliedByConstrained = map[string]string{"empty": "farthest", "objective": "normalized-cut"}
)

const affinityOptions = "kernel rho gamma coef0 degree affinity-diagonal storage constraints entail"

const neighborhoodStarts = "neighbourhoods weighted-farthest-first random kmeans++ labels centroids"

// algorithms is the one table of what goes with what. An option in nobody's sets goes with all.
var algorithms = []algorithm{
	{kernelFamily, KernelKmeans, "objective kernel rho gamma coef0 degree sigma on-rise empty affinity-diagonal weights storage farthest constraints entail seeds",
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
	var words []string
	for _, a := range algorithms {
		words = append(words, a.name)
	}
	return words
}

// algorithmOf is the algorithm of a spec, which has one.
func algorithmOf(spec *cleavev1.JobSpec) algorithm {
	word := AlgorithmName(spec)
	return algorithms[slices.IndexFunc(algorithms, func(a algorithm) bool { return a.name == word })]
}

// ClustersVectors tells whether the algorithm of a spec works on points and centroids, not on a matrix.
func ClustersVectors(spec *cleavev1.JobSpec) bool { return algorithmOf(spec).family == vectorFamily }

// AlgorithmName is the word for a spec's algorithm, "" when it has none: the API's name with hyphens.
func AlgorithmName(spec *cleavev1.JobSpec) string {
	m := spec.ProtoReflect()
	field := m.WhichOneof(m.Descriptor().Oneofs().ByName("algorithm"))
	if field == nil {
		return ""
	}
	return strings.ReplaceAll(string(field.Name()), "_", "-")
}

// setAlgorithm makes the spec one of this algorithm, with no options set unless it was so before.
func setAlgorithm(spec *cleavev1.JobSpec, word string) {
	m := spec.ProtoReflect()
	m.Mutable(m.Descriptor().Fields().ByName(protoreflect.Name(strings.ReplaceAll(word, "-", "_"))))
}

// optionsOf are the options that the spec has for its algorithm.
func optionsOf(spec *cleavev1.JobSpec) protoreflect.Message {
	m := spec.ProtoReflect()
	return m.Mutable(m.WhichOneof(m.Descriptor().Oneofs().ByName("algorithm"))).Message()
}

func (a algorithm) takes(option string) bool {
	return slices.Contains(strings.Fields(a.options), option)
}

// implied is the value that an option always has, "" when there is none. A geometry and the distortion
// that belongs to it say the same.
func (a algorithm) implied(option string, spec *cleavev1.JobSpec) string {
	switch {
	case option == "distortion" && a.takes("geometry"):
		if optionName(spec, "geometry") == "spherical" {
			return "cosine"
		}
		return "euclidean"
	case option == "geometry" && a.takes("distortion"):
		return map[string]string{"": "euclidean", "euclidean": "euclidean", "cosine": "spherical"}[optionName(spec, "distortion")]
	}
	return a.implies[option]
}

// checkScope refuses the options that the algorithm does not have.
func (f *Flags) checkScope(a algorithm, spec *cleavev1.JobSpec) error {
	for _, option := range scopedOptions() {
		if !f.Given(option) || a.takes(option) {
			continue
		}
		value, implied := f.set.Lookup(option).Value.String(), a.implied(option, spec)
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

// scopedOptions are those that not all algorithms have, in the order of the table.
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
	var words []string
	for _, a := range algorithms {
		if a.takes(option) {
			words = append(words, a.name)
		}
	}
	return words
}

func startNames(a algorithm) []string {
	words := strings.Fields(a.starts)
	for at, word := range words {
		if word == "labels" || word == "centroids" {
			words[at] += ":FILE"
		}
	}
	return words
}
