// Package catalog is the one list of what a job can ask for: the algorithms, the kernels and the options, with
// their defaults, their ranges and what goes with what. Validation on the server and on the command line, flags
// and their help, refusals, and the tables of the documentation all come from it.
package catalog

import (
	"slices"
	"strings"
)

// The kinds of data, as people call them.
const (
	Points       = "points"
	SparsePoints = "sparse points"
	Graph        = "graph"
	KernelMatrix = "kernel matrix"
)

// Family is what an algorithm works on.
type Family string

// The families.
const (
	KernelFamily   Family = "kernel"   // sweeps over a matrix
	VectorFamily   Family = "vector"   // points and centroids
	SpectralFamily Family = "spectral" // eigenvectors of a matrix
)

// Algorithm is one algorithm and what it does with the options that not all of them have.
type Algorithm struct {
	Name   string
	Family Family
	About  string // what it does, in a sentence
	Paper  string
	// Supervision is what it can learn from, for people.
	Supervision string
	Data        []string // the kinds of data that it takes
	Options     []string // those that it has beside the common ones
	// Implied options always have this value here. Asked for with that value, they are accepted.
	Implied map[string]string
	Starts  []string // the values of init, the default first; none: there is nothing to start from
	Needs   []string // options without which it has nothing to do
}

// Kernel is one kernel function on points.
type Kernel struct {
	Name       string
	Formula    string
	Parameters []string // options that it has
	// ShiftInvariant kernels stay the same when all points move together, which are then centered first so
	// that no bits go to a common offset.
	ShiftInvariant bool
	// Definite tells whether the kernel is positive semidefinite for all parameters.
	Definite bool
	// Directional kernels compare directions, which a row of zeros has not.
	Directional bool
	// EntryNanos is about how long one thread takes for an entry, beside the products of features.
	EntryNanos float64
}

// FindAlgorithm is the algorithm of a name.
func FindAlgorithm(name string) (Algorithm, bool) {
	return find(Algorithms, func(a Algorithm) bool { return a.Name == name })
}

// FindKernel is the kernel of a name.
func FindKernel(name string) (Kernel, bool) {
	return find(Kernels, func(k Kernel) bool { return k.Name == name })
}

// Find is the option of a name, as an algorithm has it.
func Find(name string, a Algorithm) (Option, bool) {
	o, known := find(Options, func(o Option) bool { return o.Name == name })
	if o.Spectral != nil && a.Family == SpectralFamily {
		o = *o.Spectral
	}
	return o, known
}

func find[T any](list []T, is func(T) bool) (found T, known bool) {
	if at := slices.IndexFunc(list, is); at >= 0 {
		return list[at], true
	}
	return found, false
}

// Takes tells whether an option is the user's to set.
func (a Algorithm) Takes(option string) bool {
	o, known := Find(option, a)
	return known && (o.Common || slices.Contains(a.Options, option))
}

// Has tells whether a kernel has a parameter.
func (k Kernel) Has(parameter string) bool { return slices.Contains(k.Parameters, parameter) }

// AlgorithmNames are all of them, in order.
func AlgorithmNames() []string { return names(Algorithms, func(a Algorithm) string { return a.Name }) }

// KernelNames are all of them, in order.
func KernelNames() []string { return names(Kernels, func(k Kernel) string { return k.Name }) }

// algorithmsTaking are the names of the algorithms that have an option.
func algorithmsTaking(option string) []string {
	return names(slices.DeleteFunc(slices.Clone(Algorithms), func(a Algorithm) bool { return !a.Takes(option) }),
		func(a Algorithm) string { return a.Name })
}

// kernelsHaving are the names of the kernels that have a parameter.
func kernelsHaving(parameter string) []string {
	return names(slices.DeleteFunc(slices.Clone(Kernels), func(k Kernel) bool { return !k.Has(parameter) }),
		func(k Kernel) string { return k.Name })
}

func names[T any](list []T, name func(T) string) []string {
	all := make([]string, len(list))
	for at, item := range list {
		all[at] = name(item)
	}
	return all
}

// Or lists words for people: "a, b or c".
func Or(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
