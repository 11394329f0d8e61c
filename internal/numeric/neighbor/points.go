package neighbor

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/parallel"
)

// groupRows is the number of rows that are compared with a query at a time. Rows are stored in groups, feature by
// feature.
const groupRows = 16

// pointSearch finds neighbors among dense points. Rows that are near each other are stored together, in the leaves of a
// tree (tree.go), so that most rows far from a query are skipped without reading them.
type pointSearch struct {
	data     *dataset.Points
	order    []int32 // the rows in the order of the tree
	place    []int32 // per row: its index in order
	packed   []float64
	tree     tree
	routines routines
}

// newPointSearch grows the tree and copies the rows in its order, padded to whole groups. It keeps data.
func newPointSearch(data *dataset.Points) *pointSearch {
	s := &pointSearch{data: data, order: choose.All[int32](data.N), place: make([]int32, data.N),
		routines: detectRoutines()}
	s.tree = growTree(data, s.order)
	s.packed = make([]float64, s.tree.groups*groupRows*data.D)
	for at, i := range s.order {
		s.place[i] = int32(at)
		group := s.group(at / groupRows)
		lane := at % groupRows
		for f, v := range data.Row(int(i)) {
			group[f*groupRows+lane] = v
		}
	}
	return s
}

// group returns the values of one group of rows, feature by feature, padded with rows of zeros.
func (s *pointSearch) group(g int) []float64 {
	size := groupRows * s.data.D
	return s.packed[g*size : (g+1)*size]
}

func (s *pointSearch) ofRows(ctx context.Context, out, rows []int32, count, threads int) error {
	// Process rows that are near each other together.
	turns := choose.All[int32](len(rows))
	slices.SortFunc(turns, func(a, b int32) int { return int(s.place[rows[a]]) - int(s.place[rows[b]]) })
	return s.each(ctx, out, turns, count, threads, func(at int32) ([]float64, int32) {
		return s.data.Row(int(rows[at])), rows[at]
	})
}

func (s *pointSearch) ofQueries(ctx context.Context, out []int32, queries dataset.Dataset, count, threads int) error {
	others, dense := queries.(*dataset.Points)
	if !dense || others.D != s.data.D {
		return invalid.New(invalid.OtherPoints, "columns", s.data.D)
	}
	return s.each(ctx, out, choose.All[int32](others.N), count, threads, func(at int32) ([]float64, int32) {
		return others.Row(int(at)), None
	})
}

// each finds the neighbors of queries in the order of turns. query returns the values of a query and its row number in
// the data set, or None if it is not one of its rows.
func (s *pointSearch) each(ctx context.Context, out, turns []int32, count, threads int,
	query func(at int32) ([]float64, int32)) error {
	pieces := (len(turns) + blockQueries - 1) / blockQueries
	blocks := parallel.Workspaces[block]{New: func() *block { return newBlock(s) }}
	return parallel.Run(ctx, threads, pieces, func(piece int) error {
		b := blocks.Borrow()
		some := turns[piece*blockQueries : min((piece+1)*blockQueries, len(turns))]
		b.reset(count)
		for _, at := range some {
			b.addQuery(query(at))
		}
		b.search()
		for q, at := range some {
			b.nearest[q].write(out[int(at)*count : (int(at)+1)*count])
		}
		blocks.GiveBack(b)
		return nil
	})
}
