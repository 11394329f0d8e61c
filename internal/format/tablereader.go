package format

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format/columnar"
	"github.com/cleave-project/cleave/internal/format/csv"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// Part reads a table, or a part of one, in parts of some rows each.
type Part interface {
	// Columns returns the names and types of the columns, without cells.
	Columns() []table.Column
	// Next returns the next rows, io.EOF after the last. See ErrRestarted for when reading starts over.
	Next() (*table.Table, error)
	// Notices returns messages for the user about how ambiguous input was read. They are complete after the last row,
	// also after Close.
	Notices() []string
	// Decimals returns the decimal separator of all numbers read, "." or ",". It returns "" if no number has decimals,
	// if columns differ, or if the format is binary.
	Decimals() string
	// Close releases the files.
	Close()
}

// TableReader reads an ordinary table.
type TableReader struct {
	Part
	own *scan.Spool // the copy of standard input, if the caller did not supply one
}

// OpenTable opens a table and determines the names and types of its columns. Several files, or the files of a folder,
// form one table.
func OpenTable(paths []string, o csv.Options) (*TableReader, error) {
	files, err := expand(paths)
	if err != nil {
		return nil, err
	}
	if len(files) > 1 && slices.Contains(files, "-") {
		return nil, (&scan.Source{Name: "standard input"}).Invalid("BAD_FILES",
			"cannot be combined with files; use standard input or files, not both")
	}
	var own *scan.Spool
	if _, shared := o.Stdin.(*scan.Spool); files[0] == "-" && o.Stdin != nil && !shared {
		own = scan.NewSpool(o.Stdin) // a later row may show that the first ones were misread
		o.Stdin = own
	}
	r, err := OpenParts(files, o, func(at int, o csv.Options) (Part, error) { return openPart(files[at], o) })
	if err != nil {
		own.Close()
		return nil, err
	}
	r.own = own
	return r, nil
}

// openPart opens a table in a single file.
func openPart(path string, o csv.Options) (Part, error) {
	in := Input{Path: path, Format: o.Format, Label: o.Name}
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
		return nil, in.source().Invalid("UNKNOWN_FORMAT",
			"%s is not a supported table format; use %s (the files of a folder form one table)", suffix,
			strings.Join(tableSuffixes, ", "))
	}
	return csv.Open(&reopened{in, func() {}}, o)
}

// textTables holds the suffixes of tables in text formats.
var textTables = map[string]bool{".csv": true, ".tsv": true, ".txt": true, ".tab": true, ".psv": true}

// IsTable reports whether OpenTable accepts a file of this name.
func IsTable(name string) bool {
	suffix := scan.SuffixOf(name)
	return textTables[suffix] || suffix == ".parquet" || suffix == ".arrow"
}

// Close releases the files.
func (r *TableReader) Close() {
	r.Part.Close()
	r.own.Close()
}

// ReadAll reads all rows into one table.
func (r *TableReader) ReadAll() (*table.Table, error) {
	if b, ok := r.Part.(*binaryTable); ok {
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

// reopened is an input that csv.Reader reads again from its beginning.
type reopened struct {
	Input
	end func() // closes what is open
}

// Open starts reading at the beginning.
func (r *reopened) Open() (*scan.Source, error) {
	r.end()
	input, end, err := r.open()
	if err != nil {
		return nil, err
	}
	r.end = end
	return scan.Open(input, r.Name(), scan.Options{Format: r.Format})
}

// Lost reports whether the beginning is no longer available.
func (r *reopened) Lost() bool { return r.spool != nil && r.spool.Lost }

func (r *reopened) Close() { r.end() }

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
