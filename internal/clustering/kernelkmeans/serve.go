package kernelkmeans

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/kernel"
)

// Serve implements clustering.Family. It answers the requests of the kind that comes first, and all that
// can be asked with it.
func (f *Family) Serve(ctx context.Context, all []clustering.Asked) (answered []int) {
	first := askUpdate
	for _, a := range all {
		first = min(first, a.Request.(*request).kind)
	}
	var asked []inLane
	for place, a := range all {
		if r := a.Request.(*request); r.kind == first || first >= askLoad {
			asked, answered = append(asked, inLane{a.Lane, r}), append(answered, place)
		}
	}
	var err error
	switch first {
	case askAssign:
		err = f.assign(ctx, asked)
	case askFarthest:
		err = f.farthest(ctx, asked)
	case askColumnSum:
		err = f.columnSums(ctx, asked)
	default:
		err = f.sweep(ctx, asked)
	}
	for _, a := range asked {
		a.err = err
	}
	return answered
}

// inLane is a request and the lane that it comes from.
type inLane struct {
	lane int
	*request
}

// stats are those of the lanes that ask.
func (f *Family) stats(asked []inLane) []kernel.Stats {
	stats := make([]kernel.Stats, len(asked))
	for i, a := range asked {
		stats[i] = a.stats
		stats[i].Lane = a.lane
	}
	return stats
}

func (f *Family) assign(ctx context.Context, asked []inLane) error {
	moves, err := f.x.Assign(ctx, f.stats(asked))
	byLane := map[int]*request{}
	for _, a := range asked {
		byLane[a.lane] = a.request
	}
	for _, m := range moves {
		at := int(m.To) / f.p.spec.K
		byLane[at].moves = append(byLane[at].moves, f.numbered(m, -at))
	}
	return err
}

func (f *Family) farthest(ctx context.Context, asked []inLane) error {
	candidates, err := f.x.Farthest(ctx, f.stats(asked))
	for i, candidate := range candidates {
		asked[i].farthest = candidate
	}
	return err
}

func (f *Family) columnSums(ctx context.Context, asked []inLane) error {
	lists := make([][]int32, len(asked))
	for i, a := range asked {
		lists[i] = a.columns
	}
	sums, err := f.x.ColumnSums(ctx, lists)
	for i := range sums {
		asked[i].sums = sums[i]
	}
	return err
}

// sweep loads and updates. Once anything is loaded, setting all labels of a lane is so many moves.
func (f *Family) sweep(ctx context.Context, asked []inLane) error {
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

func (f *Family) sweepAll(ctx context.Context, asked []inLane) ([]kernel.Int128, error) {
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
				moves = append(moves, f.numbered(m, a.lane))
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

// numbered is a move with its clusters numbered from so many lanes further on.
func (f *Family) numbered(m kernel.Move, lanes int) kernel.Move {
	if m.From >= 0 {
		m.From += int32(lanes * f.p.spec.K)
	}
	if m.To >= 0 {
		m.To += int32(lanes * f.p.spec.K)
	}
	return m
}
