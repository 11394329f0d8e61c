package snapshot

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// ErrDamaged reports bytes that no Writer of this Format wrote, or that belong to another run.
var ErrDamaged = errors.New("snapshot: the bytes are damaged, or those of another version or run")

// Writer encodes values as bytes. A Reader must read them in the same order.
type Writer struct{ bytes []byte }

// Bytes returns what has been written so far.
func (w *Writer) Bytes() []byte { return w.bytes }

// Reserve makes room for more bytes without another allocation.
func (w *Writer) Reserve(bytes int) { w.bytes = slices.Grow(w.bytes, bytes) }

// Append writes bytes without their number.
func (w *Writer) Append(v []byte) { w.bytes = append(w.bytes, v...) }

// Int writes an integer; small ones take fewer bytes.
func (w *Writer) Int(v int) { w.bytes = binary.AppendVarint(w.bytes, int64(v)) }

// Uint64 writes 8 bytes.
func (w *Writer) Uint64(v uint64) { w.bytes = binary.LittleEndian.AppendUint64(w.bytes, v) }

// Bool writes one byte.
func (w *Writer) Bool(v bool) {
	if v {
		w.bytes = append(w.bytes, 1)
	} else {
		w.bytes = append(w.bytes, 0)
	}
}

// Float writes the 8 bytes of a float64.
func (w *Writer) Float(v float64) { w.Uint64(math.Float64bits(v)) }

// OptionalFloat writes a float64 that may be nil.
func (w *Writer) OptionalFloat(v *float64) {
	w.Bool(v != nil)
	if v != nil {
		w.Float(*v)
	}
}

// Raw writes bytes preceded by their number.
func (w *Writer) Raw(v []byte) {
	w.Int(len(v))
	w.bytes = append(w.bytes, v...)
}

// String writes a string.
func (w *Writer) String(v string) {
	w.Int(len(v))
	w.bytes = append(w.bytes, v...)
}

// Floats writes a slice of float64.
func (w *Writer) Floats(values []float64) {
	w.Int(len(values))
	w.Reserve(8 * len(values))
	for _, v := range values {
		w.Float(v)
	}
}

// Columns writes the columns of a matrix.
func (w *Writer) Columns(columns [][]float64) {
	w.Int(len(columns))
	for _, column := range columns {
		w.Floats(column)
	}
}

// Bools writes a slice of bool.
func (w *Writer) Bools(values []bool) {
	w.Int(len(values))
	for _, v := range values {
		w.Bool(v)
	}
}

// Int32s writes a slice of int32 with as many bytes per value as the largest needs: one or two for labels.
func (w *Writer) Int32s(values []int32) {
	width := 1
	for _, v := range values {
		if v < -1 || v >= 1<<16-1 {
			width = 4
			break
		}
		if v >= 1<<8-1 {
			width = 2
		}
	}
	w.Int(len(values))
	w.Int(width)
	w.Reserve(width * len(values))
	for _, v := range values {
		switch width {
		case 1:
			w.bytes = append(w.bytes, byte(v+1)) // -1, no label, becomes 0
		case 2:
			w.bytes = binary.LittleEndian.AppendUint16(w.bytes, uint16(v+1))
		default:
			w.bytes = binary.LittleEndian.AppendUint32(w.bytes, uint32(v))
		}
	}
}

// Reader decodes what a Writer wrote. After a failed check every value reads as zero, so callers must check Err or End
// before they use any of them. It never allocates more than a few times the size of its input.
type Reader struct {
	rest   []byte
	failed bool
}

// NewReader returns a reader of the given bytes. The values that it returns do not alias them.
func NewReader(bytes []byte) *Reader { return &Reader{rest: bytes} }

// Err returns ErrDamaged if a check has failed.
func (r *Reader) Err() error {
	if r.failed {
		return ErrDamaged
	}
	return nil
}

// More reports whether bytes are left.
func (r *Reader) More() bool { return len(r.rest) > 0 }

// End is like Err, but also fails if bytes are left.
func (r *Reader) End() error {
	r.Check(len(r.rest) == 0)
	return r.Err()
}

// Check marks the input as damaged unless the condition holds.
func (r *Reader) Check(holds bool) {
	if !holds {
		r.failed, r.rest = true, nil
	}
}

// take returns the next bytes, or nil if there are fewer.
func (r *Reader) take(count int) []byte {
	r.Check(count >= 0 && count <= len(r.rest))
	if r.failed {
		return nil
	}
	taken := r.rest[:count]
	r.rest = r.rest[count:]
	return taken
}

// Count reads a number of values that take at least width bytes each. It fails if the rest is too short for that many.
func (r *Reader) Count(width int) int {
	count := r.Int()
	r.Check(count >= 0 && count <= len(r.rest)/width)
	if r.failed {
		return 0
	}
	return count
}

// Int reads an integer.
func (r *Reader) Int() int {
	v, size := binary.Varint(r.rest)
	r.Check(size > 0)
	if r.failed {
		return 0
	}
	r.rest = r.rest[size:]
	return int(v)
}

// Uint64 reads 8 bytes.
func (r *Reader) Uint64() uint64 {
	if raw := r.take(8); raw != nil {
		return binary.LittleEndian.Uint64(raw)
	}
	return 0
}

// Bool reads one byte, which must be 0 or 1.
func (r *Reader) Bool() bool {
	raw := r.take(1)
	if raw == nil {
		return false
	}
	r.Check(raw[0] <= 1)
	return raw[0] == 1
}

// Float reads a float64.
func (r *Reader) Float() float64 { return math.Float64frombits(r.Uint64()) }

// OptionalFloat reads a float64 that may be nil.
func (r *Reader) OptionalFloat() *float64 {
	if !r.Bool() {
		return nil
	}
	v := r.Float()
	return &v
}

// Raw reads bytes preceded by their number.
func (r *Reader) Raw() []byte { return slices.Clone(r.take(r.Int())) }

// Fill reads as many bytes as the slice holds.
func (r *Reader) Fill(room []byte) { copy(room, r.take(len(room))) }

// String reads a string.
func (r *Reader) String() string { return string(r.take(r.Int())) }

// Floats reads a slice of float64.
func (r *Reader) Floats() []float64 {
	values := make([]float64, r.Count(8))
	for i := range values {
		values[i] = r.Float()
	}
	return values
}

// Columns reads columns that must have the given number of rows.
func (r *Reader) Columns(rows int) [][]float64 {
	columns := make([][]float64, r.Count(1))
	for j := range columns {
		columns[j] = r.Floats()
		r.Check(len(columns[j]) == rows)
		if r.failed {
			return nil
		}
	}
	return columns
}

// Bools reads a slice of bool.
func (r *Reader) Bools() []bool {
	values := make([]bool, r.Count(1))
	for i := range values {
		values[i] = r.Bool()
	}
	return values
}

// Int32s reads a slice of int32.
func (r *Reader) Int32s() []int32 {
	count := r.Int()
	width := r.Int()
	r.Check((width == 1 || width == 2 || width == 4) && count >= 0 && count <= len(r.rest)/max(1, width))
	if r.failed {
		return nil
	}
	raw := r.take(width * count)
	values := make([]int32, count)
	for i := range values {
		switch width {
		case 1:
			values[i] = int32(raw[i]) - 1
		case 2:
			values[i] = int32(binary.LittleEndian.Uint16(raw[2*i:])) - 1
		default:
			values[i] = int32(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	}
	return values
}

// Labels reads the labels of n points, each from -1 to k-1.
func (r *Reader) Labels(n, k int) []int32 {
	labels := r.Int32s()
	r.Check(len(labels) == n && !slices.ContainsFunc(labels, func(c int32) bool { return c < -1 || int(c) >= k }))
	return labels
}
