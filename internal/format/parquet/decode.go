package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/table"
)

// How values are stored in pages.
const (
	encodingPlain           = 0
	encodingPlainDictionary = 2
	encodingRLE             = 3
	encodingDelta           = 5
	encodingDeltaLength     = 6
	encodingDeltaText       = 7
	encodingDictionary      = 8
	encodingSplit           = 9
)

// cells are values of a column, in the list of its kind.
type cells struct {
	integers []int64
	numbers  []float64
	texts    []string
}

func (all *cells) len() int { return max(len(all.integers), len(all.numbers), len(all.texts)) }

// decoder appends the next values of a page, and tells whether there were enough and all could be converted.
type decoder interface {
	decode(out *cells, n int) bool
}

// decoderOf is the decoder of a page.
func (c *chunk) decoderOf(encoding int64, data []byte) (d decoder, refusal string) {
	switch encoding {
	case encodingPlain:
		return &plainDecoder{column: c.column, data: data}, ""
	case encodingPlainDictionary, encodingDictionary:
		if len(data) == 0 {
			return &indexDecoder{c, hybrid{}}, ""
		}
		if data[0] > 32 {
			return nil, fmt.Sprintf("a page has indices of %d bits", data[0])
		}
		return &indexDecoder{c, hybrid{data: data[1:], width: int(data[0])}}, ""
	case encodingRLE:
		if c.physical == physicalBoolean && len(data) >= 4 {
			return &booleanDecoder{c, hybrid{data: data[4:], width: 1}}, ""
		}
	case encodingDelta:
		if c.physical == physicalInt32 || c.physical == physicalInt64 {
			numbers, _, ok := deltaPacked(data, c.inPage)
			if !ok {
				return nil, "a page of differences is cut short"
			}
			return &integerDecoder{c.column, numbers}, ""
		}
	case encodingDeltaLength, encodingDeltaText:
		if c.physical == physicalBytes || c.physical == physicalFixed {
			if texts, ok := c.deltaTexts(encoding, data); ok {
				return &bytesDecoder{c.column, texts}, ""
			}
			return nil, "a page of texts is cut short"
		}
	case encodingSplit:
		if c.width > 0 {
			return &plainDecoder{column: c.column, data: joinBytes(data, c.width)}, ""
		}
	}
	return nil, fmt.Sprintf("a page is in encoding %d, which is not known for its type", encoding)
}

// joinBytes undoes BYTE_STREAM_SPLIT: first come the first bytes of all values, then the second ones, and so on.
func joinBytes(data []byte, width int) []byte {
	count := len(data) / width
	joined := make([]byte, count*width)
	for at := range width {
		for row, b := range data[at*count : (at+1)*count] {
			joined[row*width+at] = b
		}
	}
	return joined
}

// plainDecoder is for values one after the other.
type plainDecoder struct {
	*column
	data []byte
	bit  int // the next, of booleans
}

func (d *plainDecoder) decode(out *cells, n int) bool {
	if d.physical == physicalBoolean {
		return d.booleans(out, n)
	}
	if d.width == 0 {
		for range n {
			if len(d.data) < 4 || uint64(binary.LittleEndian.Uint32(d.data)) > uint64(len(d.data)-4) {
				return false
			}
			end := 4 + int(binary.LittleEndian.Uint32(d.data))
			if !d.appendBytes(out, d.data[4:end]) {
				return false
			}
			d.data = d.data[end:]
		}
		return true
	}
	if n > len(d.data)/d.width {
		return false
	}
	data := d.data[:n*d.width]
	d.data = d.data[n*d.width:]
	switch d.physical {
	case physicalDouble:
		from := len(out.numbers)
		out.numbers = slices.Grow(out.numbers, n)[:from+n]
		values := out.numbers[from:]
		for at := range values {
			values[at] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*at:]))
		}
	case physicalFloat:
		for at := range n {
			out.numbers = append(out.numbers, float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*at:]))))
		}
	case physicalInt32:
		for at := range n {
			if !d.appendInteger(out, int64(int32(binary.LittleEndian.Uint32(data[4*at:])))) {
				return false
			}
		}
	case physicalInt64:
		for at := range n {
			if !d.appendInteger(out, int64(binary.LittleEndian.Uint64(data[8*at:]))) {
				return false
			}
		}
	default:
		for at := range n {
			if !d.appendBytes(out, data[d.width*at:d.width*(at+1)]) {
				return false
			}
		}
	}
	return true
}

// booleans are bits.
func (d *plainDecoder) booleans(out *cells, n int) bool {
	if n > 8*len(d.data)-d.bit {
		return false
	}
	for at := d.bit; at < d.bit+n; at++ {
		out.integers = append(out.integers, int64(d.data[at/8]>>(at%8)&1))
	}
	d.bit += n
	return true
}

// appendInteger converts an integer to what the table holds.
func (c *column) appendInteger(out *cells, v int64) bool {
	ok := true
	switch {
	case c.fromInteger != nil:
		var number float64
		number, ok = c.fromInteger(v)
		out.numbers = append(out.numbers, number)
		return ok
	case c.checkInt != nil:
		v, ok = c.checkInt(v)
	}
	out.integers = append(out.integers, v)
	return ok
}

// appendBytes converts bytes to what the table holds.
func (c *column) appendBytes(out *cells, b []byte) bool {
	switch {
	case c.fromBytes != nil:
		v, ok := c.fromBytes(b)
		out.numbers = append(out.numbers, v)
		return ok
	case c.toText != nil:
		out.texts = append(out.texts, c.toText(b))
		return true
	}
	out.texts = append(out.texts, string(b))
	return len(b) <= table.MaxTextBytes || c.unneeded
}

// indexDecoder is for indices of a dictionary.
type indexDecoder struct {
	*chunk
	indices hybrid
}

func (d *indexDecoder) decode(out *cells, n int) bool {
	known := uint32(d.dictionary.len())
	for n > 0 {
		some := d.buffer[:min(n, len(d.buffer))]
		if !d.indices.next(some) {
			return false
		}
		for _, index := range some {
			if index >= known {
				return false
			}
		}
		switch dictionary := &d.dictionary; {
		case dictionary.integers != nil:
			for _, index := range some {
				out.integers = append(out.integers, dictionary.integers[index])
			}
		case dictionary.numbers != nil:
			for _, index := range some {
				out.numbers = append(out.numbers, dictionary.numbers[index])
			}
		default:
			for _, index := range some {
				out.texts = append(out.texts, dictionary.texts[index])
			}
		}
		n -= len(some)
	}
	return true
}

// booleanDecoder is for runs of booleans.
type booleanDecoder struct {
	*chunk
	bits hybrid
}

func (d *booleanDecoder) decode(out *cells, n int) bool {
	for n > 0 {
		some := d.buffer[:min(n, len(d.buffer))]
		if !d.bits.next(some) {
			return false
		}
		for _, v := range some {
			out.integers = append(out.integers, int64(v))
		}
		n -= len(some)
	}
	return true
}

// integerDecoder is for integers that are decoded already.
type integerDecoder struct {
	*column
	left []int64
}

func (d *integerDecoder) decode(out *cells, n int) bool {
	if n > len(d.left) {
		return false
	}
	for _, v := range d.left[:n] {
		if d.physical == physicalInt32 {
			v = int64(int32(v)) // differences of 32 bits wrap around
		}
		if !d.appendInteger(out, v) {
			return false
		}
	}
	d.left = d.left[n:]
	return true
}

// bytesDecoder is for texts that are decoded already.
type bytesDecoder struct {
	*column
	left [][]byte
}

func (d *bytesDecoder) decode(out *cells, n int) bool {
	if n > len(d.left) {
		return false
	}
	for _, b := range d.left[:n] {
		if !d.appendBytes(out, b) {
			return false
		}
	}
	d.left = d.left[n:]
	return true
}

// deltaTexts are texts behind the list of their lengths; with encodingDeltaText, each begins with some bytes of the one
// before, how many is listed first.
func (c *chunk) deltaTexts(encoding int64, data []byte) (texts [][]byte, ok bool) {
	var shared []int64
	if encoding == encodingDeltaText {
		if shared, data, ok = deltaPacked(data, c.inPage); !ok {
			return nil, false
		}
	}
	lengths, data, ok := deltaPacked(data, c.inPage)
	if !ok || shared != nil && len(shared) != len(lengths) {
		return nil, false
	}
	texts = make([][]byte, len(lengths))
	var before []byte
	for at, length := range lengths {
		if length < 0 || length > int64(len(data)) {
			return nil, false
		}
		text := data[:length:length]
		data = data[length:]
		if shared != nil {
			if shared[at] < 0 || shared[at] > int64(len(before)) || shared[at]+length > table.MaxTextBytes {
				return nil, false
			}
			if shared[at] > 0 {
				text = append(append(make([]byte, 0, shared[at]+length), before[:shared[at]]...), text...)
			}
			before = text
		}
		texts[at] = text
	}
	return texts, true
}
