package cli

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

// algorithm is one of them and what it does with the options that not all of them have.
type algorithm struct {
	family
	word    string
	sets    string            // options that are the user's to set, space separated
	implies map[string]string // options that are settled: given so, they are accepted and dropped
	starts  string            // words of --init, none when there is nothing to start from
}

// What is settled for several algorithms. An empty cluster is filled by k-means and its seeded variants,
// and keeps its mean in all others; storage is about a matrix that none of them has.
var (
	likeKmeans = map[string]string{"metric": "identity", "empty": "farthest", "storage": "auto"}
	likeCop    = map[string]string{"metric": "identity", "empty": "keep", "storage": "auto"}
	likePC     = map[string]string{"geometry": "euclidean", "distortion": "euclidean", "metric": "identity", "penalty": "potts", "empty": "keep", "storage": "auto"}
	likeMPC    = map[string]string{"geometry": "euclidean", "distortion": "euclidean", "empty": "keep", "storage": "auto"}
	likeHMRF   = map[string]string{"empty": "keep", "storage": "auto"}
)

// Of the spectral family. Rows of an embedding are clustered by k-means; the graph of constrained-spectral is
// cut by the normalized cut.
var (
	likeSpectral    = map[string]string{"empty": "farthest", "discretize": "plain", "components": "keep"}
	likeConstrained = map[string]string{"empty": "farthest", "objective": "normalized-cut"}
)

const affinityOptions = "kernel rho gamma coef0 degree affinity-diagonal storage constraints entail"

const neighbourhoodStarts = "neighbourhoods weighted-farthest-first random kmeans++ labels centroids"

// algorithms is the one table of what goes with what. An option in nobody's sets goes with all.
var algorithms = []algorithm{
	{kernelFamily, kernelKmeans, "objective kernel rho gamma coef0 degree sigma on-rise empty affinity-diagonal weights storage farthest constraints entail seeds",
		nil, "farthest-first random kmeans++ seeds labels spectral"},
	{vectorFamily, "kmeans", "geometry", likeKmeans, "kmeans++ random labels centroids"},
	{vectorFamily, "seeded-kmeans", "geometry seeds", likeKmeans, "seeds"},
	{vectorFamily, "constrained-kmeans", "geometry seeds", likeKmeans, "seeds"},
	{vectorFamily, "cop-kmeans", "geometry max-restarts constraints entail", likeCop, "random kmeans++ labels centroids"},
	{vectorFamily, "pc-kmeans", "inference constraints entail", likePC, neighbourhoodStarts},
	{vectorFamily, "m-kmeans", "metric constraints entail", likeMPC, neighbourhoodStarts},
	{vectorFamily, "mpc-kmeans", "metric penalty inference constraints entail", likeMPC, neighbourhoodStarts},
	{vectorFamily, "hmrf-kmeans", "distortion metric penalty inference constraints entail", likeHMRF, neighbourhoodStarts},
	{spectralFamily, "spectral", "objective " + affinityOptions, likeSpectral, ""},
	{spectralFamily, "spectral-learning", affinityOptions, likeSpectral, ""},
	{spectralFamily, "constrained-spectral", "beta discretize beliefs source-graph source-data components seeds " + affinityOptions, likeConstrained, ""},
}

func algorithmWords() []string {
	var words []string
	for _, a := range algorithms {
		words = append(words, a.word)
	}
	return words
}

// algorithmOf is the algorithm of a spec, which has one.
func algorithmOf(spec *cleavev1.JobSpec) algorithm {
	word := algorithmWord(spec)
	return algorithms[slices.IndexFunc(algorithms, func(a algorithm) bool { return a.word == word })]
}

// algorithmWord is the word for a spec's algorithm, "" when it has none: the API's name with hyphens.
func algorithmWord(spec *cleavev1.JobSpec) string {
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

func (a algorithm) takes(option string) bool { return slices.Contains(strings.Fields(a.sets), option) }

// implied is the value that an option always has, "" when there is none. A geometry and the distortion
// that belongs to it say the same.
func (a algorithm) implied(option string, spec *cleavev1.JobSpec) string {
	switch {
	case option == "distortion" && a.takes("geometry"):
		if optionWord(spec, "geometry") == "spherical" {
			return "cosine"
		}
		return "euclidean"
	case option == "geometry" && a.takes("distortion"):
		return map[string]string{"": "euclidean", "euclidean": "euclidean", "cosine": "spherical"}[optionWord(spec, "distortion")]
	}
	return a.implies[option]
}

// checkScope refuses the options that the algorithm does not have.
func (f *jobFlags) checkScope(a algorithm, spec *cleavev1.JobSpec) error {
	for _, option := range scopedOptions() {
		if !f.given(option) || a.takes(option) {
			continue
		}
		value, implied := f.set.Lookup(option).Value.String(), a.implied(option, spec)
		switch {
		case implied == "":
			return shell.Usage("--%s does not apply to %s, only to %s", option, a.word, either(takers(option)))
		case value != implied:
			return shell.Usage("--%s %s does not apply to %s, where it is always %s; it goes with %s", option, value, a.word, implied, either(takers(option)))
		}
	}
	if f.given("init") && a.starts == "" {
		return shell.Usage("--init does not apply to %s: its coordinates depend on no start", a.word)
	}
	if f.given("init") && !slices.Contains(strings.Fields(a.starts), f.init.value) {
		return shell.Usage("--init %s does not apply to %s; use %s", f.init.value, a.word, either(startWords(a)))
	}
	return nil
}

// scopedOptions are those that not all algorithms have, in the order of the table.
func scopedOptions() []string {
	var options []string
	for _, a := range algorithms {
		for _, option := range strings.Fields(a.sets) {
			if !slices.Contains(options, option) {
				options = append(options, option)
			}
		}
	}
	return options
}

func takers(option string) []string {
	var words []string
	for _, a := range algorithms {
		if a.takes(option) {
			words = append(words, a.word)
		}
	}
	return words
}

func startWords(a algorithm) []string {
	words := strings.Fields(a.starts)
	for at, word := range words {
		if word == "labels" || word == "centroids" {
			words[at] += ":FILE"
		}
	}
	return words
}
