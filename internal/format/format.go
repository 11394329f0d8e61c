// Package format brings files in and out: points and kernel matrices (CSV, TSV, NPY, Matrix
// Market), sparse points (svmlight), graphs (edge lists, Matrix Market), pictures (PNG, JPEG, GIF),
// and the small tables around them (constraints, labels, seeds, weights, indices, boxes).
//
// Every reader comes twice: ReadX takes an io.Reader and the name of what it reads, LoadX opens a
// path. The name's suffix tells the format and a further ".gz" is undone on the way. Readers
// stream: they hold the values they have read and no more, whatever a header claims. Everything
// wrong with a file is a *fault.Error that names the file and the line.
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

// source is one input: its bytes, uncompressed, with the name that errors call it by.
type source struct {
	*bufio.Reader
	name   string
	suffix string // see suffixOf: ".csv"
	gaps   bool   // missing values are read as NaN, not refused
}

func newSource(r io.Reader, name string) (*source, error) {
	s := &source{name: name}
	if strings.HasSuffix(strings.ToLower(name), ".gz") {
		unzipped, err := gzip.NewReader(bufio.NewReaderSize(r, bufferSize))
		if err != nil {
			return nil, s.readError(err)
		}
		r = unzipped
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

// readError says what a failed read means: a fault where the file is to blame, and the error
// itself, with the file's name, where the machine or the network is.
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

// load opens a path and hands it to a reader.
func load[T any](path string, read func(r io.Reader, name string) (T, error)) (T, error) {
	var none T
	file, err := os.Open(path)
	if err != nil {
		return none, (&source{name: path}).readError(err)
	}
	defer file.Close()
	return read(file, path)
}

// loadSized is load for a reader that is told the number of points, 0 when it is not known.
func loadSized[T any](path string, points int, read func(io.Reader, string, int) (T, error)) (T, error) {
	return load(path, func(r io.Reader, name string) (T, error) { return read(r, name, points) })
}
