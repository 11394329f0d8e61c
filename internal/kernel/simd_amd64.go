package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// availableRoutines returns all routines that this processor supports, the portable ones first.
func availableRoutines() []routines {
	all := []routines{portable()}
	// F16C, which x/sys/cpu does not report, comes with every processor that has AVX2 and FMA.
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all = append(all, assembly{
			name: "avx2", innerRows: 8, innerColumns: 6, productRows: 8, productVectors: 6,
			addColumns: addColumnsAVX2, subtractColumns: subtractColumnsAVX2, moveColumns: moveColumnsAVX2,
			addProducts: addProductsAVX2, addWideProducts: addWideProductsAVX2, addEntries: addEntriesAVX2,
			innerProducts: multiplyBlockAVX2, transpose: transposeAVX2, gaussian: gaussianAVX2,
			distances: distancesAVX2,
			toHalf:    toHalfAVX2, fromHalf: fromHalfAVX2,
		}.routines())
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL {
		all = append(all, assembly{
			name: "avx512", innerRows: 32, innerColumns: 6, productRows: 16, productVectors: 12,
			addColumns: addColumnsAVX512, subtractColumns: subtractColumnsAVX512, moveColumns: moveColumnsAVX512,
			addProducts: addProductsAVX512, addWideProducts: addWideProductsAVX512, addEntries: addEntriesAVX512,
			innerProducts: multiplyBlockAVX512, transpose: transposeAVX512, gaussian: gaussianAVX512,
			distances: distancesAVX512,
			toHalf:    toHalfAVX512, fromHalf: fromHalfAVX512,
		}.routines())
	}
	return all
}

// assembly holds the code of one instruction set. It takes pointers and trusts them.
type assembly struct {
	name                        string
	innerRows, innerColumns     int // rows and columns of innerProducts
	productRows, productVectors int // rows, and most vectors, of addProducts and addWideProducts

	addColumns, subtractColumns func(dst *float64, values *float32, columns, ahead *[columnsPerPass]int,
		count, rows int)
	moveColumns func(from, to *float64, values *float32, columns, ahead *[columnsPerPass]int, count, rows int)
	addProducts func(dst *float64, stride int, values *float32, pitch int, wide, x *float64, vectors, columns int,
		ahead *float32)
	addWideProducts func(dst *float64, stride int, wide, x *float64, vectors, columns int)
	addEntries      func(sums *float64, starts *int64, rows int, columns *int32, weights, x *float64,
		vectors, ahead int)
	innerProducts func(out *float64, stride int, rows, columns *float64, features int, first bool)
	transpose     func(dst *float32, dstStride int, src *float32, srcStride, squares int)
	gaussian      func(dst *float32, products, norms *float64, rows int, normY, scale, rounder float64)
	distances     func(nearest, sums, weights *float64, rows int, square, weight float64)
	toHalf        func(dst *uint16, src *float32, count int, scale float32)
	fromHalf      func(dst *float32, src *uint16, count int, scale float32)
}

// check panics unless every column of the pass has at least this many rows and rows is a positive multiple of
// rowMultiple.
func (p *pass) check(rows int) {
	if rows == 0 || rows%rowMultiple != 0 || p.count < 1 {
		panic("kernel: rows are not padded, or there is no column")
	}
	for _, begin := range p.columns[:p.count] {
		_ = p.values[begin : begin+rows]
	}
}

// entriesAhead is the prefetch distance: rows of the vectors are fetched this many entries ahead.
const entriesAhead = 32

// routines wraps the code in functions that take slices and check their lengths.
func (a assembly) routines() routines {
	check := func(rows int) {
		if rows%rowMultiple != 0 {
			panic("kernel: rows are not padded")
		}
	}
	sum := func(code func(dst *float64, values *float32, columns, ahead *[columnsPerPass]int,
		count, rows int)) func(dst []float64, p *pass) {
		return func(dst []float64, p *pass) {
			p.check(len(dst))
			code(unsafe.SliceData(dst), unsafe.SliceData(p.values), &p.columns, &p.ahead, p.count, len(dst))
		}
	}
	return routines{
		name: a.name, innerRows: a.innerRows, innerColumns: a.innerColumns, productRows: a.productRows,
		productVectors:  a.productVectors,
		addColumns:      sum(a.addColumns),
		subtractColumns: sum(a.subtractColumns),
		moveColumns: func(from, to []float64, p *pass) {
			p.check(len(from))
			a.moveColumns(unsafe.SliceData(from), unsafe.SliceData(to[:len(from)]), unsafe.SliceData(p.values),
				&p.columns, &p.ahead, p.count, len(from))
		},
		// Every call prefetches its share of p.ahead or, if there is nothing ahead, the values that it reads
		// anyway.
		addProducts: func(p *panel, row int, b *bundle) {
			rows := a.productRows
			values, x := p.values[row:(p.columns-1)*p.pitch+row+rows], p.x(b)
			ahead := values
			if share := row * p.columns; share+rows*p.columns <= len(p.ahead) {
				ahead = p.ahead[share:]
			}
			p.wide = resizedAligned(p.wide, rows*p.columns)
			a.addProducts(&p.sumsOf(b, row, rows)[0], p.height, &values[0], p.pitch, &p.wide[0], &x[0], a.vectorsOf(b),
				p.columns, &ahead[0])
		},
		addWideProducts: func(p *panel, row int, b *bundle) {
			wide, x := p.wide[:a.productRows*p.columns], p.x(b)
			a.addWideProducts(&p.sumsOf(b, row, a.productRows)[0], p.height, &wide[0], &x[0], a.vectorsOf(b), p.columns)
		},
		addEntries: func(sums []float64, from, to int, m *Sparse, b *bundle) {
			end := m.RowStart[to]
			_, _, _ = sums[(to-from)*b.width-1], m.Column[end-1], m.Value[end-1]
			ahead := entriesAhead
			if end+entriesAhead > int64(len(m.Column)) {
				ahead = 0
			}
			if b.width != lineWidth(b.count) || b.width > maxEntryVectors {
				panic("kernel: a bundle is not padded")
			}
			a.addEntries(&sums[0], &m.RowStart[from], to-from, &m.Column[0], &m.Value[0], &b.values[0], b.width, ahead)
		},
		innerProducts: func(out []float64, stride int, rows, columns []float64, features int, first bool) {
			_ = out[(a.innerColumns-1)*stride+a.innerRows-1]
			a.innerProducts(unsafe.SliceData(out), stride, unsafe.SliceData(rows[:features*a.innerRows]),
				unsafe.SliceData(columns[:features*a.innerColumns]), features, first)
		},
		pack: func(dst []float64, size int, points *[pointsPerPack][]float32) {
			// Whole SIMD vectors of features in assembly, the rest in Go.
			features := len(points[0]) / 8 * 8
			var table [pointsPerPack]*float32
			var rest [pointsPerPack][]float32
			for i, values := range points {
				table[i], rest[i] = unsafe.SliceData(values[:features]), values[features:]
			}
			if features > 0 {
				_ = dst[: (features-1)*size+pointsPerPack : cap(dst)]
				packAVX2(unsafe.SliceData(dst), size, &table, features)
			}
			if features < len(points[0]) {
				packPortable(dst[features*size:], size, &rest)
			}
		},
		transpose: func(dst []float32, dstStride int, src []float32, srcStride, squares int) {
			if uintptr(unsafe.Pointer(unsafe.SliceData(dst)))%lineBytes != 0 || dstStride%rowMultiple != 0 {
				// the assembly stores whole cache lines, which must be aligned
				transposePortable(dst, dstStride, src, srcStride, squares)
				return
			}
			_ = dst[(transposeStep-1)*dstStride+squares*transposeStep-1]
			_ = src[(squares*transposeStep-1)*srcStride+transposeStep-1]
			a.transpose(unsafe.SliceData(dst), dstStride, unsafe.SliceData(src), srcStride, squares)
		},
		gaussian: func(dst []float32, products, norms []float64, normY, scale, rounder float64) {
			check(len(dst))
			a.gaussian(unsafe.SliceData(dst), unsafe.SliceData(products[:len(dst)]), unsafe.SliceData(norms[:len(dst)]),
				len(dst), normY, scale, rounder)
		},
		distances: func(nearest, sums, weights []float64, square, weight float64) {
			// Whole SIMD vectors in assembly, the last rows of the last tile in Go.
			whole := len(nearest) / rowMultiple * rowMultiple
			if whole > 0 {
				a.distances(unsafe.SliceData(nearest), unsafe.SliceData(sums[:whole]),
					unsafe.SliceData(weights[:whole]), whole, square, weight)
			}
			distancesPortable(nearest[whole:], sums[whole:], weights[whole:], square, weight)
		},
		toHalf: func(dst []uint16, src []float32, scale float32) {
			check(len(dst))
			a.toHalf(unsafe.SliceData(dst), unsafe.SliceData(src[:len(dst)]), len(dst), scale)
		},
		fromHalf: func(dst []float32, src []uint16, scale float32) {
			check(len(dst))
			a.fromHalf(unsafe.SliceData(dst), unsafe.SliceData(src[:len(dst)]), len(dst), scale)
		},
	}
}

// vectorsOf returns the number of vectors of a bundle, or panics if there is no code for it.
func (a assembly) vectorsOf(b *bundle) int {
	if b.count < 1 || b.count > a.productVectors {
		panic("kernel: too many vectors in a bundle")
	}
	return b.count
}
