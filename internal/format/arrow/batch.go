package arrow

import (
	"math"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/raw"
)

// batch is a record batch: rows of all columns, one after the other.
type batch struct {
	*Reader
	rows        int64
	nodes       flatRange // of each column and part of one: how many values, how many are empty
	buffers     flatRange // where they are in the body
	variadic    flatRange // how many buffers texts by views have
	body        []byte
	compression int // -1: none
	metadata    flatTable
}

// flatRange is a list in the metadata that is used up from its beginning.
type flatRange struct{ place, left int }

func (r *flatRange) take(size int) (place int, ok bool) {
	if r.left == 0 {
		return 0, false
	}
	place = r.place
	r.place += size
	r.left--
	return place, true
}

func (a *Reader) batchOf(metadata flatTable, body []byte) (*batch, error) {
	b := &batch{Reader: a, rows: metadata.longField(0), body: body, compression: -1, metadata: metadata}
	b.nodes.place, b.nodes.left = metadata.vector(1, 16)
	b.buffers.place, b.buffers.left = metadata.vector(2, 16)
	b.variadic.place, b.variadic.left = metadata.vector(4, 8)
	if compression, yes := metadata.tableField(3); yes {
		b.compression = compression.byteField(0, 0)
		if b.compression > 1 {
			return nil, fault.Invalid("UNSUPPORTED_COMPRESSION", "the Arrow file is compressed in a way that is not known; write it with LZ4, Zstandard or none")
		}
	}
	if metadata.failed || b.rows < 0 || b.rows > math.MaxInt32 {
		return nil, corrupt("the header of a batch cannot be read")
	}
	return b, nil
}

// next is the next buffer, decompressed.
func (b *batch) next() ([]byte, error) {
	place, ok := b.buffers.take(16)
	if !ok {
		return nil, corrupt("a batch has fewer buffers than its columns need")
	}
	from, size := b.metadata.int64(place), b.metadata.int64(place+8)
	if from < 0 || size < 0 || from > int64(len(b.body)) || size > int64(len(b.body))-from {
		return nil, corrupt("a buffer claims %d bytes at byte %d of a batch of %d", size, from, len(b.body))
	}
	buffer := b.body[from : from+size]
	if b.compression < 0 || size == 0 {
		return buffer, nil
	}
	if size < 8 {
		return nil, corrupt("a compressed buffer has only %d bytes", size)
	}
	unpacked, packed := int64(order.Uint64(buffer)), buffer[8:]
	if unpacked == -1 { // it would not have become smaller
		return packed, nil
	}
	if err := b.unpacker.Take(int64(len(packed)), unpacked); err != nil {
		return nil, err
	}
	var out []byte
	var err error
	if b.compression == 0 {
		out, err = b.unpacker.LZ4Frame(nil, packed, int(unpacked))
	} else {
		out, err = b.unpacker.Zstd(nil, packed, int(unpacked))
	}
	if err != nil {
		return nil, corrupt("a buffer cannot be decompressed: %v", err)
	}
	return out, nil
}

// skip goes past the buffers of a column that is not read.
func (b *batch) skip(f *field) error {
	if _, ok := b.nodes.take(16); !ok {
		return corrupt("a batch has fewer columns than the schema")
	}
	buffers := 2
	switch f.kind {
	case typeNull, typeRunEnd:
		buffers = 0
	case typeStruct, typeFixedList:
		buffers = 1
	case typeBinary, typeUtf8, typeLargeBinary, typeLargeUtf8, typeListView, typeLargeListView:
		buffers = 3
	case typeBinaryView, typeUtf8View:
		place, ok := b.variadic.take(8)
		if !ok {
			return corrupt("a batch does not say how many buffers its texts have")
		}
		buffers = 2 + int(min(max(b.metadata.int64(place), 0), int64(b.buffers.left)))
	case typeUnion:
		if buffers = 1; f.dense {
			buffers = 2
		}
	}
	children := f.children
	if f.dictionary {
		buffers, children = 2, nil
	}
	for range buffers {
		if _, ok := b.buffers.take(16); !ok {
			return corrupt("a batch has fewer buffers than its columns need")
		}
	}
	for at := range children {
		if err := b.skip(&children[at]); err != nil {
			return err
		}
	}
	return nil
}

// column reads the next column.
func (b *batch) column(f *field) (*table.Column, error) {
	if f.to == 0 {
		if err := b.skip(f); err != nil {
			return nil, err
		}
		c := &cells{field: f, rows: int(b.rows)}
		c.out = table.Column{Name: f.name, Type: table.Text}
		return &c.out, b.allow(c)
	}
	if !f.dictionary {
		return b.plainColumn(f, f.name)
	}
	indices, err := b.plainColumn(f.index, f.name)
	if err != nil {
		return nil, err
	}
	dictionary := b.dictionaries[f.id]
	if dictionary == nil {
		dictionary = &table.Column{Type: f.to}
	}
	return lookUp(indices, dictionary)
}

func (b *batch) plainColumn(f *field, name string) (*table.Column, error) {
	node, ok := b.nodes.take(16)
	if !ok {
		return nil, corrupt("a batch has fewer columns than the schema")
	}
	if rows := b.metadata.int64(node); rows != b.rows {
		return nil, corrupt("column %q has %d rows in a batch of %d", name, rows, b.rows)
	}
	named := *f
	named.name = name
	c := &cells{field: &named, rows: int(b.rows), out: table.Column{Name: name, Type: f.to}}
	if f.kind == typeNull {
		return &c.out, b.allow(c)
	}
	marks, err := b.next()
	if err != nil {
		return nil, err
	}
	buffers := 1
	switch f.kind {
	case typeBinary, typeUtf8, typeLargeBinary, typeLargeUtf8:
		buffers = 2
	case typeBinaryView, typeUtf8View:
		place, ok := b.variadic.take(8)
		if more := b.metadata.int64(place); ok && more >= 0 && more <= int64(b.buffers.left) {
			buffers += int(more)
		} else {
			return nil, corrupt("a batch does not say how many buffers its texts have")
		}
	}
	for range buffers {
		buffer, err := b.next()
		if err != nil {
			return nil, err
		}
		c.buffers = append(c.buffers, buffer)
	}
	if b.metadata.int64(node+8) != 0 && b.rows > 0 {
		if c.rows > 8*len(marks) {
			return nil, c.short()
		}
		c.out.Empty = make([]bool, c.rows)
		for row := range c.out.Empty {
			c.out.Empty[row] = marks[row/8]>>(row%8)&1 == 0
		}
	}
	if err := f.values(c); err != nil {
		return nil, err
	}
	c.out.MarkNaN()
	if f.unneeded {
		c.out.MarkUnfit()
	}
	return &c.out, nil
}

// allow makes a column of nothing, which takes no bytes: so many rows of it that the file would be a trap are refused.
func (b *batch) allow(c *cells) error {
	if b.freeCells -= b.rows; b.freeCells < 0 {
		return fault.Invalid("FILE_GROWS_TOO_MUCH", "columns of nothing have more than %d cells, which looks like a mistake or a trap", int64(freeCells))
	}
	return c.nothing()
}

// freeCells are those without bytes that a file may have.
const freeCells = raw.FreeBytes / 16
