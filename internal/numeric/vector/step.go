package vector

import (
	"cmp"
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/data/labeling"
)

// Stepped is the outcome of a step.
type Stepped struct {
	Moves         []labeling.Move // what Assign returns
	Sorted        []labeling.Move // the same moves, sorted for Update
	Changes       []float64       // what Update returns
	Before, After [][]float64     // what Scatter of kind Total returns, before and after the moves
}

// Step takes the labels of the given tiles from step to step+1 by the moves that Assign finds. It returns what Scatter
// of kind Total, Assign, Update and Scatter again would return, one after the other. If the last Step has already
// taken a tile to step+1, Step first undoes its moves, so it is safe to retry.
func (s *Shard) Step(ctx context.Context, numbers []int, step uint64, queries []Query) (*Stepped, error) {
	if err := s.undoStep(numbers, step); err != nil {
		return nil, err
	}
	totals := slices.Clone(queries)
	for q := range totals {
		totals[q].Kind = Total
	}
	var done Stepped
	var err error
	done.Before, err = s.Scatter(ctx, numbers, step, totals)
	if err != nil {
		return nil, err
	}
	done.Moves, err = s.Assign(ctx, numbers, step, queries)
	if err != nil {
		return nil, err
	}
	for _, number := range numbers {
		s.tiles[number].stepped = step + 1
	}
	done.Sorted = SortedMoves(s.clusters, done.Moves)
	done.Changes, err = s.Update(ctx, numbers, step, done.Sorted)
	if err != nil {
		return nil, err
	}
	done.After, err = s.Scatter(ctx, numbers, step+1, totals)
	return &done, err
}

// undoStep takes the tiles that the last Step took from step to step+1 back to step.
func (s *Shard) undoStep(numbers []int, step uint64) error {
	tiles, err := s.tilesOf(numbers)
	if err != nil {
		return err
	}
	for _, t := range tiles {
		if !t.at(step) && !(t.at(step+1) && t.stepped == step+1) {
			return errNotReady
		}
	}
	for _, t := range tiles {
		if t.at(step + 1) {
			s.shape().Undo(s.labels, t.moves)
			s.forget(t.moves)
			t.step, t.stepped = step, 0
		}
	}
	return nil
}

// SortedMoves returns moves sorted by lane, then by point, as Update needs them. It may return the same slice. It sorts
// lanes by counting, because the moves of each lane are in order already if tiles are.
func SortedMoves(clusters int, moves []labeling.Move) []labeling.Move {
	shape := labeling.Shape{Clusters: clusters}
	var next []int // by lane, how many moves it has, then where the next one goes
	sorted := true
	for i, m := range moves {
		lane := shape.Lane(m)
		for lane >= len(next) {
			next = append(next, 0)
		}
		next[lane]++
		sorted = sorted && lane == len(next)-1 && (next[lane] == 1 || moves[i-1].Point <= m.Point)
	}
	if sorted {
		return moves
	}
	start := 0
	for lane, count := range next {
		next[lane] = start
		start += count
	}
	byLane := make([]labeling.Move, len(moves))
	for _, m := range moves {
		lane := shape.Lane(m)
		byLane[next[lane]] = m
		next[lane]++
	}
	byPoint := func(a, b labeling.Move) int { return cmp.Compare(a.Point, b.Point) }
	start = 0
	for _, end := range next {
		if ofLane := byLane[start:end]; !slices.IsSortedFunc(ofLane, byPoint) {
			slices.SortFunc(ofLane, byPoint)
		}
		start = end
	}
	return byLane
}
