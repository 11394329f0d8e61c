package kernel

// columnsPerPass is how many columns are summed in registers before they touch the destination.
const columnsPerPass = 8

// routines are the inner loops, all of which give the same bits in every implementation. Rows come
// in multiples of rowMultiple; tiles are padded to that.
type routines struct {
	name string
	// addColumns adds the columns of a pass into dst.
	addColumns func(dst []float64, p *pass)
	// subtractColumns takes the columns of a pass out of dst.
	subtractColumns func(dst []float64, p *pass)
	// moveColumns takes the columns of a pass out of from and adds them into to.
	moveColumns func(from, to []float64, p *pass)
	// addProducts adds the products of productRows rows of a panel with a bundle of at most
	// productVectors; addWideProducts does so for the same rows and further bundles.
	addProducts, addWideProducts func(p *panel, row int, b *bundle)
	productRows, productVectors  int
	// addEntries adds the products of rows from..to-1 of a sparse matrix, of which one has an entry, with
	// a bundle of at most mostEntryVectors, row by row as the bundle.
	addEntries func(sums []float64, from, to int, m *Sparse, b *bundle)
	// multiplyBlock sums the products of blockRows packed rows and blockColumns packed columns, in
	// feature order; out has a column every stride values, whose sums go on unless these features are
	// the first.
	multiplyBlock           func(out []float64, stride int, rows, columns []float64, features int, first bool)
	blockRows, blockColumns int
	// pack lays out points of equal length: point i's value f at dst[f*lanes+i]. With fewer lanes than
	// points, what lies beyond len(dst) within the capacity may change.
	pack func(dst []float64, lanes int, points *[pointsPerPack][]float32)
	// transpose turns squares of transposeStep by transposeStep values: src[c] of row r, rows srcStride
	// apart, becomes dst[r] of column c. The squares lie below each other in src, side by side in dst.
	transpose func(dst []float32, dstStride int, src []float32, srcStride, squares int)
	// gaussian turns products into kernel values on the grid.
	gaussian func(dst []float32, products, norms []float64, normY, scale, rounder float64)
	// distances lowers the least distances of rows to those of one cluster, as distancePart has them.
	distances func(nearest, sums, weights []float64, square, weight float64)
	// toHalf scales and rounds to float16, fromHalf turns back and scales.
	toHalf   func(dst []uint16, src []float32, scale float32)
	fromHalf func(dst []float32, src []uint16, scale float32)
}

// pass is a few columns that do the same.
type pass struct {
	values  []float32
	columns [columnsPerPass]int // where in values each begins
	count   int                 // how many there are
	ahead   [columnsPerPass]int // as many that will be read later: memory may be asked for them now
}

// column is a column of the pass and all that lies behind it.
func (p *pass) column(i int) []float32 { return p.values[p.columns[i]:] }

// rowMultiple is what the rows of a tile are padded to.
const rowMultiple = 16

func padded(rows int) int { return (rows + rowMultiple - 1) / rowMultiple * rowMultiple }

// What addProductsPortable takes at a time: rows whose sums are in registers, and vectors.
const (
	portableRows    = 4
	portableVectors = 16
)

// portable is the routines in plain Go.
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
