package vector

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// Query is a request of one lane. An operation answers the queries of several lanes in one pass over each tile; their
// results are independent of each other.
type Query struct {
	Lane   int // selects the labels; Distances and Nearest ignore it
	Model  *Model
	Points []int32     // ascending; Distances measures them, Assign and Farthest skip them
	Counts []int32     // Farthest only: cluster sizes over the tiles of all shards
	Kind   ScatterKind // Scatter only
}

// prepare starts an operation on labeled points: it checks the step, looks up the tiles and sets the models.
func (s *Shard) prepare(ctx context.Context, numbers []int, step uint64, queries []Query,
	forScores bool) ([]*tile, error) {
	tiles, err := s.tilesOf(numbers)
	if err != nil {
		return nil, err
	}
	for _, t := range tiles {
		if !t.at(step) {
			return nil, errNotReady
		}
	}
	lane := -1
	for _, q := range queries {
		if q.Lane <= lane || q.Lane >= s.lanes {
			return nil, fmt.Errorf("vector: lane %d after lane %d is out of order or out of range [0, %d)", q.Lane,
				lane, s.lanes)
		}
		lane = q.Lane
		if q.Model.Clusters != s.clusters {
			return nil, fmt.Errorf("vector: the model has %d clusters, want %d as the labels have", q.Model.Clusters,
				s.clusters)
		}
		if err := s.checkPoints(q.Points); err != nil {
			return nil, err
		}
	}
	return tiles, s.setModels(ctx, queries, forScores)
}

// checkPoints returns an error unless points are ascending and in range.
func (s *Shard) checkPoints(points []int32) error {
	previous := int32(-1)
	for _, i := range points {
		if i <= previous || int(i) >= s.source.Rows() {
			return fmt.Errorf("vector: point %d after %d is out of order or out of range [0, %d)", i, previous,
				s.source.Rows())
		}
		previous = i
	}
	return nil
}

// piece identifies a few clusters of one query's model.
type piece struct {
	*terms
	number int
}

// setModels prepares the models of all queries. It computes weights only if needed: for scores, and for KL, whose
// distances use their logarithms too.
func (s *Shard) setModels(ctx context.Context, queries []Query, forScores bool) error {
	spec := s.source.spec
	for len(s.terms) < len(queries) {
		s.terms = append(s.terms, &terms{})
	}
	s.pieces = s.pieces[:0]
	values := 0
	for at, q := range queries {
		if err := q.Model.check(spec); err != nil {
			return err
		}
		t := s.terms[at]
		if err := t.choose(q.Model, spec.Columns); err != nil {
			return err
		}
		width := 0
		if forScores || q.Model.Distortion == metric.KL {
			width = spec.Width()
		}
		for number := range t.layOut(width, s.source.sparse) {
			s.pieces = append(s.pieces, piece{t, number})
		}
		values += len(q.Model.Centroids) * max(1, len(q.Model.Metric)/spec.Columns)
	}
	err := s.pool.RunOn(ctx, threadsFor(values), len(s.pieces), func(at int) error {
		p := s.pieces[at]
		p.setPiece(p.number, spec)
		return nil
	})
	for at := range queries {
		s.terms[at].setMaxBias()
	}
	return err
}

// valuesPerThread is the number of values that justify waking up another thread.
const valuesPerThread = 1 << 14

// threadsFor returns at most how many threads to use for a number of values.
func threadsFor(values int) int { return 1 + values/valuesPerThread }

// perTile calls do for every tile with a workspace whose reader is open on it. uses is about how many times each value
// of a tile is read; it determines the number of threads.
func (s *Shard) perTile(ctx context.Context, tiles []*tile, uses int, do func(at int, t *tile, w *workspace)) error {
	values := 0
	for _, t := range tiles {
		values += len(t.packed) + len(t.values)
	}
	return s.perTileOn(ctx, threadsFor(values*uses), tiles, do)
}

// perTileOn is perTile with a given number of threads.
func (s *Shard) perTileOn(ctx context.Context, threads int, tiles []*tile,
	do func(at int, t *tile, w *workspace)) error {
	return s.pool.RunOn(ctx, threads, len(tiles), func(at int) error {
		w := s.workspaces.Borrow()
		w.open(tiles[at], s.source.spec.Columns)
		do(at, tiles[at], w)
		s.workspaces.GiveBack(w)
		return nil
	})
}

// measure computes count values for each query and tile. It returns one list per query, tile after tile.
func (s *Shard) measure(ctx context.Context, tiles []*tile, queries []Query,
	count func(q int, t *tile) int, compute func(q int, t *tile, w *workspace, dst []float64)) ([][]float64, error) {
	begin := make([][]int, len(queries))
	values := make([][]float64, len(queries))
	for q := range queries {
		begin[q] = make([]int, len(tiles)+1)
		for at, t := range tiles {
			begin[q][at+1] = begin[q][at] + count(q, t)
		}
		values[q] = make([]float64, begin[q][len(tiles)])
	}
	err := s.perTile(ctx, tiles, len(queries), func(at int, t *tile, w *workspace) {
		for q := range queries {
			compute(q, t, w, values[q][begin[q][at]:begin[q][at+1]])
		}
	})
	return values, err
}
