// Package catalog lists everything a job can ask for: the algorithms, the kernels and the options, with their defaults,
// their ranges and the rules for combining them. Validation on the server and on the command line, flags and their
// help, error messages, and the tables of the documentation are all derived from it.
package catalog

import (
	"cmp"
	"fmt"
	"slices"
)

// The kinds of data, as named in messages.
const (
	Points       = "points"
	SparsePoints = "sparse points"
	Graph        = "graph"
	KernelMatrix = "kernel matrix"
)

// Family is a group of algorithms that work alike.
type Family string

// The families.
const (
	AutoFamily     Family = "auto"     // chooses among methods of the other families
	KernelFamily   Family = "kernel"   // sweeps over a kernel matrix
	KMeansFamily   Family = "k-means"  // centroids of points
	SpectralFamily Family = "spectral" // eigenvectors of an affinity matrix
)

// Algorithm describes an algorithm.
type Algorithm struct {
	Name        string
	Family      Family
	About       string // what it does, in a sentence
	Paper       string
	Supervision string            // what it can learn from
	Data        []string          // the kinds of data that it accepts
	Options     []string          // in addition to the common options
	Implied     map[string]string // options with a fixed value, which may be given but not changed
	Starts      []string          // the values of init, the default first; empty if it needs no start
	Needs       []string          // options that must be given
}

// Kernel describes a kernel function on points.
type Kernel struct {
	Name       string
	Formula    string
	Parameters []string // options
	// ShiftInvariant kernels do not change if all points move together, so points are centered to avoid rounding
	// errors.
	ShiftInvariant bool
	Definite       bool // positive semidefinite for all parameters
	// EntryNanos is the approximate time of one thread for an entry in nanoseconds, without the inner product.
	EntryNanos float64
}

// FindAlgorithm returns the algorithm of a name.
func FindAlgorithm(name string) (Algorithm, bool) {
	return find(Algorithms, func(a Algorithm) bool { return a.Name == name })
}

// FindKernel returns the kernel of a name.
func FindKernel(name string) (Kernel, bool) {
	return find(Kernels, func(k Kernel) bool { return k.Name == name })
}

// FindOption returns the option of a name, as it applies to an algorithm.
func FindOption(name string, a Algorithm) (Option, bool) {
	o, known := findName(Options, name)
	if own, differs := findName(spectralOptions, name); differs && a.Family == SpectralFamily {
		o = own
	}
	if own := cmp.Or(o.Defaults[a.Name], o.Defaults[string(a.Family)]); own != "" {
		o.Default = own
	}
	return o, known
}

// About returns the help of an option for all algorithms.
func (o Option) About() string {
	own, differs := findName(spectralOptions, o.Name)
	if !differs || own.Help == o.Help {
		return o.Help
	}
	return fmt.Sprintf("%s; in the spectral family, %s (%s)", o.Help, own.Help, own.Default)
}

// findName returns the option of a name in a list.
func findName(options []Option, name string) (Option, bool) {
	return find(options, func(o Option) bool { return o.Name == name })
}

func find[T any](list []T, is func(T) bool) (found T, known bool) {
	if at := slices.IndexFunc(list, is); at >= 0 {
		return list[at], true
	}
	return found, false
}

// Takes reports whether the algorithm has an option that users can set.
func (a Algorithm) Takes(option string) bool {
	o, known := FindOption(option, a)
	return known && (o.Common || slices.Contains(a.Options, option))
}

// Has reports whether the kernel has a parameter.
func (k Kernel) Has(parameter string) bool { return slices.Contains(k.Parameters, parameter) }

// algorithmNames returns the names of all algorithms, in order.
func algorithmNames() []string { return names(Algorithms, func(a Algorithm) string { return a.Name }) }

// kernelNames returns the names of all kernels, in order.
func kernelNames() []string { return names(Kernels, func(k Kernel) string { return k.Name }) }

// algorithmsTaking returns the names of the algorithms that have an option.
func algorithmsTaking(option string) []string {
	return names(slices.DeleteFunc(slices.Clone(Algorithms), func(a Algorithm) bool { return !a.Takes(option) }),
		func(a Algorithm) string { return a.Name })
}

// kernelsHaving returns the names of the kernels that have a parameter.
func kernelsHaving(parameter string) []string {
	return names(slices.DeleteFunc(slices.Clone(Kernels), func(k Kernel) bool { return !k.Has(parameter) }),
		func(k Kernel) string { return k.Name })
}

func names[T any](list []T, name func(T) string) []string {
	all := make([]string, len(list))
	for i, item := range list {
		all[i] = name(item)
	}
	return all
}

// Type is the type of the values of an option.
type Type uint8

// The types of options.
const (
	Choice Type = iota // one of Values
	Number             // a finite number, or one of Values
	Whole              // a whole number
	Range              // a whole number or, as a flag, a range such as 2..10
	Switch             // on or off
	File               // a table in a file; in the API a table or a data set
	Start              // one of Values, some of which take a file, as in labels:FILE
)

// Group is the heading under which the help text lists an option.
type Group string

// The groups, in the order of the help text.
const (
	SupervisionGroup Group = "What you know about the answer"
	AutoGroup        Group = "Choosing a method (auto)"
	NeighborGroup    Group = "Nearest-neighbor graphs (auto, kernel-kmeans and the spectral family)"
	KernelGroup      Group = "Kernel and affinity (kernel-kmeans and the spectral family)"
	KMeansGroup      Group = "The k-means family"
	CutGroup         Group = "Constrained cuts (constrained-spectral)"
	RunGroup         Group = "How it runs"
)

// Groups lists all groups, in order.
var Groups = []Group{SupervisionGroup, AutoGroup, NeighborGroup, KernelGroup, KMeansGroup, CutGroup, RunGroup}

// Option describes an option of a job.
type Option struct {
	Name string // without the two dashes of the command line
	// Field is the path in the API, within the message of the algorithm unless it starts with "spec.". It is empty if
	// the option exists only on the command line.
	Field   string
	NoFlag  bool // exists only in the API
	Common  bool // all algorithms have it
	Type    Type
	Values  []string
	Default string // for help
	// Defaults are the defaults of single algorithms, by name, or of families, where Default describes several.
	// FindOption returns them as Default.
	Defaults map[string]string
	// The range of a number. There is none if Max is 0.
	Min, Max    float64
	MaxExcluded bool // Max itself is not allowed
	Group       Group
	Help        string // a word in backquotes names the value
}
