package kernel

import "github.com/cleave-project/cleave/internal/partition"

// entryMaker computes entries of the matrix of points: all rows of one tile, a few columns at a time. It
// keeps its buffers, and belongs to one thread at a time.
type entryMaker struct {
	source   *Source
	tile     partition.Range
	stride   int
	rows     packed
	norms    []float64 // of the tile's points, padded
	columns  packed
	features []float64 // of sparse points: the columns, laid out over all features
	products []float64 // column after column
	height   int       // of a column of products
	values   []float64
	half     []uint16
}

// selectTile chooses the tile and packs its points.
func (m *entryMaker) selectTile(rows partition.Range) {
	if m.tile == rows {
		return
	}
	s := m.source
	m.stride = padded(rows.Len())
	if s.points.sparse != nil {
		m.height = m.stride
	} else {
		m.rows.pack(&s.routines, s.points, s.routines.blockRows, rows.Len(), func(at int) int { return rows.From + at })
		m.height = m.rows.groups * m.rows.lanes
	}
	m.norms = append(m.norms[:0], s.points.norms[rows.From:rows.To]...)
	for len(m.norms) < m.stride {
		m.norms = append(m.norms, 0)
	}
	m.tile = rows
}

// columnsPerFill is how many columns share one pass over the packed rows. It is a multiple of every
// routine's blockColumns, and of a cache line of the mirrored tile.
const columnsPerFill = 48

// fill computes the entries of at most columnsPerFill columns into out, column after column.
func (m *entryMaker) fill(columns []int32, out []float32) error { return m.fillFrom(0, columns, out) }

// fillFrom does the same from a row on, a multiple of rowMultiple; rows above it stay as they are.
func (m *entryMaker) fillFrom(row int, columns []int32, out []float32) error {
	if m.source.points.sparse != nil {
		m.multiplySparse(row, columns)
	} else {
		m.multiply(row/m.rows.lanes, columns)
	}
	for at, j := range columns {
		column := out[at*m.stride : (at+1)*m.stride]
		if err := m.finish(column, row, int(j), m.products[at*m.height:(at+1)*m.height]); err != nil {
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
	m.columns.pack(r, m.source.points, r.blockColumns, len(columns), func(at int) int { return int(columns[at]) })
	m.products = resized(m.products, height*m.columns.groups*r.blockColumns)
	for from := 0; from < m.rows.features; from += m.rows.perPass {
		for row := firstGroup; row < m.rows.groups; row++ {
			packedRows := m.rows.group(from, row)
			for group := range m.columns.groups {
				block := m.products[group*r.blockColumns*height+row*r.blockRows:]
				r.multiplyBlock(block, height, packedRows, m.columns.group(from, group), len(packedRows)/r.blockRows, from == 0)
			}
		}
	}
}

// finish turns the products of column j, from a row on, into entries: it applies the kernel function,
// then rounds once to float32 and once to the grid.
func (m *entryMaker) finish(column []float32, row, j int, products []float64) error {
	s, spec := m.source, &m.source.spec
	rows := partition.Range{From: m.tile.From + row, To: m.tile.To}
	column, products = column[row:], products[row:]
	if spec.Function == Gaussian && spec.Scale == nil && len(products) >= len(column) {
		s.routines.gaussian(column, products, m.norms[row:], s.points.norms[j], spec.inverseWidth(), spec.Grid.rounder())
		clear(column[rows.Len():])
		spec.clearDiagonal(column, rows, j)
		return nil
	}
	m.values = resized(m.values, rows.Len())
	for r := range m.values {
		m.values[r] = spec.entry(products[r], m.norms[row+r], s.points.norms[j])
	}
	return spec.store(column, rows, j, m.values)
}

// store puts kernel values into column j: scaled by a_i a_j, rounded once to float32 and once to the grid.
func (s *MatrixSpec) store(column []float32, rows partition.Range, j int, values []float64) error {
	if s.Scale != nil {
		for r := range values {
			values[r] *= s.Scale[rows.From+r] * s.Scale[j]
		}
	}
	c := s.Grid.rounder()
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
