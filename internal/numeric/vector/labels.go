package vector

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// errNotReady reports that a shard lacks tiles, or labels at the right step.
var errNotReady = kernel.ErrNotReady

// Load sets the labels of all n points, lane after lane, and thereby of all tiles. There may be more clusters than
// points, for example when a model is applied to a few new points.
func (s *Shard) Load(step uint64, clusters int, labels []int32) error {
	return s.LoadTiles(slices.Collect(maps.Keys(s.tiles)), step, clusters, labels)
}

// LoadTiles sets the labels of the points in the given tiles. labels holds those of all points, as for Load. Other
// tiles keep theirs, unless the numbers of clusters or lanes change.
func (s *Shard) LoadTiles(numbers []int, step uint64, clusters int, labels []int32) error {
	n := s.source.Rows()
	if clusters < 1 || clusters > dataset.MaxRows || len(labels) < n || len(labels)%n != 0 {
		return fmt.Errorf("vector: there are %d labels, want a multiple of %d, and %d clusters, want 1 to %d",
			len(labels), n, clusters, dataset.MaxRows)
	}
	shape := labeling.Shape{Points: n, Clusters: clusters, Lanes: len(labels) / n}
	if err := shape.CheckLabels(labels); err != nil {
		return fmt.Errorf("vector: %w", err)
	}
	tiles, err := s.tilesOf(numbers)
	if err != nil {
		return err
	}
	if s.shape() != shape {
		s.labels = append(s.labels[:0], labels...)
		s.clusters, s.lanes = shape.Clusters, shape.Lanes
		s.Reset()
	}
	for _, t := range tiles {
		if t.at(step) {
			continue
		}
		for lane := range shape.Lanes {
			copy(s.labelsOf(t, lane), labels[lane*n+t.rows.From:])
		}
		t.step, t.loaded, t.own, t.stepped = step, true, nil, 0
	}
	return nil
}

// Update advances the labels of the given tiles from step to step+1 by the points that moved; moves must be sorted by
// lane, then by point. Moves of points in other tiles change nothing. Update returns the changes to the cluster sums
// over the given tiles: for each lane in MovedLanes, Width values per cluster. Sums are exact, so updating them gives
// the same bits as recomputing them. Labels that are already at step+1 are not changed again, so it is safe to retry.
func (s *Shard) Update(ctx context.Context, numbers []int, step uint64, moves []labeling.Move) ([]float64, error) {
	tiles, err := s.tilesOf(numbers)
	if err != nil {
		return nil, err
	}
	for _, t := range tiles {
		if !t.at(step) && !t.at(step+1) {
			return nil, errNotReady
		}
	}
	shape := s.shape()
	if shape.Lanes == 0 { // no labels were loaded
		return nil, errNotReady
	}
	for at := 1; at < len(moves); at++ {
		before, m := moves[at-1], moves[at]
		if lane := shape.Lane(m); lane < shape.Lane(before) || lane == shape.Lane(before) && m.Point <= before.Point {
			return nil, fmt.Errorf("vector: a move of point %d after one of point %d; moves must ascend", m.Point,
				before.Point)
		}
	}
	if err := s.applyMoves(numbers, step, moves); err != nil {
		return nil, fmt.Errorf("vector: %w", err)
	}
	size := s.clusters * s.source.spec.Width()
	lanes := MovedLanes(s.clusters, moves)
	changes := make([]float64, len(lanes)*size)
	for at, lane := range lanes {
		count := len(moves)
		if at+1 < len(lanes) {
			count = slices.IndexFunc(moves, func(m labeling.Move) bool { return shape.Lane(m) > lane })
		}
		if err := s.addMoves(ctx, tiles, moves[:count], s.firstCluster(lane),
			changes[at*size:(at+1)*size]); err != nil {
			return nil, err
		}
		moves = moves[count:]
	}
	return changes, nil
}

// applyMoves takes the labels of the given tiles to step+1, or changes nothing and returns an error.
func (s *Shard) applyMoves(numbers []int, step uint64, moves []labeling.Move) error {
	const behind, applied = 1, 2
	state := make([]uint8, partition.TileCount(s.source.Rows()))
	for _, number := range numbers {
		state[number] = applied
		if s.tiles[number].step == step {
			state[number] = behind
		}
	}
	within := func(wanted uint8) []labeling.Move {
		if !slices.ContainsFunc(state, func(other uint8) bool { return other != wanted }) {
			return moves
		}
		var some []labeling.Move
		for _, m := range moves {
			if m.Point < 0 || int(m.Point) >= s.source.Rows() ||
				state[partition.TileOf(s.source.Rows(), int(m.Point))] == wanted {
				some = append(some, m)
			}
		}
		return some
	}
	if err := s.shape().CheckApplied(s.labels, within(applied)); err != nil {
		return err
	}
	due := within(behind)
	if err := s.shape().Apply(s.labels, due); err != nil {
		return err
	}
	for _, number := range numbers {
		s.tiles[number].step = step + 1
	}
	s.forget(due)
	return nil
}

// MovedLanes returns the lanes that contain moves, in ascending order. Update returns changes for these lanes.
func MovedLanes(clusters int, moves []labeling.Move) []int {
	var lanes []int
	for _, m := range moves {
		if lane := (labeling.Shape{Clusters: clusters}).Lane(m); len(lanes) == 0 || lanes[len(lanes)-1] != lane {
			lanes = append(lanes, lane)
		}
	}
	return lanes
}

// addMoves adds the changes that the moves of one lane make to the sums of its clusters. All arithmetic is exact, so
// the order does not matter.
func (s *Shard) addMoves(ctx context.Context, tiles []*tile, moves []labeling.Move, first int32,
	changes []float64) error {
	width := s.source.spec.Width()
	var moved []*tile
	for _, t := range tiles {
		if len(t.movesOf(moves)) > 0 {
			moved = append(moved, t)
		}
	}
	for _, w := range s.workspaces.Idle {
		w.sums = w.sums[:0]
	}
	// Each thread has its own sums, which must be added up in the end. That pays off only for threads that add more
	// values than there are sums.
	threads := min(threadsFor(len(moves)*width), 1+len(moves)*width/len(changes))
	err := s.perTileOn(ctx, threads, moved, func(_ int, t *tile, w *workspace) {
		if len(w.sums) == 0 {
			w.sums = parallel.Resized(w.sums, len(changes)+width) // with an extra place for points without a cluster
			clear(w.sums)
		}
		if t.packed != nil {
			t.addMovesDense(w.sums, t.movesOf(moves), first)
			return
		}
		for _, m := range t.movesOf(moves) {
			x := w.row(int(m.Point) - t.rows.From)
			if m.From >= 0 {
				x.addTo(w.sums[int(m.From-first)*width:][:width], -1)
			}
			if m.To >= 0 {
				x.addTo(w.sums[int(m.To-first)*width:][:width], 1)
			}
		}
	})
	if err != nil {
		return err
	}
	for _, w := range s.workspaces.Idle {
		for i, v := range w.sums[:min(len(changes), len(w.sums))] {
			changes[i] += v
		}
	}
	return nil
}
