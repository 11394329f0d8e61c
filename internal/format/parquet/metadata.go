// Package parquet reads and writes Parquet files of flat columns, as internal/data/table has them.
//
// It reads what writers of such tables write: all encodings of flat columns; files that are not compressed, or by
// Snappy, gzip, Zstandard or LZ4. It checks every size before it believes it, and goes through a file in batches of
// rows. Libraries that do all of Parquet allocate what a header claims, and are several megabytes of program.
package parquet

import (
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/raw"
)

// Magic is at both ends of a file.
const Magic = "PAR1"

// freeCells are those that a file may have however few bytes it has: a run of equal values takes hardly any.
const freeCells = 1 << 20

// File is an open file. Next reads it.
type File struct {
	r       io.ReaderAt
	size    int64
	columns []column
	groups  []group

	group    int // the next one
	chunks   []*chunk
	inGroup  int64 // rows that are left of the current one
	whole    bool  // see Whole
	unpacker raw.Unpacker
}

// group is a row group: some rows, and where each column of them is.
type group struct {
	rows   int64
	chunks []extent
}

// extent is where a column of a row group is.
type extent struct {
	from, size int64
	codec      int64
	values     int64
}

func corrupt(format string, args ...any) *fault.Error {
	return fault.Invalid("CORRUPT_FILE", "the Parquet file is damaged or cut short: "+format, args...)
}

// Open reads the metadata of a file. Columns and cells that no table has are an error, except in columns that
// ignored names: such cells are empty.
func Open(r io.ReaderAt, size int64, ignored func(column string, at int) bool) (*File, error) {
	f := &File{r: r, size: size}
	const tail = 8
	var ends [len(Magic) + tail]byte
	if size < int64(len(ends)) {
		return nil, corrupt("it has only %d bytes", size)
	}
	if err := f.readAt(ends[:len(Magic)], 0); err != nil {
		return nil, err
	}
	if err := f.readAt(ends[len(Magic):], size-tail); err != nil {
		return nil, err
	}
	switch end := string(ends[len(ends)-len(Magic):]); {
	case end == "PARE":
		return nil, fault.Invalid("ENCRYPTED_FILE", "the Parquet file is encrypted; write it without encryption")
	case end != Magic || string(ends[:len(Magic)]) != Magic:
		return nil, corrupt("it does not end as Parquet files do")
	}
	length := int64(binary.LittleEndian.Uint32(ends[len(Magic):]))
	if length > size-int64(len(ends)) {
		return nil, corrupt("its end claims %d bytes of metadata where the whole file has %d", length, size)
	}
	footer := make([]byte, length)
	if err := f.readAt(footer, size-tail-length); err != nil {
		return nil, err
	}
	reader := &thriftReader{rest: footer}
	metadata := reader.structure(0)
	if reader.failed {
		return nil, corrupt("its metadata cannot be read")
	}
	if metadata.field(8) != nil {
		return nil, fault.Invalid("ENCRYPTED_FILE", "columns of the Parquet file are encrypted; write it without encryption")
	}
	if err := f.readSchema(metadata.elements(2), ignored); err != nil {
		return nil, err
	}
	return f, f.readGroups(&metadata)
}

// readAt reads all of p.
func (f *File) readAt(p []byte, at int64) error {
	n, err := f.r.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return corrupt("it ends at byte %d", at+int64(n))
	}
	return err
}

// readSchema finds the columns. The schema is a tree in depth-first order, whose root has the columns as its children.
func (f *File) readSchema(elements []value, ignored func(string, int) bool) error {
	if len(elements) == 0 {
		return corrupt("it has no schema")
	}
	leaf := 0
	rest := elements[1:]
	for len(rest) > 0 {
		count, leaves, ok := subtree(rest)
		if !ok {
			return corrupt("its schema does not fit together")
		}
		c := column{name: rest[0].text(4), leaf: leaf, optional: rest[0].integer(3, 0) == 1}
		c.name = orUnnamed(c.name, len(f.columns))
		c.unneeded = ignored(c.name, len(f.columns))
		if refusal := c.setType(&rest[0]); refusal != "" {
			if !c.unneeded {
				return fault.Invalid("UNSUPPORTED_COLUMN", "column %q %s, which no table has here; leave it out by --ignore %s", c.name, refusal, c.name).
					With("column", c.name)
			}
			c.leaf, c.kind, c.to = -1, kindTexts, table.Text
		}
		f.columns = append(f.columns, c)
		leaf += leaves
		rest = rest[count:]
	}
	if len(f.columns) > table.MaxColumns {
		return fault.Invalid("TOO_MANY_COLUMNS", "the table has %d columns; at most %d are supported", len(f.columns), table.MaxColumns)
	}
	return nil
}

func orUnnamed(name string, at int) string {
	if name == "" {
		return table.Unnamed(at)
	}
	return name
}

// subtree counts the elements of the first subtree of a list, and those of them that are leaves.
func subtree(elements []value) (count, leaves int, ok bool) {
	open := int64(1) // subtrees that must still follow
	for open > 0 && count < len(elements) {
		children := elements[count].integer(5, 0)
		if children < 0 || children > int64(len(elements)) {
			return 0, 0, false
		}
		if elements[count].field(1) != nil && children == 0 {
			leaves++
		}
		count++
		open += children - 1
	}
	return count, leaves, open == 0
}

func (f *File) readGroups(metadata *value) error {
	rows, cells := int64(0), int64(0)
	limit := freeCells + raw.MaxGrowth*f.size
	for _, v := range metadata.elements(4) {
		g := group{rows: v.integer(3, -1)}
		if g.rows < 0 || g.rows > math.MaxInt32 {
			return corrupt("a row group claims %d rows", g.rows)
		}
		if g.rows == 0 {
			continue
		}
		chunks := v.elements(1)
		for at := range f.columns {
			c := &f.columns[at]
			if c.leaf < 0 {
				g.chunks = append(g.chunks, extent{})
				continue
			}
			if c.leaf >= len(chunks) {
				return corrupt("a row group has no column %q", c.name)
			}
			e, err := f.extentOf(c, &chunks[c.leaf])
			if err != nil {
				return err
			}
			if e.values != g.rows {
				return corrupt("column %q has %d values for %d rows", c.name, e.values, g.rows)
			}
			g.chunks = append(g.chunks, e)
		}
		rows += g.rows
		cells += g.rows * int64(len(f.columns))
		if cells > limit {
			return fault.Invalid("FILE_GROWS_TOO_MUCH", "the file of %d bytes claims %d rows and more, of %d columns: more than %d cells for each byte, which looks like a mistake or a trap",
				f.size, rows, len(f.columns), raw.MaxGrowth)
		}
		f.groups = append(f.groups, g)
	}
	if total := metadata.integer(3, rows); total != rows {
		return corrupt("its metadata claim %d rows, its row groups %d", total, rows)
	}
	return nil
}

func (f *File) extentOf(c *column, v *value) (extent, error) {
	m := v.field(3)
	switch {
	case len(v.text(1)) > 0:
		return extent{}, fault.Invalid("UNSUPPORTED_FILE", "column %q is in another file, %.60q; write one file", c.name, v.text(1))
	case v.field(8) != nil:
		return extent{}, fault.Invalid("ENCRYPTED_FILE", "column %q is encrypted; write the file without encryption", c.name).With("column", c.name)
	case m == nil:
		return extent{}, corrupt("column %q has no metadata", c.name)
	}
	e := extent{from: m.integer(9, -1), size: m.integer(7, -1), codec: m.integer(4, 0), values: m.integer(5, -1)}
	if dictionary := m.integer(11, 0); dictionary > 0 && dictionary < e.from {
		e.from = dictionary
	}
	if e.from < int64(len(Magic)) || e.size < 0 || e.from > f.size || e.size > f.size-e.from {
		return extent{}, corrupt("column %q claims %d bytes at byte %d of a file of %d", c.name, e.size, e.from, f.size)
	}
	if m.integer(1, -1) != int64(c.physical) {
		return extent{}, corrupt("column %q is of another type in its row group than in the schema", c.name)
	}
	switch e.codec {
	case codecNone, codecSnappy, codecGzip, codecZstd, codecLZ4:
		return e, nil
	}
	name := map[int64]string{3: "LZO", 4: "Brotli", 5: "the old form of LZ4"}[e.codec]
	if name == "" {
		name = "something unknown"
	}
	return extent{}, fault.Invalid("UNSUPPORTED_COMPRESSION", "column %q is compressed by %s; write the file with Snappy, Zstandard or gzip", c.name, name).
		With("column", c.name)
}
