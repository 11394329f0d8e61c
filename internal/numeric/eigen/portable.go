package eigen

// The portable forms of the SIMD routines. Lengths must be positive multiples of 8.

func dotLanesPortable(sums *[lanes]float64, x, y []float64) {
	y = y[:len(x)]
	s := *sums
	for i := 0; i+lanes <= len(x); i += lanes {
		a, b := x[i:i+lanes], y[i:i+lanes]
		for l := range s {
			s[l] += float64(a[l] * b[l])
		}
	}
	*sums = s
}

func dotLanes4Portable(sums *[groupColumns * lanes]float64, x, a, b, c, d []float64) {
	for i, y := range [groupColumns][]float64{a, b, c, d} {
		dotLanesPortable((*[lanes]float64)(sums[i*lanes:]), x, y)
	}
}

func mixColumnPortable(to, x []float64, factor float64) {
	x = x[:len(to)]
	for i := range to {
		to[i] += float64(factor * x[i])
	}
}

func mixColumns4Portable(to, a, b, c, d []float64, factors *[groupColumns]float64) {
	a, b, c, d = a[:len(to)], b[:len(to)], c[:len(to)], d[:len(to)]
	p, q, r, s := factors[0], factors[1], factors[2], factors[3]
	for i, v := range to {
		v += float64(p * a[i])
		v += float64(q * b[i])
		v += float64(r * c[i])
		to[i] = v + float64(s*d[i])
	}
}

// dotBlockByColumns multiplies four columns x with four columns y, one x at a time.
func dotBlockByColumns(sums *[groupColumns * groupColumns * lanes]float64, x, y *[groupColumns][]float64) {
	const size = groupColumns * lanes
	for i := range x {
		dotLanes4((*[size]float64)(sums[i*size:]), x[i], y[0], y[1], y[2], y[3])
	}
}

// mixBlockByColumns adds multiples of four columns x to four columns y, one y at a time.
func mixBlockByColumns(y, x *[groupColumns][]float64, factors *[groupColumns * groupColumns]float64) {
	for j := range y {
		mixColumns4(y[j], x[0], x[1], x[2], x[3], (*[groupColumns]float64)(factors[j*groupColumns:]))
	}
}

func spreadColumn4Portable(a, b, c, d, x []float64, factors *[groupColumns]float64) {
	for i, y := range [groupColumns][]float64{a, b, c, d} {
		mixColumnPortable(y, x, factors[i])
	}
}

func updateLanesPortable(sums *[lanes]float64, row, v, q, x []float64, factors *[2]float64) {
	v, q = v[:len(row)], q[:len(row)]
	for i := range row {
		row[i] += float64(factors[0]*v[i]) + float64(factors[1]*q[i])
	}
	dotLanesPortable(sums, row, x)
}

// rotateRowsPortable rotates a row of 16 values with the row before it, then that row with the one before it, and so
// on; rotations are pairs of cosine and sine.
func rotateRowsPortable(rows []float64, last int, rotations []float64) {
	for ; len(rotations) > 0; last, rotations = last-1, rotations[2:] {
		c, s := rotations[0], rotations[1]
		x := rows[(last-1)*stripColumns:][:stripColumns]
		y := rows[last*stripColumns:][:stripColumns]
		for i, u := range x {
			w := y[i]
			y[i] = float64(s*u) + float64(c*w)
			x[i] = float64(c*u) - float64(s*w)
		}
	}
}

// addSparseRowsPortable adds the products of sparse rows with interleaved columns x. The entries of row i are those
// from begin[i] to begin[i+1].
func addSparseRowsPortable(products, x []float64, begin []int, column []int32, value []float64) {
	for i := range len(begin) - 1 {
		sums := (*[together]float64)(products[together*i:])
		for at := begin[i]; at < begin[i+1]; at++ {
			v, other := value[at], (*[together]float64)(x[together*int(column[at]):])
			for c := range sums {
				sums[c] += float64(v * other[c])
			}
		}
	}
}

// combineRowsPortable replaces y by the sum of products, x and y, each times its factor.
func combineRowsPortable(y, products, x []float64, factors *[3]float64) {
	products, x = products[:len(y)], x[:len(y)]
	for i, v := range products {
		y[i] = float64(factors[0]*v) + float64(factors[1]*x[i]) + float64(factors[2]*y[i])
	}
}
