package clustering

import (
	"context"
	"iter"
	"slices"

	"github.com/cleave-project/cleave/internal/kernel"
)

// ensemble runs restarts side by side, one in each lane of the executor. Every restart is a coroutine
// that goes on until it asks something of the executor; what they ask at the same time is asked
// together, so that one reading of the matrix serves them all. Only one of them ever runs at a time.
//
// Sums are exact, so no answer depends on what else was asked: each restart is bit for bit the run that
// it would be alone, and the observer hears of them one after the other, as if they were.
type ensemble struct {
	family *kernelFamily
	n, k   int
	ahead  int // restarts that have not begun are ahead..restarts-1
	total  int
	lanes  []runner
	labels []int32 // lane after lane, as the executor has them; nil: none loaded
	heard  *transcripts
	best   *attempt
}

// runner is a lane and the restart in it.
type runner struct {
	attempt *attempt // nil: the lane is free
	request *request // that waits for its answer
	next    func() (*request, bool)
	stop    func()
	err     error // that the restart ended with
}

func newEnsemble(f *kernelFamily, restarts int, o Observer) *ensemble {
	return &ensemble{
		family: f, n: f.p.n, k: f.p.spec.K, total: restarts,
		lanes: make([]runner, min(f.lanes, restarts)), heard: newTranscripts(o, restarts),
	}
}

// run is all restarts. It ends early, with the best so far, when the context does.
func (e *ensemble) run(ctx context.Context) (*Result, error) {
	defer func() {
		for at := range e.lanes {
			if e.lanes[at].attempt != nil {
				e.lanes[at].stop()
			}
		}
	}()
	for {
		busy := false
		for at := range e.lanes {
			if err := e.advance(ctx, at); err != nil {
				return nil, err
			}
			busy = busy || e.lanes[at].attempt != nil
		}
		if !busy {
			break
		}
		e.serve(ctx)
	}
	if e.best == nil {
		return nil, ctx.Err()
	}
	return e.best.result, nil
}

// advance lets the restart in a lane go on until its next request, unless that still waits for its
// answer, and gives a free lane to the next restart.
func (e *ensemble) advance(ctx context.Context, at int) error {
	runs := &e.lanes[at]
	for runs.request == nil {
		if runs.attempt == nil {
			if e.ahead == e.total || ctx.Err() != nil {
				return nil
			}
			e.begin(ctx, at)
		}
		request, more := runs.next()
		if more {
			runs.request = request
			return nil
		}
		if err := e.end(ctx, runs); err != nil {
			return err
		}
	}
	return nil
}

func (e *ensemble) begin(ctx context.Context, at int) {
	runs, restart := &e.lanes[at], e.ahead
	e.ahead++
	*runs = runner{attempt: &attempt{restart: restart}}
	runs.next, runs.stop = iter.Pull(func(yield func(*request) bool) {
		o := e.heard.of(restart)
		if e.total > 1 {
			o.Restart(restart)
		}
		m := e.family.method(restart, &lane{ask: yield}, o)
		runs.err = runs.attempt.run(ctx, m, e.family.p.spec.MaxIterations, o)
	})
}

// end takes the result of a restart over.
func (e *ensemble) end(ctx context.Context, runs *runner) error {
	done := runs.attempt
	runs.attempt = nil
	if runs.err != nil && ctx.Err() == nil {
		return runs.err
	}
	if done.result != nil && (e.best == nil || done.better(e.best)) {
		e.best = done
	}
	// One that was cut short gives nobody the turn: what the others did is not what follows it in a run
	// that goes on.
	if ctx.Err() == nil {
		e.heard.end(done.restart)
	}
	return nil
}

// serve answers the requests of the kind that comes first, and all that can be asked with it.
func (e *ensemble) serve(ctx context.Context) {
	first := askUpdate
	for _, runs := range e.lanes {
		if runs.request != nil {
			first = min(first, runs.request.kind)
		}
	}
	var asked []int
	for at, runs := range e.lanes {
		if runs.request != nil && (runs.request.kind == first || first >= askLoad) {
			asked = append(asked, at)
		}
	}
	var err error
	switch first {
	case askAssign:
		err = e.assign(ctx, asked)
	case askFarthest:
		err = e.farthest(ctx, asked)
	case askColumnSum:
		err = e.columnSums(ctx, asked)
	default:
		err = e.sweep(ctx, asked)
	}
	for _, at := range asked {
		e.lanes[at].request.err = err
		e.lanes[at].request = nil
	}
}

// stats are those of the lanes that ask.
func (e *ensemble) stats(asked []int) []kernel.Stats {
	stats := make([]kernel.Stats, len(asked))
	for i, at := range asked {
		stats[i] = e.lanes[at].request.stats
		stats[i].Lane = at
	}
	return stats
}

func (e *ensemble) assign(ctx context.Context, asked []int) error {
	moves, err := e.family.x.Assign(ctx, e.stats(asked))
	for _, m := range moves {
		at := int(m.To) / e.k
		r := e.lanes[at].request
		r.moves = append(r.moves, e.numbered(m, -at))
	}
	return err
}

func (e *ensemble) farthest(ctx context.Context, asked []int) error {
	candidates, err := e.family.x.Farthest(ctx, e.stats(asked))
	for i, candidate := range candidates {
		e.lanes[asked[i]].request.farthest = candidate
	}
	return err
}

func (e *ensemble) columnSums(ctx context.Context, asked []int) error {
	lists := make([][]int32, len(asked))
	for i, at := range asked {
		lists[i] = e.lanes[at].request.columns
	}
	sums, err := e.family.x.ColumnSums(ctx, lists)
	for i := range sums {
		e.lanes[asked[i]].request.sums = sums[i]
	}
	return err
}

// sweep loads and updates. Once anything is loaded, setting all labels of a lane is so many moves.
func (e *ensemble) sweep(ctx context.Context, asked []int) error {
	self, err := e.sweepAll(ctx, asked)
	if err != nil {
		return err
	}
	for _, at := range asked {
		e.lanes[at].request.self = slices.Clone(self[at*e.k : (at+1)*e.k])
	}
	return nil
}

func (e *ensemble) sweepAll(ctx context.Context, asked []int) ([]kernel.Int128, error) {
	if e.labels == nil {
		labels := unassigned(e.family.lanes * e.n)
		for _, at := range asked {
			for i, c := range e.lanes[at].request.labels {
				if c >= 0 {
					labels[at*e.n+i] = c + int32(at*e.k)
				}
			}
		}
		self, err := e.family.x.Load(ctx, labels)
		if err == nil {
			e.labels = labels
		}
		return self, err
	}
	var moves []kernel.Move
	for _, at := range asked {
		if r := e.lanes[at].request; r.kind == askLoad {
			for i, c := range r.labels {
				if c >= 0 {
					c += int32(at * e.k)
				}
				if from := e.labels[at*e.n+i]; from != c {
					moves = append(moves, kernel.Move{Point: int32(i), From: from, To: c})
				}
			}
		} else {
			for _, m := range r.moves {
				moves = append(moves, e.numbered(m, at))
			}
		}
	}
	self, err := e.family.x.Update(ctx, moves)
	if err == nil {
		for _, m := range moves {
			e.labels[int(max(m.From, m.To, 0))/e.k*e.n+int(m.Point)] = m.To
		}
	}
	return self, err
}

// numbered is a move with its clusters numbered from so many lanes further on.
func (e *ensemble) numbered(m kernel.Move, lanes int) kernel.Move {
	if m.From >= 0 {
		m.From += int32(lanes * e.k)
	}
	if m.To >= 0 {
		m.To += int32(lanes * e.k)
	}
	return m
}
