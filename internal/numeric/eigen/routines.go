package eigen

// The loops that take nearly all the time, for slices of any length. The part of a slice whose length is a multiple of
// 8 runs in SIMD code (simd_amd64.go) or in its portable form (portable.go), which gives the same bits.

const (
	lanes        = 8  // partial sums of a dot product
	groupColumns = 4  // columns that are processed together, sharing one read of another column
	stripColumns = 16 // columns of a matrix that are rotated at a time
)

// plainDot returns x'y in one piece, not by tiles: product i is added to partial sum i mod 8, in order.
func plainDot(x, y []float64) float64 {
	y = y[:len(x)]
	var sums [lanes]float64
	whole := len(x) / lanes * lanes
	if whole > 0 {
		dotLanes(&sums, x[:whole], y[:whole])
	}
	return folded(sums[:], x[whole:], y[whole:])
}

// folded adds the last few products, and then the lanes.
func folded(sums, x, y []float64) float64 {
	for i, v := range x {
		sums[i] += float64(v * y[i])
	}
	return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
}

// plainDots is plainDot for four y.
func plainDots(x []float64, y *[groupColumns][]float64) (products [groupColumns]float64) {
	var sums [groupColumns * lanes]float64
	whole := len(x) / lanes * lanes
	if whole > 0 {
		dotLanes4(&sums, x[:whole], y[0][:whole], y[1][:whole], y[2][:whole], y[3][:whole])
	}
	for c := range products {
		products[c] = folded(sums[c*lanes:][:lanes], x[whole:], y[c][whole:len(x)])
	}
	return products
}

// plainDotBlock is plainDot for four x and four y: the products of the first x, then those of the next.
func plainDotBlock(x, y *[groupColumns][]float64) (products [groupColumns * groupColumns]float64) {
	var sums [groupColumns * groupColumns * lanes]float64
	whole := len(x[0]) / lanes * lanes
	if whole > 0 {
		a := upTo(x, whole)
		b := upTo(y, whole)
		dotBlock(&sums, &a, &b)
	}
	for i := range products {
		products[i] = folded(sums[i*lanes:][:lanes], x[i/groupColumns][whole:], y[i%groupColumns][whole:])
	}
	return products
}

// upTo returns the first count values of four columns.
func upTo(x *[groupColumns][]float64, count int) (first [groupColumns][]float64) {
	for c := range x {
		first[c] = x[c][:count]
	}
	return first
}

// subtractMultiple computes w -= factor u in place.
func subtractMultiple(w, u []float64, factor float64) {
	w = w[:len(u)]
	whole := len(u) / lanes * lanes
	if whole > 0 {
		mixColumn(w[:whole], u[:whole], -factor)
	}
	for i := whole; i < len(u); i++ {
		w[i] -= float64(factor * u[i])
	}
}

// addMultiples adds four columns times their factors to one, one after the other.
func addMultiples(to []float64, x *[groupColumns][]float64, factors *[groupColumns]float64) {
	whole := len(to) / lanes * lanes
	if whole > 0 {
		mixColumns4(to[:whole], x[0][:whole], x[1][:whole], x[2][:whole], x[3][:whole], factors)
	}
	for i := whole; i < len(to); i++ {
		sum := to[i]
		for c, f := range factors {
			sum += float64(f * x[c][i])
		}
		to[i] = sum
	}
}

// addBlock is addMultiples for four columns; factors has those of all x for the first one, then for the next.
func addBlock(to, x *[groupColumns][]float64, factors *[groupColumns * groupColumns]float64) {
	whole := len(to[0]) / lanes * lanes
	if whole > 0 {
		a := upTo(to, whole)
		b := upTo(x, whole)
		mixBlock(&a, &b, factors)
	}
	if whole == len(to[0]) {
		return
	}
	for at, f := range factors { // adds the multiples to each column in the order of x
		column, from := to[at/groupColumns], x[at%groupColumns]
		for i := whole; i < len(column); i++ {
			column[i] += float64(f * from[i])
		}
	}
}

// addTo adds x, times a factor for each, to four columns.
func addTo(y *[groupColumns][]float64, x []float64, factors *[groupColumns]float64) {
	whole := len(x) / lanes * lanes
	if whole > 0 {
		spreadColumn4(y[0][:whole], y[1][:whole], y[2][:whole], y[3][:whole], x[:whole], factors)
	}
	for c, f := range factors {
		for i := whole; i < len(x); i++ {
			y[c][i] += float64(f * x[i])
		}
	}
}

// update adds a multiple of v and one of q to a row, and returns the row times x.
func update(row, v, q, x []float64, byV, byQ float64) float64 {
	v, q, x = v[:len(row)], q[:len(row)], x[:len(row)]
	var sums [lanes]float64
	factors := [2]float64{byV, byQ}
	whole := len(row) / lanes * lanes
	if whole > 0 {
		updateLanes(&sums, row[:whole], v[:whole], q[:whole], x[:whole], &factors)
	}
	for i := whole; i < len(row); i++ {
		row[i] += float64(byV*v[i]) + float64(byQ*q[i])
	}
	return folded(sums[:], row[whole:], x[whole:])
}
