// Package scan opens the files that other packages of internal/format parse. It decompresses them, detects their format
// and encoding, and reads text by lines, or by blocks that several threads parse concurrently.
//
// Errors in a file are *fault.Error values that name the file and, for text, the line.
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

// BufferSize is the number of bytes read from a file at a time.
const BufferSize = 256 << 10

// Options describes an input, and how to read it.
type Options struct {
	Format string   // such as "csv"; "" detects it from the first bytes or the name
	Array  string   // the array to read, if there are several; "" means the only one
	Names  []string // a first line of these cells is a header, even if some are numbers
	// how many bytes the input, or an array in it, may decompress to; 0 means no limit but MaxGrowth
	MaxBytes     int64
	AllowMissing bool // read missing values as NaN instead of failing
	AsPoints     bool // the caller prefers Matrix.Points over values
	AnyFormat    bool // the caller recognizes the format; otherwise, well-known formats without data are errors
}

// Source is one input: its bytes, decompressed, and the name that errors use for it.
type Source struct {
	*bufio.Reader
	Options
	Name      string
	Suffix    string    // identifies the format, such as ".csv"; see SuffixOf
	BlockSize int       // bytes of text parsed at a time
	plain     io.Reader // what was opened if it is uncompressed, otherwise nil
}

// Open decompresses an input and detects its format.
func Open(r io.Reader, name string, o Options) (*Source, error) {
	s := &Source{Options: o, Name: name, BlockSize: BlockSize, Suffix: SuffixOf(name)}
	plain, packed, err := s.decompress(r)
	if err != nil {
		return nil, s.ReadError(err)
	}
	s.Reader = plain
	if !packed {
		s.plain = r
	}
	found := s.detect()
	if o.Format != "" {
		found = SuffixOf("." + o.Format)
	}
	if found != "" {
		s.Suffix = found
	}
	if !o.AnyFormat && (found == "" || found == NPZSuffix) { // Excel workbooks are ZIP archives too
		if err := s.checkForeign(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// RegularFile returns the uncompressed file on a disk that the input is, and its size. It returns nil for other inputs.
func (s *Source) RegularFile() (file *os.File, size int64) {
	file, _ = s.plain.(*os.File)
	if file == nil {
		return nil, 0
	}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		return file, info.Size()
	}
	return nil, 0
}

// Invalid returns a fault that names the file.
func (s *Source) Invalid(reason, format string, args ...any) *fault.Error {
	return fault.Invalid(reason, "%s: %s", s.Name, fmt.Sprintf(format, args...))
}

// Named adds the name of the file to a fault.
func (s *Source) Named(err error) error {
	if bad, ok := errors.AsType[*fault.Error](err); ok && strings.HasPrefix(bad.Message, s.Name) {
		return err
	}
	return fault.Wrap(err, "%s", s.Name)
}

// ReadError explains a failed read: it returns a fault if the file is the problem, otherwise the error itself with the
// name of the file.
func (s *Source) ReadError(err error) error {
	var asFault *fault.Error
	var badPath *fs.PathError
	var bad *damaged
	switch {
	case errors.As(err, &asFault):
		return err
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return s.Invalid("UNSUPPORTED_COMPRESSION",
			"the compression window is larger than %d MiB; compress the file with zstd at level 20 or below, "+
				"without --long", MaxWindow>>20)
	case errors.As(err, &bad), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return s.Invalid("CORRUPT_FILE", "the file is damaged or cut short (%v); create or download it again", err)
	case errors.As(err, &badPath):
		return s.Invalid("FILE_NOT_READABLE", "the file cannot be read: %v%s", badPath.Err, s.similar(err))
	}
	return fmt.Errorf("%s: %w", s.Name, err)
}

// similar suggests a file whose name resembles one that does not exist.
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
