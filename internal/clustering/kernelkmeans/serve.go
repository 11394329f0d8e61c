package kernelkmeans

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	lanes "github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
)

// Serve implements clustering.Server. It answers all requests of the kind that comes first in the order of requestKind.
func (f *Family) Serve(ctx context.Context, requests []clustering.LaneRequest) (answered []int) {
	first := askUpdate
	for _, a := range requests {
		first = min(first, a.Request.(*request).kind)
	}
	var asked []laneRequest
	for place, a := range requests {
		if r := a.Request.(*request); r.kind == first {
			asked, answered = append(asked, laneRequest{a.Lane, r}), append(answered, place)
		}
	}
	var err error
	switch first {
	case askAssign:
		err = f.assign(ctx, asked)
	case askFarthest:
		candidates, failure := f.x.Farthest(ctx, f.stats(asked))
		for i, candidate := range candidates {
			asked[i].farthest = candidate
		}
		err = failure
	case askGains:
		err = answerEach(asked)(f.x.Gains(ctx, f.stats(asked)))
	case askBlock:
		blocks := make([]kernel.Block, len(asked))
		for i, a := range asked {
			blocks[i] = kernel.Block{Lane: a.lane, Points: a.columns}
		}
		err = answerEach(asked)(f.x.Blocks(ctx, blocks))
	case askColumnSum:
		lists := make([][]int32, len(asked))
		for i, a := range asked {
			lists[i] = a.columns
		}
		err = answerEach(asked)(f.x.ColumnSums(ctx, lists))
	default:
		err = f.sweep(ctx, asked)
	}
	for _, a := range asked {
		a.err = err
	}
	return answered
}

// laneRequest is a request and the lane that it comes from.
type laneRequest struct {
	lane int
	*request
}

// stats returns the stats of all requests.
func (f *Family) stats(asked []laneRequest) []kernel.ClusterStats {
	stats := make([]kernel.ClusterStats, len(asked))
	for i, a := range asked {
		stats[i] = a.stats
		stats[i].Lane = a.lane
	}
	return stats
}

func (f *Family) assign(ctx context.Context, asked []laneRequest) error {
	moves, err := f.x.Assign(ctx, f.stats(asked))
	byLane := map[int]*request{}
	for _, a := range asked {
		byLane[a.lane] = a.request
	}
	for _, m := range moves {
		at := int(m.To) / f.p.spec.K
		byLane[at].moves = append(byLane[at].moves, f.shape().Shift(m, -at))
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
func (f *Family) sweep(ctx context.Context, asked []laneRequest) error {
	self, err := f.sweepAll(ctx, asked)
	if err != nil {
		return err
	}
	k := f.p.spec.K
	for _, a := range asked {
		a.self = slices.Clone(self[a.lane*k : (a.lane+1)*k])
	}
	return nil
}

// sweepAll loads the labels of all lanes the first time. Later, a lane that loads is updated by the moves from its
// old labels to the new ones, together with the other lanes' updates.
func (f *Family) sweepAll(ctx context.Context, asked []laneRequest) ([]kernel.Int128, error) {
	shape := f.shape()
	if f.loaded == nil {
		labels := clustering.Unassigned(f.lanes * f.p.n)
		for _, a := range asked {
			for _, m := range shape.AppendChanges(nil, labels, a.lane, a.labels) {
				labels[a.lane*f.p.n+int(m.Point)] = m.To
			}
		}
		self, err := f.x.Load(ctx, labels)
		if err == nil {
			f.loaded = labels
		}
		return self, err
	}
	var moves []kernel.Move
	for _, a := range asked {
		if a.labels != nil {
			moves = shape.AppendChanges(moves, f.loaded, a.lane, a.labels)
		}
		for _, m := range a.moves {
			moves = append(moves, shape.Shift(m, a.lane))
		}
	}
	self, err := f.x.Update(ctx, moves)
	if err == nil {
		for _, m := range moves {
			f.loaded[shape.Lane(m)*f.p.n+int(m.Point)] = m.To
		}
	}
	return self, err
}

func (f *Family) shape() lanes.Shape {
	return lanes.Shape{Points: f.p.n, Clusters: f.p.spec.K, Lanes: f.lanes}
}
