package kernel

import "github.com/cleave-project/cleave/internal/numeric/elementary"

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
	// innerProducts computes the inner products of innerRows packed rows with innerColumns packed columns, in feature
	// order. Columns of out are stride values apart. Unless first is set, the sums are added to those in out.
	innerProducts           func(out []float64, stride int, rows, columns []float64, features int, first bool)
	innerRows, innerColumns int
	// pack writes value f of point i to dst[f*size+i]. If size is less than pointsPerPack, it may overwrite values
	// beyond len(dst), within its capacity.
	pack func(dst []float64, size int, points *[pointsPerPack][]float32)
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

// detectRoutines returns the fastest routines that this processor supports.
func detectRoutines() routines {
	all := availableRoutines()
	return all[len(all)-1]
}

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
		innerProducts:   innerProductsPortable,
		innerRows:       4,
		innerColumns:    1,
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

// innerProductsPortable implements routines.innerProducts for 4 rows and 1 column. Products of float32 are exact.
func innerProductsPortable(out []float64, _ int, rows, columns []float64, features int, first bool) {
	var s0, s1, s2, s3 float64
	if !first {
		s0, s1, s2, s3 = out[0], out[1], out[2], out[3]
	}
	for f := range features {
		y, x := columns[f], rows[4*f:4*f+4:4*f+4]
		s0 += x[0] * y // exact, fused or not
		s1 += x[1] * y // exact, fused or not
		s2 += x[2] * y // exact, fused or not
		s3 += x[3] * y // exact, fused or not
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
		v := elementary.Exp(-float64(squaredDistance(products[r], norms[r], normY) * scale))
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
