package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/fault"
)

// The canonical bytes of a data set, little-endian:
//
//	magic "CLV1" | kind uint8 | 3 zero bytes | a uint64 | b uint64 | body
//
//	points: a = n, b = d,           body = n*d float64
//	kernel: a = n, b = n,           body = n*n float64
//	graph:  a = n, b = non-zeros,   body = (n+1) int64 row starts, b int32 columns, b float64 weights
//	sparse points: a = n, b = d,    body = (n+1) int64 row starts, m int32 columns, m float64 values
//
// The length of the bytes determines the number m of entries of sparse points; it must equal the last
// row start. No entry is 0. All rows of points and kernels have the same size, so a range of rows is a
// range of bytes.
const (
	magic      = "CLV1"
	headerSize = 24
)

// blockValues is the number of values converted at a time, a buffer of 64 KiB.
const blockValues = 8192

// EncodedSize returns the number of canonical bytes of a data set.
func EncodedSize(d Dataset) int64 {
	switch d := d.(type) {
	case *Points:
		return headerSize + 8*int64(len(d.Values))
	case *Kernel:
		return headerSize + 8*int64(len(d.Values))
	case *Graph:
		return CompressedBytes(int64(d.N), int64(len(d.Column)))
	case *SparsePoints:
		return CompressedBytes(int64(d.N), int64(len(d.Column)))
	}
	return 0
}

// CompressedBytes returns the number of canonical bytes of a graph or of sparse points with n rows and the given number
// of entries.
func CompressedBytes(n, entries int64) int64 { return headerSize + 8*(n+1) + 12*entries }

// RowRange returns where rows [from, to) are in the canonical bytes of points or of a kernel matrix with the
// given number of columns.
func RowRange(columns, from, to int) (offset, length int64) {
	return headerSize + 8*int64(columns)*int64(from), 8 * int64(columns) * int64(to-from)
}

// ID returns the SHA-256 of the canonical bytes in hexadecimal. Equal data sets have equal IDs.
func ID(d Dataset) (string, error) {
	if p, ok := d.(*Points); ok && p.known() != "" {
		return p.known(), nil
	}
	hash := sha256.New()
	err := Encode(hash, d)
	return hex.EncodeToString(hash.Sum(nil)), err
}

// Encode writes the canonical bytes.
func Encode(w io.Writer, d Dataset) error {
	parts := partsOf(d)
	if parts == nil {
		return fmt.Errorf("dataset: cannot encode %T", d)
	}
	_, err := (&reader{parts: parts}).WriteTo(w)
	return err
}

// Decode reads canonical bytes and trusts nothing in them. It allocates memory in proportion to size, the
// actual number of bytes, whatever the header claims.
func Decode(r io.Reader, size int64) (Dataset, error) {
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(r, header); err != nil || string(header[:4]) != magic ||
		[3]byte(header[5:8]) != [3]byte{} {
		return nil, corrupt("no Cleave header")
	}
	a := binary.LittleEndian.Uint64(header[8:])
	b := binary.LittleEndian.Uint64(header[16:])
	body := uint64(max(size-headerSize, 0))
	if a > MaxRows || b > math.MaxInt64/16 {
		return nil, corrupt("impossible sizes")
	}
	n, m := int(a), int(b)
	switch kind := Kind(header[4]); kind {
	case KindPoints, KindKernel:
		if b != 0 && a > body/8/b || a*b*8 != body {
			return nil, corrupt("sizes do not match the length")
		}
		values, err := DecodeRows(r, n*m)
		if err != nil {
			return nil, err
		}
		if kind == KindPoints {
			return NewPoints(n, m, values)
		}
		return newKernel(n, m, values, 0)
	case KindGraph, KindSparsePoints:
		entries := b
		if kind == KindSparsePoints {
			entries = (body - min(body, (a+1)*8)) / 12
		}
		if (a+1)*8+entries*12 != body {
			return nil, corrupt("sizes do not match the length")
		}
		starts, columns, values, err := readRows(r, n, int(entries))
		if err != nil {
			return nil, err
		}
		if kind == KindSparsePoints {
			return newCanonicalPoints(n, m, starts, columns, values)
		}
		g := &Graph{N: n, RowStart: starts, Column: columns, Weight: values}
		return g, g.check()
	}
	return nil, corrupt("unknown kind")
}

// newCanonicalPoints returns sparse points that were decoded.
func newCanonicalPoints(n, d int, starts []int64, columns []int32, values []float64) (*SparsePoints, error) {
	p, err := NewSparsePoints(n, d, starts, columns, values)
	if err != nil {
		return nil, err
	}
	if p.NonZeros() != len(columns) {
		return nil, corrupt("an entry of sparse points is 0") // canonical bytes leave it out
	}
	return p, nil
}

// readRows reads compressed rows: row starts, columns and values.
func readRows(r io.Reader, n, nonZeros int) (starts []int64, columns []int32, values []float64, err error) {
	starts, err = readBlocks(r, nil, n+1, 8, getLongs)
	if err != nil {
		return nil, nil, nil, err
	}
	columns, err = readBlocks(r, nil, nonZeros, 4, getInts)
	if err != nil {
		return nil, nil, nil, err
	}
	values, err = DecodeRows(r, nonZeros)
	return starts, columns, values, err
}

// check verifies the row structure and the symmetry.
func (g *Graph) check() error {
	if g.N < 1 {
		return corrupt("a graph without vertices")
	}
	if g.RowStart[0] != 0 || g.RowStart[g.N] != int64(len(g.Column)) {
		return corrupt("row starts do not span the edges")
	}
	for i := range g.N {
		from, to := g.RowStart[i], g.RowStart[i+1]
		if from > to || to > int64(len(g.Column)) {
			return corrupt("row starts are out of order")
		}
		previous := int32(-1)
		for at := from; at < to; at++ {
			if c := g.Column[at]; c <= previous || int(c) >= g.N {
				return corrupt("a row's neighbors are out of order or range")
			}
			previous = g.Column[at]
			if !finite(g.Weight[at]) {
				return corrupt("an edge weight is not finite")
			}
		}
	}
	return g.checkSymmetry()
}

// checkSymmetry visits the entries (i, j) row by row. Row j lists its columns in the order in which i
// grows, so one position per row tells where the mirrored entry (j, i) must be.
func (g *Graph) checkSymmetry() error {
	next := slices.Clone(g.RowStart[:g.N])
	for i := range g.N {
		for at := g.RowStart[i]; at < g.RowStart[i+1]; at++ {
			j := g.Column[at]
			mirror := next[j]
			if mirror >= g.RowStart[j+1] || int(g.Column[mirror]) != i || g.Weight[mirror] != g.Weight[at] {
				return corrupt("the graph is not symmetric")
			}
			next[j]++
		}
	}
	return nil
}

// DecodeRows reads count values from a range of canonical bytes without a header; see RowRange.
func DecodeRows(r io.Reader, count int) ([]float64, error) {
	return readBlocks(r, nil, count, 8, getFloats)
}

// readBlocks reads count values into an empty slice. If the slice has no room for them, it grows as bytes arrive, so a
// false count costs no memory.
func readBlocks[T any](r io.Reader, values []T, count, size int, get func([]T, []byte)) ([]T, error) {
	if values == nil {
		values = make([]T, 0, min(count, blockValues))
	}
	buffer := make([]byte, size*min(count, blockValues))
	for len(values) < count {
		have := len(values)
		more := min(count-len(values), blockValues)
		block := buffer[:size*more]
		if _, err := io.ReadFull(r, block); err != nil {
			return nil, corrupt(fmt.Sprintf("ends after %d of %d values", have, count))
		}
		if cap(values) < have+more {
			values = append(make([]T, 0, min(count, 4*have+blockValues)), values...)
		}
		values = values[:have+more]
		get(values[have:], block)
	}
	return values, nil
}

func corrupt(why string) error {
	return fault.Invalid("CORRUPT_DATASET", "these bytes are not a Cleave data set: %s", why)
}

// Marshal returns the canonical bytes. Use it for small data sets and tests.
func Marshal(d Dataset) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(EncodedSize(d)))
	err := Encode(&b, d)
	return b.Bytes(), err
}

// NewReader returns a reader of the canonical bytes that starts at an offset. It encodes one block at a
// time, so it takes little memory.
func NewReader(d Dataset, offset int64) io.Reader {
	r := &reader{parts: partsOf(d), skip: offset}
	r.seek()
	return r
}

// partsOf returns the canonical bytes in parts; nil for an unknown kind of data set.
func partsOf(d Dataset) []part {
	switch d := d.(type) {
	case *Points:
		return []part{header(KindPoints, d.N, d.D), arrayOf(d.Values, 8, putFloats)}
	case *Kernel:
		return []part{header(KindKernel, d.N, d.N), arrayOf(d.Values, 8, putFloats)}
	case *Graph:
		return rowParts(header(KindGraph, d.N, len(d.Column)), d.RowStart, d.Column, d.Weight)
	case *SparsePoints:
		return rowParts(header(KindSparsePoints, d.N, d.D), d.RowStart, d.Column, d.Value)
	}
	return nil
}

func rowParts(header part, starts []int64, columns []int32, values []float64) []part {
	return []part{header, arrayOf(starts, 8, putLongs), arrayOf(columns, 4, putInts), arrayOf(values, 8, putFloats)}
}

// part is a header or an array of numbers that is encoded in pieces, so that a large array needs no second copy.
type part struct {
	count int                             // number of values
	size  int                             // bytes per value
	put   func(b []byte, from, count int) // encodes values [from, from+count)
}

func header(kind Kind, a, b int) part {
	return part{count: 1, size: headerSize, put: func(bytes []byte, _, _ int) { putHeader(bytes, kind, a, b) }}
}

func putHeader(bytes []byte, kind Kind, a, b int) {
	clear(bytes[:headerSize])
	copy(bytes, magic)
	bytes[4] = byte(kind)
	binary.LittleEndian.PutUint64(bytes[8:], uint64(a))
	binary.LittleEndian.PutUint64(bytes[16:], uint64(b))
}

func arrayOf[T any](values []T, size int, put func([]byte, []T)) part {
	return part{count: len(values), size: size, put: func(b []byte, from, count int) {
		put(b, values[from:from+count])
	}}
}

// reader reads parts one after the other, a block at a time.
type reader struct {
	parts  []part
	at     int    // the next value of the first part
	skip   int64  // bytes of that value to leave out
	block  []byte // encoded and not yet read, part of buffer
	buffer []byte
}

// seek skips the parts and values before the offset.
func (r *reader) seek() {
	for len(r.parts) > 0 && r.skip >= int64(r.parts[0].count)*int64(r.parts[0].size) {
		r.skip -= int64(r.parts[0].count) * int64(r.parts[0].size)
		r.parts = r.parts[1:]
	}
	if len(r.parts) > 0 {
		size := int64(r.parts[0].size)
		r.at, r.skip = int(r.skip/size), r.skip%size
	}
}

// Read encodes a block of values when the last one is used up.
func (r *reader) Read(p []byte) (int, error) {
	for len(r.block) == 0 {
		if len(r.parts) == 0 {
			return 0, io.EOF
		}
		r.encode()
	}
	n := copy(p, r.block)
	r.block = r.block[n:]
	return n, nil
}

// WriteTo writes all that is left. It implements io.WriterTo, which saves io.Copy a buffer.
func (r *reader) WriteTo(w io.Writer) (written int64, err error) {
	for err == nil && (len(r.block) > 0 || len(r.parts) > 0) {
		if len(r.block) == 0 {
			r.encode()
		}
		var n int
		n, err = w.Write(r.block)
		r.block, written = r.block[n:], written+int64(n)
	}
	return written, err
}

// encode makes the next block.
func (r *reader) encode() {
	next := &r.parts[0]
	count := min(blockValues, next.count-r.at)
	if bytes := count * next.size; len(r.buffer) < bytes {
		r.buffer = make([]byte, bytes)
	}
	next.put(r.buffer, r.at, count)
	r.block = r.buffer[r.skip : count*next.size]
	r.skip = 0
	r.at += count
	if r.at == next.count {
		r.parts, r.at = r.parts[1:], 0
	}
}

// The functions below convert whole blocks, which avoids a call for each value.

func putFloats(b []byte, values []float64) {
	for at, v := range values {
		binary.LittleEndian.PutUint64(b[8*at:], math.Float64bits(v))
	}
}

func putLongs(b []byte, values []int64) {
	for _, v := range values {
		binary.LittleEndian.PutUint64(b, uint64(v))
		b = b[8:]
	}
}

func putInts(b []byte, values []int32) {
	for _, v := range values {
		binary.LittleEndian.PutUint32(b, uint32(v))
		b = b[4:]
	}
}

func getFloats(values []float64, b []byte) {
	for at := range values {
		values[at] = math.Float64frombits(binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
}

func getLongs(values []int64, b []byte) {
	for at := range values {
		values[at] = int64(binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
}

func getInts(values []int32, b []byte) {
	for at := range values {
		values[at] = int32(binary.LittleEndian.Uint32(b))
		b = b[4:]
	}
}
