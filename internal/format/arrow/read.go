package arrow

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/raw"
)

// Magic is at both ends of a file. A stream begins with Continuation.
const (
	Magic        = "ARROW1"
	Continuation = "\xFF\xFF\xFF\xFF"
)

const maxMetadata = 64 << 20

// The messages that a stream consists of.
const (
	messageSchema     = 1
	messageDictionary = 2
	messageBatch      = 3
)

// Reader reads a file or a stream from its beginning to its end: what is between the ends of a file is a stream.
type Reader struct {
	r            io.Reader
	file         bool
	batches      int
	fields       []field
	dictionaries map[int64]*table.Column
	unpacker     raw.Unpacker
	freeCells    int64
}

func corrupt(format string, args ...any) *fault.Error {
	return fault.Invalid("CORRUPT_FILE", "the Arrow file is damaged or cut short: "+format, args...)
}

// Open reads the schema. Columns and cells that no table has are an error, except in columns that ignored names:
// such cells are empty.
func Open(r io.Reader, ignored func(column string, at int) bool) (*Reader, error) {
	a := &Reader{dictionaries: map[int64]*table.Column{}, freeCells: freeCells}
	start := make([]byte, 8)
	n, err := io.ReadFull(r, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	if a.file = n == len(start) && string(start[:len(Magic)]) == Magic; a.file {
		start = nil
	}
	a.r = io.MultiReader(bytes.NewReader(start[:min(n, len(start))]), r)
	kind, schema, _, err := a.message()
	if errors.Is(err, io.EOF) || err == nil && kind != messageSchema {
		return nil, corrupt("it does not begin with a schema")
	}
	if err != nil {
		return nil, err
	}
	if a.fields, err = schemaOf(schema, ignored); err != nil {
		return nil, err
	}
	if len(a.fields) == 0 {
		return nil, fault.Invalid("EMPTY_DATA", "the Arrow file has no columns")
	}
	return a, nil
}

// Columns are the columns, without cells.
func (a *Reader) Columns() []table.Column {
	columns := make([]table.Column, len(a.fields))
	for at := range a.fields {
		columns[at] = table.Column{Name: a.fields[at].name, Type: a.fields[at].to}
		if columns[at].Type == 0 {
			columns[at].Type = table.Text
		}
	}
	return columns
}

// Rename gives the columns other names.
func (a *Reader) Rename(names []string) {
	for at, name := range names {
		a.fields[at].name = name
	}
}

// Close frees what the reader holds.
func (a *Reader) Close() { a.unpacker.Close() }

// Next is the rows of the next record batch; io.EOF after the last.
func (a *Reader) Next() (*table.Table, error) {
	for {
		kind, header, body, err := a.message()
		if errors.Is(err, io.EOF) {
			if a.file {
				if err := a.checkEnd(); err != nil {
					return nil, err
				}
			}
			return nil, io.EOF
		}
		if err != nil {
			return nil, err
		}
		switch kind {
		case messageDictionary:
			if err := a.readDictionary(header, body); err != nil {
				return nil, err
			}
		case messageBatch:
			a.batches++
			t, err := a.readBatch(header, body)
			if err != nil || t.Rows() > 0 {
				return t, err
			}
		default:
			return nil, corrupt("a message of kind %d stands where rows are expected", kind)
		}
	}
}

func (a *Reader) readBatch(header flatTable, body []byte) (*table.Table, error) {
	b, err := a.batchOf(header, body)
	if err != nil {
		return nil, err
	}
	columns := make([]table.Column, len(a.fields))
	for at := range a.fields {
		c, err := b.column(&a.fields[at])
		if err != nil {
			return nil, err
		}
		columns[at] = *c
	}
	return table.New(columns)
}

// readDictionary reads values that indices speak of, or more of them.
func (a *Reader) readDictionary(header flatTable, body []byte) error {
	id := header.longField(0)
	data, ok := header.tableField(1)
	at := slices.IndexFunc(a.fields, func(f field) bool { return f.dictionary && f.id == id })
	if !ok || header.failed {
		return corrupt("the header of a dictionary cannot be read")
	}
	if at < 0 || a.fields[at].to == 0 {
		return nil // of a part of a column that is not read
	}
	b, err := a.batchOf(data, body)
	if err != nil {
		return err
	}
	values, err := b.plainColumn(&a.fields[at], a.fields[at].name)
	if err != nil {
		return err
	}
	if old := a.dictionaries[id]; old != nil && header.byteField(2, 0) != 0 {
		if old.Empty != nil || values.Empty != nil {
			empty := func(c *table.Column) []bool { return append(c.Empty, make([]bool, c.Len()-len(c.Empty))...) }
			values.Empty = append(empty(old), empty(values)...)
		}
		values.Integers = append(old.Integers, values.Integers...)
		values.Numbers = append(old.Numbers, values.Numbers...)
		values.Texts = append(old.Texts, values.Texts...)
	}
	a.dictionaries[id] = values
	return nil
}

// message reads the next message: what it is about, its header and its body. io.EOF is the end of the stream.
func (a *Reader) message() (kind int, header flatTable, body []byte, err error) {
	prefix, err := a.read(8)
	switch {
	case err == nil && len(prefix) == 0:
		return 0, header, nil, io.EOF
	case err != nil:
		return 0, header, nil, err
	case len(prefix) < 8:
		return 0, header, nil, corrupt("it ends between messages")
	case string(prefix[:4]) != Continuation:
		return 0, header, nil, corrupt("a message does not begin as it should (files of before 2019 must be written anew)")
	}
	size := int64(int32(order.Uint32(prefix[4:])))
	if size == 0 {
		return 0, header, nil, io.EOF
	}
	if size < 0 || size > maxMetadata {
		return 0, header, nil, corrupt("a message claims %d bytes of metadata", size)
	}
	metadata, err := a.read(size)
	if err != nil {
		return 0, header, nil, err
	}
	if int64(len(metadata)) < size {
		return 0, header, nil, corrupt("it ends in the metadata of a message")
	}
	message := (&flat{bytes: metadata}).root()
	kind = message.byteField(1, 0)
	header, _ = message.tableField(2)
	length := message.longField(3)
	if message.failed || length < 0 {
		return 0, header, nil, corrupt("the metadata of a message cannot be read")
	}
	if body, err = a.read(length); err != nil {
		return 0, header, nil, err
	}
	if int64(len(body)) < length {
		return 0, header, nil, corrupt("a message claims %d bytes where %d are left", length, len(body))
	}
	return kind, header, body, nil
}

// read reads so many bytes, or fewer at the end. Its memory grows as bytes arrive.
func (a *Reader) read(size int64) ([]byte, error) {
	if size <= 1<<16 {
		b := make([]byte, size)
		n, err := io.ReadFull(a.r, b)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil
		}
		return b[:n], err
	}
	b := make([]byte, 0, 1<<16)
	for int64(len(b)) < size {
		if len(b) == cap(b) {
			b = append(make([]byte, 0, min(4*int64(cap(b)), size)), b...)
		}
		n, err := io.ReadFull(a.r, b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// checkEnd reads what follows the stream in a file: a list of the batches, by which a file is known to be complete.
func (a *Reader) checkEnd() error {
	footer, err := a.read(maxMetadata)
	if err != nil {
		return err
	}
	tail := 4 + len(Magic)
	if len(footer) < tail || string(footer[len(footer)-len(Magic):]) != Magic {
		return corrupt("it does not end as Arrow files do")
	}
	size := int(order.Uint32(footer[len(footer)-tail:]))
	if size > len(footer)-tail {
		return corrupt("its end claims %d bytes of metadata", size)
	}
	list := (&flat{bytes: footer[len(footer)-tail-size : len(footer)-tail]}).root()
	if _, batches := list.vector(3, 24); list.failed || batches != a.batches {
		return corrupt("its end lists %d batches where there are %d", batches, a.batches)
	}
	return nil
}
