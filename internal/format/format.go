// Package format reads and writes files: ordinary tables (CSV, Parquet, Arrow), points and kernel matrices (CSV, NPY,
// NPZ, Matrix Market), sparse points (svmlight), graphs (edge lists, Matrix Market, METIS, GraphML, GML), pictures (PNG,
// JPEG, GIF), and the small tables that go with them (constraints, labels, seeds, weights, indices, boxes, beliefs).
//
// There are two functions for everything that is read: ReadX takes an io.Reader and the name of the
// file, LoadX opens a path. Bytes tell the compression, and the format where they can (detect.go); otherwise the suffix of
// the name does (formats.go has the tables of them). Readers allocate memory for the values that they have read, never for
// what a header claims. Whatever is wrong with a file is a *fault.Error that names the file and, in a text, the line.
package format

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// bufferSize is how much is read from a file at a time.
const bufferSize = 256 << 10

// source is one input: its bytes, decompressed, and the name that errors use for it.
type source struct {
	*bufio.Reader
	name         string
	suffix       string   // that tells the format, see suffixOf: ".csv"
	found        string   // the same, where not only the name tells it
	allowMissing bool     // missing values are read as NaN, not refused
	asPoints     bool     // points are wanted, if they can be made at once
	names        []string // a first line with these cells is a header, also if some of them are numbers
	blockSize    int      // of text that is parsed at a time

	array    string   // which one of several
	vertices []string // that the file lists by name
	notices  []string // what there is to say about how it was read
	file     *os.File // where the bytes come from as they are; nil: from elsewhere, or they were compressed
	spool    *Spool   // likewise
}

// newSource opens an input, and refuses formats that are known but not read here.
func newSource(r io.Reader, name string) (*source, error) {
	s, err := openSource(r, name)
	if err == nil && (s.found == "" || s.found == npzSuffix) { // a workbook is a ZIP archive, too
		err = s.checkForeign()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// openSource undoes the compression of an input and finds out its format, of which there may be others than data have.
func openSource(r io.Reader, name string) (*source, error) {
	s := &source{name: name, blockSize: blockSize, suffix: suffixOf(name)}
	plain, packed, err := s.decompress(r)
	if err != nil {
		return nil, s.readError(err)
	}
	s.Reader = plain
	if !packed {
		s.file, _ = r.(*os.File)
		s.spool, _ = r.(*Spool)
	}
	if said, ok := r.(*given); ok {
		s.array = said.array
		if said.format != "" {
			s.suffix = suffixOf("." + said.format)
			s.found = s.suffix
			return s, nil
		}
	}
	if s.found = s.detect(); s.found != "" {
		s.suffix = s.found
	}
	return s, nil
}

// invalid is a fault in this file.
func (s *source) invalid(reason, format string, args ...any) *fault.Error {
	return fault.Invalid(reason, "%s: %s", s.name, fmt.Sprintf(format, args...))
}

// named puts the name of the file before a fault that has none.
func (s *source) named(err error) error {
	if bad, is := errors.AsType[*fault.Error](err); is && strings.HasPrefix(bad.Message, s.name) {
		return err
	}
	return fault.Wrap(err, "%s", s.name)
}

// readError says what a failed read means: a fault if something is wrong with the file, and otherwise
// the error itself, behind the name of the file.
func (s *source) readError(err error) error {
	var asFault *fault.Error
	var badPath *fs.PathError
	var bad *damaged
	switch {
	case errors.As(err, &asFault):
		return err
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return s.invalid("UNSUPPORTED_COMPRESSION", "the file refers back by more than %d MiB; compress it by zstd at level 20 or below, without --long", maxWindow>>20)
	case errors.As(err, &bad), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return s.invalid("CORRUPT_FILE", "the file is damaged or cut short (%v); make it again, or fetch it again", err)
	case errors.As(err, &badPath):
		return s.invalid("FILE_NOT_READABLE", "the file cannot be read: %v%s", badPath.Err, s.similar(err))
	}
	return fmt.Errorf("%s: %w", s.name, err)
}

// similar asks about a file that is called almost as one that is not there.
func (s *source) similar(err error) string {
	if !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	folder, name := filepath.Split(s.name)
	entries, err := os.ReadDir(cmp.Or(folder, "."))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("; there is no folder %s", filepath.Clean(folder))
	}
	var names []string
	for _, entry := range entries[:min(len(entries), 10_000)] {
		names = append(names, entry.Name())
	}
	if found := text.Similar(name, names); found != "" {
		return fmt.Sprintf("; did you mean %s?", folder+found)
	}
	return ""
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
