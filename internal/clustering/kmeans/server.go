package kmeans

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/vector"
)

// server runs the operations of all restarts on an executor.
type server struct {
	x       Executor
	threads int

	nearest   clustering.Operation[vector.Query, []float64]
	farthest  clustering.Operation[vector.Query, labeling.Candidate]
	scatter   clustering.Operation[vector.Query, []float64]
	assign    clustering.Operation[vector.Query, []labeling.Move]
	distances clustering.Operation[vector.Query, []float64]
	change    clustering.Operation[clustering.Change, []float64]
	step      clustering.Operation[vector.Query, *step]
}

// The ranks of the operations. Loads and updates, which are one operation, and steps come last: every iteration has one
// of them, so restarts that are at different points of an iteration meet there.
const (
	rankNearest = iota
	rankFarthest
	rankScatter
	rankAssign
	rankDistances
	rankChange
	rankStep
)

// newServer returns a server that runs restarts on the given number of threads. Restarts share no mutable state, so
// they may run concurrently.
func newServer(x Executor, threads int) *server {
	s := &server{x: x, threads: threads}
	measure := x.Measure()
	s.nearest.Rank, s.nearest.Answer = rankNearest, inLanes(measure.Nearest)
	s.farthest.Rank, s.farthest.Answer = rankFarthest, inLanes(x.Farthest)
	s.scatter.Rank, s.scatter.Answer = rankScatter, inLanes(measure.Scatter)
	s.assign.Rank, s.assign.Answer = rankAssign, s.answerAssign
	s.distances.Rank, s.distances.Answer = rankDistances, inLanes(measure.Distances)
	s.change.Rank, s.change.Answer = rankChange, s.makeChanges
	s.step.Rank, s.step.Answer = rankStep, s.makeSteps
	return s
}

// inLanes returns the Answer of an operation that the executor performs for queries.
func inLanes[A any](perform func(context.Context, []vector.Query) ([]A, error),
) func(context.Context, []int, []vector.Query) ([]A, error) {
	return func(ctx context.Context, lanes []int, queries []vector.Query) ([]A, error) {
		setLanes(queries, lanes)
		return perform(ctx, queries)
	}
}

func setLanes(queries []vector.Query, lanes []int) {
	for i := range queries {
		queries[i].Lane = lanes[i]
	}
}

func (s *server) answerAssign(ctx context.Context, lanes []int, queries []vector.Query) ([][]labeling.Move, error) {
	setLanes(queries, lanes)
	moves, err := s.x.Assign(ctx, queries)
	return clustering.SplitMoves(s.x.Clusters().Shape, lanes, moves), err
}

// makeChanges changes the labels of several lanes and returns the sums of their clusters' rows.
func (s *server) makeChanges(ctx context.Context, lanes []int, changes []clustering.Change) ([][]float64, error) {
	have := s.x.Clusters()
	if moves := clustering.JoinChanges(have.Shape, have.Labels, lanes, changes); len(moves) > 0 {
		if err := s.x.Update(ctx, moves); err != nil {
			return nil, err
		}
	}
	return s.sumsOf(lanes), nil
}

// makeSteps makes whole iterations: assignment, sums, and the distortions before and after.
func (s *server) makeSteps(ctx context.Context, lanes []int, queries []vector.Query) ([]*step, error) {
	setLanes(queries, lanes)
	done, err := s.x.Step(ctx, queries)
	if err != nil {
		return nil, err
	}
	moves := clustering.SplitMoves(s.x.Clusters().Shape, lanes, done.Moves)
	sums := s.sumsOf(lanes)
	steps := make([]*step, len(lanes))
	for i := range steps {
		steps[i] = &step{moves: moves[i], sums: sums[i], before: done.Before[i], after: done.After[i]}
	}
	return steps, nil
}

// sumsOf returns copies of the sums of several lanes.
func (s *server) sumsOf(lanes []int) [][]float64 {
	have := s.x.Clusters()
	size := len(have.Sums) / have.Lanes
	sums := make([][]float64, len(lanes))
	for i, lane := range lanes {
		sums[i] = slices.Clone(have.Sums[lane*size : (lane+1)*size])
	}
	return sums
}
