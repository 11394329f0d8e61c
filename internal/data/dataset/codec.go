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
// The number m of entries of sparse points follows from the length of the bytes, and must equal the
// last row start; no entry is 0.
//
// All rows of points and of kernels have the same size, so some of the rows are a range of bytes.
const (
	magic      = "CLV1"
	headerSize = 24
)

// blockValues is how many numbers are converted at a time: a buffer of 64 KiB.
const blockValues = 8192

// EncodedSize is the number of canonical bytes of a data set.
func EncodedSize(d Dataset) int64 {
	switch d := d.(type) {
	case *Points:
		return headerSize + 8*int64(len(d.Values))
	case *Kernel:
		return headerSize + 8*int64(len(d.Values))
	case *Graph:
		return GraphBytes(int64(d.N), int64(len(d.Column)))
	case *SparsePoints:
		return headerSize + 8*int64(d.N+1) + 12*int64(len(d.Column))
	}
	return 0
}

// GraphBytes is the number of canonical bytes of a graph of n vertices and so many entries.
func GraphBytes(n, entries int64) int64 { return headerSize + 8*(n+1) + 12*entries }

// RowRange is where rows [from, to) lie in the canonical bytes of points or of a kernel matrix, whose
// rows have `columns` values each.
func RowRange(columns, from, to int) (offset, length int64) {
	return headerSize + 8*int64(columns)*int64(from), 8 * int64(columns) * int64(to-from)
}

// ID identifies a data set by its content: the SHA-256 of its canonical bytes, in hexadecimal.
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
	switch d := d.(type) {
	case *Points:
		return encode(w, KindPoints, d.N, d.D, d.Values)
	case *Kernel:
		return encode(w, KindKernel, d.N, d.N, d.Values)
	case *Graph:
		return encode(w, KindGraph, d.N, len(d.Column), d.RowStart, d.Column, d.Weight)
	case *SparsePoints:
		return encode(w, KindSparsePoints, d.N, d.D, d.RowStart, d.Column, d.Value)
	}
	return fmt.Errorf("dataset: cannot encode %T", d)
}

func encode(w io.Writer, kind Kind, a, b int, arrays ...any) error {
	header := make([]byte, headerSize)
	putHeader(header, kind, a, b)
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, array := range arrays {
		var err error
		switch array := array.(type) {
		case []float64:
			err = writeBlocks(w, array, 8, putFloats)
		case []int64:
			err = writeBlocks(w, array, 8, putLongs)
		case []int32:
			err = writeBlocks(w, array, 4, putInts)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeBlocks writes values in blocks, which put converts into bytes.
func writeBlocks[T any](w io.Writer, values []T, size int, put func([]byte, []T)) error {
	buffer := make([]byte, size*min(len(values), blockValues))
	for block := range slices.Chunk(values, blockValues) {
		put(buffer, block)
		if _, err := w.Write(buffer[:len(block)*size]); err != nil {
			return err
		}
	}
	return nil
}

// Decode reads canonical bytes and trusts nothing in them. It allocates in proportion to size, the
// number of bytes that are really there, whatever the header claims.
func Decode(r io.Reader, size int64) (Dataset, error) {
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(r, header); err != nil || string(header[:4]) != magic {
		return nil, corrupt("no Cleave header")
	}
	a, b := binary.LittleEndian.Uint64(header[8:]), binary.LittleEndian.Uint64(header[16:])
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
		values, err := readFloats(r, n*m)
		if err != nil {
			return nil, err
		}
		if kind == KindPoints {
			return NewPoints(n, m, values)
		}
		return NewKernel(n, m, values)
	case KindGraph:
		if (a+1)*8+b*12 != body {
			return nil, corrupt("sizes do not match the length")
		}
		return decodeGraph(r, n, m)
	case KindSparsePoints:
		starts := (a + 1) * 8
		if body < starts || (body-starts)%12 != 0 {
			return nil, corrupt("sizes do not match the length")
		}
		return decodeSparsePoints(r, n, m, int((body-starts)/12))
	}
	return nil, corrupt("unknown kind")
}

// DecodeRows reads `count` float64 from a range of canonical bytes (see RowRange), which has no header.
func DecodeRows(r io.Reader, count int) ([]float64, error) { return readFloats(r, count) }

func decodeGraph(r io.Reader, n, nonZeros int) (*Graph, error) {
	starts, columns, weights, err := readRows(r, n, nonZeros)
	if err != nil {
		return nil, err
	}
	g := &Graph{N: n, RowStart: starts, Column: columns, Weight: weights}
	return g, g.check()
}

func decodeSparsePoints(r io.Reader, n, d, nonZeros int) (*SparsePoints, error) {
	starts, columns, values, err := readRows(r, n, nonZeros)
	if err != nil {
		return nil, err
	}
	p, err := NewSparsePoints(n, d, starts, columns, values)
	if err != nil {
		return nil, err
	}
	if p.NonZeros() != nonZeros {
		return nil, corrupt("an entry of sparse points is 0") // the same points have shorter bytes
	}
	return p, nil
}

// readRows reads compressed rows: where each starts, and the columns and values of all of them.
func readRows(r io.Reader, n, nonZeros int) (starts []int64, columns []int32, values []float64, err error) {
	if starts, err = readBlocks(r, n+1, 8, getLongs); err != nil {
		return nil, nil, nil, err
	}
	if columns, err = readBlocks(r, nonZeros, 4, getInts); err != nil {
		return nil, nil, nil, err
	}
	values, err = readFloats(r, nonZeros)
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

// checkSymmetry visits the entries (i, j) row by row. As i grows, row j must list its columns in that
// same order, so a pointer into each row says where the mirrored entry (j, i) must be.
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

func readFloats(r io.Reader, count int) ([]float64, error) { return readBlocks(r, count, 8, getFloats) }

// readBlocks lets its result grow as bytes arrive, so that a false count costs no memory.
func readBlocks[T any](r io.Reader, count, size int, get func([]T, []byte)) ([]T, error) {
	values := make([]T, 0, min(count, blockValues))
	buffer := make([]byte, size*min(count, blockValues))
	for len(values) < count {
		have, more := len(values), min(count-len(values), blockValues)
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

// Marshal is Encode into memory, for small data sets and tests.
func Marshal(d Dataset) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(EncodedSize(d)))
	err := Encode(&b, d)
	return b.Bytes(), err
}
