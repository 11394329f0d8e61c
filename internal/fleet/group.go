package fleet

import (
	"context"
	"errors"
	"slices"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fleet/pace"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// errWorkerJoined interrupts the builds of a group because a worker joined that could do some of them.
var errWorkerJoined = errors.New("fleet: a worker joined")

// group is the part of an operation that one worker does. The groups of a worker run one after the other. The goroutine
// that runs a group owns it until the round ends.
type group struct {
	role    groupRole
	session *session
	member  *membership
	tiles   []int
	copies  map[int]*tile // by tile, unless the worker owns the tiles
	unstore []int         // tiles of the worker that are stored but should not be
	parts   []part        // answers so far
	err     error         // why some tiles have no answer; nil if all have one
}

// groupRole is what a worker does with the tiles of a group. All roles but owns are about copies of tiles that are
// placed on other workers.
type groupRole int

const (
	owns    groupRole = iota // the tiles are placed on the worker
	rescues                  // it does the work of a late worker, and owns the tiles if it is faster
	joins                    // it builds the tiles in the background, and then owns them
)

// part is the answer for some tiles of a group.
type part struct {
	tiles []int
	reply *reply // nil if there is nothing to merge
}

// at returns the state of a tile on the worker of a group.
func (e *execution) at(g *group, t int) *tile {
	if g.role != owns {
		return g.copies[t]
	}
	return &e.placed.tiles[t]
}

// groups divides tiles into groups by worker, ordered by their first tiles.
func (e *execution) groups(tiles []int) []*group {
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	var groups []*group
	of := map[*session]*group{}
	for _, t := range tiles {
		s := e.placed.tiles[t].worker
		if s == nil {
			continue // the job was just released
		}
		g := of[s]
		if g == nil {
			g = &group{session: s, member: e.placed.members[s]}
			of[s] = g
			groups = append(groups, g)
		}
		g.tiles = append(g.tiles, t)
	}
	e.findUnstoredLocked(groups)
	return groups
}

// runGroup runs an operation on the tiles of one worker: first it provides whatever the tiles lack, then it sends the
// request. Every step can be repeated safely, so it does not matter where an earlier attempt stopped. Nothing else
// uses the group's membership and tiles at the same time.
func (e *execution) runGroup(ctx context.Context, g *group, op *operation) error {
	if err := e.prepare(ctx, g); err != nil {
		return err
	}
	if err := e.build(ctx, g); err != nil {
		return err
	}
	if err := e.family.ensureOperands(ctx, g); err != nil {
		return err
	}
	ready, err := e.reload(ctx, g, op)
	if err != nil {
		return err
	}
	return e.ask(ctx, g, op, ready)
}

// reload gives the tiles of a group that are at another step the sums that the operation needs. It returns the tiles
// that have yet to answer: all, or only those that were at the step if a reload is an answer.
func (e *execution) reload(ctx context.Context, g *group, op *operation) (ready []int, err error) {
	if op.reload == nil {
		return g.tiles, nil
	}
	var behind []int
	for _, t := range g.tiles {
		if !op.reload.all && e.at(g, t).held.step == op.reload.unless {
			ready = append(ready, t)
		} else {
			behind = append(behind, t)
		}
	}
	if len(behind) == 0 {
		return ready, nil
	}
	done, err := e.runCommand(ctx, g, behind, loadCommand(op.reload.step, op.reload.labels), 0)
	if err != nil {
		return nil, err
	}
	e.setStep(g, behind, op.reload.step)
	if op.reload.answers {
		g.parts = append(g.parts, part{tiles: behind, reply: done})
		return ready, nil
	}
	return g.tiles, nil
}

// ask sends the request of an operation about some tiles of a group, and adds the answer to the group's.
func (e *execution) ask(ctx context.Context, g *group, op *operation, tiles []int) error {
	if len(tiles) == 0 {
		return nil
	}
	if op.request == nil {
		g.parts = append(g.parts, part{tiles: tiles})
		return nil
	}
	maxBytes := 0
	if op.maxBytes != nil {
		maxBytes = op.maxBytes(tiles)
	}
	c := &workerv1.Command{}
	op.request(c, g, tiles)
	done, err := e.runCommand(ctx, g, tiles, c, maxBytes)
	if err != nil {
		return err
	}
	if op.decode != nil {
		if err := op.decode(done); err != nil {
			return &wrongAnswer{err}
		}
	}
	if op.resultStep != 0 {
		e.setStep(g, tiles, op.resultStep)
	}
	if op.valuesID != 0 {
		g.member.valuesID = op.valuesID
	}
	g.parts = append(g.parts, part{tiles: tiles, reply: done})
	return nil
}

// prepare opens the job on the worker, unless it is already open.
func (e *execution) prepare(ctx context.Context, g *group) error {
	if g.member.prepared {
		return nil
	}
	p := e.prepareMessage()
	p.Identity, p.ByRows = e.identity, needOn(e.need, g.session).ByRows()
	_, err := e.runCommand(ctx, g, nil, &workerv1.Command{Operation: &workerv1.Command_Prepare{Prepare: p}}, 0)
	g.member.prepared = err == nil
	return err
}

// prepareMessage returns the description of the job for a worker.
func (e *execution) prepareMessage() *workerv1.Prepare {
	p := &workerv1.Prepare{DatasetId: e.datasetID, DatasetBytes: uint64(e.need.DatasetBytes), K: uint32(e.need.K),
		ByRows: e.need.ByRows()}
	if e.need.Scaled {
		p.Units = &workerv1.Units{Center: e.units.center.message(), Scale: e.units.scale.message()}
	}
	e.family.describe(p)
	return p
}

// build builds the tiles of a group that are not ready. It first frees the storage of all tiles of the worker that
// are stored but should not be, even those outside of this operation, because the tiles to build need the memory.
func (e *execution) build(ctx context.Context, g *group) error {
	unstore := e.tilesToUnstore(g)
	if len(unstore) > 0 {
		if err := e.buildTiles(ctx, g, unstore, false); err != nil {
			return err
		}
		e.fleet.mu.Lock()
		e.fleet.notifyLocked() // memory was freed
		e.fleet.mu.Unlock()
	}
	for _, stored := range []bool{false, true} {
		var missing []int
		for _, t := range g.tiles {
			if c := e.at(g, t); c.wantStored == stored && !c.ready() {
				missing = append(missing, t)
			}
		}
		for batch := range slices.Chunk(missing, e.tilesAtOnce(g.session)) {
			if err := e.buildTiles(ctx, g, batch, stored); err != nil {
				return err
			}
			if last := batch[len(batch)-1] == missing[len(missing)-1]; !last && g.role == owns && e.idleWorkerJoined() {
				return errWorkerJoined
			}
		}
	}
	return nil
}

// buildAtOnce is the size of the rows that a worker is asked to fetch and build at a time, in a job by rows.
const buildAtOnce = 64 << 20

// tilesAtOnce returns how many tiles a worker is asked to build with one command: a few per thread, so that batches
// are small enough to show progress and to let joining workers take some, and large enough to keep all threads
// busy. If their rows must be fetched, batches are also large enough to keep its link busy.
func (e *execution) tilesAtOnce(s *session) int {
	tiles := 2 * s.threads
	if needOn(e.need, s).ByRows() {
		return max(tiles, int(buildAtOnce*int64(len(e.placed.tiles))/e.need.DatasetBytes))
	}
	return tiles
}

// tilesToUnstore returns the tiles on a group's worker that are stored but should not be.
func (e *execution) tilesToUnstore(g *group) []int {
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	return slices.DeleteFunc(g.unstore, func(t int) bool {
		return e.placed.tiles[t].worker != g.session || !e.placed.tiles[t].toUnstore()
	})
}

// findUnstoredLocked gives each group the tiles of its worker that are stored but should not be. It looks at all tiles
// once for all groups.
func (e *execution) findUnstoredLocked(groups []*group) {
	var of map[*session][]int
	for t := range e.placed.tiles {
		if s := e.placed.tiles[t].worker; s != nil && e.placed.tiles[t].toUnstore() {
			if of == nil {
				of = map[*session][]int{}
			}
			of[s] = append(of[s], t)
		}
	}
	for _, g := range groups {
		if g.role == owns {
			g.unstore = slices.Clone(of[g.session])
		}
	}
}

// buildTiles makes a worker build tiles. Tiles that are already built are converted between stored and computed and
// keep their sums.
func (e *execution) buildTiles(ctx context.Context, g *group, tiles []int, stored bool) error {
	c := &workerv1.Command{Operation: &workerv1.Command_Build{Build: &workerv1.Build{MatrixFree: !stored}}}
	_, err := e.runCommand(ctx, g, tiles, c, 0)
	if err != nil {
		return err
	}
	fresh := 0
	for _, t := range tiles {
		held := &e.at(g, t).held
		if held.form == notBuilt {
			held.step = 0
			fresh++
		}
		held.form = builtAs(stored)
	}
	e.fleet.cfg.Observe.TilesBuilt(fresh)
	if g.role == owns {
		e.progress.update(func(s *Status) { s.TilesBuilt += fresh })
	}
	return nil
}

// idleWorkerJoined reports whether a worker without tiles of this job could take some.
func (e *execution) idleWorkerJoined() bool {
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	if len(e.placed.members) == len(e.fleet.state.sessions) { // every worker that builds tiles asks
		return false
	}
	bytes := e.placed.sizes[0].Bytes(e.need.StorageRule() != partition.StoreNone)
	for _, s := range e.fleet.state.sessions {
		if e.handovers.to[s] == nil && e.canJoinLocked(s) && e.hostLocked(s).FreeBytes >= bytes {
			return true
		}
	}
	return false
}

// runCommand sends a command about tiles to a worker and waits for its answer, whose values may take up to maxBytes.
// The command has an operation; runCommand sets the rest of it.
func (e *execution) runCommand(ctx context.Context, g *group, tiles []int, c *workerv1.Command,
	maxBytes int) (*reply, error) {
	c.JobId = e.key
	listed := e.listTiles(c, g, tiles)
	parent, end := e.fleet.cfg.Observe.Command(ctx, wire.CommandName(c), g.session.name, len(tiles))
	c.TraceParent = parent
	timed := e.pace.Start(paceOf(g, c, len(tiles), e.rowsOf(tiles)), time.Now())
	r, err := e.fleet.await(ctx, awaited{
		to: g.session, command: c, maxBytes: maxBytes, stallTimeout: e.stallTimeout, released: e.released,
	})
	e.pace.Finish(timed, err == nil, time.Now())
	end(failureLabel(err))
	if err == nil && listed != nil {
		listed.confirmed = true
	}
	return r, err
}

// paceOf describes a command to the meter.
func paceOf(g *group, c *workerv1.Command, tiles, rows int) pace.Command {
	class := pace.Query
	switch c.GetOperation().(type) {
	case *workerv1.Command_Prepare, *workerv1.Command_Adopt, *workerv1.Command_SetOperands:
		class = pace.Setup
	case *workerv1.Command_Build:
		class = pace.Build
	case *workerv1.Command_Load:
		class = pace.Load
	}
	return pace.Command{
		Worker: g.session.id, Threads: g.session.threads, Kind: wire.CommandName(c), Class: class,
		Tiles: tiles, Rows: rows, Copy: g.role != owns,
	}
}

func (e *execution) setStep(g *group, tiles []int, step uint64) {
	for _, t := range tiles {
		e.at(g, t).held.step = step
	}
}

// listedTiles is the length from which a list of tiles gets a number, so that later commands need not repeat it.
const listedTiles = 4

// tileList is a list of tiles that was sent to a worker with a number.
type tileList struct {
	id        uint64
	tiles     []*workerv1.Tile
	confirmed bool // the worker has it
}

// listTiles sets the tiles of a command: by the number of a list that the worker remembers, or else as a list, which
// is returned if the worker will remember it.
func (e *execution) listTiles(c *workerv1.Command, g *group, tiles []int) *tileList {
	c.Tiles = make([]*workerv1.Tile, len(tiles))
	for i, t := range tiles {
		c.Tiles[i] = &workerv1.Tile{Tile: uint32(t), Epoch: e.at(g, t).epoch}
	}
	if len(tiles) < listedTiles {
		return nil
	}
	same := func(a, b *workerv1.Tile) bool { return a.GetTile() == b.GetTile() && a.GetEpoch() == b.GetEpoch() }
	for _, known := range g.member.lists {
		if known.confirmed && slices.EqualFunc(known.tiles, c.Tiles, same) {
			c.Tiles, c.TilesId = nil, known.id
			return nil
		}
	}
	list := &tileList{id: e.lists.Add(1), tiles: c.Tiles}
	c.TilesId = list.id
	// The worker makes room by forgetting its oldest list, even if the command fails; so do we.
	g.member.lists = append(g.member.lists, list)
	g.member.lists = g.member.lists[max(0, len(g.member.lists)-wire.RememberedTileLists):]
	return list
}
