package columnar

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
)

const arrowName = "Arrow"

// Arrow reads an Arrow file or stream sequentially. The body of a file is a stream.
type Arrow struct {
	messages
	reader  *ipc.Reader
	columns []field
	free    int64 // how many more cells the file may have that take no bytes
}

// field is a column of the schema, and the dictionary that its cells refer to.
type field struct {
	name     string
	to       table.Type // 0 if the column is not read
	unneeded bool       // cells that a table cannot hold are read as empty instead of failing

	dictionary arrow.ArrayData // the dictionary of the last batch
	known      table.Column    // its values
}

// OpenArrow reads the schema. It calls ignores once with the names of the columns, which it may change. Columns and
// cells that a table cannot hold are an error, except in columns for which ignores returns true: such cells are read as
// empty.
func OpenArrow(r io.Reader, ignores func(names []string) []bool) (a *Arrow, err error) {
	defer rescue(arrowName, &err)
	a = &Arrow{messages: messages{r: r, dictionaries: map[int64]int{}}, free: scan.FreeBytes / 16}
	start, err := a.next(8)
	if err != nil {
		return nil, err
	}
	a.file = len(start) == 8 && string(start[:len(scan.ArrowMagic)]) == scan.ArrowMagic
	if !a.file {
		a.start = start
	}
	if a.reader, err = ipc.NewReaderFromMessageReader(&a.messages, ipc.WithAllocator(&a.budget),
		ipc.WithEnsureNativeEndian(false)); err != nil {
		if errors.Is(err, io.EOF) {
			err = corrupt(arrowName, "the schema is missing")
		}
		return nil, err
	}
	schema := a.reader.Schema()
	if schema.Endianness() != 0 {
		return nil, fault.Invalid("UNSUPPORTED_FILE",
			"the Arrow file is big-endian, which is not supported; write it as little-endian")
	}
	if schema.NumFields() == 0 {
		return nil, fault.Invalid("EMPTY_DATA", "the Arrow file has no columns")
	}
	names := make([]string, schema.NumFields())
	for at, described := range schema.Fields() {
		names[at] = described.Name
	}
	unneeded, err := nameColumns(names, ignores)
	if err != nil {
		return nil, err
	}
	for at, described := range schema.Fields() {
		f := field{name: names[at], unneeded: unneeded[at]}
		to, refusal := typeOf(described.Type)
		switch {
		case refusal == "":
			f.to = to
		case !f.unneeded:
			return nil, unsupported(f.name, at, refusal)
		}
		a.columns = append(a.columns, f)
	}
	return a, nil
}

// Columns returns the columns, without cells.
func (a *Arrow) Columns() []table.Column {
	columns := make([]table.Column, len(a.columns))
	for at := range a.columns {
		columns[at] = table.Column{Name: a.columns[at].name, Type: cmp.Or(a.columns[at].to, table.Text)}
	}
	return columns
}

// Close releases the memory of the reader.
func (a *Arrow) Close() {
	if a.reader != nil {
		a.reader.Release()
	}
}

// Next returns the rows of the next record batch, io.EOF after the last.
func (a *Arrow) Next() (t *table.Table, err error) {
	for {
		t, err = a.nextBatch()
		if err != nil || t.Rows() > 0 {
			return t, err
		}
	}
}

// nextBatch returns the next batch as a table, or io.EOF after the last.
func (a *Arrow) nextBatch() (t *table.Table, err error) {
	defer rescueEOF(arrowName, &err)
	record, err := a.reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, a.checkEnd()
	}
	if err != nil {
		return nil, err
	}
	a.batches++
	rows := record.NumRows()
	if rows < 0 || rows > math.MaxInt32 || int(record.NumCols()) != len(a.columns) {
		return nil, corrupt(arrowName, "the header of a batch cannot be read")
	}
	columns := make([]table.Column, len(a.columns))
	for at := range a.columns {
		f, values := &a.columns[at], record.Column(at)
		if values.Len() != int(rows) {
			return nil, corrupt(arrowName, "column %q has %d rows in a batch of %d", f.name, values.Len(), rows)
		}
		columns[at], err = a.column(f, values)
		if err != nil {
			return nil, err
		}
	}
	return table.New(columns)
}

// checkEnd reads the footer after the stream in a file. It lists the batches, which shows that the file is complete.
func (a *Arrow) checkEnd() error {
	if !a.file || a.ended {
		return io.EOF
	}
	footer, err := a.next(maxMetadata)
	if err != nil {
		return err
	}
	tail := 4 + len(scan.ArrowMagic)
	if len(footer) < tail || string(footer[len(footer)-len(scan.ArrowMagic):]) != scan.ArrowMagic {
		return corrupt(arrowName, "the footer is missing")
	}
	size := int64(binary.LittleEndian.Uint32(footer[len(footer)-tail:]))
	if size > int64(len(footer)-tail) {
		return corrupt(arrowName, "the footer claims %d bytes of metadata", size)
	}
	if _, batches := rootOf(footer[len(footer)-tail-int(size):len(footer)-tail]).vector(10, 24); batches != a.batches {
		return corrupt(arrowName, "the footer lists %d batches, but the file has %d", batches, a.batches)
	}
	a.ended = true
	return io.EOF
}
