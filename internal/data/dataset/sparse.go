package dataset

import (
	"math"

	"github.com/cleave-project/cleave/internal/fault"
)

// MaxColumns bounds the number of features: a sparse entry stores its column as an int32.
const MaxColumns = math.MaxInt32

// SparsePoints holds n rows of d features, most of them 0, as compressed rows: the nonzero features of
// row i are Column[RowStart[i]:RowStart[i+1]], in ascending order and without repetition. Memory grows
// with the number of entries, not of features.
type SparsePoints struct {
	N, D     int
	RowStart []int64
	Column   []int32
	Value    []float64
}

// Kind implements Dataset.
func (p *SparsePoints) Kind() Kind { return KindSparsePoints }

// Rows implements Dataset.
func (p *SparsePoints) Rows() int { return p.N }

// Row returns the nonzero features of row i and their values. Both share memory with the data set.
func (p *SparsePoints) Row(i int) (columns []int32, values []float64) {
	from, to := p.RowStart[i], p.RowStart[i+1]
	return p.Column[from:to:to], p.Value[from:to:to]
}

// Dot returns the inner product of two rows, summed in the order of the features.
func (p *SparsePoints) Dot(i, j int) float64 {
	columns, values := p.Row(i)
	others, otherValues := p.Row(j)
	sum := 0.0
	for a, b := 0, 0; a < len(columns) && b < len(others); {
		switch {
		case columns[a] < others[b]:
			a++
		case columns[a] > others[b]:
			b++
		default:
			sum += float64(values[a] * otherValues[b])
			a++
			b++
		}
	}
	return sum
}

// NonZeros returns the number of entries.
func (p *SparsePoints) NonZeros() int { return len(p.Column) }

// NewSparsePoints checks n compressed rows of d features and keeps the slices. It removes entries of value
// 0 in place, so that equal points have equal bytes.
func NewSparsePoints(n, d int, rowStart []int64, column []int32, value []float64) (*SparsePoints, error) {
	if err := checkCounts(n, d); err != nil {
		return nil, err
	}
	if d > MaxColumns {
		return nil, fault.Invalid("TOO_MANY_COLUMNS", "the data set has %d columns; at most %d are supported",
			d, MaxColumns)
	}
	p := &SparsePoints{N: n, D: d, RowStart: rowStart, Column: column, Value: value}
	if err := p.checkShape(); err != nil {
		return nil, err
	}
	for i := range n {
		if err := p.checkRow(i); err != nil {
			return nil, err
		}
	}
	p.dropZeros()
	return p, nil
}

// checkShape verifies that the rows follow one another and cover all entries.
func (p *SparsePoints) checkShape() error {
	if len(p.RowStart) != p.N+1 || len(p.Column) != len(p.Value) {
		return fault.Invalid("SIZE_MISMATCH",
			"the data set has %d row starts, %d columns and %d values; %d rows need %d starts, and every value "+
				"needs a column",
			len(p.RowStart), len(p.Column), len(p.Value), p.N, p.N+1)
	}
	if p.RowStart[0] != 0 || p.RowStart[p.N] != int64(len(p.Column)) {
		return fault.Invalid("BAD_ROW_STARTS", "the rows span the entries %d to %d, but there are %d entries",
			p.RowStart[0], p.RowStart[p.N], len(p.Column))
	}
	for i := range p.N {
		if p.RowStart[i] > p.RowStart[i+1] {
			return fault.Invalid("BAD_ROW_STARTS",
				"row %d starts at entry %d, after the row that follows it (entry %d)", i, p.RowStart[i],
				p.RowStart[i+1])
		}
	}
	return nil
}

// checkRow verifies that a row's columns ascend and its values are finite.
func (p *SparsePoints) checkRow(i int) error {
	columns, values := p.Row(i)
	previous := int32(-1)
	for at, c := range columns {
		switch {
		case c < 0 || int(c) >= p.D:
			return fault.InRow(i, "INDEX_OUT_OF_RANGE", " has an entry in column %d, outside 0..%d", c, p.D-1)
		case c <= previous:
			return fault.InRow(i, "COLUMNS_OUT_OF_ORDER",
				" has column %d after column %d; columns must ascend, each at most once", c, previous)
		case !finite(values[at]):
			return fault.InCell(i, int(c), "NOT_FINITE", " is %v; every value must be a finite number", values[at])
		}
		previous = c
	}
	return nil
}

// dropZeros removes stored zeros in place: equal points must have equal bytes.
func (p *SparsePoints) dropZeros() {
	kept := int64(0)
	for i := range p.N {
		from, to := p.RowStart[i], p.RowStart[i+1]
		p.RowStart[i] = kept
		for at := from; at < to; at++ {
			if p.Value[at] != 0 {
				p.Column[kept], p.Value[kept] = p.Column[at], p.Value[at]
				kept++
			}
		}
	}
	p.RowStart[p.N] = kept
	p.Column, p.Value = p.Column[:kept], p.Value[:kept]
}
