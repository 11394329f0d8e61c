package kernel

import (
	"errors"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// sparseRows is where the values of sparse points stand. Features are numbered anew, in their order, so that those which
// no point has take no room.
type sparseRows struct {
	start    []int64
	column   []int32
	features int
}

func newSparsePointSet(points *dataset.SparsePoints, mean []float64) (*pointSet, error) {
	if mean != nil {
		return nil, errors.New("kernel: sparse points cannot be centered")
	}
	p := &pointSet{
		n: points.N, d: points.D, values: make([]float32, len(points.Value)), norms: make([]float64, points.N),
		sparse: &sparseRows{start: points.RowStart, column: slices.Clone(points.Column)},
	}
	used := slices.Clone(points.Column)
	slices.Sort(used)
	used = slices.Compact(used)
	p.sparse.features = len(used)
	for at, column := range p.sparse.column {
		place, _ := slices.BinarySearch(used, column)
		p.sparse.column[at] = int32(place)
	}
	for i := range p.n {
		for at := points.RowStart[i]; at < points.RowStart[i+1]; at++ {
			v := float32(points.Value[at])
			if math.IsInf(float64(v), 0) {
				return nil, fault.Invalid("OUT_OF_FLOAT32_RANGE",
					"row %d, column %d is %g, beyond what float32 holds; scale the data", i, points.Column[at], points.Value[at])
			}
			p.values[at] = v
			p.norms[i] += float64(v) * float64(v)
		}
	}
	return p, nil
}

// sparseRow is the features and values of a sparse point.
func (p *pointSet) sparseRow(i int) ([]int32, []float32) {
	from, to := p.sparse.start[i], p.sparse.start[i+1]
	return p.sparse.column[from:to:to], p.values[from:to:to]
}

// sparseLanes is how many columns are multiplied at a time: their sums are independent, so that none waits for another.
const sparseLanes = 8

// multiplySparse computes the inner products of columns with the rows of the tile, from a row on. Some columns are laid
// out over all features, with zeros where they have none; then each row reads them where it has features itself.
func (m *entryMaker) multiplySparse(row int, columns []int32) {
	p := m.source.points
	m.products = resized(m.products, m.height*len(columns))
	m.features = resized(m.features, p.sparse.features*sparseLanes)
	for first := 0; first < len(columns); first += sparseLanes {
		some := columns[first:min(first+sparseLanes, len(columns))]
		m.layOut(some, true)
		for r := row; r < m.tile.Len(); r++ {
			features, values := p.sparseRow(m.tile.From + r)
			sums := sparseProducts(features, values, m.features)
			for lane := range some {
				m.products[(first+lane)*m.height+r] = sums[lane]
			}
		}
		m.layOut(some, false)
	}
}

// layOut writes the values of some points over all features, or zeros in their place: between calls there are only zeros.
func (m *entryMaker) layOut(points []int32, write bool) {
	for lane, j := range points {
		features, values := m.source.points.sparseRow(int(j))
		for at, f := range features {
			v := 0.0
			if write {
				v = float64(values[at])
			}
			m.features[int(f)*sparseLanes+lane] = v
		}
	}
}

// sparseProducts is the inner products of one row with the points that are laid out, each summed in feature order.
func sparseProducts(features []int32, values []float32, laidOut []float64) (sums [sparseLanes]float64) {
	for at, f := range features {
		v := float64(values[at])
		lanes := (*[sparseLanes]float64)(laidOut[int(f)*sparseLanes:])
		sums[0] += float64(v * lanes[0])
		sums[1] += float64(v * lanes[1])
		sums[2] += float64(v * lanes[2])
		sums[3] += float64(v * lanes[3])
		sums[4] += float64(v * lanes[4])
		sums[5] += float64(v * lanes[5])
		sums[6] += float64(v * lanes[6])
		sums[7] += float64(v * lanes[7])
	}
	return sums
}
