package recipe

import (
	"slices"
	"sync"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
)

// Rows maps the points to the rows of the table they were made from, and to the ids of these. NewRows makes it for a
// table. &Rows{Count: n} stands for the n points of a data set, which are their own rows.
type Rows struct {
	Count int      // rows of the table
	Kept  []int32  // the rows that became points, in order; nil means all
	IDs   []string // of each row; nil means that rows have only numbers

	names func() *table.IDs // makes the index of the ids once; nil for a data set
}

// NewRows returns the mapping for a table of count rows; Rows describes the arguments. It keeps kept and ids.
func NewRows(count int, kept []int32, ids []string) *Rows {
	return &Rows{Count: count, Kept: kept, IDs: ids, names: sync.OnceValue(func() *table.IDs {
		return table.NewIDs(ids)
	})}
}

// Rows returns the rows of the prepared table.
func (p *Prepared) Rows() *Rows { return NewRows(p.rows, p.Kept, p.IDs) }

// Points returns how many rows became points.
func (r *Rows) Points() int {
	if r.Kept != nil {
		return len(r.Kept)
	}
	return r.Count
}

// Number converts a table about rows, given by id or number, to one about points. It leaves out rows that did not
// become points. A table about a data set stays as it is, since only numbers identify its points.
func (r *Rows) Number(t *table.Table) (*table.Table, error) {
	if r.names == nil {
		return t, nil
	}
	numbered, err := t.ResolveIDs(r.names())
	if err != nil || r.Kept == nil {
		return numbered, err
	}
	place := slices.Repeat([]int32{-1}, r.Count)
	for point, row := range r.Kept {
		place[row] = int32(point)
	}
	return numbered.Keep(place)
}

// The columns of Rows as a table.
const pointColumn, idColumn = "point", "id"

// Table encodes Rows as a table, for RowsOf. It returns nil if all rows became points and have no ids.
func (r *Rows) Table() *table.Table {
	var columns []table.Column
	if r.Kept != nil {
		c := table.Column{Name: pointColumn, Type: table.Integer, Integers: make([]int64, r.Count),
			Empty: make([]bool, r.Count)}
		for row := range c.Empty {
			c.Empty[row] = true
		}
		for point, row := range r.Kept {
			c.Integers[row], c.Empty[row] = int64(point), false
		}
		columns = append(columns, c)
	}
	if r.IDs != nil {
		columns = append(columns, table.Column{Name: idColumn, Type: table.Text, Texts: r.IDs})
	}
	if columns == nil {
		return nil
	}
	t, _ := table.New(columns) // never fails: all columns have Count cells and distinct names
	return t
}

// RowsOf decodes what Table returned.
func RowsOf(t *table.Table) *Rows {
	var kept []int32
	var ids []string
	if c := t.Column(pointColumn); c != nil {
		kept = []int32{}
		for row := range c.Integers {
			if !c.IsEmpty(row) {
				kept = append(kept, int32(row))
			}
		}
	}
	if c := t.Column(idColumn); c != nil {
		ids = c.Texts
	}
	return NewRows(t.Rows(), kept, ids)
}

// DropZeros removes the points that are all zeros, which have no direction, and returns how many there were. It
// returns an error if no point would be left.
func (p *Prepared) DropZeros() (dropped int, err error) {
	zero := func(point int) bool {
		return !slices.ContainsFunc(p.Points.Row(point), func(v float64) bool { return v != 0 })
	}
	for point := range p.Points.N {
		if zero(point) {
			dropped++
		}
	}
	if dropped == 0 {
		return 0, nil
	}
	if dropped == p.Points.N {
		return 0, fault.Invalid("EMPTY_DATA", "no row is left: all rows without missing values are zeros")
	}
	kept := make([]int32, 0, p.Points.N-dropped)
	values := make([]float64, 0, (p.Points.N-dropped)*p.Points.D)
	for point := range p.Points.N {
		if zero(point) {
			continue
		}
		row := int32(point)
		if p.Kept != nil {
			row = p.Kept[point]
		}
		kept = append(kept, row)
		values = append(values, p.Points.Row(point)...)
	}
	left, err := dataset.NewPoints(len(kept), p.Points.D, values)
	if err != nil {
		return 0, err
	}
	left.Categorical = p.Points.Categorical
	p.Kept, p.Points = kept, left
	return dropped, nil
}
