// Package catalog is the one list of what a job can ask for: the algorithms, the kernels and the options, with their
// defaults, their ranges and the rules of which go together. Validation on the server and on the command line,
// flags and their help, refusals, and the tables of the documentation all come from it.
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
	AutoFamily     Family = "auto"     // several ways over one of the others, by the data
	KernelFamily   Family = "kernel"   // sweeps over a matrix
	KMeansFamily   Family = "k-means"  // points and centroids
	SpectralFamily Family = "spectral" // eigenvectors of a matrix
)

// Algorithm is one algorithm, with the options that it has and the values that it implies.
type Algorithm struct {
	Name   string
	Family Family
	About  string // what it does, in a sentence
	Paper  string
	// Supervision says what it can learn from.
	Supervision string
	Data        []string // the kinds of data that it takes
	Options     []string // beside the common ones, which all algorithms have
	// Implied options always have this value in this algorithm, and are accepted with it.
	Implied map[string]string
	Starts  []string // the values of init, the default first; none: the algorithm needs no start
	Needs   []string // options that must be given
}

// Kernel is one kernel function on points.
type Kernel struct {
	Name       string
	Formula    string
	Parameters []string // options
	// ShiftInvariant kernels do not change when all points move together. Points are centered for them, so that no bits
	// are lost to a common offset.
	ShiftInvariant bool
	// Definite tells whether the kernel is positive semidefinite for all parameters.
	Definite bool
	// Directional kernels compare directions. A row of zeros has none.
	Directional bool
	// EntryNanos is about how many nanoseconds one thread takes for an entry, without the products of features.
	EntryNanos float64
}

// FindAlgorithm finds an algorithm by its name.
func FindAlgorithm(name string) (Algorithm, bool) {
	return find(Algorithms, func(a Algorithm) bool { return a.Name == name })
}

// FindKernel finds a kernel by its name.
func FindKernel(name string) (Kernel, bool) {
	return find(Kernels, func(k Kernel) bool { return k.Name == name })
}

// FindOption finds an option by its name, in the form that an algorithm has it.
func FindOption(name string, a Algorithm) (Option, bool) {
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

// Takes tells whether a user can set this option of the algorithm.
func (a Algorithm) Takes(option string) bool {
	o, known := FindOption(option, a)
	return known && (o.Common || slices.Contains(a.Options, option))
}

// Has tells whether a kernel has a parameter.
func (k Kernel) Has(parameter string) bool { return slices.Contains(k.Parameters, parameter) }

// AlgorithmNames are the names of all algorithms, in order.
func AlgorithmNames() []string { return names(Algorithms, func(a Algorithm) string { return a.Name }) }

// KernelNames are the names of all kernels, in order.
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

// Or lists alternatives in a message: "a, b or c".
func Or(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Type is the type of an option's values.
type Type uint8

// The types of options.
const (
	Choice Type = iota // one of Values
	Number             // a finite number, or one of Values
	Whole              // a whole number
	Switch             // on or off
	File               // a table in a file; in the API a table or a data set
	Start              // one of the starts, some of which name a file: labels:FILE
)

// Group is the heading under which help lists an option.
type Group string

// The groups, in the order of help.
const (
	SupervisionGroup Group = "What you know about the answer"
	AutoGroup        Group = "The choice of a way (auto)"
	NeighborGroup    Group = "Points as a graph of neighbors (auto, kernel-kmeans and the spectral family)"
	KernelGroup      Group = "Kernel and affinity (kernel-kmeans and the spectral family)"
	CentroidGroup    Group = "Centroids (k-means and its relatives)"
	CutGroup         Group = "Constrained cuts (constrained-spectral)"
	RunGroup         Group = "How it runs"
)

// Groups are all groups, in order.
var Groups = []Group{SupervisionGroup, AutoGroup, NeighborGroup, KernelGroup, CentroidGroup, CutGroup, RunGroup}

// Option is something that a job can ask for.
type Option struct {
	Name string // without the two dashes of the command line
	// Field is the option's path in the API: within the algorithm's message, or from "spec." on; "": only the
	// command line has this option.
	Field   string
	NoFlag  bool // only the API has this option
	Common  bool // all algorithms have this option
	Type    Type
	Values  []string
	Aliases map[string]string // old names of values
	Default string            // for help
	// The range of a number; Max 0: there is no range.
	Min, Max    float64
	MaxExcluded bool // Max itself is too large
	Group       Group
	Help        string // a word in backquotes names the value
	// Spectral is the option as the spectral family has it, where it differs.
	Spectral *Option
}
