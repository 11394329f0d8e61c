// Package format reads and writes files: ordinary tables (CSV, Parquet, Arrow), points and kernel matrices (CSV, NPY,
// NPZ, Matrix Market), sparse points (svmlight), graphs (edge lists, Matrix Market, METIS, GraphML, GML), pictures (PNG,
// JPEG, GIF), and the small tables that go with them (constraints, labels, seeds, weights, indices, boxes, beliefs).
//
// There are two functions for everything that is read: ReadX takes an io.Reader and the name of the
// file, LoadX opens a path. Bytes tell the compression, and the format where they can (format/scan); otherwise the suffix of
// the name does (formats.go has the tables of them). Readers allocate memory for the values that they have read, never for
// what a header claims. Whatever is wrong with a file is a *fault.Error that names the file and, in a text, the line.
package format

import (
	"io"
	"os"

	"github.com/cleave-project/cleave/internal/format/scan"
)

// load opens a path and calls read with it.
func load[T any](path string, read func(r io.Reader, name string) (T, error)) (T, error) {
	var none T
	file, err := os.Open(path)
	if err != nil {
		return none, (&scan.Source{Name: path}).ReadError(err)
	}
	defer file.Close()
	return read(file, path)
}

// loadSized is load for a reader that takes a size: the number of points, features or vertices, 0 if
// it is not known.
func loadSized[T any](path string, size int, read func(io.Reader, string, int) (T, error)) (T, error) {
	return load(path, func(r io.Reader, name string) (T, error) { return read(r, name, size) })
}
