package arrow

import (
	"encoding/binary"
	"math"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
)

var order = binary.LittleEndian

func floatOf(b []byte) float32 { return math.Float32frombits(order.Uint32(b)) }

func doubleOf(b []byte) float64 { return math.Float64frombits(order.Uint64(b)) }

// integerOf reads an integer of so many bytes, nil where there is no such size.
func integerOf(width int, signed bool) func(b []byte) int64 {
	switch {
	case width == 1 && signed:
		return func(b []byte) int64 { return int64(int8(b[0])) }
	case width == 1:
		return func(b []byte) int64 { return int64(b[0]) }
	case width == 2 && signed:
		return func(b []byte) int64 { return int64(int16(order.Uint16(b))) }
	case width == 2:
		return func(b []byte) int64 { return int64(order.Uint16(b)) }
	case width == 4 && signed:
		return func(b []byte) int64 { return int64(int32(order.Uint32(b))) }
	case width == 4:
		return func(b []byte) int64 { return int64(order.Uint32(b)) }
	case width == 8:
		return func(b []byte) int64 { return int64(order.Uint64(b)) }
	}
	return nil
}

// cells are the values of one column of a batch, while they are read.
type cells struct {
	*field
	rows    int
	buffers [][]byte // those of the values, without the marks of empty cells
	out     table.Column
}

func (c *cells) short() *fault.Error {
	return corrupt("column %q has fewer bytes than its rows need", c.name).With("column", c.name)
}

// fixed reads values of equal width.
func (c *cells) fixed() error {
	data := c.buffers[0]
	if c.rows > len(data)/c.width {
		return c.short()
	}
	if c.to == table.Number {
		c.out.Numbers = make([]float64, c.rows)
		for row := range c.rows {
			c.out.Numbers[row] = c.number(data[row*c.width : (row+1)*c.width])
		}
		return nil
	}
	c.out.Integers = make([]int64, c.rows)
	for row := range c.rows {
		b := data[row*c.width : (row+1)*c.width]
		if c.above != nil && c.above(b) && !c.out.IsEmpty(row) {
			if c.unneeded {
				c.out.MarkEmpty(row)
				continue
			}
			return fault.Invalid("NOT_AN_INTEGER", "column %q: %d is above %d", c.name, order.Uint64(b), int64(math.MaxInt64)).With("column", c.name)
		}
		c.out.Integers[row] = c.whole(b)
	}
	return nil
}

// booleans are bits; they become 0 and 1.
func (c *cells) booleans() error {
	data := c.buffers[0]
	if c.rows > 8*len(data) {
		return c.short()
	}
	c.out.Integers = make([]int64, c.rows)
	for row := range c.rows {
		c.out.Integers[row] = int64(data[row/8] >> (row % 8) & 1)
	}
	return nil
}

// nothing is a column that has only empty cells.
func (c *cells) nothing() error {
	c.out.Texts = make([]string, c.rows)
	c.out.Empty = make([]bool, c.rows)
	for row := range c.out.Empty {
		c.out.Empty[row] = true
	}
	return nil
}

// texts are the places where each begins and the last ends, and then their bytes.
func (c *cells) texts() error {
	offsets, data := c.buffers[0], c.buffers[1]
	if c.rows == 0 { // the only offset may be missing
		c.out.Texts = []string{}
		return nil
	}
	if c.rows >= len(offsets)/c.width {
		return c.short()
	}
	place := integerOf(c.width, true)
	all := string(data)
	c.out.Texts = make([]string, c.rows)
	from := place(offsets)
	for row := range c.rows {
		to := place(offsets[(row+1)*c.width:])
		if from < 0 || from > to || to > int64(len(all)) {
			return corrupt("column %q: the places of its texts are wrong", c.name).With("column", c.name)
		}
		c.out.Texts[row] = all[from:to]
		from = to
	}
	return nil
}

// viewSize is that of a view: its length, and then the text if it has up to 12 bytes; or else its first 4, the number
// of a buffer and the place in it.
const viewSize = 16

func (c *cells) views() error {
	views := c.buffers[0]
	if c.rows > len(views)/viewSize {
		return c.short()
	}
	c.out.Texts = make([]string, c.rows)
	for row := range c.rows {
		if c.out.Empty != nil && c.out.Empty[row] {
			continue
		}
		view := views[row*viewSize : (row+1)*viewSize]
		length := int64(int32(order.Uint32(view)))
		if length >= 0 && length <= 12 {
			c.out.Texts[row] = string(view[4 : 4+length])
			continue
		}
		number, place := int64(int32(order.Uint32(view[8:]))), int64(int32(order.Uint32(view[12:])))
		if number < 0 || number >= int64(len(c.buffers)-1) || length < 0 || place < 0 || place+length > int64(len(c.buffers[1+number])) {
			return corrupt("column %q: the places of its texts are wrong", c.name).With("column", c.name)
		}
		if length > table.MaxTextBytes && !c.unneeded {
			return fault.Invalid("BAD_TEXT", "column %q, row %d of a batch: a text of %d bytes; it must have at most %d", c.name, row, length, table.MaxTextBytes).
				With("column", c.name)
		}
		c.out.Texts[row] = string(c.buffers[1+number][place : place+length])
	}
	return nil
}

// lookUp replaces indices by the values of a dictionary.
func lookUp(indices, dictionary *table.Column) (*table.Column, error) {
	rows := indices.Len()
	out := &table.Column{Name: indices.Name, Type: dictionary.Type, Empty: indices.Empty}
	switch out.Type {
	case table.Integer:
		out.Integers = make([]int64, rows)
	case table.Number:
		out.Numbers = make([]float64, rows)
	default:
		out.Texts = make([]string, rows)
	}
	for row, index := range indices.Integers {
		if indices.Empty != nil && indices.Empty[row] {
			continue
		}
		if index < 0 || index >= int64(dictionary.Len()) {
			return nil, corrupt("column %q: index %d of a dictionary of %d values", indices.Name, index, dictionary.Len())
		}
		if dictionary.Empty != nil && dictionary.Empty[index] {
			if out.Empty == nil {
				out.Empty = make([]bool, rows)
			}
			out.Empty[row] = true
			continue
		}
		switch out.Type {
		case table.Integer:
			out.Integers[row] = dictionary.Integers[index]
		case table.Number:
			out.Numbers[row] = dictionary.Numbers[index]
		default:
			out.Texts[row] = dictionary.Texts[index]
		}
	}
	return out, nil
}
