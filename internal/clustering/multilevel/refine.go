package multilevel

import (
	"context"

	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/parallel"
)

const (
	// refineRows is the number of vertices whose moves are proposed together; a thread takes refinePiece at a time.
	refineRows  = 1 << 16
	refinePiece = 1 << 11
	// maxRounds is the maximum number of rounds over the vertices that may move.
	maxRounds = 30
	// On a large graph, a round that raises the value by a smaller share than minGain is the last; in the final
	// refinement, by a smaller share than finalGain.
	minGain    = 3e-3
	finalGain  = 1e-3
	largeGraph = 1 << 20 // entries
)

// refiner refines labelings of one graph after another.
type refiner struct {
	k         int
	chainWork int64
	pool      *parallel.Pool
	links     *links
	scratch   parallel.Workspaces[links] // of threads
}

func newRefiner(k, threads int) *refiner {
	return &refiner{
		k: k, chainWork: chainWork, pool: parallel.NewPool(threads), links: newLinks(k),
		scratch: parallel.Workspaces[links]{New: func() *links { return newLinks(k) }},
	}
}

// refine moves single vertices as long as that raises the value. Threads propose moves based on the labels at the
// beginning of a block of vertices, and every proposal is evaluated again before it is made, so the result does not
// depend on the number of threads. After the first round only neighbors of moved vertices are considered; when none of
// them moves, all vertices are again, because the sums of the clusters have changed for everyone.
func (r *refiner) refine(ctx context.Context, l *labeling) error {
	least := minGain
	if l.balance == 0 {
		least = finalGain
	}
	n := l.g.Rows()
	all := choose.All[int32](n)
	active := all
	marked := make([]bool, n)
	for range maxRounds {
		before := l.value()
		next, err := r.round(ctx, l, active, marked)
		if err != nil {
			return err
		}
		for _, v := range next {
			marked[v] = false
		}
		switch gain := l.value() - before; {
		case len(next) == 0 && len(active) == n:
			return nil
		case l.g.Entries() > largeGraph && gain < least*l.value():
			return nil
		case len(next) == 0:
			next = all
		}
		active = next
	}
	return nil
}

// round considers the active vertices and moves those that gain. It returns, and marks, the neighbors of those that
// moved.
func (r *refiner) round(ctx context.Context, l *labeling, active []int32, marked []bool) (next []int32, err error) {
	tolerance := l.tolerance()
	wants := make([]bool, min(len(active), refineRows))
	for from := 0; from < len(active); from += refineRows {
		block := active[from:min(len(active), from+refineRows)]
		if err := r.propose(ctx, l, block, wants, tolerance); err != nil {
			return nil, err
		}
		for i, v := range block {
			if !wants[i] {
				continue
			}
			r.links.sumUp(l, v)
			to, gain := l.best(v, r.links)
			if to < 0 || gain <= tolerance {
				continue
			}
			l.move(v, to, r.links)
			neighbors, _ := l.g.row(v)
			for _, u := range neighbors {
				if !marked[u] {
					marked[u] = true
					next = append(next, u)
				}
			}
		}
	}
	return next, nil
}

// propose sets wants[at] if vertex block[at] could move with a gain.
func (r *refiner) propose(ctx context.Context, l *labeling, block []int32, wants []bool, tolerance float64) error {
	return r.pool.Run(ctx, (len(block)+refinePiece-1)/refinePiece, func(at int) error {
		s := r.scratch.Borrow()
		for place := at * refinePiece; place < min(len(block), (at+1)*refinePiece); place++ {
			v := block[place]
			wants[place] = false
			if l.inside(v) {
				continue
			}
			s.sumUp(l, v)
			to, gain := l.best(v, s)
			wants[place] = to >= 0 && gain > tolerance
		}
		r.scratch.GiveBack(s)
		return nil
	})
}
