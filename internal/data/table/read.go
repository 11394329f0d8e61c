package table

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/fault"
)

// Kind is a kind of table: the columns that it has, and what its rows say.
type Kind[T any] struct {
	Columns Columns
	read    func(r *reading) []T
}

// Read is what the rows of a table say about so many points.
func (k Kind[T]) Read(t *Table, points int) ([]T, error) {
	columns, err := t.Pick(k.Columns)
	if err != nil {
		return nil, err
	}
	r := &reading{Table: t, columns: columns, points: points, at: -1}
	list := k.read(r)
	if r.err != nil {
		return nil, r.err
	}
	return list, nil
}

// ColumnSpec is a column that a kind of table has.
type ColumnSpec struct {
	Name     string
	Type     Type
	Optional bool // the column may be missing, and its cells empty
	Ignored  bool // it may be there as well, and says nothing
}

// Columns are all columns that a kind of table has.
type Columns []ColumnSpec

// String is the columns as errors show them: "i,j,kind[,weight]".
func (columns Columns) String() string {
	var names strings.Builder
	for at, c := range columns {
		if c.Ignored {
			continue
		}
		name := map[bool]string{true: ","}[at > 0] + c.Name
		if c.Optional {
			name = "[" + name + "]"
		}
		names.WriteString(name)
	}
	return names.String()
}

// Pick finds columns, in the order asked for; nil for an optional one that is missing. In the table they may
// stand in any order, but there are no others.
func (t *Table) Pick(columns Columns) ([]*Column, error) {
	found := make([]*Column, len(columns))
	for at := range t.Columns {
		c := &t.Columns[at]
		known := slices.IndexFunc(columns, func(spec ColumnSpec) bool { return spec.Name == c.Name })
		if known < 0 {
			return nil, fault.Invalid("UNKNOWN_COLUMN", "the table has a column %.60q; the columns here are %s", c.Name, columns).With("column", c.Name)
		}
		found[known] = c
	}
	for at, spec := range columns {
		c := found[at]
		switch {
		case c == nil && !spec.Optional:
			return nil, fault.Invalid("MISSING_COLUMN", "the table has no column %q; the columns here are %s", spec.Name, columns).With("column", spec.Name)
		case c == nil:
		case c.Type != spec.Type && !(spec.Type == Number && c.Type == Integer):
			return nil, fault.Invalid("BAD_COLUMN_TYPE", "column %q holds %v; it must hold %v", c.Name, c.Type, spec.Type).With("column", c.Name)
		case !spec.Optional && slices.Contains(c.Empty, true):
			return nil, t.Fault(c, slices.Index(c.Empty, true), "EMPTY_CELL", "the cell is empty")
		}
	}
	return found, nil
}

// WithoutIgnored is the table without the columns that say nothing.
func (t *Table) WithoutIgnored(columns Columns) *Table {
	kept := *t
	kept.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool {
		return slices.ContainsFunc(columns, func(spec ColumnSpec) bool { return spec.Ignored && spec.Name == c.Name })
	})
	return &kept
}

// reading goes through the rows of a table and stops at the first fault. Its methods take the number of a column
// in the list of the kind.
type reading struct {
	*Table
	columns []*Column
	points  int
	at      int     // the current row
	first   []int32 // 1 + the first row with each point, see once
	err     error
}

func (r *reading) next() bool {
	r.at++
	return r.err == nil && r.at < r.rows
}

// refuse is a fault in the current row.
func (r *reading) refuse(column int, reason, format string, args ...any) {
	if r.err == nil {
		r.err = r.Fault(r.columns[column], r.at, reason, format, args...)
	}
}

// has tells whether there is something in a cell of an optional column.
func (r *reading) has(column int) bool {
	c := r.columns[column]
	return c != nil && (c.Empty == nil || !c.Empty[r.at])
}

func (r *reading) integer(column int) int64 { return r.columns[column].Integers[r.at] }

// number is a cell of numbers, or of integers that stand for numbers.
func (r *reading) number(column int) float64 {
	if r.columns[column].Type == Integer {
		return float64(r.integer(column))
	}
	return r.columns[column].Numbers[r.at]
}

// index is the number of a point.
func (r *reading) index(column int) int32 {
	v := r.integer(column)
	switch {
	case !r.has(column):
		r.refuse(column, "EMPTY_CELL", "the cell is empty; give all of the column, or none")
	case v < 0 || v >= int64(r.points):
		r.refuse(column, "INDEX_OUT_OF_RANGE", "point %d is outside 0..%d", v, r.points-1)
	default:
		return int32(v)
	}
	return 0
}

// once is the number of a point that stands in no other row.
func (r *reading) once(column int) int32 {
	index := r.index(column)
	if r.err != nil {
		return 0
	}
	if r.first == nil {
		r.first = make([]int32, r.points)
	}
	if first := int(r.first[index]); first != 0 {
		r.err = r.Fault(r.columns[column], r.at, "DUPLICATE_INDEX", "point %d stands here again; it was %s", index, r.Place(first-1)).
			With("index", strconv.Itoa(int(index)))
	}
	r.first[index] = int32(r.at) + 1
	return index
}

// weight is a positive number.
func (r *reading) weight(column int) float64 {
	v := r.number(column)
	if !(v > 0) {
		r.refuse(column, "BAD_WEIGHT", "the weight is %v; weights must be positive and finite", v)
	}
	return v
}
