package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// How much trouble one operation survives, beside lost workers, of which it survives any number.
const (
	maxInternalFailures = 3
	maxNotReady         = 10
)

// operation is one request over all tiles.
type operation struct {
	name     string
	rowBytes int                       // of the answer's values per row, at most
	request  func(c *workerv1.Command) // nil: only make the tiles ready
	merge    func([]int, *reply) error // takes the answer of some tiles, once for each tile
	whole    bool                      // the operation goes over (nearly) all entries of the matrix
	reload   *reload                   // nil: the operation does not need sums
	from     uint64                    // the step at which tiles need no reload
	answers  bool                      // a reload is the whole operation for its tiles
	to       uint64                    // the step that the request leaves tiles at, 0: where they are
}

// reload is what gives a tile its sums: all labels, and the step that they belong to.
type reload struct {
	labels *operand
	step   uint64
}

// reply is a worker's answer with its bulk at hand.
type reply struct {
	values       []byte
	selfAffinity []byte
	farthest     []*workerv1.Candidate
}

// failure is a worker's answer that something went wrong.
type failure struct {
	worker string
	*workerv1.Failure
}

func (f *failure) Error() string { return fmt.Sprintf("worker %q: %s", f.worker, f.GetMessage()) }

// group is the part of an operation that one worker does.
type group struct {
	session *session
	seat    *seat
	tiles   []int
	parts   []part // what it has answered
	err     error  // why not all
}

// part is the answer of some of the tiles of a group.
type part struct {
	tiles []int
	reply *reply // nil when there is nothing to merge
}

// perRow runs an operation that gives one float64 per row.
func (e *Executor) perRow(ctx context.Context, op *operation) ([]float64, error) {
	values, err := e.severalPerRow(ctx, 1, op)
	return values[0], err
}

// severalPerRow runs an operation that gives several lists of one float64 per row.
func (e *Executor) severalPerRow(ctx context.Context, lists int, op *operation) ([][]float64, error) {
	values := make([][]float64, lists)
	for list := range values {
		values[list] = make([]float64, e.spec.Rows)
	}
	op.rowBytes = 8 * lists
	op.merge = func(tiles []int, done *reply) error {
		if len(done.values) != 8*lists*e.rows(tiles) {
			return fmt.Errorf("%d bytes for %d lists of %d rows", len(done.values), lists, e.rows(tiles))
		}
		at := 0
		for list := range values {
			for _, t := range tiles {
				rows := partition.Tile(e.spec.Rows, t)
				if err := wire.UnpackFloat64sInto(values[list][rows.From:rows.To], done.values[at:at+8*rows.Len()]); err != nil {
					return err
				}
				at += 8 * rows.Len()
			}
		}
		return nil
	}
	return values, e.perform(ctx, op)
}

// atStep runs an operation on sums of the current labels.
func (e *Executor) atStep(ctx context.Context, op *operation) error {
	if e.labels == nil {
		return fmt.Errorf("fleet: %s before load", op.name)
	}
	labels := e.fleet.operand(func() []byte { return wire.PackInt32s(e.labels) })
	defer labels.drop()
	op.reload, op.from = &reload{labels: labels, step: e.step}, e.step
	return e.perform(ctx, op)
}

// advance takes all tiles to the next step: by the moves where a tile is at the current one, by all
// labels (which include the moves) where it is not, or everywhere if there are no moves to go by.
func (e *Executor) advance(ctx context.Context, name string, labels []int32, moves []kernel.Move) ([]kernel.Int128, error) {
	packedLabels := e.fleet.operand(func() []byte { return wire.PackInt32s(labels) })
	packedMoves := e.fleet.operand(func() []byte { return wire.PackMoves(moves) })
	defer packedLabels.drop()
	defer packedMoves.drop()
	step, next := e.step, e.step+1
	op := &operation{
		name:    name,
		whole:   4*len(moves) > 3*e.spec.Rows, // as much as a sweep of all
		reload:  &reload{labels: packedLabels, step: next},
		from:    step,
		answers: true,
		to:      next,
		request: func(c *workerv1.Command) {
			c.Operation = &workerv1.Command_Update{Update: &workerv1.Update{Step: step, Moves: packedMoves.payload()}}
		},
	}
	if name == "load" {
		op.from = next + 1 // no tile is ever there
		op.whole = 4*labelled(labels) > 3*e.spec.Rows
	}
	sums := make([]kernel.Int128, e.armed.clusters())
	op.merge = func(_ []int, done *reply) error {
		parts, err := wire.UnpackInt128s(done.selfAffinity)
		if err != nil {
			return err
		}
		if len(parts) != len(sums) {
			return fmt.Errorf("sums of %d clusters instead of %d", len(parts), len(sums))
		}
		for c := range sums {
			sums[c] = sums[c].Add(parts[c])
		}
		return nil
	}
	err := e.perform(ctx, op)
	// After an error some tiles may be at the next step and some not: skip it, so that none passes
	// for what it is not.
	e.step = next
	if err != nil {
		e.step++
		return nil, err
	}
	return sums, nil
}

// perform runs an operation until every tile has been answered for exactly once. Each round makes
// the tiles that are still to do ready where they live, and asks; what a round leaves undone (its
// worker was lost, was not ready, had no memory) is done in the next, perhaps elsewhere.
func (e *Executor) perform(ctx context.Context, op *operation) error {
	e.turn.Lock()
	defer e.turn.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(e.life, func() { cancel(ErrReleased) })()

	pending := partition.All(e.spec.Rows)
	trouble := &trouble{}
	for boundary := true; len(pending) > 0; boundary = false {
		if err := e.settle(ctx, boundary, boundary && op.whole); err != nil {
			return err
		}
		groups := e.groups(pending)
		e.run(ctx, groups, op)
		if err := context.Cause(ctx); err != nil {
			return err
		}
		done := make([]bool, len(e.tiles))
		for _, g := range groups {
			for _, p := range g.parts {
				if p.reply != nil {
					if err := op.merge(p.tiles, p.reply); err != nil {
						g.err = &failure{worker: g.session.name, Failure: &workerv1.Failure{
							Kind: workerv1.FailureKind_FAILURE_KIND_INTERNAL, Message: "answered nonsense: " + err.Error()}}
						break
					}
				}
				for _, t := range p.tiles {
					done[t] = true
				}
			}
		}
		pending = slices.DeleteFunc(pending, func(t int) bool { return done[t] })
		for _, g := range groups { // in the order of their first tiles, so that errors do not vary
			g.tiles = slices.DeleteFunc(g.tiles, func(t int) bool { return done[t] })
			if err := e.cope(g, op, trouble); err != nil {
				return err
			}
		}
	}
	e.fleet.mu.Lock()
	e.ops++
	e.fleet.mu.Unlock()
	e.stood = true
	return nil
}

// groups are the tiles by worker, in the order of their first tiles.
func (e *Executor) groups(tiles []int) []*group {
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	var groups []*group
	of := map[*session]*group{}
	for _, t := range tiles {
		s := e.tiles[t].at
		if s == nil {
			continue // the job was released just now
		}
		g := of[s]
		if g == nil {
			g = &group{session: s, seat: e.seats[s]}
			of[s] = g
			groups = append(groups, g)
		}
		g.tiles = append(g.tiles, t)
	}
	return groups
}

// run lets every group do its part.
func (e *Executor) run(ctx context.Context, groups []*group, op *operation) {
	var all sync.WaitGroup
	for _, g := range groups {
		all.Go(func() { g.err = e.serve(ctx, g, op) })
	}
	all.Wait()
}

// trouble counts what went wrong in one operation.
type trouble struct{ internal, notReady int }

// cope draws the conclusions from what a group left undone, or gives the operation up.
func (e *Executor) cope(g *group, op *operation, trouble *trouble) error {
	if g.err == nil {
		return nil
	}
	log := e.fleet.log.With("job", e.jobID, "worker", g.session.name, "operation", op.name, "tiles", len(g.tiles))
	if errors.Is(g.err, errLost) {
		log.Info("placing the tiles of a lost worker elsewhere")
		return nil
	}
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	if errors.Is(g.err, errNewcomer) {
		for _, t := range g.tiles {
			if e.tiles[t].has == hasNothing { // placing it anew costs nothing
				e.evict(t)
			}
		}
		return nil
	}
	f, told := errors.AsType[*failure](g.err)
	if !told {
		return g.err
	}
	switch f.GetKind() {
	case workerv1.FailureKind_FAILURE_KIND_INVALID:
		return fault.New(fault.InvalidArgument, f.GetReason(), "%s", f.GetMessage())
	case workerv1.FailureKind_FAILURE_KIND_UNPREPARED, workerv1.FailureKind_FAILURE_KIND_NOT_READY:
		log.Info("the worker has to be made ready again", "why", f.GetMessage())
		if trouble.notReady++; trouble.notReady > maxNotReady {
			return fault.New(fault.Internal, "WORKER_FAILED", "%s does not get ready for %q: %s", f.worker, op.name, f.GetMessage())
		}
		g.seat.prepared, g.seat.armed = false, 0
		for t := range e.tiles {
			if e.tiles[t].at == g.session {
				e.tiles[t].has, e.tiles[t].step = hasNothing, 0
			}
		}
	case workerv1.FailureKind_FAILURE_KIND_NO_MEMORY:
		log.Warn("the worker has no memory left", "why", f.GetMessage())
		e.full[g.session] = true
		e.settled = nil
		for t := range e.tiles {
			switch {
			case e.tiles[t].at != g.session || e.tiles[t].ready():
			case e.tiles[t].has == hasNothing:
				e.evict(t)
			case e.tiles[t].stored:
				e.store(t, false) // it stays as it is
			}
		}
	default:
		log.Error("the worker failed", "error", f.GetMessage())
		if trouble.internal++; trouble.internal >= maxInternalFailures {
			return fault.New(fault.Internal, "WORKER_FAILED", "%q failed %d times, last on worker %q: %s", op.name, trouble.internal, f.worker, f.GetMessage())
		}
		e.ailing[g.session] = true
		e.remove(g.session, g.tiles)
	}
	return nil
}

// labelled counts the points that have a cluster.
func labelled(labels []int32) int {
	count := 0
	for _, c := range labels {
		if c >= 0 {
			count++
		}
	}
	return count
}

func (e *Executor) rows(tiles []int) int {
	rows := 0
	for _, t := range tiles {
		rows += partition.Tile(e.spec.Rows, t).Len()
	}
	return rows
}
