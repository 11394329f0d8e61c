package format

import (
	"io"
	"strings"

	"github.com/cleave-project/cleave/internal/format/array"
	"github.com/cleave-project/cleave/internal/format/graph"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// The tables in this file are the only place that knows which suffix belongs to which reader. To add a
// format, write its reader in a file of its own, add a line to a table, and write its test.

// denseFormats are those of dense points and of kernel matrices.
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

// PointSuffixes are those of files that ReadPoints takes, also compressed.
func PointSuffixes() []string { return denseFormats.suffixes() }

// SparseSuffixes are those of files that ReadSparsePoints takes, also compressed.
func SparseSuffixes() []string { return sparseFormats.suffixes() }

// GraphSuffixes are those of files that ReadGraph takes, also compressed.
func GraphSuffixes() []string { return graphFormats.suffixes() }

// KernelSuffixes are those of files that ReadKernel takes, also compressed.
func KernelSuffixes() []string { return denseFormats.suffixes() }

// IsSparse tells whether a name is that of a file of sparse points. Only its content tells what an NPZ file holds.
func IsSparse(name string) bool {
	suffix := scan.SuffixOf(name)
	return suffix != scan.NPZSuffix && sparseFormats.has(suffix)
}

// formats are the formats of one kind of data, in the order in which messages list them.
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
	for _, known := range f {
		if known.suffix == suffix {
			return true
		}
	}
	return false
}

// open undoes the compression and finds the reader.
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
		return nil, read, s.Invalid("UNKNOWN_FORMAT", "by its first bytes this is a file of the format %s, which is not read here", s.Suffix[1:])
	}
	suffixes := f.suffixes()
	last := len(suffixes) - 1
	if s.Suffix == "" {
		return nil, read, s.Invalid("UNKNOWN_FORMAT", "neither a name nor the first bytes tell the format; --format says it: %s or %s",
			strings.Join(suffixes[:last], ", "), suffixes[last])
	}
	return nil, read, s.Invalid("UNKNOWN_FORMAT", "the suffix %q names no format known here; use %s or %s, each also with .gz or .zst",
		s.Suffix, strings.Join(suffixes[:last], ", "), suffixes[last])
}
