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
	return vectorised("avx512", 32, 6, addColumnsAVX512, moveColumnsAVX512, addScaledAVX512, multiplyBlockAVX512, gaussianAVX512, toHalfAVX512, fromHalfAVX512)
}

func avx2() routines {
	return vectorised("avx2", 8, 6, addColumnsAVX2, moveColumnsAVX2, addScaledAVX2, multiplyBlockAVX2, gaussianAVX2, toHalfAVX2, fromHalfAVX2)
}

// vectorised puts slices, whose lengths are checked here, in front of assembly that takes pointers.
func vectorised(name string, blockRows, blockColumns int,
	addColumns func(dst *float64, columns *[columnsPerPass]*float32, rows int),
	moveColumns func(from, to *float64, columns *[columnsPerPass]*float32, rows int),
	addScaled func(dst *float64, columns *[columnsPerPass]*float32, factors *[columnsPerPass]float64, rows int),
	multiplyBlock func(out *float64, stride int, rows, columns *float64, features int),
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
		addColumns: func(dst []float64, columns *[columnsPerPass][]float32) {
			check(len(dst))
			table := pointers(columns, len(dst))
			addColumns(unsafe.SliceData(dst), &table, len(dst))
		},
		moveColumns: func(from, to []float64, columns *[columnsPerPass][]float32) {
			check(len(from))
			table := pointers(columns, len(from))
			moveColumns(unsafe.SliceData(from), unsafe.SliceData(to[:len(from)]), &table, len(from))
		},
		addScaled: func(dst []float64, columns *[columnsPerPass][]float32, factors *[columnsPerPass]float64) {
			check(len(dst))
			table := pointers(columns, len(dst))
			addScaled(unsafe.SliceData(dst), &table, factors, len(dst))
		},
		multiplyBlock: func(out []float64, stride int, rows, columns []float64, features int) {
			_ = out[(blockColumns-1)*stride+blockRows-1]
			multiplyBlock(unsafe.SliceData(out), stride, unsafe.SliceData(rows[:features*blockRows]), unsafe.SliceData(columns[:features*blockColumns]), features)
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
