package kmeans

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/numeric/vector"
)

// server serves the requests of all restarts on an executor.
type server struct {
	x       Executor
	threads int // set by Begin
}

// Lanes implements clustering.Server.
func (s server) Lanes() int { return s.x.Shape().Lanes }

// Threads implements clustering.Server. Restarts do not share mutable state, so all may compute concurrently.
func (s server) Threads() int { return s.threads }

// Serve implements clustering.Server.
func (s server) Serve(ctx context.Context, requests clustering.Requests) error {
	queries := make([]vector.Query, len(requests))
	for i, r := range requests {
		queries[i] = r.(*request).query
		queries[i].Lane = r.Common().Lane
	}
	switch requests[0].Common().Kind {
	case askNearest:
		return requests.SetValues(s.x.Nearest(ctx, queries))
	case askFarthest:
		return requests.SetFarthest(s.x.Farthest(ctx, queries))
	case askScatter:
		return requests.SetValues(s.x.Scatter(ctx, queries))
	case askAssign:
		moves, err := s.x.Assign(ctx, queries)
		requests.SetMoves(s.x.Shape(), moves)
		return err
	case askDistances:
		return requests.SetValues(s.x.Distances(ctx, queries))
	case askStep:
		return s.step(ctx, requests, queries)
	}
	if moves := requests.Changes(s.x.Shape(), s.x.Labels()); len(moves) > 0 {
		if err := s.x.Update(ctx, moves); err != nil {
			return err
		}
	}
	s.setSums(requests)
	return nil
}

// step serves whole iterations: assignment, sums, and the distortions before and after.
func (s server) step(ctx context.Context, requests clustering.Requests, queries []vector.Query) error {
	done, err := s.x.Step(ctx, queries)
	if err != nil {
		return err
	}
	requests.SetMoves(s.x.Shape(), done.Moves)
	s.setSums(requests)
	for i, r := range requests {
		r := r.(*request)
		r.before, r.after = done.Before[i], done.After[i]
	}
	return nil
}

// setSums gives each restart a copy of the sums of its lane.
func (s server) setSums(requests clustering.Requests) {
	sums := s.x.Sums()
	size := len(sums) / s.x.Shape().Lanes
	for _, r := range requests {
		a := r.Common()
		a.Values = slices.Clone(sums[a.Lane*size : (a.Lane+1)*size])
	}
}
