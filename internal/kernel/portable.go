package kernel

import (
	"math"
)

// columnsPerPass is the maximum number of columns that are summed in registers before they are added to the
// destination.
const columnsPerPass = 8

// routines holds the inner loops. Every implementation gives the same bits. Row counts must be multiples of
// rowMultiple, to which tiles are padded.
type routines struct {
	name string
	// addColumns adds the columns of a pass to dst.
	addColumns func(dst []float64, p *pass)
	// subtractColumns subtracts the columns of a pass from dst.
	subtractColumns func(dst []float64, p *pass)
	// moveColumns subtracts the columns of a pass from from, and adds them to to.
	moveColumns func(from, to []float64, p *pass)
	// addProducts adds the products of productRows rows of a panel with a bundle of at most productVectors
	// vectors, and leaves the rows widened to float64. addWideProducts then does the same with further bundles.
	addProducts, addWideProducts func(p *panel, row int, b *bundle)
	productRows, productVectors  int
	// addEntries adds the products of rows from..to-1 of a sparse matrix, at least one of which has an entry,
	// with a bundle of at most maxEntryVectors vectors. The sums are interleaved like the bundle.
	addEntries func(sums []float64, from, to int, m *Sparse, b *bundle)
	// multiplyBlock computes the inner products of blockRows packed rows with blockColumns packed columns, in feature
	// order. Columns of out are stride values apart. Unless first is set, the sums are added to those in out.
	multiplyBlock           func(out []float64, stride int, rows, columns []float64, features int, first bool)
	blockRows, blockColumns int
	// pack writes value f of point i to dst[f*lanes+i]. With fewer lanes than points it may overwrite values beyond
	// len(dst), within its capacity.
	pack func(dst []float64, lanes int, points *[pointsPerPack][]float32)
	// transpose transposes squares of transposeStep x transposeStep values: value c of row r in src, whose rows are
	// srcStride apart, becomes value r of column c in dst. The squares are stacked vertically in src and horizontally
	// in dst.
	transpose func(dst []float32, dstStride int, src []float32, srcStride, squares int)
	// gaussian turns inner products into kernel values on the grid.
	gaussian func(dst []float32, products, norms []float64, normY, scale, rounder float64)
	// distances lowers nearest to the distances to one cluster where those are smaller, computed as in distancePart.
	distances func(nearest, sums, weights []float64, square, weight float64)
	// toHalf scales and rounds to float16; fromHalf converts back and scales.
	toHalf   func(dst []uint16, src []float32, scale float32)
	fromHalf func(dst []float32, src []uint16, scale float32)
}

// pass is a set of up to columnsPerPass columns that are added to, or subtracted from, the same sums.
type pass struct {
	values  []float32
	columns [columnsPerPass]int // where each begins in values
	count   int                 // how many are in use
	ahead   [columnsPerPass]int // where columns that are read later begin, to be prefetched
}

// column returns the values from the start of column i of the pass.
func (p *pass) column(i int) []float32 { return p.values[p.columns[i]:] }

// rowMultiple is the number of rows that tiles are padded to a multiple of.
const rowMultiple = 16

func padded(rows int) int { return (rows + rowMultiple - 1) / rowMultiple * rowMultiple }

// Rows (whose sums are in registers) and vectors that addProductsPortable processes at a time.
const (
	portableRows    = 4
	portableVectors = 16
)

// portable returns the routines in plain Go, which run on any processor.
func portable() routines {
	return routines{
		name:            "portable",
		addColumns:      addColumnsPortable,
		subtractColumns: subtractColumnsPortable,
		moveColumns:     moveColumnsPortable,
		addProducts:     addProductsPortable,
		addWideProducts: addProductsPortable,
		productRows:     portableRows,
		productVectors:  portableVectors,
		addEntries:      addEntriesPortable,
		multiplyBlock:   multiplyBlockPortable,
		blockRows:       4,
		blockColumns:    1,
		pack:            packPortable,
		transpose:       transposePortable,
		gaussian:        gaussianPortable,
		distances:       distancesPortable,
		toHalf:          toHalfPortable,
		fromHalf:        fromHalfPortable,
	}
}

func addColumnsPortable(dst []float64, p *pass) {
	for i := range p.count {
		for r, v := range p.column(i)[:len(dst)] {
			dst[r] += float64(v)
		}
	}
}

func subtractColumnsPortable(dst []float64, p *pass) {
	for i := range p.count {
		for r, v := range p.column(i)[:len(dst)] {
			dst[r] -= float64(v)
		}
	}
}

func moveColumnsPortable(from, to []float64, p *pass) {
	subtractColumnsPortable(from, p)
	addColumnsPortable(to, p)
}

func multiplyBlockPortable(out []float64, _ int, rows, columns []float64, features int, first bool) {
	var s0, s1, s2, s3 float64
	if !first {
		s0, s1, s2, s3 = out[0], out[1], out[2], out[3]
	}
	for f := range features {
		y, x := columns[f], rows[4*f:4*f+4:4*f+4]
		s0 += x[0] * y
		s1 += x[1] * y
		s2 += x[2] * y
		s3 += x[3] * y
	}
	out[0], out[1], out[2], out[3] = s0, s1, s2, s3
}

func transposePortable(dst []float32, dstStride int, src []float32, srcStride, squares int) {
	for c := range transposeStep {
		column := dst[c*dstStride : c*dstStride+squares*transposeStep]
		for r := range column {
			column[r] = src[r*srcStride+c]
		}
	}
}

func gaussianPortable(dst []float32, products, norms []float64, normY, scale, rounder float64) {
	for r := range dst {
		v := exp(-float64(squaredDistance(products[r], norms[r], normY) * scale))
		dst[r] = float32((float64(float32(v)) + rounder) - rounder)
	}
}

func distancesPortable(nearest, sums, weights []float64, square, weight float64) {
	sums, weights = sums[:len(nearest)], weights[:len(nearest)]
	for r, least := range nearest {
		if d := square - 2*sums[r]/float64(weights[r]*weight); d < least {
			nearest[r] = d
		}
	}
}

// In half precision, entries are stored in 16 bits, scaled by a power of two so that the largest fills the range.
// Rounding to 11 significant bits (a relative error of at most 2^-11, down to 2^-29 of the largest entry) makes it a
// different matrix, and so a different numeric class. But it is one matrix: an entry has the same bits stored or
// recomputed, and sums over it are exact, because a multiple of the grid that is rounded to 11 bits is still a multiple
// of the grid.

// halfScaleFor returns the power of two to divide entries of at most this magnitude by, so that the largest is below
// 2^15, half of what float16 can hold.
func halfScaleFor(largest float64) float64 {
	if !(largest > 0) {
		return 1
	}
	_, exponent := math.Frexp(largest) // largest < 2^exponent
	return math.Ldexp(1, exponent-15)
}

// roundHalf rounds entries to half precision and back, in place, if the matrix is stored in half precision.
func (s *Source) roundHalf(column []float32, buffer *[]uint16) {
	if s.spec.HalfScale == 0 {
		return
	}
	if cap(*buffer) < len(column) {
		*buffer = make([]uint16, len(column))
	}
	half := (*buffer)[:len(column)]
	s.routines.toHalf(half, column, float32(1/s.spec.HalfScale))
	s.routines.fromHalf(column, half, float32(s.spec.HalfScale))
}

// toHalf returns the float16 nearest to v, ties to even. |v| must be below 65520.
func toHalf(v float32) uint16 {
	bits := math.Float32bits(v)
	sign := uint16(bits>>16) & 0x8000
	exponent := int(bits>>23&0xff) - 127
	mantissa := bits&0x7fffff | 0x800000
	switch {
	case exponent < -25:
		return sign
	case exponent < -14: // subnormal: fewer bits
		return sign | roundShift(mantissa, uint(-exponent-1))
	}
	// The carry of rounding moves into the exponent by itself.
	return sign | uint16(exponent+14)<<10 + roundShift(mantissa, 13)
}

// roundShift returns m / 2^shift, rounded to the nearest integer, ties to even.
func roundShift(m uint32, shift uint) uint16 {
	rest := m & (1<<shift - 1)
	m >>= shift
	if half := uint32(1) << (shift - 1); rest > half || rest == half && m&1 == 1 {
		m++
	}
	return uint16(m)
}

// fromHalf returns the exact value of h, which must be finite.
func fromHalf(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exponent, mantissa := uint32(h>>10&0x1f), uint32(h&0x3ff)
	if exponent == 0 {
		return math.Float32frombits(sign | math.Float32bits(float32(mantissa)*0x1p-24))
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | mantissa<<13)
}

func toHalfPortable(dst []uint16, src []float32, scale float32) {
	for i, v := range src[:len(dst)] {
		dst[i] = toHalf(v * scale)
	}
}

func fromHalfPortable(dst []float32, src []uint16, scale float32) {
	for i, h := range src[:len(dst)] {
		dst[i] = fromHalf(h) * scale
	}
}
