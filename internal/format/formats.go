// Package format reads and writes files: ordinary tables (CSV, Parquet, Arrow), points and kernel matrices (CSV, NPY,
// NPZ, Matrix Market), sparse points (svmlight), graphs (edge lists, Matrix Market, METIS, GraphML, GML), pictures
// (PNG, JPEG, GIF), and the small tables that go with them (constraints, labels, seeds, weights, indices, boxes,
// beliefs).
//
// ReadX reads from an io.Reader and uses the name of the file in errors; LoadX opens a path. The first bytes determine
// the compression and, where possible, the format (package scan); otherwise the suffix of the name does. Readers
// allocate memory for the values they have read, never for what a header claims. An error in a file is a *fault.Error
// that names the file and, for text, the line.
package format

import (
	"io"
	"os"
	"slices"
	"strings"

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
	{".npz", array.ReadSparseNPZGraph},
}

// SparseSuffixes lists the suffixes of files that ReadSparsePoints accepts, without those of compression.
func SparseSuffixes() []string { return sparseFormats.suffixes() }

// GraphSuffixes lists the suffixes of files that ReadGraph accepts, without those of compression.
func GraphSuffixes() []string { return graphFormats.suffixes() }

// KernelSuffixes lists the suffixes of files that ReadKernel and ReadPoints accept, without those of compression.
func KernelSuffixes() []string { return denseFormats.suffixes() }

// IsSparse reports whether the suffix of a file name is that of sparse points. It returns false for NPZ files, which
// may hold anything.
func IsSparse(name string) bool {
	suffix := scan.SuffixOf(name)
	return suffix != scan.NPZSuffix && sparseFormats.has(suffix)
}

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

// open decompresses the input and finds the reader of its format.
func (f formats[R]) open(r io.Reader, name string) (s *scan.Source, read R, err error) {
	if s, err = scan.New(r, name); err != nil {
		return nil, read, err
	}
	for _, known := range f {
		if known.suffix == s.Suffix {
			return s, known.read, nil
		}
	}
	if found := scan.SuffixOf(name); found != s.Suffix && f.has(found) {
		return nil, read, s.Invalid("UNKNOWN_FORMAT", "the first bytes are those of the format %s, which is not supported for this input", s.Suffix[1:])
	}
	suffixes := f.suffixes()
	last := len(suffixes) - 1
	if s.Suffix == "" {
		return nil, read, s.Invalid("UNKNOWN_FORMAT", "neither the name nor the first bytes identify the format; set --format to %s or %s",
			strings.Join(suffixes[:last], ", "), suffixes[last])
	}
	return nil, read, s.Invalid("UNKNOWN_FORMAT", "the suffix %q is not supported; use %s or %s, optionally compressed (.gz, .zst)",
		s.Suffix, strings.Join(suffixes[:last], ", "), suffixes[last])
}

// load opens path, calls read, and closes the file.
func load[T any](path string, read func(r io.Reader, name string) (T, error)) (T, error) {
	var none T
	file, err := os.Open(path)
	if err != nil {
		return none, (&scan.Source{Name: path}).ReadError(err)
	}
	defer file.Close()
	return read(file, path)
}
