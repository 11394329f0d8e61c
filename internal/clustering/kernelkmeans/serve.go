package kernelkmeans

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/kernel"
)

// Serve implements clustering.Server. It answers all requests of the first kind that is asked for; loads and
// updates are one kind here, since one sweep does both.
func (f *Family) Serve(ctx context.Context, requests []clustering.LaneRequest) (answered []int) {
	first := askUpdate
	for _, a := range requests {
		first = min(first, a.Request.(*request).kind)
	}
	var asked []laneRequest
	for place, a := range requests {
		if r := a.Request.(*request); r.kind == first || first >= askLoad {
			asked, answered = append(asked, laneRequest{a.Lane, r}), append(answered, place)
		}
	}
	var err error
	switch first {
	case askAssign:
		err = f.assign(ctx, asked)
	case askFarthest:
		err = f.farthest(ctx, asked)
	case askGains:
		err = answerEach(asked)(f.x.Gains(ctx, f.stats(asked)))
	case askBlock:
		err = answerEach(asked)(f.x.Blocks(ctx, blocks(asked)))
	case askColumnSum:
		err = answerEach(asked)(f.x.ColumnSums(ctx, columnLists(asked)))
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

// stats are those of the lanes with requests.
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
		byLane[at].moves = append(byLane[at].moves, f.offsetLanes(m, -at))
	}
	return err
}

func (f *Family) farthest(ctx context.Context, asked []laneRequest) error {
	candidates, err := f.x.Farthest(ctx, f.stats(asked))
	for i, candidate := range candidates {
		asked[i].farthest = candidate
	}
	return err
}

func columnLists(asked []laneRequest) [][]int32 {
	lists := make([][]int32, len(asked))
	for i, a := range asked {
		lists[i] = a.columns
	}
	return lists
}

func blocks(asked []laneRequest) []kernel.Block {
	blocks := make([]kernel.Block, len(asked))
	for i, a := range asked {
		blocks[i] = kernel.Block{Lane: a.lane, Points: a.columns}
	}
	return blocks
}

// answerEach gives each request its list of values.
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
// old labels to the new ones, beside the other lanes' updates.
func (f *Family) sweepAll(ctx context.Context, asked []laneRequest) ([]kernel.Int128, error) {
	n, k := f.p.n, f.p.spec.K
	if f.loaded == nil {
		labels := clustering.Unassigned(f.lanes * n)
		for _, a := range asked {
			for i, c := range a.labels {
				if c >= 0 {
					labels[a.lane*n+i] = c + int32(a.lane*k)
				}
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
		if a.kind == askLoad {
			for i, c := range a.labels {
				if c >= 0 {
					c += int32(a.lane * k)
				}
				if from := f.loaded[a.lane*n+i]; from != c {
					moves = append(moves, kernel.Move{Point: int32(i), From: from, To: c})
				}
			}
		} else {
			for _, m := range a.moves {
				moves = append(moves, f.offsetLanes(m, a.lane))
			}
		}
	}
	self, err := f.x.Update(ctx, moves)
	if err == nil {
		for _, m := range moves {
			f.loaded[int(max(m.From, m.To, 0))/k*n+int(m.Point)] = m.To
		}
	}
	return self, err
}

// offsetLanes renumbers the clusters of a move: those of a single lane as those of the lane so many further on.
func (f *Family) offsetLanes(m kernel.Move, lanes int) kernel.Move {
	if m.From >= 0 {
		m.From += int32(lanes * f.p.spec.K)
	}
	if m.To >= 0 {
		m.To += int32(lanes * f.p.spec.K)
	}
	return m
}
