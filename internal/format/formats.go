// Package format reads and writes files: ordinary tables (CSV, Parquet, Arrow), points and kernel matrices (CSV, NPY,
// NPZ, Matrix Market), sparse points (svmlight), graphs (edge lists, Matrix Market, METIS, GraphML, GML), pictures
// (PNG, JPEG, GIF), and the small tables that go with them (constraints, labels, seeds, weights, indices, boxes,
// beliefs).
//
// Functions of the form LoadX open a path; the methods of Input also read standard input, uploads, and files about
// which the user said more. The first bytes determine the compression and, where possible, the format (package scan);
// otherwise the suffix of the name does. Readers allocate memory for the values they have read, never for what a header
// claims. An error in a file is a *fault.Error that names the file and, for text, the line.
package format

import (
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/array"
	"github.com/cleave-project/cleave/internal/format/graph"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// The tables below are the only place that maps suffixes to readers. To add a format, write its reader in a file of its
// own, add a line to a table, and write its test.

// denseFormats maps suffixes to readers of dense points and kernel matrices.
var denseFormats = formats[array.Dense]{
	{".csv", array.Delimited(',')},
	{".tsv", array.Delimited('\t')},
	{".npy", array.ReadNPY},
	{".npz", array.ReadNPZ},
	{".mtx", array.ReadDenseMatrixMarket},
}

var sparseFormats = formats[array.SparseReader]{
	{".svm", array.ReadSVMLight},
	{".svmlight", array.ReadSVMLight},
	{".libsvm", array.ReadSVMLight},
	{".npz", array.ReadSparseNPZ},
}

var graphFormats = formats[graph.Reader]{
	{".csv", graph.EdgeList(',')},
	{".tsv", graph.EdgeList('\t')},
	{".txt", graph.EdgeList(scan.AnyWhiteSpace)},
	{".edges", graph.EdgeList(scan.AnyWhiteSpace)},
	{".mtx", graph.ReadMatrixMarketGraph},
	{".graph", graph.ReadMetis},
	{".metis", graph.ReadMetis},
	{".graphml", graph.ReadGraphML},
	{".gml", graph.ReadGML},
	{".npz", graph.ReadNPZ},
}

// SparseSuffixes lists the suffixes of files of sparse points, without those of compression.
func SparseSuffixes() []string { return sparseFormats.suffixes() }

// GraphSuffixes lists the suffixes of files of graphs, without those of compression.
func GraphSuffixes() []string { return graphFormats.suffixes() }

// KernelSuffixes lists the suffixes of files of dense points and kernel matrices, without those of compression.
func KernelSuffixes() []string { return denseFormats.suffixes() }

// IsSparse reports whether the suffix of a file name is that of sparse points. It returns false for NPZ files, which
// may hold anything.
func IsSparse(name string) bool {
	suffix := scan.SuffixOf(name)
	return suffix != scan.NPZSuffix && sparseFormats.has(suffix)
}

// CheckGraphFormat returns an error if name is not a format of graphs.
func CheckGraphFormat(name string) error { return graphFormats.check(name) }

// CheckKernelFormat returns an error if name is not a format of kernel matrices.
func CheckKernelFormat(name string) error { return denseFormats.check(name) }

// formats lists the formats of one kind of data, in the order in which messages list them.
type formats[R any] []struct {
	suffix string
	read   R
}

func (f formats[R]) suffixes() []string {
	suffixes := make([]string, len(f))
	for at, known := range f {
		suffixes[at] = known.suffix
	}
	return suffixes
}

func (f formats[R]) has(suffix string) bool {
	return slices.Contains(f.suffixes(), suffix)
}

// check returns an error if name is not one of the formats.
func (f formats[R]) check(name string) error {
	if f.has(scan.SuffixOf("." + name)) {
		return nil
	}
	return fault.Invalid("UNKNOWN_FORMAT", "the format %q is not supported for this input; use %s", name,
		strings.ReplaceAll(strings.Join(f.suffixes(), ", "), ".", ""))
}

// reader returns the reader of the format of s.
func (f formats[R]) reader(s *scan.Source) (read R, err error) {
	for _, known := range f {
		if known.suffix == s.Suffix {
			return known.read, nil
		}
	}
	if found := scan.SuffixOf(s.Name); found != s.Suffix && f.has(found) {
		return read, s.Invalid("UNKNOWN_FORMAT",
			"the first bytes are those of the format %s, which is not supported for this input", s.Suffix[1:])
	}
	suffixes := f.suffixes()
	last := len(suffixes) - 1
	if s.Suffix == "" {
		return read, s.Invalid("UNKNOWN_FORMAT",
			"neither the name nor the first bytes identify the format; set --format to %s or %s",
			strings.Join(suffixes[:last], ", "), suffixes[last])
	}
	return read, s.Invalid("UNKNOWN_FORMAT",
		"the suffix %q is not supported; use %s or %s, optionally compressed (.gz, .zst)",
		s.Suffix, strings.Join(suffixes[:last], ", "), suffixes[last])
}
