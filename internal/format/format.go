// Package format reads and writes files: points and kernel matrices (CSV, TSV, NPY, Matrix Market),
// sparse points (svmlight), graphs (edge lists, Matrix Market), pictures (PNG, JPEG, GIF), and the
// small tables that go with them (constraints, labels, seeds, weights, indices, boxes, beliefs).
//
// There are two functions for everything that is read: ReadX takes an io.Reader and the name of the
// file, LoadX opens a path. The suffix of the name tells the format (formats.go has the tables of
// them); a file whose name also ends in ".gz" is decompressed. Readers allocate memory for the values
// that they have read, never for what a header claims. Whatever is wrong with a file is a *fault.Error
// that names the file and, in a text, the line.
package format

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cleave-project/cleave/internal/fault"
)

// bufferSize is how much is read from a file at a time.
const bufferSize = 256 << 10

// source is one input: its bytes, decompressed, and the name that errors use for it.
type source struct {
	*bufio.Reader
	file         *os.File // where the bytes come from as they are; nil if they come in another way
	name         string
	suffix       string // see suffixOf: ".csv"
	allowMissing bool   // missing values are read as NaN, not refused
	blockSize    int    // of text that is parsed at a time
}

func newSource(r io.Reader, name string) (*source, error) {
	s := &source{name: name, blockSize: blockSize}
	s.file, _ = r.(*os.File)
	if strings.HasSuffix(strings.ToLower(name), ".gz") {
		unzipped, err := gzip.NewReader(bufio.NewReaderSize(r, bufferSize))
		if err != nil {
			return nil, s.readError(err)
		}
		r, s.file = unzipped, nil
	}
	s.suffix = suffixOf(name)
	s.Reader = bufio.NewReaderSize(r, bufferSize)
	return s, nil
}

// suffixOf is the suffix that tells a file's format: in lower case and without ".gz".
func suffixOf(name string) string {
	return filepath.Ext(strings.TrimSuffix(strings.ToLower(name), ".gz"))
}

// invalid is a fault in this file.
func (s *source) invalid(reason, format string, args ...any) *fault.Error {
	return fault.Invalid(reason, "%s: %s", s.name, fmt.Sprintf(format, args...))
}

// readError says what a failed read means: a fault if something is wrong with the file, and otherwise
// the error itself, behind the name of the file.
func (s *source) readError(err error) error {
	var asFault *fault.Error
	var badFlate flate.CorruptInputError
	var badPath *fs.PathError
	switch {
	case errors.As(err, &asFault):
		return err
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &badFlate),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return s.invalid("CORRUPT_FILE", "the file is damaged or cut short (%v)", err)
	case errors.As(err, &badPath):
		return s.invalid("FILE_NOT_READABLE", "the file cannot be read: %v", badPath.Err)
	}
	return fmt.Errorf("%s: %w", s.name, err)
}

// load opens a path and calls read with it.
func load[T any](path string, read func(r io.Reader, name string) (T, error)) (T, error) {
	var none T
	file, err := os.Open(path)
	if err != nil {
		return none, (&source{name: path}).readError(err)
	}
	defer file.Close()
	return read(file, path)
}

// loadSized is load for a reader that takes a size: the number of points, features or vertices, 0 if
// it is not known.
func loadSized[T any](path string, size int, read func(io.Reader, string, int) (T, error)) (T, error) {
	return load(path, func(r io.Reader, name string) (T, error) { return read(r, name, size) })
}
