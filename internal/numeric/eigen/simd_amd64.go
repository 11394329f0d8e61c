package eigen

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

func dotLanes(sums *[lanes]float64, x, y []float64) {
	if !cpu.X86.HasAVX2 {
		dotLanesPortable(sums, x, y)
		return
	}
	dotAVX2(&sums[0], &x[0], unsafe.SliceData(y[:len(x)]), len(x))
}

func dotLanes4(sums *[groupColumns * lanes]float64, x, a, b, c, d []float64) {
	if !cpu.X86.HasAVX2 {
		dotLanes4Portable(sums, x, a, b, c, d)
		return
	}
	n := len(x)
	dot4AVX2(&sums[0], &x[0], &a[:n][0], &b[:n][0], &c[:n][0], &d[:n][0], n)
}

func mixColumn(to, x []float64, factor float64) {
	if !cpu.X86.HasAVX2 {
		mixColumnPortable(to, x, factor)
		return
	}
	mixAVX2(&to[0], &factor, &x[:len(to)][0], len(to))
}

func mixColumns4(to, a, b, c, d []float64, factors *[groupColumns]float64) {
	if !cpu.X86.HasAVX2 {
		mixColumns4Portable(to, a, b, c, d, factors)
		return
	}
	n := len(to)
	mix4AVX2(&to[0], &factors[0], &a[:n][0], &b[:n][0], &c[:n][0], &d[:n][0], n)
}

func dotBlock(sums *[groupColumns * groupColumns * lanes]float64, x, y *[groupColumns][]float64) {
	if !cpu.X86.HasAVX512F {
		dotBlockByColumns(sums, x, y)
		return
	}
	a := starts(x)
	b := starts(y)
	dotBlockAVX512(&sums[0], &a[0], &b[0], len(x[0]))
}

func mixBlock(y, x *[groupColumns][]float64, factors *[groupColumns * groupColumns]float64) {
	if !cpu.X86.HasAVX512F {
		mixBlockByColumns(y, x, factors)
		return
	}
	a := starts(y)
	b := starts(x)
	mixBlockAVX512(&a[0], &b[0], &factors[0], len(y[0]))
}

// starts returns pointers to the first values of four columns.
func starts(x *[groupColumns][]float64) (pointers [groupColumns]*float64) {
	for c := range x {
		pointers[c] = &x[c][:len(x[0])][0]
	}
	return pointers
}

func spreadColumn4(a, b, c, d, x []float64, factors *[groupColumns]float64) {
	if !cpu.X86.HasAVX2 {
		spreadColumn4Portable(a, b, c, d, x, factors)
		return
	}
	n := len(x)
	spread4AVX2(&x[0], &factors[0], &a[:n][0], &b[:n][0], &c[:n][0], &d[:n][0], n)
}

func updateLanes(sums *[lanes]float64, row, v, q, x []float64, factors *[2]float64) {
	if !cpu.X86.HasAVX2 {
		updateLanesPortable(sums, row, v, q, x, factors)
		return
	}
	n := len(row)
	updateAVX2(&sums[0], &row[0], &factors[0], &v[:n][0], &q[:n][0], &x[:n][0], n)
}

func rotateRows(rows []float64, last int, rotations []float64) {
	count := len(rotations) / 2
	if !cpu.X86.HasAVX2 || count == 0 {
		rotateRowsPortable(rows, last, rotations)
		return
	}
	touched := rows[(last-count)*stripColumns : (last+1)*stripColumns]
	rotateAVX2(&touched[count*stripColumns], &rotations[0], count)
}

// addSparseRows trusts the columns, which Sparse.permuted has checked.
func addSparseRows(products, x []float64, begin []int, column []int32, value []float64) {
	rows := len(begin) - 1
	if !cpu.X86.HasAVX2 || rows == 0 || begin[0] == begin[rows] {
		addSparseRowsPortable(products, x, begin, column, value)
		return
	}
	last := begin[rows] - 1
	_, _, products = column[last], value[last], products[:together*rows]
	addSparseRowsAVX2(&products[0], &x[0], &begin[0], &column[0], &value[0], rows)
}

func combineRows(y, products, x []float64, factors *[3]float64) {
	n := len(y)
	if !cpu.X86.HasAVX2 || n == 0 {
		combineRowsPortable(y, products, x, factors)
		return
	}
	combineRowsAVX2(&y[0], &factors[0], &products[:n][0], &x[:n][0], n)
}
