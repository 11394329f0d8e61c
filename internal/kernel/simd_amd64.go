package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// detectRoutines returns the fastest routines that this processor supports.
func detectRoutines() routines {
	switch {
	case hasAVX512():
		return avx512()
	case hasAVX2():
		return avx2()
	}
	return portable()
}

func hasAVX512() bool {
	return cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL
}

// hasAVX2 also implies F16C, which every processor with AVX2 and FMA has, and which x/sys/cpu does not report.
func hasAVX2() bool { return cpu.X86.HasAVX2 && cpu.X86.HasFMA }

// availableRoutines returns all routines that this processor supports, the portable ones first.
func availableRoutines() []routines {
	all := []routines{portable()}
	if hasAVX2() {
		all = append(all, avx2())
	}
	if hasAVX512() {
		all = append(all, avx512())
	}
	return all
}

func avx512() routines {
	return simdRoutines("avx512", 32, 6, 16,
		columnCode{
			addColumns1AVX512, addColumns2AVX512, addColumns3AVX512, addColumns4AVX512,
			addColumns5AVX512, addColumns6AVX512, addColumns7AVX512, addColumns8AVX512,
		},
		columnCode{
			subtractColumns1AVX512, subtractColumns2AVX512, subtractColumns3AVX512, subtractColumns4AVX512,
			subtractColumns5AVX512, subtractColumns6AVX512, subtractColumns7AVX512, subtractColumns8AVX512,
		},
		moveCode{
			moveColumns1AVX512, moveColumns2AVX512, moveColumns3AVX512, moveColumns4AVX512,
			moveColumns5AVX512, moveColumns6AVX512, moveColumns7AVX512, moveColumns8AVX512,
		},
		productCode{
			addProducts1AVX512, addProducts2AVX512, addProducts3AVX512, addProducts4AVX512,
			addProducts5AVX512, addProducts6AVX512, addProducts7AVX512, addProducts8AVX512,
			addProducts9AVX512, addProducts10AVX512, addProducts11AVX512, addProducts12AVX512,
		},
		wideCode{
			addWideProducts1AVX512, addWideProducts2AVX512, addWideProducts3AVX512, addWideProducts4AVX512,
			addWideProducts5AVX512, addWideProducts6AVX512, addWideProducts7AVX512, addWideProducts8AVX512,
			addWideProducts9AVX512, addWideProducts10AVX512, addWideProducts11AVX512, addWideProducts12AVX512,
		},
		entryCode{
			1: addEntries1AVX512, 2: addEntries2AVX512, 4: addEntries4AVX512, 8: addEntries8AVX512,
			16: addEntries16AVX512, 24: addEntries24AVX512, 32: addEntries32AVX512,
		},
		multiplyBlockAVX512, transposeAVX512, gaussianAVX512, distancesAVX512, toHalfAVX512, fromHalfAVX512)
}

func avx2() routines {
	return simdRoutines("avx2", 8, 6, 8,
		columnCode{
			addColumns1AVX2, addColumns2AVX2, addColumns3AVX2, addColumns4AVX2,
			addColumns5AVX2, addColumns6AVX2, addColumns7AVX2, addColumns8AVX2,
		},
		columnCode{
			subtractColumns1AVX2, subtractColumns2AVX2, subtractColumns3AVX2, subtractColumns4AVX2,
			subtractColumns5AVX2, subtractColumns6AVX2, subtractColumns7AVX2, subtractColumns8AVX2,
		},
		moveCode{
			moveColumns1AVX2, moveColumns2AVX2, moveColumns3AVX2, moveColumns4AVX2,
			moveColumns5AVX2, moveColumns6AVX2, moveColumns7AVX2, moveColumns8AVX2,
		},
		productCode{
			addProducts1AVX2, addProducts2AVX2, addProducts3AVX2, addProducts4AVX2,
			addProducts5AVX2, addProducts6AVX2,
		},
		wideCode{
			addWideProducts1AVX2, addWideProducts2AVX2, addWideProducts3AVX2, addWideProducts4AVX2,
			addWideProducts5AVX2, addWideProducts6AVX2,
		},
		entryCode{
			1: addEntries1AVX2, 2: addEntries2AVX2, 4: addEntries4AVX2, 8: addEntries8AVX2,
			16: addEntries16AVX2, 24: addEntries24AVX2, 32: addEntries32AVX2,
		},
		multiplyBlockAVX2, transposeAVX2, gaussianAVX2, distancesAVX2, toHalfAVX2, fromHalfAVX2)
}

// columnCode and moveCode hold one function for each number of columns, from 1 to columnsPerPass.
type (
	columnCode [columnsPerPass]func(dst *float64, values *float32, columns, ahead *[columnsPerPass]int, rows int)
	moveCode   [columnsPerPass]func(from, to *float64, values *float32, columns, ahead *[columnsPerPass]int, rows int)
)

// productCode and wideCode hold one function for each number of vectors, starting at 1. entryCode is indexed by the
// number of vectors.
type (
	productCode []func(dst *float64, stride int, values *float32, pitch int, wide, x *float64, columns int, ahead *float32)
	wideCode    []func(dst *float64, stride int, wide, x *float64, columns int)
	entryCode   [maxEntryVectors + 1]func(sums *float64, starts *int64, rows int, columns *int32, weights, x *float64, ahead int)
)

// run checks lengths and calls the function for the number of columns in the pass.
func (code *columnCode) run(dst []float64, p *pass) {
	p.check(len(dst))
	code[p.count-1](unsafe.SliceData(dst), unsafe.SliceData(p.values), &p.columns, &p.ahead, len(dst))
}

func (code *moveCode) run(from, to []float64, p *pass) {
	p.check(len(from))
	code[p.count-1](unsafe.SliceData(from), unsafe.SliceData(to[:len(from)]), unsafe.SliceData(p.values), &p.columns, &p.ahead, len(from))
}

// check panics unless every column of the pass has at least this many rows and rows is a positive multiple of
// rowMultiple.
func (p *pass) check(rows int) {
	if rows == 0 || rows%rowMultiple != 0 {
		panic("kernel: rows are not padded")
	}
	for _, begin := range p.columns[:p.count] {
		_ = p.values[begin : begin+rows]
	}
}

// run checks lengths and calls the function for the number of vectors in the bundle. Each block of rows prefetches its
// share of p.ahead or, if there is nothing ahead, the values that it reads anyway.
func (code productCode) run(rows int, p *panel, row int, b *bundle) {
	last := (p.columns-1)*p.pitch + row
	values, x := p.values[row:last+rows], p.x(b)
	ahead := values
	if share := row * p.columns; share+rows*p.columns <= len(p.ahead) {
		ahead = p.ahead[share:]
	}
	p.wide = resizedAligned(p.wide, rows*p.columns)
	code[b.count-1](&p.sumsOf(b, row, rows)[0], p.height, &values[0], p.pitch, &p.wide[0], &x[0], p.columns, &ahead[0])
}

func (code wideCode) run(rows int, p *panel, row int, b *bundle) {
	wide, x := p.wide[:rows*p.columns], p.x(b)
	code[b.count-1](&p.sumsOf(b, row, rows)[0], p.height, &wide[0], &x[0], p.columns)
}

// entriesAhead is the prefetch distance: rows of the vectors are fetched this many entries ahead.
const entriesAhead = 32

func (code *entryCode) run(sums []float64, from, to int, m *Sparse, b *bundle) {
	end := m.RowStart[to]
	_, _, _ = sums[(to-from)*b.width-1], m.Column[end-1], m.Value[end-1]
	ahead := entriesAhead
	if end+entriesAhead > int64(len(m.Column)) {
		ahead = 0
	}
	code[b.width](&sums[0], &m.RowStart[from], to-from, &m.Column[0], &m.Value[0], &b.values[0], ahead)
}

// simdRoutines wraps assembly, which takes pointers, in functions that take slices and check their lengths.
func simdRoutines(name string, blockRows, blockColumns, productRows int,
	addColumns, subtractColumns columnCode, moveColumns moveCode,
	addProducts productCode, addWideProducts wideCode, addEntries entryCode,
	multiplyBlock func(out *float64, stride int, rows, columns *float64, features int, first bool),
	transpose func(dst *float32, dstStride int, src *float32, srcStride, squares int),
	gaussian func(dst *float32, products, norms *float64, rows int, normY, scale, rounder float64),
	distances func(nearest, sums, weights *float64, rows int, square, weight float64),
	toHalf func(dst *uint16, src *float32, count int, scale float32),
	fromHalf func(dst *float32, src *uint16, count int, scale float32),
) routines {
	check := func(rows int) {
		if rows%rowMultiple != 0 {
			panic("kernel: rows are not padded")
		}
	}
	return routines{
		name: name, blockRows: blockRows, blockColumns: blockColumns,
		addColumns:      addColumns.run,
		subtractColumns: subtractColumns.run,
		moveColumns:     moveColumns.run,
		addProducts:     func(p *panel, row int, b *bundle) { addProducts.run(productRows, p, row, b) },
		addWideProducts: func(p *panel, row int, b *bundle) { addWideProducts.run(productRows, p, row, b) },
		productRows:     productRows, productVectors: len(addProducts),
		addEntries: addEntries.run,
		multiplyBlock: func(out []float64, stride int, rows, columns []float64, features int, first bool) {
			_ = out[(blockColumns-1)*stride+blockRows-1]
			multiplyBlock(unsafe.SliceData(out), stride, unsafe.SliceData(rows[:features*blockRows]), unsafe.SliceData(columns[:features*blockColumns]), features, first)
		},
		pack: func(dst []float64, lanes int, points *[pointsPerPack][]float32) {
			// Whole SIMD vectors of features in assembly, the rest in Go.
			features := len(points[0]) / 8 * 8
			var table [pointsPerPack]*float32
			var rest [pointsPerPack][]float32
			for i, values := range points {
				table[i], rest[i] = unsafe.SliceData(values[:features]), values[features:]
			}
			if features > 0 {
				_ = dst[: (features-1)*lanes+pointsPerPack : cap(dst)]
				packAVX2(unsafe.SliceData(dst), lanes, &table, features)
			}
			if features < len(points[0]) {
				packPortable(dst[features*lanes:], lanes, &rest)
			}
		},
		transpose: func(dst []float32, dstStride int, src []float32, srcStride, squares int) {
			if uintptr(unsafe.Pointer(unsafe.SliceData(dst)))%lineBytes != 0 || dstStride%rowMultiple != 0 {
				transposePortable(dst, dstStride, src, srcStride, squares) // the assembly stores whole cache lines, which must be aligned
				return
			}
			_, _ = dst[(transposeStep-1)*dstStride+squares*transposeStep-1], src[(squares*transposeStep-1)*srcStride+transposeStep-1]
			transpose(unsafe.SliceData(dst), dstStride, unsafe.SliceData(src), srcStride, squares)
		},
		gaussian: func(dst []float32, products, norms []float64, normY, scale, rounder float64) {
			check(len(dst))
			gaussian(unsafe.SliceData(dst), unsafe.SliceData(products[:len(dst)]), unsafe.SliceData(norms[:len(dst)]), len(dst), normY, scale, rounder)
		},
		distances: func(nearest, sums, weights []float64, square, weight float64) {
			// Whole SIMD vectors in assembly, the last rows of the last tile in Go.
			whole := len(nearest) / rowMultiple * rowMultiple
			if whole > 0 {
				distances(unsafe.SliceData(nearest), unsafe.SliceData(sums[:whole]), unsafe.SliceData(weights[:whole]), whole, square, weight)
			}
			distancesPortable(nearest[whole:], sums[whole:], weights[whole:], square, weight)
		},
		toHalf: func(dst []uint16, src []float32, scale float32) {
			check(len(dst))
			toHalf(unsafe.SliceData(dst), unsafe.SliceData(src[:len(dst)]), len(dst), scale)
		},
		fromHalf: func(dst []float32, src []uint16, scale float32) {
			check(len(dst))
			fromHalf(unsafe.SliceData(dst), unsafe.SliceData(src[:len(dst)]), len(dst), scale)
		},
	}
}
