package kernel

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// This file builds dense tiles. The matrix is symmetric, so the crossing where the rows of one tile meet the columns of
// another is computed once and transposed into the other tile.

// crossing is the part of a tile whose columns are the rows of another tile.
type crossing struct {
	tile     *denseTile
	columns  partition.Range
	mirrorTo *denseTile // the other tile, if it is being built too: it receives the transposed crossing; else nil
	copyFrom *denseTile // the other tile, if it is already stored: the crossing is copied from it, transposed; else nil
}

// buildFromPoints computes and stores the tiles with the given numbers, which must not be stored yet.
func (s *Shard) buildFromPoints(ctx context.Context, numbers []int) (map[int]*denseTile, error) {
	n := s.source.Rows()
	tiles := make(map[int]*denseTile, len(numbers))
	for _, number := range numbers {
		tiles[number] = s.source.newTile(number)
		tiles[number].allocate()
	}
	var crossings []crossing
	for _, number := range numbers {
		for other := range partition.TileCount(n) {
			b := crossing{tile: tiles[number], columns: partition.Tile(n, other), mirrorTo: tiles[other]}
			switch {
			case b.mirrorTo != nil && other < number:
				continue // the other tile's crossing is mirrored into this one
			case other == number:
				b.mirrorTo = nil
			case b.mirrorTo == nil:
				b.copyFrom = s.storedTile(other)
			}
			crossings = append(crossings, b)
		}
	}
	return tiles, s.parallel(ctx, len(crossings), func(at int) error { return s.source.build(crossings[at]) })
}

// storedTile returns the tile with the given number, or nil unless this shard has stored its entries.
func (s *Shard) storedTile(number int) *denseTile {
	if t := s.tiles[number]; t != nil {
		if dense, ok := t.base.(*denseTile); ok && dense.stored() {
			return dense
		}
	}
	return nil
}

// build computes one crossing and, if mirrorTo is set, writes its transpose to that tile.
func (s *Source) build(b crossing) error {
	if b.copyFrom != nil {
		mirror(b.tile, b.copyFrom, b.tile.rows, 0)
		return nil
	}
	w := s.borrowDense()
	defer s.returnDense(w)
	m := w.entryMakerFor(b.tile)
	var columns [columnsPerFill]int32
	for from := b.columns.From; from < b.columns.To; from += columnsPerFill {
		some := columns[:min(columnsPerFill, b.columns.To-from)]
		for i := range some {
			some[i] = int32(from + i)
		}
		var out []float32
		if b.tile.half == nil {
			out = b.tile.entries[from*b.tile.stride : (from+len(some))*b.tile.stride]
		} else {
			w.values = parallel.Resized(w.values, len(some)*b.tile.stride)
			out = w.values
		}
		// A crossing on the diagonal is its own mirror: only its lower triangle is computed.
		top, to, first := 0, b.mirrorTo, 0
		if b.columns == b.tile.rows {
			top = from - b.tile.rows.From
			to, first = b.tile, top+columnsPerFill
			top -= top % s.routines.innerRows
		}
		if err := m.fill(top, some, out); err != nil {
			return err
		}
		b.tile.save(from, top, out)
		if to != nil {
			mirror(to, b.tile, partition.Range{From: from, To: from + len(some)}, first)
		}
	}
	return nil
}

// transposeStep is the side length of the squares that are transposed at a time.
const transposeStep = 16

// mirror transposes a crossing of src into dst. The given columns of src are rows of dst. The rows of src from first on
// are columns of dst; first must be a multiple of transposeStep.
func mirror(dst, src *denseTile, columns partition.Range, first int) {
	if src.half != nil {
		for r := first; r < src.height; r++ {
			mirrorRow(dst.half, src.half, dst, src, columns, r)
		}
		return
	}
	squares := columns.Len() / transposeStep
	rest := partition.Range{From: columns.From + squares*transposeStep, To: columns.To}
	whole := src.height / transposeStep * transposeStep
	for r := first; r < src.height; r++ {
		switch {
		case r >= whole:
			mirrorRow(dst.entries, src.entries, dst, src, columns, r)
			continue
		case r%transposeStep == 0 && squares > 0:
			to := dst.entries[(src.rows.From+r)*dst.stride+columns.From-dst.rows.From:]
			from := src.entries[columns.From*src.stride+r:]
			src.source.routines.transpose(to, dst.stride, from, src.stride, squares)
		}
		mirrorRow(dst.entries, src.entries, dst, src, rest, r)
	}
}

// mirrorRow copies one row of src at the given columns into a column of dst.
func mirrorRow[T any](to, from []T, dst, src *denseTile, columns partition.Range, r int) {
	column := to[(src.rows.From+r)*dst.stride : (src.rows.From+r+1)*dst.stride]
	for j := columns.From; j < columns.To; j++ {
		column[j-dst.rows.From] = from[j*src.stride+r]
	}
}

// buildFromRows fetches the rows of a given matrix and stores them as a dense tile.
func (s *Source) buildFromRows(ctx context.Context, number int) (*denseTile, error) {
	t := s.newTile(number)
	t.allocate()
	given, err := s.rows(ctx, t.rows.From, t.rows.To)
	if err != nil {
		return nil, err
	}
	if len(given) != t.height*t.n {
		return nil, fmt.Errorf("kernel: %d rows of the matrix have %d values, want %d", t.height, len(given),
			t.height*t.n)
	}
	values := make([]float64, t.height)
	column := make([]float32, t.stride)
	for j := range t.n {
		for r := range values {
			values[r] = given[r*t.n+j]
		}
		if t.half == nil {
			column = t.column(j)
		}
		if err := s.spec.store(column, t.rows, j, values); err != nil {
			return nil, err
		}
		t.save(j, 0, column)
	}
	return t, nil
}

// entryMaker computes matrix entries from points: all rows of one tile, a few columns at a time. It reuses its buffers,
// so only one goroutine may use it at a time.
type entryMaker struct {
	source   *Source
	tile     partition.Range
	stride   int
	rows     packed
	norms    []float64 // squared lengths of the tile's points, padded
	columns  packed
	features []float64 // sparse points only: the columns, laid out over all features
	products []float64 // column after column
	height   int       // values per column of products
	values   []float64
	half     []uint16
}

// selectTile sets the rows to compute and packs their points. It does nothing if they are already selected.
func (m *entryMaker) selectTile(rows partition.Range) {
	if m.tile == rows {
		return
	}
	s := m.source
	m.stride = padded(rows.Len())
	if s.points.sparse != nil {
		m.height = m.stride
	} else {
		m.rows.pack(&s.routines, s.points, s.routines.innerRows, rows.Len(), func(at int) int { return rows.From + at })
		m.height = m.rows.groups * m.rows.size
	}
	m.norms = append(m.norms[:0], s.points.norms[rows.From:rows.To]...)
	for len(m.norms) < m.stride {
		m.norms = append(m.norms, 0)
	}
	m.tile = rows
}

// columnsPerFill is the maximum number of columns that share one reading of the packed rows. It is a multiple of every
// routine's innerColumns, and of a cache line of the mirrored tile.
const columnsPerFill = 48

// fill computes the entries of at most columnsPerFill columns into out, column after column. It starts at a row, which
// must be a multiple of rowMultiple, and leaves the rows above it unchanged. It fails if an entry is infinite or NaN.
func (m *entryMaker) fill(row int, columns []int32, out []float32) error {
	if m.source.points.sparse != nil {
		m.multiplySparse(row, columns)
	} else {
		m.multiply(row/m.rows.size, columns)
	}
	for i, j := range columns {
		column := out[i*m.stride : (i+1)*m.stride]
		if err := m.finish(column, row, int(j), m.products[i*m.height:(i+1)*m.height]); err != nil {
			return err
		}
		m.source.roundHalf(column[row:], &m.half)
	}
	return nil
}

// multiply computes the inner products of the columns with the rows, from a group of rows on. The packed
// rows of one group stay in the first-level cache while all columns pass by.
func (m *entryMaker) multiply(firstGroup int, columns []int32) {
	r := &m.source.routines
	height := m.height
	m.columns.pack(r, m.source.points, r.innerColumns, len(columns), func(at int) int { return int(columns[at]) })
	m.products = parallel.Resized(m.products, height*m.columns.groups*r.innerColumns)
	for from := 0; from < m.rows.features; from += m.rows.atOnce {
		for row := firstGroup; row < m.rows.groups; row++ {
			packedRows := m.rows.group(from, row)
			for group := range m.columns.groups {
				products := m.products[group*r.innerColumns*height+row*r.innerRows:]
				r.innerProducts(products, height, packedRows, m.columns.group(from, group), len(packedRows)/r.innerRows,
					from == 0)
			}
		}
	}
}

// finish turns the products of column j, starting at a row, into entries: it applies the kernel function, then rounds
// once to float32 and once to the grid.
func (m *entryMaker) finish(column []float32, row, j int, products []float64) error {
	s, spec := m.source, &m.source.spec
	rows := partition.Range{From: m.tile.From + row, To: m.tile.To}
	column, products = column[row:], products[row:]
	if spec.Function == Gaussian && spec.Scale == nil && len(products) >= len(column) {
		s.routines.gaussian(column, products, m.norms[row:], s.points.norms[j], spec.inverseWidth(),
			spec.Grid.Rounder())
		clear(column[rows.Len():])
		spec.clearDiagonal(column, rows, j)
		return nil
	}
	m.values = parallel.Resized(m.values, rows.Len())
	for r := range m.values {
		m.values[r] = spec.Value(products[r], m.norms[row+r], s.points.norms[j])
	}
	return spec.store(column, rows, j, m.values)
}

// store writes kernel values to column j: scaled by a_i a_j, rounded once to float32 and once to the grid. It fails if
// an entry is infinite or NaN.
func (s *MatrixSpec) store(column []float32, rows partition.Range, j int, values []float64) error {
	if s.Scale != nil {
		for r := range values {
			values[r] *= s.Scale[rows.From+r] * s.Scale[j]
		}
	}
	c := s.Grid.Rounder()
	for r, v := range values {
		column[r] = float32((float64(float32(v)) + c) - c)
		if column[r]-column[r] != 0 { // infinite or not a number
			return outOfRange(rows.From+r, j, v)
		}
	}
	clear(column[len(values):])
	s.clearDiagonal(column, rows, j)
	return nil
}

// clearDiagonal sets the diagonal entry to 0 for objectives that ignore it.
func (s *MatrixSpec) clearDiagonal(column []float32, rows partition.Range, j int) {
	if s.ZeroDiagonal && j >= rows.From && j < rows.To {
		column[j-rows.From] = 0
	}
}

// featuresAtOnce is the maximum number of features that are multiplied before moving on to the next rows. A group of
// packed rows takes 32 KiB for that many features, and stays in the first-level cache.
const featuresAtOnce = 128

// pointsPerPack is the number of points that routines.pack processes at a time.
const pointsPerPack = 8

// packed holds points laid out for innerProducts: for some features at a time and each group of points, the values of
// the group feature by feature. The last group is padded with points of zeros.
type packed struct {
	size             int // points in a group
	groups, features int
	atOnce           int // features that are multiplied before moving on to the next rows
	values           []float64
	zeros            []float32 // stands for a missing point
	points           [pointsPerPack][]float32
}

// pack lays out count points in groups of some size, where point maps a position to a row. It reuses the buffers of k.
func (k *packed) pack(r *routines, p *pointSet, size, count int, point func(at int) int) {
	k.size = size
	k.groups = (count + size - 1) / size
	k.features = p.d
	parts := max(1, (p.d+featuresAtOnce-1)/featuresAtOnce)
	k.atOnce = padded((p.d + parts - 1) / parts) // parts of about equal length, in whole SIMD vectors
	// The routine may write beyond the points of a feature, where the next feature's values will go. The last feature
	// needs spare room for that too.
	values := k.groups * size * p.d
	k.values = parallel.Resized(k.values, values+pointsPerPack)[:values]
	if len(k.zeros) < p.d {
		k.zeros = make([]float32, p.d)
	}
	for from := 0; from < p.d; from += k.atOnce {
		to := min(from+k.atOnce, p.d)
		for group := range k.groups {
			for first := 0; first < size; first += pointsPerPack {
				for i := range k.points {
					k.points[i] = k.zeros[from:to]
					if at := group*size + first + i; first+i < size && at < count {
						k.points[i] = p.row(point(at))[from:to]
					}
				}
				r.pack(k.group(from, group)[first:], size, &k.points)
			}
		}
	}
}

// group returns the values of one group for the features from a given one on, as many as are multiplied at once. They
// alias k.values.
func (k *packed) group(from, group int) []float64 {
	width := min(k.atOnce, k.features-from)
	start := from*k.groups*k.size + group*width*k.size
	return k.values[start : start+width*k.size]
}

// packPortable writes value f of point i to dst[f*size+i], for the first size points.
func packPortable(dst []float64, size int, points *[pointsPerPack][]float32) {
	for i := range min(size, pointsPerPack) {
		for f, v := range points[i] {
			dst[f*size+i] = float64(v)
		}
	}
}
