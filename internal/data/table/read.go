package table

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/fault"
)

// Kind is a kind of table: its columns, and how to read its rows.
type Kind[T any] struct {
	Columns Columns
	read    func(r *reading) []T
}

// Read reads the rows of a table about the given number of points.
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

// ColumnSpec describes a column of a kind of table.
type ColumnSpec struct {
	Name     string
	Type     Type
	Optional bool // the column may be missing, and its cells may be empty
	Ignored  bool // the column is accepted but not used
}

// Columns describes all columns of a kind of table.
type Columns []ColumnSpec

// String formats the columns for errors: "i,j,kind[,weight]".
func (columns Columns) String() string {
	var names strings.Builder
	for at, c := range columns {
		if c.Ignored {
			continue
		}
		name := c.Name
		if at > 0 {
			name = "," + name
		}
		if c.Optional {
			name = "[" + name + "]"
		}
		names.WriteString(name)
	}
	return names.String()
}

// Pick returns the given columns, nil for an optional one that is missing. The table may have them in any order, but no
// others.
func (t *Table) Pick(columns Columns) ([]*Column, error) {
	found := make([]*Column, len(columns))
	for at := range t.Columns {
		c := &t.Columns[at]
		known := slices.IndexFunc(columns, func(spec ColumnSpec) bool { return spec.Name == c.Name })
		if known < 0 {
			return nil, fault.Invalid("UNKNOWN_COLUMN", "the table has an unknown column %.60q; the columns are %s",
				c.Name, columns).With("column", c.Name)
		}
		found[known] = c
	}
	for at, spec := range columns {
		c := found[at]
		switch {
		case c == nil && !spec.Optional:
			return nil, fault.Invalid("MISSING_COLUMN", "the table has no column %q; the columns are %s", spec.Name,
				columns).With("column", spec.Name)
		case c == nil:
		case c.Type != spec.Type && !(spec.Type == Number && c.Type == Integer):
			return nil, fault.Invalid("BAD_COLUMN_TYPE", "column %q holds %v; it must hold %v", c.Name, c.Type,
				spec.Type).With("column", c.Name)
		case !spec.Optional && slices.Contains(c.Empty, true):
			return nil, t.Fault(c, slices.Index(c.Empty, true), "EMPTY_CELL", "the cell is empty")
		}
	}
	return found, nil
}

// WithoutIgnored returns the table without the ignored columns.
func (t *Table) WithoutIgnored(columns Columns) *Table {
	kept := *t
	kept.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool {
		return slices.ContainsFunc(columns, func(spec ColumnSpec) bool { return spec.Ignored && spec.Name == c.Name })
	})
	return &kept
}

// reading goes through the rows of a table and stops at the first error. Its methods take the position of a column in
// the list of the kind.
type reading struct {
	*Table
	columns []*Column
	points  int
	at      int     // the current row
	first   []int32 // 1 + the first row of each point, for once
	err     error
}

func (r *reading) next() bool {
	r.at++
	return r.err == nil && r.at < r.rows
}

// refuse records an error in the current row.
func (r *reading) refuse(column int, reason, format string, args ...any) {
	if r.err == nil {
		r.err = r.Fault(r.columns[column], r.at, reason, format, args...)
	}
}

// has reports whether an optional column has a value in the current row.
func (r *reading) has(column int) bool {
	c := r.columns[column]
	return c != nil && (c.Empty == nil || !c.Empty[r.at])
}

func (r *reading) integer(column int) int64 { return r.columns[column].Integers[r.at] }

func (r *reading) number(column int) float64 { return r.columns[column].Number(r.at) }

// index returns the number of a point.
func (r *reading) index(column int) int32 {
	v := r.integer(column)
	switch {
	case !r.has(column):
		r.refuse(column, "EMPTY_CELL", "the cell is empty; fill in the whole column or leave it out")
	case v < 0 || v >= int64(r.points):
		r.refuse(column, "INDEX_OUT_OF_RANGE", "point %d is outside 0..%d", v, r.points-1)
	default:
		return int32(v)
	}
	return 0
}

// once returns the number of a point, which must not occur in another row.
func (r *reading) once(column int) int32 {
	index := r.index(column)
	if r.err != nil {
		return 0
	}
	if r.first == nil {
		r.first = make([]int32, r.points)
	}
	if first := int(r.first[index]); first != 0 {
		r.err = r.Fault(r.columns[column], r.at, "DUPLICATE_INDEX", "point %s is listed a second time; the first is %s",
			r.ids.Of(int(index)), r.Place(first-1)).
			With("index", strconv.Itoa(int(index)))
	}
	r.first[index] = int32(r.at) + 1
	return index
}

// weight returns a number that must be positive.
func (r *reading) weight(column int) float64 {
	v := r.number(column)
	if !(v > 0) {
		r.refuse(column, "BAD_WEIGHT", "the weight is %v; weights must be positive and finite", v)
	}
	return v
}
