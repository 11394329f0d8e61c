package fleet

import (
	"context"
	"slices"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fleet/pace"
	"github.com/cleave-project/cleave/internal/wire"
)

// group is the part of an operation that one worker does. The groups of a worker run one after the other.
type group struct {
	session *session
	member  *membership
	tiles   []int
	copies  map[int]*tile // copies of tiles placed on other workers; nil if the tiles are placed on this one
	unstore []int         // tiles of the worker that are stored but should not be
	parts   []part        // answers so far
	err     error         // why some tiles have no answer; nil if all have one
}

// part is the answer for some tiles of a group.
type part struct {
	tiles []int
	reply *reply // nil if there is nothing to merge
}

// at returns the state of a tile on the worker of a group.
func (j *job) at(g *group, t int) *tile {
	if g.copies != nil {
		return g.copies[t]
	}
	return &j.placed.tiles[t]
}

// groups divides tiles into groups by worker, ordered by their first tiles. Verified tiles and their copies on other
// workers form groups of their own, because answers are compared tile by tile.
func (j *job) groups(op *operation, tiles []int) []*group {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	verified := j.verified(op, tiles)
	var groups, alone []*group
	of := map[*session]*group{}
	for _, t := range tiles {
		s := j.placed.tiles[t].worker
		if s == nil {
			continue // the job was just released
		}
		if c := verified[t]; c != nil {
			alone = append(alone,
				&group{session: s, member: j.placed.members[s], tiles: []int{t}},
				&group{session: c.worker, member: j.placed.members[c.worker], tiles: []int{t}, copies: map[int]*tile{t: &c.tile}})
			continue
		}
		g := of[s]
		if g == nil {
			g = &group{session: s, member: j.placed.members[s]}
			of[s] = g
			groups = append(groups, g)
		}
		g.tiles = append(g.tiles, t)
	}
	// Own tiles first: updating them takes the labels of the worker to the step at which copies are loaded.
	slices.SortStableFunc(alone, func(a, b *group) int { return len(a.copies) - len(b.copies) })
	groups = append(groups, alone...)
	j.findUnstored(groups)
	return groups
}

// runGroup runs an operation on the tiles of one worker: first it provides whatever the tiles lack, then it sends the
// request. Every step can be repeated safely, so it does not matter where an earlier attempt stopped. Nothing else
// uses the group's membership and tiles at the same time.
func (j *job) runGroup(ctx context.Context, g *group, op *operation) error {
	if op.compact && !g.session.compact() {
		return errEarlier
	}
	if err := j.prepare(ctx, g); err != nil {
		return err
	}
	if err := j.build(ctx, g); err != nil {
		return err
	}
	if err := j.ensureOperands(ctx, g); err != nil {
		return err
	}
	ready, err := j.reload(ctx, g, op)
	if err != nil {
		return err
	}
	return j.ask(ctx, g, op, ready)
}

// reload gives the tiles of a group that are at another step the sums that the operation needs. It returns the tiles
// that have yet to answer: all, or only those that were at the step if a reload is an answer.
func (j *job) reload(ctx context.Context, g *group, op *operation) (ready []int, err error) {
	if op.reload == nil {
		return g.tiles, nil
	}
	ready, behind := j.splitByStep(g, op.reload.unless)
	if len(behind) == 0 {
		return ready, nil
	}
	done, err := j.runCommand(ctx, g, behind, j.sumBytes, func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_Load{Load: &workerv1.Load{Step: op.reload.step, Labels: op.reload.labels.message()}}
	})
	if err != nil {
		return nil, err
	}
	j.setStep(g, behind, op.reload.step)
	if op.reload.answers {
		g.parts = append(g.parts, part{tiles: behind, reply: done})
		return ready, nil
	}
	return g.tiles, nil
}

// ask sends the request of an operation about some tiles of a group, and adds the answer to the group's.
func (j *job) ask(ctx context.Context, g *group, op *operation, tiles []int) error {
	if op.request == nil {
		g.parts = append(g.parts, part{tiles: tiles})
		return nil
	}
	if len(tiles) == 0 {
		return nil
	}
	maxBytes := 0
	if op.maxBytes != nil {
		maxBytes = op.maxBytes(tiles)
	}
	done, err := j.runCommand(ctx, g, tiles, maxBytes, func(c *workerv1.Command) { op.request(c, g, tiles) })
	if err != nil {
		return err
	}
	if op.decode != nil {
		if err := op.decode(done, g.session, tiles); err != nil {
			return &wrongAnswer{err}
		}
	}
	if op.resultStep != 0 {
		j.setStep(g, tiles, op.resultStep)
	}
	if op.valuesID != 0 {
		g.member.valuesID = op.valuesID
	}
	g.parts = append(g.parts, part{tiles: tiles, reply: done})
	return nil
}

// prepare opens the job on the worker, unless it is already open.
func (j *job) prepare(ctx context.Context, g *group) error {
	if g.member.prepared {
		return nil
	}
	_, err := j.runCommand(ctx, g, nil, 0, func(c *workerv1.Command) {
		p := j.prepareMessage()
		p.Identity, p.ByRows = j.identity, j.placed.needOn(g.session).ByRows()
		c.Operation = &workerv1.Command_Prepare{Prepare: p}
	})
	g.member.prepared = err == nil
	return err
}

// prepareMessage returns the description of the job for a worker.
func (j *job) prepareMessage() *workerv1.Prepare {
	p := &workerv1.Prepare{DatasetId: j.datasetID, DatasetBytes: uint64(j.need.DatasetBytes), K: uint32(j.need.K), ByRows: j.need.ByRows()}
	if j.need.Scaled {
		p.Units = &workerv1.Units{Center: j.units.center.message(), Scale: j.units.scale.message()}
	}
	j.describe(p)
	return p
}

// runCommand sends a command to a worker and waits for its answer, whose values may take up to maxBytes.
func (j *job) runCommand(ctx context.Context, g *group, tiles []int, maxBytes int, set func(*workerv1.Command)) (*reply, error) {
	c := &workerv1.Command{JobId: j.key}
	listed := j.listTiles(c, g, tiles)
	set(c)
	parent, end := j.fleet.cfg.Observe.Command(ctx, wire.CommandName(c), g.session.name, len(tiles))
	c.TraceParent = parent
	timed := j.pace.Start(paceOf(g, c, len(tiles), j.rowsOf(tiles)), time.Now())
	r, err := j.fleet.await(ctx, j.ctx, j.stallTimeout, g.session, c, maxBytes)
	j.pace.Finish(timed, err == nil, time.Now())
	end(whyNotDone(err))
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
		Tiles: tiles, Rows: rows, Copy: g.copies != nil,
	}
}

// splitByStep separates the tiles of a group that are at a step from the others.
func (j *job) splitByStep(g *group, step uint64) (at, other []int) {
	for _, t := range g.tiles {
		if j.at(g, t).step == step {
			at = append(at, t)
		} else {
			other = append(other, t)
		}
	}
	return at, other
}

func (j *job) setStep(g *group, tiles []int, step uint64) {
	for _, t := range tiles {
		j.at(g, t).step = step
	}
}

const (
	// listedTiles is the length from which a list of tiles gets a number, so that later commands need not repeat it.
	listedTiles = 4
	// rememberedLists is how many lists of tiles a worker remembers for each job.
	rememberedLists = 4
)

// tileList is a list of tiles that was sent to a worker with a number.
type tileList struct {
	id        uint64
	tiles     []*workerv1.Tile
	confirmed bool // the worker has it
}

// listTiles sets the tiles of a command: by the number of a list that the worker remembers, or else as a list, which
// is returned if the worker will remember it.
func (j *job) listTiles(c *workerv1.Command, g *group, tiles []int) *tileList {
	c.Tiles = make([]*workerv1.Tile, len(tiles))
	for i, t := range tiles {
		c.Tiles[i] = &workerv1.Tile{Tile: uint32(t), Epoch: j.at(g, t).epoch}
	}
	if !g.session.compact() || len(tiles) < listedTiles {
		return nil
	}
	for _, known := range g.member.lists {
		if known.confirmed && slices.EqualFunc(known.tiles, c.Tiles, sameTile) {
			c.Tiles, c.TilesId = nil, known.id
			return nil
		}
	}
	list := &tileList{id: j.lists.Add(1), tiles: c.Tiles}
	c.TilesId = list.id
	// The worker forgets the lowest number, whether or not the command succeeds.
	g.member.lists = append(g.member.lists, list)
	g.member.lists = g.member.lists[max(0, len(g.member.lists)-rememberedLists):]
	return list
}

func sameTile(a, b *workerv1.Tile) bool {
	return a.GetTile() == b.GetTile() && a.GetEpoch() == b.GetEpoch()
}
