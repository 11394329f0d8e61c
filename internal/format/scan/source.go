// Package scan opens the files that other packages of internal/format parse. It undoes their compression, finds out
// their format and their encoding, and reads texts: by lines, or by blocks that several threads parse at a time.
//
// Whatever is wrong with a file is a *fault.Error that names it and, in a text, the line.
package scan

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

// BufferSize is how much is read from a file at a time.
const BufferSize = 256 << 10

// Source is one input: its bytes, decompressed, and the name that errors use for it.
type Source struct {
	*bufio.Reader
	Name         string
	Suffix       string   // that tells the format, see SuffixOf: ".csv"
	found        string   // the same, where not only the name tells it
	AllowMissing bool     // missing values are read as NaN, not refused
	AsPoints     bool     // points are wanted, if they can be made at once
	Names        []string // a first line with these cells is a header, also if some of them are numbers
	BlockSize    int      // of text that is parsed at a time

	Array    string   // which one of several
	Vertices []string // that the file lists by name
	Notices  []string // what there is to say about how it was read
	File     *os.File // where the bytes come from as they are; nil: from elsewhere, or they were compressed
	spool    *Spool   // likewise
}

// New opens an input as Open does, and refuses formats that are known but not read here.
func New(r io.Reader, name string) (*Source, error) {
	s, err := Open(r, name)
	if err == nil && (s.found == "" || s.found == NPZSuffix) { // a workbook is a ZIP archive, too
		err = s.checkForeign()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Open undoes the compression of an input and finds out its format, which may be one that holds no data, such as that of
// a picture.
func Open(r io.Reader, name string) (*Source, error) {
	s := &Source{Name: name, BlockSize: BlockSize, Suffix: SuffixOf(name)}
	plain, packed, err := s.decompress(r)
	if err != nil {
		return nil, s.ReadError(err)
	}
	s.Reader = plain
	if !packed {
		s.File, _ = r.(*os.File)
		s.spool, _ = r.(*Spool)
	}
	if said, ok := r.(*Given); ok {
		s.Array = said.Array
		if said.Format != "" {
			s.Suffix = SuffixOf("." + said.Format)
			s.found = s.Suffix
			return s, nil
		}
	}
	if s.found = s.detect(); s.found != "" {
		s.Suffix = s.found
	}
	return s, nil
}

// Invalid returns a fault that names the file.
func (s *Source) Invalid(reason, format string, args ...any) *fault.Error {
	return fault.Invalid(reason, "%s: %s", s.Name, fmt.Sprintf(format, args...))
}

// Named puts the name of the file before a fault that has none.
func (s *Source) Named(err error) error {
	if bad, is := errors.AsType[*fault.Error](err); is && strings.HasPrefix(bad.Message, s.Name) {
		return err
	}
	return fault.Wrap(err, "%s", s.Name)
}

// ReadError says what a failed read means: a fault if something is wrong with the file, and otherwise
// the error itself, behind the name of the file.
func (s *Source) ReadError(err error) error {
	var asFault *fault.Error
	var badPath *fs.PathError
	var bad *damaged
	switch {
	case errors.As(err, &asFault):
		return err
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return s.Invalid("UNSUPPORTED_COMPRESSION", "the file refers back by more than %d MiB; compress it by zstd at level 20 or below, without --long", MaxWindow>>20)
	case errors.As(err, &bad), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return s.Invalid("CORRUPT_FILE", "the file is damaged or cut short (%v); make it again, or fetch it again", err)
	case errors.As(err, &badPath):
		return s.Invalid("FILE_NOT_READABLE", "the file cannot be read: %v%s", badPath.Err, s.similar(err))
	}
	return fmt.Errorf("%s: %w", s.Name, err)
}

// similar asks about a file that is called almost as one that is not there.
func (s *Source) similar(err error) string {
	if !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	folder, name := filepath.Split(s.Name)
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
