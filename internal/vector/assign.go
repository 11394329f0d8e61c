package vector

import (
	"context"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/labeling"
)

// tieTolerance is how close two scores of a row must be to count as equal, relative to the size of the terms
// that they are computed from: max_c |b_c| + max_c |score_ic|.
const tieTolerance = 1e-12

// Assign finds the points of the given tiles that are nearer to another cluster than to their own, in row
// order. Among equally near clusters a point keeps its own, or else takes the lowest. Points without a cluster
// get one. The points in skip, which must be ascending, stay as they are.
func (s *Shard) Assign(ctx context.Context, numbers []int, step uint64, model *Model, skip []int32) ([]labeling.Move, error) {
	tiles, err := s.prepare(ctx, numbers, step, model, skip, true)
	if err != nil {
		return nil, err
	}
	err = s.perTile(ctx, s.threads, tiles, func(_ int, t *tile, w *workspace) {
		a := assignment{shard: s, tile: t, workspace: w, labels: s.labelsOf(t), skip: within(skip, t)}
		t.moves = t.moves[:0]
		if t.packed != nil {
			a.assignDense()
		} else {
			a.assignSparse()
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

// prepare is the common beginning of operations on labeled points: it finds the tiles and sets the model.
func (s *Shard) prepare(ctx context.Context, numbers []int, step uint64, model *Model, skip []int32, forScores bool) ([]*tile, error) {
	tiles, err := s.loadedTiles(numbers, step)
	if err != nil {
		return nil, err
	}
	if model.Clusters != s.clusters {
		return nil, fmt.Errorf("vector: a model of %d clusters for labels of %d", model.Clusters, s.clusters)
	}
	if err := s.checkPoints(skip); err != nil {
		return nil, err
	}
	return tiles, s.setModel(ctx, model, forScores)
}

// checkPoints makes sure that a list of points is ascending and in range.
func (s *Shard) checkPoints(points []int32) error {
	previous := int32(-1)
	for _, i := range points {
		if i <= previous || int(i) >= s.source.Rows() {
			return fmt.Errorf("vector: point %d after %d of %d; points must ascend", i, previous, s.source.Rows())
		}
		previous = i
	}
	return nil
}

// within returns those of ascending points that are in a tile.
func within(points []int32, t *tile) []int32 {
	from, _ := slices.BinarySearch(points, int32(t.rows.From))
	to, _ := slices.BinarySearch(points, int32(t.rows.To))
	return points[from:to]
}

// assignment is the state of a thread that assigns one tile.
type assignment struct {
	shard *Shard
	tile  *tile
	*workspace
	labels []int32
	skip   []int32 // the points of the tile to skip that are still to come
}

// assignDense scores one group of rows at a time, against one block of clusters at a time. The scores of a
// group stay in the first-level cache.
func (a *assignment) assignDense() {
	terms, routines, t := &a.shard.terms, &a.shard.source.routines, a.tile
	size := blockClusters * groupRows
	a.scores = resized(a.scores, len(terms.starts)*groupRows)
	for g := 0; g*groupRows < len(a.labels); g++ {
		group := t.group(g)
		for p := range len(terms.starts) / blockClusters {
			scores := a.scores[p*size:][:size]
			weights := terms.weights[p*terms.pieceStride:][:terms.pieceStride]
			bias := terms.starts[p*blockClusters:][:blockClusters]
			for from := 0; from < t.width; from += featuresPerCall {
				to := min(from+featuresPerCall, t.width)
				routines.scoreBlock(scores, group[from*groupRows:to*groupRows], weights[from*blockClusters:to*blockClusters], bias)
				bias = nil
			}
		}
		routines.extremes(&a.lowest, &a.highest, a.scores)
		for lane := range min(groupRows, len(a.labels)-g*groupRows) {
			a.decide(g*groupRows+lane, a.lowest[lane], a.highest[lane], a.scores[lane:], groupRows)
		}
	}
}

// assignSparse scores one row at a time against all clusters.
func (a *assignment) assignSparse() {
	terms, t := &a.shard.terms, a.tile
	routines := &a.shard.source.routines
	a.scores = resized(a.scores, len(terms.starts))
	backgroundColumn := []int32{int32(t.width - 1)}
	for r := range a.labels {
		copy(a.scores, terms.starts)
		x := a.row(r)
		for from := 0; from < len(x.columns); from += entriesPerCall {
			to := min(from+entriesPerCall, len(x.columns))
			routines.scoreSparse(a.scores, terms.weights, x.columns[from:to], x.values[from:to])
		}
		if t.backgrounds != nil {
			routines.scoreSparse(a.scores, terms.weights, backgroundColumn, t.backgrounds[r:r+1])
		}
		least, greatest := a.scores[0], a.scores[0]
		for _, score := range a.scores[1:] {
			least, greatest = min(least, score), max(greatest, score)
		}
		a.decide(r, least, greatest, a.scores, 1)
	}
}

// decide appends a move of row r if its cluster is not among the nearest. The score for the cluster at place p
// is scores[p*stride].
func (a *assignment) decide(r int, least, greatest float64, scores []float64, stride int) {
	point := int32(a.tile.rows.From + r)
	if len(a.skip) > 0 && a.skip[0] == point {
		a.skip = a.skip[1:]
		return
	}
	terms, own := &a.shard.terms, a.labels[r]
	near := least + float64(tieTolerance*(terms.maxBias+max(greatest, -least)))
	if own >= 0 {
		if p := terms.place[own]; p >= 0 && scores[int(p)*stride] <= near {
			return
		}
	}
	for p, c := range terms.present {
		if scores[p*stride] <= near {
			a.tile.moves = append(a.tile.moves, labeling.Move{Point: point, From: own, To: c})
			return
		}
	}
}
