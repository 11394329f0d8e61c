package parquet

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/cleave-project/cleave/internal/data/table"
)

// Writer writes a file, a row group for each table that it is given. All have the same columns.
type Writer struct {
	w       io.Writer
	at      int64
	columns []table.Column // names and types
	groups  []writtenGroup
	encoder *zstd.Encoder
}

type writtenGroup struct {
	rows   int
	chunks []writtenChunk
}

type writtenChunk struct {
	from, packed, unpacked int64
	values                 int
}

// NewWriter begins a file.
func NewWriter(w io.Writer, columns []table.Column) (*Writer, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	p := &Writer{w: w, columns: columns, encoder: encoder}
	return p, p.write([]byte(Magic))
}

func (p *Writer) write(bytes []byte) error {
	_, err := p.w.Write(bytes)
	p.at += int64(len(bytes))
	return err
}

// Write writes the rows of a table.
func (p *Writer) Write(t *table.Table) error {
	if t.Rows() == 0 {
		return nil
	}
	g := writtenGroup{rows: t.Rows()}
	for at := range t.Columns {
		written, err := p.writeColumn(&t.Columns[at])
		if err != nil {
			return err
		}
		g.chunks = append(g.chunks, written)
	}
	p.groups = append(p.groups, g)
	return nil
}

// pageRows is how many rows a page has at most.
const pageRows = 1 << 16

func (p *Writer) writeColumn(c *table.Column) (writtenChunk, error) {
	written := writtenChunk{from: p.at, values: c.Len()}
	for from := 0; from < c.Len(); from += pageRows {
		to := min(c.Len(), from+pageRows)
		page := appendLevels(nil, c, from, to)
		page = appendValues(page, c, from, to)
		packed := p.encoder.EncodeAll(page, nil)
		header := &thriftWriter{}
		header.element(func() {
			header.i32(1, pageData)
			header.i32(2, len(page))
			header.i32(3, len(packed))
			header.structure(5, func() {
				header.i32(1, to-from)
				header.i32(2, encodingPlain)
				header.i32(3, encodingRLE)
				header.i32(4, encodingRLE)
			})
		})
		if err := p.write(header.bytes); err != nil {
			return written, err
		}
		if err := p.write(packed); err != nil {
			return written, err
		}
		written.unpacked += int64(len(header.bytes) + len(page))
	}
	written.packed = p.at - written.from
	return written, nil
}

// appendLevels appends which cells are not empty, as runs.
func appendLevels(page []byte, c *table.Column, from, to int) []byte {
	start := len(page)
	page = append(page, 0, 0, 0, 0)
	for row := from; row < to; {
		empty, end := c.Empty != nil && c.Empty[row], row+1
		for end < to && (c.Empty != nil && c.Empty[end]) == empty {
			end++
		}
		page = binary.AppendUvarint(page, uint64(end-row)<<1)
		page = append(page, map[bool]byte{false: 1}[empty])
		row = end
	}
	binary.LittleEndian.PutUint32(page[start:], uint32(len(page)-start-4))
	return page
}

func appendValues(page []byte, c *table.Column, from, to int) []byte {
	for row := from; row < to; row++ {
		if c.Empty != nil && c.Empty[row] {
			continue
		}
		switch c.Type {
		case table.Integer:
			page = binary.LittleEndian.AppendUint64(page, uint64(c.Integers[row]))
		case table.Number:
			page = binary.LittleEndian.AppendUint64(page, math.Float64bits(c.Numbers[row]))
		default:
			page = append(binary.LittleEndian.AppendUint32(page, uint32(len(c.Texts[row]))), c.Texts[row]...)
		}
	}
	return page
}

func physicalOf(t table.Type) int {
	switch t {
	case table.Integer:
		return physicalInt64
	case table.Number:
		return physicalDouble
	}
	return physicalBytes
}

// Close writes the metadata, which end a file.
func (p *Writer) Close() error {
	footer := &thriftWriter{}
	footer.element(func() { p.metadata(footer) })
	footer.bytes = binary.LittleEndian.AppendUint32(footer.bytes, uint32(len(footer.bytes)))
	if err := p.write(append(footer.bytes, Magic...)); err != nil {
		return err
	}
	return p.encoder.Close()
}

func (p *Writer) metadata(w *thriftWriter) {
	rows := 0
	for _, g := range p.groups {
		rows += g.rows
	}
	w.i32(1, 1) // the version of the format
	w.list(2, typeStruct, 1+len(p.columns))
	w.element(func() {
		w.text(4, "table")
		w.i32(5, len(p.columns))
	})
	for at := range p.columns {
		c := &p.columns[at]
		w.element(func() {
			w.i32(1, physicalOf(c.Type))
			w.i32(3, 1) // optional
			w.text(4, c.Name)
			if c.Type == table.Text {
				w.i32(6, 0)
				w.structure(10, func() { w.structure(1, func() {}) })
			}
		})
	}
	w.i64(3, int64(rows))
	w.list(4, typeStruct, len(p.groups))
	for _, g := range p.groups {
		w.element(func() { p.groupMetadata(w, g) })
	}
	w.text(6, "cleave")
}

func (p *Writer) groupMetadata(w *thriftWriter, g writtenGroup) {
	size := int64(0)
	w.list(1, typeStruct, len(g.chunks))
	for at, chunk := range g.chunks {
		size += chunk.unpacked
		w.element(func() {
			w.i64(2, 0) // where metadata of the column would be, were they not here
			w.structure(3, func() {
				w.i32(1, physicalOf(p.columns[at].Type))
				w.list(2, typeI32, 2)
				w.varint(encodingPlain)
				w.varint(encodingRLE)
				w.list(3, typeBinary, 1)
				w.rawText(p.columns[at].Name)
				w.i32(4, codecZstd)
				w.i64(5, int64(chunk.values))
				w.i64(6, chunk.unpacked)
				w.i64(7, chunk.packed)
				w.i64(9, chunk.from)
			})
		})
	}
	w.i64(2, size)
	w.i64(3, int64(g.rows))
}
