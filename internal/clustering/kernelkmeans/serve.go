package kernelkmeans

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
)

// server serves the requests of restarts on the executor.
type server struct {
	p      *Problem
	x      Executor
	lanes  int
	loaded []int32 // the executor's labels, lane after lane; nil if there are none
}

// serve answers requests of one kind; see clustering.Server.
func (s *server) serve(ctx context.Context, requests clustering.Requests) error {
	asked := make([]*request, len(requests))
	queries := make(Queries, len(requests))
	lists := make([][]int32, len(requests))
	for i, r := range requests {
		a := r.(*request)
		asked[i] = a
		queries[i] = Query{ClusterStats: a.stats, Points: a.columns, Most: s.p.Candidates()}
		queries[i].Lane = a.Lane
		lists[i] = a.columns
	}
	switch asked[0].Kind {
	case askAssign:
		moves, err := s.x.Assign(ctx, queries.Stats())
		requests.SetMoves(s.shape(), moves)
		return err
	case askFarthest:
		return requests.SetFarthest(s.x.Farthest(ctx, queries.Stats()))
	case askGains:
		return requests.SetValues(s.x.Measure(ctx, Gains, queries))
	case askBlock:
		return requests.SetValues(s.x.Measure(ctx, Blocks, queries))
	case askColumnSum:
		return requests.SetValues(s.x.Matrix().ColumnSums(ctx, lists))
	}
	self, err := s.sweep(ctx, requests)
	if err != nil {
		return err
	}
	k := s.p.spec.K
	for _, a := range asked {
		a.self = slices.Clone(self[a.Lane*k : (a.Lane+1)*k])
	}
	return nil
}

// sweep serves loads and updates together. The first time it loads the labels of all lanes.
func (s *server) sweep(ctx context.Context, requests clustering.Requests) ([]kernel.Int128, error) {
	shape := s.shape()
	if s.loaded == nil {
		labels := clustering.Unassigned(s.lanes * s.p.n)
		if err := shape.Apply(labels, requests.Changes(shape, labels)); err != nil {
			return nil, err
		}
		self, err := s.x.Load(ctx, labels)
		if err == nil {
			s.loaded = labels
		}
		return self, err
	}
	moves := requests.Changes(shape, s.loaded)
	self, err := s.x.Update(ctx, moves)
	if err == nil {
		err = shape.Apply(s.loaded, moves)
	}
	return self, err
}

func (s *server) shape() labeling.Shape {
	return labeling.Shape{Points: s.p.n, Clusters: s.p.spec.K, Lanes: s.lanes}
}
