package fleet

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/fleet/check"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/wire"
)

// Step implements kmeans.Executor. Workers apply the moves that they find, so the labels change only after all have
// answered: a tile that has to be rebuilt meanwhile is loaded with the labels before the moves.
func (e *KMeansExecutor) Step(ctx context.Context, queries []vector.Query) (*kmeans.Step, error) {
	packed := e.pack(queries)
	defer packed.free()
	op := packed.ask(func(c *workerv1.Command, _ *group, queries *workerv1.VectorQueries) {
		c.Operation = &workerv1.Command_VectorStep{
			VectorStep: &workerv1.VectorStep{Step: e.job.current.step, Queries: queries}}
	})
	s := newStepAnswers(e, queries)
	op.name, op.resultStep = "step", e.job.current.step+1
	op.maxBytes, op.decode, op.merge = s.maxBytes, unpackStep, s.merge
	var moves []labeling.Move
	err := e.job.current.advance(func() error {
		if err := e.job.atStep(ctx, op); err != nil {
			return err
		}
		moves = vector.SortedMoves(e.job.current.k, slices.Concat(s.byTile...))
		if err := e.job.shape().Apply(e.job.current.labels, moves); err != nil {
			return fmt.Errorf("fleet: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for at, v := range s.changes {
		e.sums[at] += v
	}
	return &kmeans.Step{Moves: moves, Before: kmeans.Totals(s.before), After: kmeans.Totals(s.after)}, nil
}

// stepAnswers collects what workers answer to a step. Only merge changes it.
type stepAnswers struct {
	executor      *KMeansExecutor
	lanes         []int // of the queries
	byTile        [][]labeling.Move
	changes       []float64   // of the sums of all lanes
	before, after [][]float64 // for each query, one value of each tile
}

func newStepAnswers(e *KMeansExecutor, queries []vector.Query) *stepAnswers {
	tiles := len(e.job.placed.tiles)
	s := &stepAnswers{
		executor: e, lanes: lanesOf(queries, queryLane),
		byTile: make([][]labeling.Move, tiles), changes: make([]float64, len(e.sums)),
	}
	for range queries {
		s.before = append(s.before, make([]float64, tiles))
		s.after = append(s.after, make([]float64, tiles))
	}
	return s
}

// maxBytes limits the answer for some tiles.
func (s *stepAnswers) maxBytes(tiles []int) int {
	ofLane := 12*s.executor.job.rowsOf(tiles) + 16*len(tiles)
	return binary.MaxVarintLen64 + len(s.lanes)*ofLane + s.executor.changeBytes()
}

// merge adds the answer for some tiles.
func (s *stepAnswers) merge(tiles []int, answer *reply) error {
	if err := s.executor.job.split(tiles, answer.moves, s.lanes, s.byTile); err != nil {
		return err
	}
	own := vector.SortedMoves(s.executor.job.current.k, answer.moves)
	size := s.executor.job.current.k * s.executor.spec.Width()
	totals := len(s.lanes) * len(tiles)
	moved := vector.MovedLanes(s.executor.job.current.k, own)
	values := make([]float64, len(moved)*size+2*totals)
	if err := unpackPossible(values, answer.values, check.Number); err != nil {
		return err
	}
	changes, values := values[:len(moved)*size], values[len(moved)*size:]
	rows := s.executor.job.rowsOf(tiles)
	if err := check.Changes(s.executor.job.shape(), s.executor.spec, rows, own, changes); err != nil {
		return err
	}
	for at, lane := range moved {
		for c, v := range changes[at*size : (at+1)*size] {
			s.changes[lane*size+c] += v
		}
	}
	for q := range s.lanes {
		for at, t := range tiles {
			s.before[q][t], s.after[q][t] = values[q*len(tiles)+at], values[totals+q*len(tiles)+at]
		}
	}
	return nil
}

// unpackStep separates the moves that a worker answers to a step from the values.
func unpackStep(answer *reply) (err error) {
	answer.moves, answer.values, err = wire.UnpackStep(answer.values)
	return err
}
