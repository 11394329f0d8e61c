package format

import (
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/columnar"
	"github.com/cleave-project/cleave/internal/format/csv"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// binaryReader reads a format that stores the types of its columns.
type binaryReader interface {
	Columns() []table.Column
	Next() (*table.Table, error)
	Close()
}

// binaryTable adapts a binaryReader to tableParts. It owns the reader and what it reads from.
type binaryTable struct {
	reader  binaryReader
	name    string
	found   []table.Column // names and types, without cells
	rows    int            // read so far
	partial bool           // only some of the rows are read, perhaps none
	notices []string
	close   []func() // what to do after closing the reader, in this order
}

// openBinary opens the input and passes its decompressed bytes to open, which creates the reader. ignores makes the
// names of the columns distinct, and reports which columns are not needed.
func openBinary(in Input, o csv.Options, open func(b *binaryTable, s *scan.Source,
	ignores func(names []string) []bool) (binaryReader, error)) (Part, error) {
	b := &binaryTable{name: in.Name(), partial: in.groups != nil}
	r, end, err := in.open()
	if err != nil {
		return nil, err
	}
	b.close = append(b.close, end)
	s, err := scan.Open(r, b.name, scan.Options{})
	if err == nil {
		opened, failed := open(b, s, func(names []string) []bool {
			for _, notice := range table.Distinct(names) {
				b.notices = append(b.notices, b.name+": "+notice)
			}
			return o.Ignores(names)
		})
		if failed == nil {
			b.reader, b.found = opened, opened.Columns()
			return b, nil
		}
		err = s.ReadError(named(b.name, failed))
	}
	b.Close()
	return nil, err
}

// openParquet opens a Parquet file, or the row groups of it that in names. An input that cannot seek is copied to a
// temporary file first, because a Parquet file is read from its end.
func openParquet(in Input, o csv.Options) (Part, error) {
	return openBinary(in, o,
		func(b *binaryTable, s *scan.Source, ignores func(names []string) []bool) (binaryReader, error) {
			content, size, spooled, err := s.Seekable()
			if err != nil {
				return nil, err
			}
			b.close = append(b.close, func() { spooled.Close() })
			opened, err := columnar.OpenParquet(content, size, ignores)
			if err == nil && in.groups != nil {
				err = opened.Restrict(in.groups.From, in.groups.To)
			}
			return opened, err
		})
}

func openArrow(in Input, o csv.Options) (Part, error) {
	return openBinary(in, o,
		func(_ *binaryTable, s *scan.Source, ignores func(names []string) []bool) (binaryReader, error) {
			return columnar.OpenArrow(s, ignores)
		})
}

// named adds the name of the file to a fault.
func named(name string, err error) error {
	if _, bad := errors.AsType[*fault.Error](err); bad {
		return fault.Wrap(err, "%s", name)
	}
	return err
}

// NoRows returns the error about a file without rows.
func NoRows(name string) error {
	return fault.Invalid("EMPTY_DATA", "%s: the file has no rows of data", name)
}

func (b *binaryTable) Columns() []table.Column { return slices.Clone(b.found) }

func (b *binaryTable) Notices() []string { return b.notices }

func (b *binaryTable) Decimals() string { return "" }

// Close closes the reader and then what it reads from. It may be called again.
func (b *binaryTable) Close() {
	if b.reader != nil {
		b.reader.Close()
		b.reader = nil
	}
	for _, end := range b.close {
		end()
	}
	b.close = nil
}

// Next returns the next rows, io.EOF after the last. A file that is read as a whole must have a row.
func (b *binaryTable) Next() (*table.Table, error) {
	t, err := b.reader.Next()
	err = named(b.name, err)
	switch {
	case errors.Is(err, io.EOF) && b.rows == 0 && !b.partial:
		return nil, NoRows(b.name)
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	case fault.Is(err, "BAD_TEXT"):
		return nil, fault.Invalid("BAD_TEXT", "%v; to skip the column, use --ignore", err)
	case err != nil:
		return nil, (&scan.Source{Name: b.name}).ReadError(err)
	}
	b.rows += t.Rows()
	if b.rows > table.MaxRows {
		return nil, fault.Invalid("TOO_MANY_ROWS", "%s: the file has more than %s rows, the largest number supported",
			b.name, strconv.Itoa(table.MaxRows))
	}
	return t, nil
}
