package format

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format/columnar"
	"github.com/cleave-project/cleave/internal/format/csv"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// TableReader reads an ordinary table in parts of some rows each.
type TableReader struct {
	parts Part
}

// Part reads a table, or a part of one, in one format. The methods are those of TableReader.
type Part interface {
	Columns() []table.Column
	Next() (*table.Table, error)
	Notices() []string
	Decimals() string
	Close()
}

// OpenTable opens a table and determines the names and types of its columns. Several files, or the files of a folder,
// form one table.
func OpenTable(paths []string, o csv.Options) (*TableReader, error) {
	files, err := expand(paths)
	if err != nil {
		return nil, err
	}
	if spool, ok := o.Stdin.(*scan.Spool); ok {
		if err := spool.Rewind(); err != nil {
			return nil, err
		}
	}
	if len(files) > 1 && slices.Contains(files, "-") {
		return nil, (&scan.Source{Name: "standard input"}).Invalid("BAD_FILES", "cannot be combined with files; use standard input or files, not both")
	}
	return OpenParts(files, o, func(at int, o csv.Options) (Part, error) { return openPart(files[at], o) })
}

// openPart opens a table in a single file.
func openPart(path string, o csv.Options) (Part, error) {
	in := Input{Path: path, Format: o.Format, Stdin: Peekable(o.Stdin), Label: o.Name}
	in.spool, _ = o.Stdin.(*scan.Spool)
	return openInput(in, o)
}

// openInput opens a table in a single input.
func openInput(in Input, o csv.Options) (Part, error) {
	suffix, err := in.suffix()
	switch {
	case err != nil:
		return nil, err
	case suffix == ".parquet":
		return openParquet(in, o)
	case suffix == ".arrow":
		return openArrow(in, o)
	case !textTables[suffix]:
		return nil, (&scan.Source{Name: in.Name()}).Invalid("UNKNOWN_FORMAT", "%s is not a supported table format; use %s (the files of a folder form one table)", suffix, strings.Join(tableSuffixes, ", "))
	}
	return csv.Open(&reopened{Input: in}, o)
}

// textTables holds the suffixes of tables in text formats.
var textTables = map[string]bool{".csv": true, ".tsv": true, ".txt": true, ".tab": true, ".psv": true}

// IsTable reports whether OpenTable accepts a file of this name.
func IsTable(name string) bool {
	suffix := scan.SuffixOf(name)
	return textTables[suffix] || suffix == ".parquet" || suffix == ".arrow"
}

// Columns returns the names and types of the columns, without cells.
func (r *TableReader) Columns() []table.Column { return r.parts.Columns() }

// Next returns the next rows, io.EOF after the last. See ErrRestarted for when reading starts over.
func (r *TableReader) Next() (*table.Table, error) { return r.parts.Next() }

// Notices returns messages for the user about how ambiguous input was read. They are complete after the last row.
func (r *TableReader) Notices() []string { return r.parts.Notices() }

// Decimals returns the decimal separator of all numbers read, "." or ",". It returns "" if no number has decimals, if
// columns differ, or if the format is binary.
func (r *TableReader) Decimals() string { return r.parts.Decimals() }

// Close releases the files.
func (r *TableReader) Close() { r.parts.Close() }

// ReadAll reads all rows into one table.
func (r *TableReader) ReadAll() (*table.Table, error) {
	if b, ok := r.parts.(*binaryTable); ok {
		if file, ok := b.reader.(*columnar.Parquet); ok {
			file.Whole() // larger parts, so that less is copied by Join
		}
	}
	var parts []*table.Table
	for {
		part, err := r.Next()
		switch {
		case errors.Is(err, csv.ErrRestarted):
			parts = nil
			continue
		case errors.Is(err, io.EOF):
			return table.Join(parts)
		case err != nil:
			return nil, err
		}
		parts = append(parts, part)
	}
}

// reopened is an input that can be read again from its beginning: a file, a Spool, or standard input as long as no more
// than maxReplay bytes of it were read.
type reopened struct {
	Input
	file   *os.File
	replay *replay
}

// maxReplay is how many bytes of standard input are kept for reading again.
const maxReplay = 8 << 20

// Open starts reading at the beginning. It returns false if the beginning is no longer available.
func (r *reopened) Open() (s *scan.Source, again bool, err error) {
	r.Close()
	var input io.Reader
	if r.spool != nil && r.Path == "-" {
		if err := r.spool.Rewind(); err != nil {
			return nil, false, nil
		}
		input = r.spool
	} else if r.Path == "-" {
		if r.replay == nil {
			r.replay = &replay{r: r.Stdin}
		}
		if !r.replay.rewind() {
			return nil, false, nil
		}
		input = r.replay
	} else if r.object != nil {
		input = r.object.section()
	} else {
		if r.file, err = os.Open(r.Path); err != nil {
			return nil, true, (&scan.Source{Name: r.Path}).ReadError(err)
		}
		input = r.file
	}
	s, err = scan.New(&scan.Given{Reader: input, Format: r.Format}, r.Name())
	return s, true, err
}

// Lost reports whether the beginning is no longer available.
func (r *reopened) Lost() bool {
	return r.replay != nil && r.replay.lost || r.Path == "-" && r.spool != nil && r.spool.Lost
}

func (r *reopened) Close() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
}

// replay keeps the first maxReplay bytes that it reads.
type replay struct {
	r    io.Reader
	kept []byte
	at   int  // the position in kept
	lost bool // more was read than can be kept
}

func (p *replay) rewind() bool {
	p.at = 0
	return !p.lost
}

func (p *replay) Read(into []byte) (int, error) {
	if p.at < len(p.kept) {
		n := copy(into, p.kept[p.at:])
		p.at += n
		return n, nil
	}
	n, err := p.r.Read(into)
	if p.lost || len(p.kept)+n > maxReplay {
		p.lost, p.kept, p.at = true, nil, 0
	} else {
		p.kept = append(p.kept, into[:n]...)
		p.at = len(p.kept)
	}
	return n, err
}

// TableOptions is what the user specified about a table. Empty fields are detected.
type TableOptions = csv.Options

// Survey is what reading a text has shown; see csv.Options.Known.
type Survey = csv.Survey

// ErrRestarted is returned by TableReader.Next; see csv.ErrRestarted.
var ErrRestarted = csv.ErrRestarted

// Spool makes an input that can be read only once readable again.
type Spool = scan.Spool

// NewSpool returns a Spool that reads from input.
func NewSpool(input io.Reader) *Spool { return scan.NewSpool(input) }
