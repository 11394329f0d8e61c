package kernelkmeans

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
)

// Serve implements clustering.Server.
func (s *Setup) Serve(ctx context.Context, requests []clustering.LaneRequest) error {
	asked := make([]laneRequest, len(requests))
	for i, a := range requests {
		asked[i] = laneRequest{a.Lane, a.Request.(*request)}
	}
	switch asked[0].kind {
	case askAssign:
		return s.assign(ctx, asked)
	case askFarthest:
		candidates, err := s.x.Farthest(ctx, s.stats(asked))
		for i, candidate := range candidates {
			asked[i].farthest = candidate
		}
		return err
	case askGains:
		return answerEach(asked)(s.x.Gains(ctx, s.stats(asked), s.p.Candidates()))
	case askBlock:
		blocks := make([]kernel.Block, len(asked))
		for i, a := range asked {
			blocks[i] = kernel.Block{Lane: a.lane, Points: a.columns}
		}
		return answerEach(asked)(s.x.Blocks(ctx, blocks))
	case askColumnSum:
		lists := make([][]int32, len(asked))
		for i, a := range asked {
			lists[i] = a.columns
		}
		return answerEach(asked)(s.x.ColumnSums(ctx, lists))
	}
	return s.sweep(ctx, asked)
}

// laneRequest is a request and the lane that it comes from.
type laneRequest struct {
	lane int
	*request
}

// stats returns the stats of all requests.
func (s *Setup) stats(asked []laneRequest) []kernel.ClusterStats {
	stats := make([]kernel.ClusterStats, len(asked))
	for i, a := range asked {
		stats[i] = a.stats
		stats[i].Lane = a.lane
	}
	return stats
}

// assign gives every request the moves of its lane. The clusters of lane l are l*k to l*k+k-1.
func (s *Setup) assign(ctx context.Context, asked []laneRequest) error {
	moves, err := s.x.Assign(ctx, s.stats(asked))
	byLane := map[int]*request{}
	for _, a := range asked {
		byLane[a.lane] = a.request
	}
	for _, m := range moves {
		at := int(m.To) / s.p.spec.K
		byLane[at].moves = append(byLane[at].moves, s.shape().Shift(m, -at))
	}
	return err
}

// answerEach stores one list of values in each request.
func answerEach(asked []laneRequest) func([][]float64, error) error {
	return func(lists [][]float64, err error) error {
		for i := range lists {
			asked[i].values = lists[i]
		}
		return err
	}
}

// sweep serves loads and updates together.
func (s *Setup) sweep(ctx context.Context, asked []laneRequest) error {
	self, err := s.sweepAll(ctx, asked)
	if err != nil {
		return err
	}
	k := s.p.spec.K
	for _, a := range asked {
		a.self = slices.Clone(self[a.lane*k : (a.lane+1)*k])
	}
	return nil
}

// sweepAll loads the labels of all lanes the first time. Later, a lane that loads is updated by the moves from its
// old labels to the new ones, together with the other lanes' updates.
func (s *Setup) sweepAll(ctx context.Context, asked []laneRequest) ([]kernel.Int128, error) {
	shape := s.shape()
	if s.loaded == nil {
		labels := clustering.Unassigned(s.lanes * s.p.n)
		for _, a := range asked {
			for _, m := range shape.AppendChanges(nil, labels, a.lane, a.labels) {
				labels[a.lane*s.p.n+int(m.Point)] = m.To
			}
		}
		self, err := s.x.Load(ctx, labels)
		if err == nil {
			s.loaded = labels
		}
		return self, err
	}
	var moves []labeling.Move
	for _, a := range asked {
		if a.labels != nil {
			moves = shape.AppendChanges(moves, s.loaded, a.lane, a.labels)
		}
		for _, m := range a.moves {
			moves = append(moves, shape.Shift(m, a.lane))
		}
	}
	self, err := s.x.Update(ctx, moves)
	if err == nil {
		for _, m := range moves {
			s.loaded[shape.Lane(m)*s.p.n+int(m.Point)] = m.To
		}
	}
	return self, err
}

func (s *Setup) shape() labeling.Shape {
	return labeling.Shape{Points: s.p.n, Clusters: s.p.spec.K, Lanes: s.lanes}
}
