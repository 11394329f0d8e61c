package format

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format/columnar"
	"github.com/cleave-project/cleave/internal/format/csv"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// TableReader reads an ordinary table, some rows at a time.
type TableReader struct {
	parts tableParts
}

// tableParts is the reader of one format.
type tableParts interface {
	Columns() []table.Column
	Next() (*table.Table, error)
	Notices() []string
	Decimals() string
	Close()
}

// OpenTable opens a table and finds out what its columns are. Several files, or those of a folder, are parts of one table.
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
	var parts tableParts
	if len(files) > 1 {
		parts, err = openParts(files, o)
	} else {
		parts, err = openPart(files[0], o)
	}
	if err != nil {
		return nil, err
	}
	return &TableReader{parts: parts}, nil
}

// openPart opens a table of one file.
func openPart(path string, o csv.Options) (tableParts, error) {
	in := Input{Path: path, Format: o.Format, Stdin: Peekable(o.Stdin)}
	in.spool, _ = o.Stdin.(*scan.Spool)
	suffix, err := in.suffix()
	switch {
	case err != nil:
		return nil, err
	case suffix == ".parquet":
		return openParquet(in, o)
	case suffix == ".arrow":
		return openArrow(in, o)
	case !textTables[suffix]:
		return nil, (&scan.Source{Name: in.Name()}).Invalid("UNKNOWN_FORMAT", "%s names no table known here; use %s (all files of a folder are parts of one table)", suffix, strings.Join(tableSuffixes, ", "))
	}
	return csv.Open(&reopened{Input: in}, o)
}

// textTables are the suffixes of tables that are texts.
var textTables = map[string]bool{".csv": true, ".tsv": true, ".txt": true, ".tab": true, ".psv": true}

// IsTable reports whether a name is that of a file that OpenTable takes.
func IsTable(name string) bool {
	suffix := scan.SuffixOf(name)
	return textTables[suffix] || suffix == ".parquet" || suffix == ".arrow"
}

// Columns are the names and types of the columns, without cells.
func (r *TableReader) Columns() []table.Column { return r.parts.Columns() }

// Next is the next rows; at the end it returns io.EOF. See ErrRestarted.
func (r *TableReader) Next() (*table.Table, error) { return r.parts.Next() }

// Notices are what there is to say about how the table was read; all of it once the last row is.
func (r *TableReader) Notices() []string { return r.parts.Notices() }

// Decimals is the character before the decimals of all numbers that were read, "." or ","; "": a text has none, or they differ.
func (r *TableReader) Decimals() string { return r.parts.Decimals() }

// Close ends the reading.
func (r *TableReader) Close() { r.parts.Close() }

// ReadAll is all rows.
func (r *TableReader) ReadAll() (*table.Table, error) {
	if b, ok := r.parts.(*binaryTable); ok {
		if file, ok := b.reader.(*columnar.Parquet); ok {
			file.Whole() // few parts need not be joined
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

// reopened is an input that can be read again from its beginning: a file, or standard input if it is a Spool or as long as no
// more than maxReplay has been taken from it.
type reopened struct {
	Input
	file   *os.File
	replay *replay
}

// maxReplay is how much of standard input is kept to be read again.
const maxReplay = 8 << 20

// open begins at the beginning; false if what was there is lost.
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
	} else {
		if r.file, err = os.Open(r.Path); err != nil {
			return nil, true, (&scan.Source{Name: r.Path}).ReadError(err)
		}
		input = r.file
	}
	s, err = scan.New(&scan.Given{Reader: input, Format: r.Format}, r.Name())
	return s, true, err
}

// lost reports whether there is no way back to the beginning.
func (r *reopened) Lost() bool {
	return r.replay != nil && r.replay.lost || r.Path == "-" && r.spool != nil && r.spool.Lost
}

func (r *reopened) Close() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
}

// replay keeps the beginning of what it reads.
type replay struct {
	r    io.Reader
	kept []byte
	at   int  // in kept
	lost bool // more was read than is kept
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

// TableOptions are what the reader of a table is told; what is left empty it finds out.
type TableOptions = csv.Options

// ErrRestarted is what Next returns when something late in a file shows that its beginning was misread.
// See csv.ErrRestarted.
var ErrRestarted = csv.ErrRestarted

// Spool is an input that can be read only once, made one that can be read again.
type Spool = scan.Spool

// NewSpool returns a Spool that reads from an input.
func NewSpool(input io.Reader) *Spool { return scan.NewSpool(input) }
