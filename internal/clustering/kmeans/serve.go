package kmeans

import (
	"context"
	"runtime"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/vector"
)

// server serves the requests of all restarts on an executor.
type server struct{ x Executor }

// Lanes implements clustering.Server.
func (s server) Lanes() int { return s.x.Shape().Lanes }

// Threads implements clustering.Server. Restarts do not share mutable state, so all may compute concurrently.
func (s server) Threads() int { return runtime.GOMAXPROCS(0) }

// laneRequest is a request and the lane that it comes from.
type laneRequest struct {
	lane int
	*request
}

// Serve implements clustering.Server.
func (s server) Serve(ctx context.Context, requests []clustering.LaneRequest) error {
	asked, queries := make([]laneRequest, len(requests)), make([]vector.Query, len(requests))
	for i, a := range requests {
		asked[i] = laneRequest{a.Lane, a.Request.(*request)}
		queries[i] = asked[i].query
		queries[i].Lane = a.Lane
	}
	measure := s.x.Scatter
	switch asked[0].kind {
	case askAssign:
		return s.assign(ctx, asked, queries)
	case askUpdate:
		return s.update(ctx, asked)
	case askStep:
		return s.step(ctx, asked, queries)
	case askFarthest:
		candidates, err := s.x.Farthest(ctx, queries)
		for i := range candidates {
			asked[i].farthest = candidates[i]
		}
		return err
	case askNearest:
		measure = s.x.Nearest
	case askDistances:
		measure = s.x.Distances
	}
	values, err := measure(ctx, queries)
	for i := range values {
		asked[i].values = values[i]
	}
	return err
}

func (s server) assign(ctx context.Context, asked []laneRequest, queries []vector.Query) error {
	moves, err := s.x.Assign(ctx, queries)
	if err == nil {
		s.setMoves(asked, moves)
	}
	return err
}

// step serves whole iterations: assignment, sums, and the distortions before and after.
func (s server) step(ctx context.Context, asked []laneRequest, queries []vector.Query) error {
	done, err := s.x.Step(ctx, queries)
	if err != nil {
		return err
	}
	s.setMoves(asked, done.Moves)
	s.setSums(asked)
	for i, a := range asked {
		a.before, a.after = done.Before[i], done.After[i]
	}
	return nil
}

// setMoves gives each restart the moves of its lane.
func (s server) setMoves(asked []laneRequest, moves []labeling.Move) {
	shape := s.x.Shape()
	byLane, counts := make([][]labeling.Move, shape.Lanes), make([]int, shape.Lanes)
	for _, m := range moves {
		counts[shape.Lane(m)]++
	}
	for lane, count := range counts {
		byLane[lane] = make([]labeling.Move, 0, count)
	}
	for _, m := range moves {
		lane := shape.Lane(m)
		byLane[lane] = append(byLane[lane], shape.Shift(m, -lane))
	}
	for _, a := range asked {
		a.moves = byLane[a.lane]
	}
}

// setSums gives each restart a copy of the sums of its lane.
func (s server) setSums(asked []laneRequest) {
	sums := s.x.Sums()
	size := len(sums) / s.x.Shape().Lanes
	for _, a := range asked {
		a.values = slices.Clone(sums[a.lane*size : (a.lane+1)*size])
	}
}

// update serves loads and updates together. A lane that loads is updated by the moves from its old labels to the new
// ones.
func (s server) update(ctx context.Context, asked []laneRequest) error {
	shape, labels := s.x.Shape(), s.x.Labels()
	count := 0
	for _, a := range asked {
		count += len(a.moves)
	}
	moves := make([]labeling.Move, 0, count)
	for _, a := range asked {
		if a.labels != nil {
			moves = shape.AppendChanges(moves, labels, a.lane, a.labels)
		}
		for _, m := range a.moves {
			moves = append(moves, shape.Shift(m, a.lane))
		}
	}
	if len(moves) > 0 {
		if err := s.x.Update(ctx, moves); err != nil {
			return err
		}
	}
	s.setSums(asked)
	return nil
}
