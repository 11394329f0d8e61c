package vector

import (
	"context"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/parallel"
)

// tieTolerance is how close two scores of a row must be to count as equal, relative to the size of the terms
// that they are computed from: max_c |b_c| + max_c |score_ic|.
const tieTolerance = 1e-12

// Assign returns, for every query, the moves of points in the given tiles that are nearer to another cluster than to
// their own. Moves are ordered by tile, then by lane, then by row. Among equally near clusters a point keeps its own,
// or else takes the lowest. Points without a cluster get one. The query's Points are skipped.
func (s *Shard) Assign(ctx context.Context, numbers []int, step uint64, queries []Query) ([]labeling.Move, error) {
	tiles, err := s.prepare(ctx, numbers, step, queries, true)
	if err != nil {
		return nil, err
	}
	err = s.perTile(ctx, tiles, s.clusters*len(queries), func(_ int, t *tile, w *workspace) {
		t.moves, t.stepped = t.moves[:0], 0
		w.assignments = w.assignments[:0]
		for i, q := range queries {
			w.assignments = append(w.assignments, assignment{
				tile: t, terms: s.terms[i], labels: s.labelsOf(t, q.Lane), first: s.firstCluster(q.Lane),
				skip: t.pointsOf(q.Points),
			})
		}
		if t.packed != nil {
			w.assignDense(&s.source.routines)
		} else {
			w.assignSparse(&s.source.routines)
		}
	})
	if err != nil {
		return nil, err
	}
	total := 0
	for _, t := range tiles {
		total += len(t.moves)
	}
	moves := make([]labeling.Move, 0, total)
	for _, t := range tiles {
		moves = append(moves, t.moves...)
	}
	return moves, nil
}

// assignment is the state of one goroutine for one query in one tile.
type assignment struct {
	tile   *tile
	terms  *terms
	labels []int32
	first  int32   // first cluster of the lane
	skip   []int32 // points of the tile that are still to be skipped, ascending
}

// assignDense scores one group of rows at a time for all queries. The scores of a group stay in the first-level cache.
func (w *workspace) assignDense(routines *routines) {
	t := w.tile
	for g := range t.groups() {
		for q := range w.assignments {
			a := &w.assignments[q]
			w.scoreGroup(routines, t.group(g), a.terms)
			routines.extremes(&w.lowest, &w.highest, w.scores)
			for lane := range min(groupRows, len(a.labels)-g*groupRows) {
				a.decide(g*groupRows+lane, w.lowest[lane], w.highest[lane], w.scores[lane:], groupRows)
			}
		}
	}
}

// scoreGroup scores a group of rows into w.scores, one block of clusters at a time.
func (w *workspace) scoreGroup(routines *routines, group []float64, terms *terms) {
	size, width := blockClusters*groupRows, w.tile.width
	w.scores = parallel.Resized(w.scores, len(terms.starts)*groupRows)
	for p := range len(terms.starts) / blockClusters {
		scores := w.scores[p*size:][:size]
		weights := terms.weights[p*terms.pieceStride:][:terms.pieceStride]
		bias := terms.starts[p*blockClusters:][:blockClusters]
		for from := 0; from < width; from += featuresPerCall {
			to := min(from+featuresPerCall, width)
			routines.scoreBlock(scores, group[from*groupRows:to*groupRows],
				weights[from*blockClusters:to*blockClusters], bias)
			bias = nil
		}
	}
}

// assignSparse scores one row at a time against all clusters.
func (w *workspace) assignSparse(routines *routines) {
	t := w.tile
	backgroundColumn := []int32{int32(t.width - 1)}
	for q := range w.assignments {
		a := &w.assignments[q]
		w.scores = parallel.Resized(w.scores, len(a.terms.starts))
		for r := range a.labels {
			copy(w.scores, a.terms.starts)
			x := w.row(r)
			for from := 0; from < len(x.columns); from += entriesPerCall {
				to := min(from+entriesPerCall, len(x.columns))
				routines.scoreSparse(w.scores, a.terms.weights, x.columns[from:to], x.values[from:to])
			}
			if t.backgrounds != nil {
				routines.scoreSparse(w.scores, a.terms.weights, backgroundColumn, t.backgrounds[r:r+1])
			}
			least, greatest := w.scores[0], w.scores[0]
			for _, score := range w.scores[1:] {
				least, greatest = min(least, score), max(greatest, score)
			}
			a.decide(r, least, greatest, w.scores, 1)
		}
	}
}

// decide appends a move of row r unless its cluster is among the nearest. The score for the cluster at place p is
// scores[p*stride].
func (a *assignment) decide(r int, least, greatest float64, scores []float64, stride int) {
	point := int32(a.tile.rows.From + r)
	if len(a.skip) > 0 && a.skip[0] == point {
		a.skip = a.skip[1:]
		return
	}
	terms, own := a.terms, a.labels[r]
	near := least + float64(tieTolerance*(terms.maxBias+max(greatest, -least)))
	if own >= a.first {
		if p := terms.place[own-a.first]; p >= 0 && scores[int(p)*stride] <= near {
			return
		}
	}
	for p, c := range terms.present {
		if scores[p*stride] <= near {
			a.tile.moves = append(a.tile.moves, labeling.Move{Point: point, From: own, To: a.first + c})
			return
		}
	}
}
