package neighbor

import (
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/parallel"
)

// sparseSearch finds neighbors among sparse points by cosine. A row is multiplied with all others at once, column by
// column: for each of its columns, with the rows that have an entry there. So every product is summed in column order.
type sparseSearch struct {
	rows *dataset.SparsePoints // scaled to length 1
	// the columns that have entries, ascending: there may be far more columns than entries
	columns []int32
	starts  []int64 // per such column: where its holders begin; then the number of holders
	holders []int32
	values  []float64
}

// newSparseSearch returns an index of rows of length 1 by column.
func newSparseSearch(data *dataset.SparsePoints) *sparseSearch {
	unit := unitRows(data)
	columns := slices.Clone(unit.Column)
	slices.Sort(columns)
	s := &sparseSearch{rows: unit, starts: make([]int64, 0, min(len(columns), unit.D)+1),
		holders: make([]int32, len(columns)), values: make([]float64, len(columns))}
	for at, f := range columns {
		if at == 0 || f != columns[at-1] {
			s.starts = append(s.starts, int64(at))
		}
	}
	s.columns = slices.Compact(columns)
	s.starts = append(s.starts, int64(len(columns)))
	next := slices.Clone(s.starts)
	for i := range unit.N {
		columns, values := unit.Row(i)
		for at, f := range columns {
			column, _ := slices.BinarySearch(s.columns, f)
			s.holders[next[column]], s.values[next[column]] = int32(i), values[at]
			next[column]++
		}
	}
	return s
}

// unitRows returns a copy with rows scaled to length 1. The largest value of a row is divided out first, so that no
// square overflows. Rows without entries stay empty; entries are never 0, as dataset.SparsePoints says.
func unitRows(p *dataset.SparsePoints) *dataset.SparsePoints {
	unit := *p
	unit.Value = make([]float64, len(p.Value))
	for i := range p.N {
		_, values := p.Row(i)
		_, scaled := unit.Row(i)
		largest, squares := 0.0, 0.0
		for _, v := range values {
			largest = max(largest, math.Abs(v))
		}
		for at, v := range values {
			scaled[at] = v / largest
			squares += float64(scaled[at] * scaled[at])
		}
		length := math.Sqrt(squares)
		for at := range scaled {
			scaled[at] /= length
		}
	}
	return &unit
}

func (s *sparseSearch) ofRows(ctx context.Context, out, rows []int32, count, threads int) error {
	return s.each(ctx, out, len(rows), count, threads, func(at int) ([]int32, []float64, int32) {
		columns, values := s.rows.Row(int(rows[at]))
		return columns, values, rows[at]
	})
}

// ofQueries refuses queries that are not sparse points of as many columns.
func (s *sparseSearch) ofQueries(ctx context.Context, out []int32, queries dataset.Dataset, count, threads int) error {
	others, sparse := queries.(*dataset.SparsePoints)
	if !sparse || others.D != s.rows.D {
		return invalid.New(invalid.OtherSparsePoints, "columns", s.rows.D)
	}
	unit := unitRows(others)
	return s.each(ctx, out, others.N, count, threads, func(at int) ([]int32, []float64, int32) {
		columns, values := unit.Row(at)
		return columns, values, None
	})
}

// sparseWorkspace holds a cosine for every row. All are 0 between queries.
type sparseWorkspace struct {
	nearest
	cosines []float64
}

// each finds the neighbors of queries. query returns the columns and values of a query, scaled to length 1, and its row
// number in the data set, or None if it is not one of its rows.
func (s *sparseSearch) each(ctx context.Context, out []int32, queries, count, threads int,
	query func(at int) ([]int32, []float64, int32)) error {
	workspaces := parallel.Workspaces[sparseWorkspace]{New: func() *sparseWorkspace {
		return &sparseWorkspace{cosines: make([]float64, s.rows.N)}
	}}
	return parallel.Run(ctx, threads, queries, func(at int) error {
		w := workspaces.Borrow()
		columns, values, own := query(at)
		for e, f := range columns {
			column, there := slices.BinarySearch(s.columns, f)
			if !there {
				continue
			}
			from, to := s.starts[column], s.starts[column+1]
			others := s.values[from:to]
			for p, j := range s.holders[from:to] {
				w.cosines[j] += float64(values[e] * others[p])
			}
		}
		w.reset(count)
		least := 0.0 // cosines must be larger
		for j, cosine := range w.cosines {
			if cosine > least && int32(j) != own {
				w.add(-cosine, int32(j))
				least = max(0, -w.limit())
			}
		}
		clear(w.cosines)
		w.write(out[at*count : (at+1)*count])
		workspaces.GiveBack(w)
		return nil
	})
}
