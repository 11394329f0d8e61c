package format

import (
	"io"
	"strings"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// The tables in this file are the only place that knows which suffix belongs to which reader. To add a
// format, write its reader in a file of its own, add a line to a table, and write its test.

// A reader gets the decompressed bytes of a file.
type (
	denseReader  func(s *source) (*matrix, error)
	sparseReader func(s *source, features int) (*sparseMatrix, error)                        // features 0: as the file says
	graphReader  func(s *source, vertices int) (edges []dataset.Edges, found int, err error) // vertices, found 0: as the edges say
)

// denseFormats are those of dense points and of kernel matrices.
var denseFormats = formats[denseReader]{
	{".csv", delimited(',')},
	{".tsv", delimited('\t')},
	{".npy", readNPY},
	{".npz", readNPZ},
	{".mtx", readDenseMatrixMarket},
}

var sparseFormats = formats[sparseReader]{
	{".svm", readSVMLight},
	{".svmlight", readSVMLight},
	{".libsvm", readSVMLight},
	{".npz", readSparseNPZ},
}

var graphFormats = formats[graphReader]{
	{".csv", edgeList(',')},
	{".tsv", edgeList('\t')},
	{".txt", edgeList(anyWhiteSpace)},
	{".edges", edgeList(anyWhiteSpace)},
	{".mtx", readMatrixMarketGraph},
	{".graph", readMetis},
	{".metis", readMetis},
	{".graphml", readGraphML},
	{".gml", readGML},
	{".npz", readSparseNPZGraph},
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
	suffix := suffixOf(name)
	return suffix != npzSuffix && sparseFormats.has(suffix)
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
func (f formats[R]) open(r io.Reader, name string) (s *source, read R, err error) {
	if s, err = newSource(r, name); err != nil {
		return nil, read, err
	}
	for _, known := range f {
		if known.suffix == s.suffix {
			return s, known.read, nil
		}
	}
	if found := suffixOf(name); found != s.suffix && f.has(found) {
		return nil, read, s.invalid("UNKNOWN_FORMAT", "by its first bytes this is a file of the format %s, which is not read here", s.suffix[1:])
	}
	suffixes := f.suffixes()
	last := len(suffixes) - 1
	if s.suffix == "" {
		return nil, read, s.invalid("UNKNOWN_FORMAT", "neither a name nor the first bytes tell the format; --format says it: %s or %s",
			strings.Join(suffixes[:last], ", "), suffixes[last])
	}
	return nil, read, s.invalid("UNKNOWN_FORMAT", "the suffix %q names no format known here; use %s or %s, each also with .gz or .zst",
		s.suffix, strings.Join(suffixes[:last], ", "), suffixes[last])
}
