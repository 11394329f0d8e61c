package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// detect chooses the widest routines that this processor has.
func detect() routines {
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

// hasAVX2 counts in F16C, which every processor with AVX2 and FMA has and x/sys/cpu does not list.
func hasAVX2() bool { return cpu.X86.HasAVX2 && cpu.X86.HasFMA }

// available lists all routines that this processor has, the portable ones first.
func available() []routines {
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
	return vectorised("avx512", 32, 6,
		columnCode{addColumns1AVX512, addColumns4AVX512, addColumns8AVX512},
		columnCode{subtractColumns1AVX512, subtractColumns4AVX512, subtractColumns8AVX512},
		moveCode{moveColumns1AVX512, moveColumns4AVX512, moveColumns8AVX512},
		addScaledAVX512, multiplyBlockAVX512, transposeAVX512, gaussianAVX512, toHalfAVX512, fromHalfAVX512)
}

func avx2() routines {
	return vectorised("avx2", 8, 6,
		columnCode{addColumns1AVX2, addColumns4AVX2, addColumns8AVX2},
		columnCode{subtractColumns1AVX2, subtractColumns4AVX2, subtractColumns8AVX2},
		moveCode{moveColumns1AVX2, moveColumns4AVX2, moveColumns8AVX2},
		addScaledAVX2, multiplyBlockAVX2, transposeAVX2, gaussianAVX2, toHalfAVX2, fromHalfAVX2)
}

// lineBytes is a line of the caches.
const lineBytes = 64

// columnCode and moveCode are code for 1, at most 4, and at most 8 columns.
type (
	columnCode [3]func(dst *float64, columns, next *[columnsPerPass]*float32, rows int)
	moveCode   [3]func(from, to *float64, columns, next *[columnsPerPass]*float32, rows int)
)

// codeFor is the place of the code for a number of columns.
func codeFor(count int) int {
	switch {
	case count <= 1:
		return 0
	case count <= 4:
		return 1
	}
	return 2
}

// vectorised puts slices, whose lengths are checked here, in front of assembly that takes pointers.
func vectorised(name string, blockRows, blockColumns int,
	addColumns, subtractColumns columnCode, moveColumns moveCode,
	addScaled func(dst *float64, columns *[columnsPerPass]*float32, factors *[columnsPerPass]float64, rows int),
	multiplyBlock func(out *float64, stride int, rows, columns *float64, features int, first bool),
	transpose func(dst *float32, dstStride int, src *float32, srcStride, squares int),
	gaussian func(dst *float32, products, norms *float64, rows int, normY, scale, rounder float64),
	toHalf func(dst *uint16, src *float32, count int, scale float32),
	fromHalf func(dst *float32, src *uint16, count int, scale float32),
) routines {
	pointers := func(columns *[columnsPerPass][]float32, rows int) (table [columnsPerPass]*float32) {
		for i, column := range columns {
			table[i] = unsafe.SliceData(column[:rows])
		}
		return table
	}
	check := func(rows int) {
		if rows%rowMultiple != 0 {
			panic("kernel: rows are not padded")
		}
	}
	return routines{
		name: name, blockRows: blockRows, blockColumns: blockColumns,
		addColumns: func(dst []float64, p *pass) {
			check(len(dst))
			table, next := pointers(&p.columns, len(dst)), pointers(p.next, len(dst))
			addColumns[codeFor(p.count)](unsafe.SliceData(dst), &table, &next, len(dst))
		},
		subtractColumns: func(dst []float64, p *pass) {
			check(len(dst))
			table, next := pointers(&p.columns, len(dst)), pointers(p.next, len(dst))
			subtractColumns[codeFor(p.count)](unsafe.SliceData(dst), &table, &next, len(dst))
		},
		moveColumns: func(from, to []float64, p *pass) {
			check(len(from))
			table, next := pointers(&p.columns, len(from)), pointers(p.next, len(from))
			moveColumns[codeFor(p.count)](unsafe.SliceData(from), unsafe.SliceData(to[:len(from)]), &table, &next, len(from))
		},
		addScaled: func(dst []float64, p *pass, factors *[columnsPerPass]float64) {
			check(len(dst))
			table := pointers(&p.columns, len(dst))
			addScaled(unsafe.SliceData(dst), &table, factors, len(dst))
		},
		multiplyBlock: func(out []float64, stride int, rows, columns []float64, features int, first bool) {
			_ = out[(blockColumns-1)*stride+blockRows-1]
			multiplyBlock(unsafe.SliceData(out), stride, unsafe.SliceData(rows[:features*blockRows]), unsafe.SliceData(columns[:features*blockColumns]), features, first)
		},
		pack: func(dst []float64, lanes int, points *[pointsPerPack][]float32) {
			// Whole vectors of features here, the rest in Go.
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
				transposePortable(dst, dstStride, src, srcStride, squares) // stores of whole lines need them in place
				return
			}
			_, _ = dst[(transposeStep-1)*dstStride+squares*transposeStep-1], src[(squares*transposeStep-1)*srcStride+transposeStep-1]
			transpose(unsafe.SliceData(dst), dstStride, unsafe.SliceData(src), srcStride, squares)
		},
		gaussian: func(dst []float32, products, norms []float64, normY, scale, rounder float64) {
			check(len(dst))
			gaussian(unsafe.SliceData(dst), unsafe.SliceData(products[:len(dst)]), unsafe.SliceData(norms[:len(dst)]), len(dst), normY, scale, rounder)
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
