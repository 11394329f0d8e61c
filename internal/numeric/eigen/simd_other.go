//go:build !amd64

package eigen

func dotLanes(sums *[lanes]float64, x, y []float64) { dotLanesPortable(sums, x, y) }

func dotLanes4(sums *[groupColumns * lanes]float64, x, a, b, c, d []float64) {
	dotLanes4Portable(sums, x, a, b, c, d)
}

func mixColumn(to, x []float64, factor float64) { mixColumnPortable(to, x, factor) }

func mixColumns4(to, a, b, c, d []float64, factors *[groupColumns]float64) {
	mixColumns4Portable(to, a, b, c, d, factors)
}

func dotBlock(sums *[groupColumns * groupColumns * lanes]float64, x, y *[groupColumns][]float64) {
	dotBlockByColumns(sums, x, y)
}

func mixBlock(y, x *[groupColumns][]float64, factors *[groupColumns * groupColumns]float64) {
	mixBlockByColumns(y, x, factors)
}

func spreadColumn4(a, b, c, d, x []float64, factors *[groupColumns]float64) {
	spreadColumn4Portable(a, b, c, d, x, factors)
}

func updateLanes(sums *[lanes]float64, row, v, q, x []float64, factors *[2]float64) {
	updateLanesPortable(sums, row, v, q, x, factors)
}

func rotateRows(rows []float64, last int, rotations []float64) {
	rotateRowsPortable(rows, last, rotations)
}

func addSparseRows(products, x []float64, begin []int, column []int32, value []float64) {
	addSparseRowsPortable(products, x, begin, column, value)
}

func combineRows(y, products, x []float64, factors *[3]float64) {
	combineRowsPortable(y, products, x, factors)
}
