package dataset

import (
	"encoding/binary"
	"io"
)

// NewReader reads the canonical bytes of a data set from an offset on. They are made as they are read: a data set that is in
// memory takes no more.
func NewReader(d Dataset, offset int64) io.Reader {
	r := &reader{left: offset}
	switch d := d.(type) {
	case *Points:
		r.parts = []part{header(KindPoints, d.N, d.D), arrayOf(d.Values, 8, putFloats)}
	case *Kernel:
		r.parts = []part{header(KindKernel, d.N, d.N), arrayOf(d.Values, 8, putFloats)}
	case *Graph:
		r.parts = []part{
			header(KindGraph, d.N, len(d.Column)),
			arrayOf(d.RowStart, 8, putLongs), arrayOf(d.Column, 4, putInts), arrayOf(d.Weight, 8, putFloats),
		}
	case *SparsePoints:
		r.parts = []part{
			header(KindSparsePoints, d.N, d.D),
			arrayOf(d.RowStart, 8, putLongs), arrayOf(d.Column, 4, putInts), arrayOf(d.Value, 8, putFloats),
		}
	}
	r.seek()
	return r
}

// part is a header, or an array of numbers.
type part struct {
	count int                             // of numbers
	size  int                             // of each, in bytes
	put   func(b []byte, from, count int) // converts some of them
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
	return part{count: len(values), size: size, put: func(b []byte, from, count int) { put(b, values[from:from+count]) }}
}

// reader reads parts one after the other, a block at a time.
type reader struct {
	parts  []part
	at     int    // the next number of the first part
	left   int64  // bytes that are left out before it begins
	block  []byte // converted
	buffer []byte // of it
}

// seek leaves out what comes before the offset.
func (r *reader) seek() {
	for len(r.parts) > 0 && r.left >= int64(r.parts[0].count)*int64(r.parts[0].size) {
		r.left -= int64(r.parts[0].count) * int64(r.parts[0].size)
		r.parts = r.parts[1:]
	}
	if len(r.parts) > 0 {
		size := int64(r.parts[0].size)
		r.at, r.left = int(r.left/size), r.left%size
	}
}

func (r *reader) Read(p []byte) (int, error) {
	for len(r.block) == 0 {
		if len(r.parts) == 0 {
			return 0, io.EOF
		}
		r.convert()
	}
	n := copy(p, r.block)
	r.block = r.block[n:]
	return n, nil
}

// convert makes the next block.
func (r *reader) convert() {
	next := &r.parts[0]
	count := min(blockValues, next.count-r.at)
	if bytes := count * next.size; len(r.buffer) < bytes {
		r.buffer = make([]byte, bytes)
	}
	next.put(r.buffer, r.at, count)
	r.block, r.left = r.buffer[r.left:count*next.size], 0
	if r.at += count; r.at == next.count {
		r.parts, r.at = r.parts[1:], 0
	}
}
