package table

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/fault"
)

// The canonical bytes of a table, little-endian:
//
//	magic "CLT1" | columns uint32 | rows uint64
//	for each column: type uint8 | 1 if it has empty cells, else 0, uint8 | length of the name uint16 | name
//	for each column: [a bit for each row, set where the cell is empty] |
//	    integers: rows int64;  numbers: rows float64;  texts: rows uint32 lengths, and then their bytes
//
// Empty cells are zeros. Equal tables have equal bytes.
const (
	magic      = "CLT1"
	headerSize = 16
)

// EncodedSize returns the number of canonical bytes.
func (t *Table) EncodedSize() int64 {
	size := int64(headerSize)
	for at := range t.Columns {
		size += t.Columns[at].encodedSize()
	}
	return size
}

// encodedSize returns the canonical bytes of a column: its header and name, a bit per cell if some are empty, and the
// cells.
func (c *Column) encodedSize() int64 {
	rows := int64(c.Len())
	size := 4 + int64(len(c.Name))
	if c.Empty != nil {
		size += (rows + 7) / 8
	}
	if c.Type != Text {
		return size + 8*rows
	}
	for _, s := range c.Texts {
		size += 4 + int64(len(s))
	}
	return size
}

// ID returns the SHA-256 of the canonical bytes in hexadecimal.
func (t *Table) ID() string {
	hash := sha256.New()
	_ = t.Encode(hash) // a hash returns no errors
	return hex.EncodeToString(hash.Sum(nil))
}

// encoderBlock is the number of bytes that are converted or written at a time.
const encoderBlock = 1 << 16

// Encode writes the canonical bytes.
func (t *Table) Encode(w io.Writer) error {
	b := bufio.NewWriterSize(w, encoderBlock)
	block := make([]byte, encoderBlock)
	write := func(bytes []byte) { _, _ = b.Write(bytes) } // Flush returns the first error
	write(binary.LittleEndian.AppendUint32([]byte(magic), uint32(len(t.Columns))))
	write(binary.LittleEndian.AppendUint64(nil, uint64(t.rows)))
	for at := range t.Columns {
		c, hasEmpty := &t.Columns[at], byte(0)
		if c.Empty != nil {
			hasEmpty = 1
		}
		write(binary.LittleEndian.AppendUint16([]byte{byte(c.Type), hasEmpty}, uint16(len(c.Name))))
		write([]byte(c.Name))
	}
	for at := range t.Columns {
		c := &t.Columns[at]
		write(packBits(c.Empty))
		for values := range slices.Chunk(c.Integers, encoderBlock/8) {
			for at, v := range values {
				binary.LittleEndian.PutUint64(block[8*at:], uint64(v))
			}
			write(block[:8*len(values)])
		}
		for values := range slices.Chunk(c.Numbers, encoderBlock/8) {
			for at, v := range values {
				binary.LittleEndian.PutUint64(block[8*at:], math.Float64bits(v))
			}
			write(block[:8*len(values)])
		}
		for _, s := range c.Texts {
			write(binary.LittleEndian.AppendUint32(block[:0], uint32(len(s))))
		}
		for _, s := range c.Texts {
			_, _ = b.WriteString(s)
		}
	}
	return b.Flush()
}

func packBits(marks []bool) []byte {
	packed := make([]byte, (len(marks)+7)/8)
	for at, mark := range marks {
		if mark {
			packed[at/8] |= 1 << (at % 8)
		}
	}
	return packed
}

// Decode reads canonical bytes and trusts nothing in them. It allocates memory in proportion to size, the actual
// number of bytes, whatever they claim.
func Decode(r io.Reader, size int64) (*Table, error) {
	d := &decoder{r: r, left: size}
	header := d.take(headerSize)
	if d.short || string(header[:4]) != magic {
		return nil, corrupt("no table header")
	}
	count := binary.LittleEndian.Uint32(header[4:])
	rows := binary.LittleEndian.Uint64(header[8:])
	if count > MaxColumns || rows > MaxRows || !d.has(4*int64(count)) {
		return nil, corrupt("impossible sizes")
	}
	columns := make([]Column, count)
	marked := make([]bool, count)
	for at := range columns {
		head := d.take(4)
		if d.short || head[1] > 1 {
			return nil, corrupt("the description of a column is invalid")
		}
		columns[at].Type = Type(head[0])
		marked[at] = head[1] == 1
		columns[at].Name = string(d.take(int(binary.LittleEndian.Uint16(head[2:]))))
	}
	for at := range columns {
		c := &columns[at]
		if marked[at] {
			c.Empty = d.marks(int(rows))
		}
		d.cells(c, int(rows))
		if d.short || marked[at] && !slices.Contains(c.Empty, true) {
			return nil, corrupt("the rows do not match the header")
		}
	}
	if d.left > 0 {
		return nil, corrupt("there are bytes after the end")
	}
	for at := range columns {
		if columns[at].hasHiddenValue() {
			return nil, corrupt("an empty cell has a value")
		}
	}
	return New(columns)
}

// hasHiddenValue reports whether an empty cell has a value.
func (c *Column) hasHiddenValue() bool {
	for row, empty := range c.Empty {
		switch {
		case !empty:
		case c.Type == Integer && c.Integers[row] != 0, c.Type == Number && math.Float64bits(c.Numbers[row]) != 0,
			c.Type == Text && c.Texts[row] != "":
			return true
		}
	}
	return false
}

// decoder reads bytes until there are too few.
type decoder struct {
	r     io.Reader
	left  int64
	short bool // there were too few bytes
}

// has reports whether at least count bytes are left.
func (d *decoder) has(count int64) bool {
	d.short = d.short || count > d.left
	return !d.short
}

func (d *decoder) take(count int) []byte {
	if !d.has(int64(count)) {
		return nil
	}
	taken := make([]byte, count)
	d.read(taken)
	return taken
}

func (d *decoder) read(into []byte) {
	if _, err := io.ReadFull(d.r, into); err != nil {
		d.short = true
	}
	d.left -= int64(len(into))
}

// marks reads a bit for each row; bits beyond the last row must be 0.
func (d *decoder) marks(rows int) []bool {
	packed := d.take((rows + 7) / 8)
	if d.short {
		return nil
	}
	marks := make([]bool, rows)
	for at := range 8 * len(packed) {
		set := packed[at/8]&(1<<(at%8)) != 0
		if at < rows {
			marks[at] = set
		} else if set {
			d.short = true
		}
	}
	return marks
}

// cells reads the cells of a column. Lengths are checked against the remaining input before anything is
// allocated.
func (d *decoder) cells(c *Column, rows int) {
	switch c.Type {
	case Integer:
		c.Integers = readBlocks(d, rows, func(bits uint64) int64 { return int64(bits) })
	case Number:
		c.Numbers = readBlocks(d, rows, math.Float64frombits)
	case Text:
		lengths := d.take(4 * rows)
		total := uint64(0)
		for at := range len(lengths) / 4 {
			total += uint64(binary.LittleEndian.Uint32(lengths[4*at:]))
		}
		if total > math.MaxInt64 || !d.has(int64(total)) {
			d.short = true
			return
		}
		all := string(d.take(int(total))) // the texts are parts of this string
		c.Texts = make([]string, rows)
		for at := range c.Texts {
			length := binary.LittleEndian.Uint32(lengths[4*at:])
			c.Texts[at], all = all[:length], all[length:]
		}
	}
}

// readBlocks reads cells of 8 bytes, a block at a time.
func readBlocks[T any](d *decoder, rows int, convert func(bits uint64) T) []T {
	if !d.has(8 * int64(rows)) {
		return nil
	}
	cells := make([]T, rows)
	buffer := make([]byte, min(encoderBlock, 8*rows))
	for block := range slices.Chunk(cells, encoderBlock/8) {
		d.read(buffer[:8*len(block)])
		for at := range block {
			block[at] = convert(binary.LittleEndian.Uint64(buffer[8*at:]))
		}
	}
	return cells
}

func corrupt(why string) error {
	return fault.Invalid("CORRUPT_TABLE", "these bytes are not a Cleave table: %s", why)
}
