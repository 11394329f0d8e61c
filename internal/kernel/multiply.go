package kernel

import (
	"context"
	"fmt"
	"math"

	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// This file computes products of the matrix with several vectors. Every value of a product is one chain of fused
// multiply-adds that starts at 0 and goes over the row's entries of the base matrix in column order, then over those of
// the sparse part. So a vector has the same product alone or with others, on any number of threads, in SIMD code and
// in plain Go.

// bundle is a set of vectors interleaved row by row, so that a matrix entry meets all of them in one place: element j
// of vector v is values[j*width+v].
type bundle struct {
	values []float64
	first  int // index of the first vector
	count  int // number of vectors
	width  int // values per row: count, or more for alignment
}

// Multiply returns M x for each of several vectors x. It requires operands. The products belong to the shard and are
// valid until the next call.
func (s *Shard) Multiply(ctx context.Context, numbers []int, x [][]float64) ([][]float64, error) {
	if s.operands.K == 0 {
		return nil, ErrNotReady
	}
	for v := range x {
		if len(x[v]) != s.source.Rows() {
			return nil, fmt.Errorf("kernel: a vector has %d values, want %d", len(x[v]), s.source.Rows())
		}
	}
	tiles, err := s.tilesOf(numbers)
	if err != nil || len(x) == 0 {
		return nil, err
	}
	if err := s.makeBundles(ctx, x); err != nil {
		return nil, err
	}
	defer clear(s.bundles) // keep no reference to the caller's vectors
	factors := &vectors{each: x, bundles: s.bundles, sparse: s.operands.Sparse}
	starts := startsOf(tiles)
	total := starts[len(tiles)]
	var values []float64
	if len(x) == 1 {
		values = make([]float64, total) // too small to keep a buffer for
	} else {
		s.products = resizedAligned(s.products, total*len(x))
		values = s.products
	}
	products := make([][]float64, len(x))
	for v := range products {
		products[v] = values[v*total : (v+1)*total : (v+1)*total]
	}
	return products, s.parallel(ctx, len(tiles), func(at int) error {
		dst := make([][]float64, len(x))
		for v := range dst {
			dst[v] = products[v][starts[at]:starts[at+1]]
		}
		return tiles[at].base.multiply(dst, factors)
	})
}

// vectors holds the factors of a base matrix, and the sparse part to add after it.
type vectors struct {
	each    [][]float64
	bundles []bundle
	sparse  *Sparse
}

// makeBundles interleaves the vectors into bundles no larger than the routines accept. A single vector is not copied.
func (s *Shard) makeBundles(ctx context.Context, x [][]float64) error {
	limit, n := s.source.routines.productVectors, s.source.Rows()
	if s.source.graph != nil {
		limit = maxEntryVectors
	}
	count, size := (len(x)+limit-1)/limit, 0
	s.bundles = parallel.Resized(s.bundles, count)
	for at := range s.bundles {
		first, end := at*len(x)/count, (at+1)*len(x)/count
		b := bundle{first: first, count: end - first, width: end - first}
		if s.source.graph != nil {
			b.width = lineWidth(b.count)
		}
		s.bundles[at] = b
		size += b.width
	}
	if len(x) == 1 { // one vector needs no interleaving
		s.bundles[0].values = x[0]
		return nil
	}
	s.bundleValues = resizedAligned(s.bundleValues, n*size)
	rest := s.bundleValues
	for at := range s.bundles {
		b := &s.bundles[at]
		b.values, rest = rest[:n*b.width], rest[n*b.width:]
	}
	return s.parallel(ctx, partition.TileCount(n), func(at int) error {
		rows := partition.Tile(n, at)
		for _, b := range s.bundles {
			for from := rows.From; from < rows.To; from += rowsAtOnce {
				to := min(from+rowsAtOnce, rows.To)
				interleave(b.values[from*b.width:], b.width, x[b.first:b.first+b.count],
					partition.Range{From: from, To: to})
			}
		}
		return nil
	})
}

// interleave writes the given rows of several vectors side by side; consecutive rows are width values apart.
func interleave(dst []float64, width int, x [][]float64, rows partition.Range) {
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d := x[0][rows.From:rows.To], x[1][rows.From:rows.To], x[2][rows.From:rows.To], x[3][rows.From:rows.To]
		for i, at := 0, 0; i < len(a) && i < len(b) && i < len(c) && i < len(d); i, at = i+1, at+width {
			four := (*[4]float64)(dst[at:])
			four[0], four[1], four[2], four[3] = a[i], b[i], c[i], d[i]
		}
		dst = dst[4:]
	}
	for v := range x {
		at := v
		for _, value := range x[v][rows.From:rows.To] {
			dst[at] = value
			at += width
		}
	}
}

// deinterleave reverses interleave: it writes the given rows of x from src.
func deinterleave(x [][]float64, rows partition.Range, src []float64, width int) {
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d := x[0][rows.From:rows.To], x[1][rows.From:rows.To], x[2][rows.From:rows.To], x[3][rows.From:rows.To]
		for i, at := 0, 0; i < len(a) && i < len(b) && i < len(c) && i < len(d); i, at = i+1, at+width {
			four := (*[4]float64)(src[at:])
			a[i], b[i], c[i], d[i] = four[0], four[1], four[2], four[3]
		}
		src = src[4:]
	}
	for v := range x {
		values, at := x[v][rows.From:rows.To], v
		for i := range values {
			values[i] = src[at]
			at += width
		}
	}
}

// columnsPerPanel is the maximum number of columns in a panel: their part of a bundle, and some rows widened to
// float64, stay in the first-level cache.
const columnsPerPanel = 128

// panel is a range of consecutive columns of a tile that are multiplied with bundles, and the sums so far.
type panel struct {
	sums    []float64 // vector after vector
	height  int       // values per vector in sums
	rows    int       // number of rows to sum, at most height
	values  []float32 // column after column
	pitch   int       // values from one column to the next
	from    int       // first column
	columns int       // number of columns
	ahead   []float32 // values read after this panel, to be prefetched; may be nil
	wide    []float64 // scratch: some rows widened to float64
}

// x returns the values of a bundle that the panel's columns are multiplied with.
func (p *panel) x(b *bundle) []float64 {
	return b.values[p.from*b.width:][:p.columns*b.width]
}

// sumsOf returns the sums of some rows, from those of the bundle's first vector to those of its last.
func (p *panel) sumsOf(b *bundle, row, rows int) []float64 {
	return p.sums[b.first*p.height+row : (b.first+b.count-1)*p.height+row+rows]
}

// multiply reads or computes each column once for all vectors. The columns of a panel stay in the
// second-level cache until all rows are done, while the next panel is prefetched.
func (t *denseTile) multiply(dst [][]float64, x *vectors) error {
	w := t.source.borrowDense()
	defer t.source.returnDense(w)
	p := &w.panel
	p.sums = parallel.Resized(p.sums, len(dst)*t.stride)
	p.height = t.stride
	p.rows = t.stride
	p.pitch = t.stride
	clear(p.sums)
	if err := t.addProducts(p, t.source.allColumns(), x.bundles, w); err != nil {
		return err
	}
	for v := range dst {
		copy(dst[v], p.sums[v*t.stride:])
		for r := range dst[v] {
			columns, values := x.sparse.Row(t.rows.From + r)
			for i, j := range columns {
				dst[v][r] = math.FMA(values[i], x.each[v][j], dst[v][r])
			}
		}
	}
	p.values, p.ahead = nil, nil
	return nil
}

// addProducts adds the products of the given columns with bundles, which have one value per column. The columns of a
// stored tile must be consecutive.
func (t *denseTile) addProducts(p *panel, columns []int32, bundles []bundle, w *denseWorkspace) error {
	size := columnsPerPanel
	if t.entries == nil {
		size = columnsPerFill
	}
	for p.from = 0; p.from < len(columns); p.from += size {
		to := min(p.from+size, len(columns))
		p.columns = to - p.from
		v, err := t.locate(columns[p.from:to], w)
		if err != nil {
			return err
		}
		p.values = v.values[v.begin(0):]
		p.ahead = nil
		if t.entries != nil {
			p.ahead = t.entries[to*t.stride:]
		}
		t.source.routines.addPanel(p, bundles)
	}
	return nil
}

// addPanel adds the products of all rows of a panel with all bundles.
func (r *routines) addPanel(p *panel, bundles []bundle) {
	for row := 0; row < p.rows; row += r.productRows {
		r.addProducts(p, row, &bundles[0])
		for i := range bundles[1:] {
			r.addWideProducts(p, row, &bundles[1+i])
		}
	}
}

// addProductsPortable implements routines.addProducts and addWideProducts.
func addProductsPortable(p *panel, row int, b *bundle) {
	x := p.x(b)
	sums := p.sumsOf(b, row, portableRows)
	for v := range b.count {
		sum := (*[portableRows]float64)(sums[v*p.height:])
		s0, s1, s2, s3 := sum[0], sum[1], sum[2], sum[3]
		for j := range p.columns {
			factor, m := x[j*b.width+v], (*[portableRows]float32)(p.values[j*p.pitch+row:])
			s0 = math.FMA(float64(m[0]), factor, s0)
			s1 = math.FMA(float64(m[1]), factor, s1)
			s2 = math.FMA(float64(m[2]), factor, s2)
			s3 = math.FMA(float64(m[3]), factor, s3)
		}
		sum[0], sum[1], sum[2], sum[3] = s0, s1, s2, s3
	}
}
