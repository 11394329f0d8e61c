package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// How much trouble one operation survives, beside lost workers, of which it survives any number.
const (
	maxInternalFailures = 3
	maxNotReady         = 10
)

// operation is one request over all tiles, or some.
type operation struct {
	name          string
	tiles         []int                     // nil: all
	maxBytes      func(tiles []int) int     // the most bytes of the answer's values; nil: they are few
	request       func(c *workerv1.Command) // nil: only make the tiles ready
	merge         mergeFunc
	wholeMatrix   bool    // the operation goes over (nearly) all entries of the matrix
	reload        *reload // nil: the operation does not need sums
	needStep      uint64  // the step at which tiles need no reload
	reloadAnswers bool    // a reload is the whole operation for its tiles
	resultStep    uint64  // the step that the request leaves tiles at, 0: where they are
}

// reload is what gives a tile its sums: all labels, and the step that they belong to.
type reload struct {
	labels *payload
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
	member  *membership
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
func (j *job) perRow(ctx context.Context, op *operation) ([]float64, error) {
	values, err := j.severalPerRow(ctx, 1, op)
	return values[0], err
}

// severalPerRow runs an operation that gives several lists of one float64 per row.
func (j *job) severalPerRow(ctx context.Context, lists int, op *operation) ([][]float64, error) {
	values := make([][]float64, lists)
	for list := range values {
		values[list] = make([]float64, j.rows)
	}
	op.maxBytes = j.perRowBytes(8 * lists)
	op.merge = func(tiles []int, done *reply) error {
		if len(done.values) != 8*lists*j.rowsOf(tiles) {
			return fmt.Errorf("%d bytes for %d lists of %d rows", len(done.values), lists, j.rowsOf(tiles))
		}
		at := 0
		for list := range values {
			for _, t := range tiles {
				rows := partition.Tile(j.rows, t)
				if err := wire.UnpackFloat64sInto(values[list][rows.From:rows.To], done.values[at:at+8*rows.Len()]); err != nil {
					return err
				}
				at += 8 * rows.Len()
			}
		}
		return nil
	}
	return values, j.perform(ctx, op)
}

// perform runs an operation until every tile has been answered for exactly once. Each round makes
// the tiles that are still to do ready where they live, and asks; what a round leaves undone (its
// worker was lost, was not ready, had no memory) is done in the next, perhaps elsewhere.
func (j *job) perform(ctx context.Context, op *operation) error {
	j.opMu.Lock()
	defer j.opMu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(j.ctx, func() { cancel(ErrReleased) })()

	pending := slices.Clone(op.tiles)
	if op.tiles == nil {
		pending = partition.All(j.rows)
	}
	trouble := &failureCounts{}
	for boundary := true; len(pending) > 0; boundary = false {
		if err := j.ensurePlaced(ctx, boundary, boundary && op.wholeMatrix); err != nil {
			return err
		}
		groups := j.groups(pending)
		j.runGroups(ctx, groups, op)
		if err := context.Cause(ctx); err != nil {
			return err
		}
		done := make([]bool, len(j.tiles))
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
			if err := j.handleFailure(g, op, trouble); err != nil {
				return err
			}
		}
	}
	j.fleet.mu.Lock()
	j.ops++
	j.fleet.mu.Unlock()
	j.everSucceeded = true
	return nil
}

// groups are the tiles by worker, in the order of their first tiles.
func (j *job) groups(tiles []int) []*group {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	var groups []*group
	of := map[*session]*group{}
	for _, t := range tiles {
		s := j.tiles[t].worker
		if s == nil {
			continue // the job was released just now
		}
		g := of[s]
		if g == nil {
			g = &group{session: s, member: j.members[s]}
			of[s] = g
			groups = append(groups, g)
		}
		g.tiles = append(g.tiles, t)
	}
	return groups
}

// runGroups lets every group do its part.
func (j *job) runGroups(ctx context.Context, groups []*group, op *operation) {
	var all sync.WaitGroup
	for _, g := range groups {
		all.Go(func() { g.err = j.runGroup(ctx, g, op) })
	}
	all.Wait()
}

// failureCounts counts what went wrong in one operation.
type failureCounts struct{ internal, notReady int }

// handleFailure draws the conclusions from what a group left undone, or gives the operation up.
func (j *job) handleFailure(g *group, op *operation, trouble *failureCounts) error {
	if g.err == nil {
		return nil
	}
	log := j.fleet.log.With("job", j.jobID, "worker", g.session.name, "operation", op.name, "tiles", len(g.tiles))
	if errors.Is(g.err, errLost) {
		log.Info("placing the tiles of a lost worker elsewhere")
		return nil
	}
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	if errors.Is(g.err, errWorkerJoined) {
		for _, t := range g.tiles {
			if j.tiles[t].state == notBuilt { // placing it anew costs nothing
				j.unplace(t)
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
		g.member.prepared, g.member.operandsID = false, 0
		for t := range j.tiles {
			if j.tiles[t].worker == g.session {
				j.tiles[t].state, j.tiles[t].step = notBuilt, 0
			}
		}
	case workerv1.FailureKind_FAILURE_KIND_NO_MEMORY:
		log.Warn("the worker has no memory left", "why", f.GetMessage())
		j.full[g.session] = true
		j.balancedAt = nil
		for t := range j.tiles {
			switch {
			case j.tiles[t].worker != g.session || j.tiles[t].ready():
			case j.tiles[t].state == notBuilt:
				j.unplace(t)
			case j.tiles[t].wantStored:
				j.setStored(t, false) // it stays as it is
			}
		}
	default:
		log.Error("the worker failed", "error", f.GetMessage())
		if trouble.internal++; trouble.internal >= maxInternalFailures {
			return fault.New(fault.Internal, "WORKER_FAILED", "%q failed %d times, last on worker %q: %s", op.name, trouble.internal, f.worker, f.GetMessage())
		}
		j.failing[g.session] = true
		j.removeFrom(g.session, g.tiles)
	}
	return nil
}

// perRowBytes limits an answer to so many bytes for each row.
func (j *job) perRowBytes(bytes int) func(tiles []int) int {
	return func(tiles []int) int { return bytes * j.rowsOf(tiles) }
}

func (j *job) rowsOf(tiles []int) int {
	rows := 0
	for _, t := range tiles {
		rows += partition.Tile(j.rows, t).Len()
	}
	return rows
}
