package fleet

import (
	"context"
	"errors"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
)

// buildState is the form in which a tile exists on its worker.
type buildState uint8

const (
	notBuilt      buildState = iota
	builtStored              // its entries are stored
	builtComputed            // its entries are computed each time they are needed
)

// needOn returns what the job needs on a worker.
func (j *job) needOn(s *session) planning.Workload {
	need := j.need
	need.Whole = need.Whole || !s.fetchesRows
	return need
}

// planned describes the worker to a plan that may use some of its memory.
func (s *session) planned(free int64) planning.Worker {
	return planning.Worker{Name: s.name, Threads: s.threads, Free: free, Whole: !s.fetchesRows}
}

// ready reports whether the tile is built in the form that is wanted.
func (t *tile) ready() bool { return t.state == builtAs(t.wantStored) }

func builtAs(stored bool) buildState {
	if stored {
		return builtStored
	}
	return builtComputed
}

// errWorkerJoined interrupts the builds of a group because a worker joined that could do some of them.
var errWorkerJoined = errors.New("fleet: a worker joined")

// build builds the tiles of a group that are not ready. It first frees the storage of all tiles of the worker that
// are stored but should not be, even those outside of this operation, because the tiles to build need the memory.
func (j *job) build(ctx context.Context, g *group) error {
	unstore := j.tilesToUnstore(g)
	if len(unstore) > 0 {
		if err := j.buildTiles(ctx, g, unstore, false); err != nil {
			return err
		}
		j.fleet.mu.Lock()
		j.fleet.notifyChanged() // memory was freed
		j.fleet.mu.Unlock()
	}
	for _, stored := range []bool{false, true} {
		var missing []int
		for _, t := range g.tiles {
			if c := j.at(g, t); c.wantStored == stored && !c.ready() {
				missing = append(missing, t)
			}
		}
		for batch := range slices.Chunk(missing, j.tilesAtOnce(g.session)) {
			if err := j.buildTiles(ctx, g, batch, stored); err != nil {
				return err
			}
			if last := batch[len(batch)-1] == missing[len(missing)-1]; !last && g.copies == nil && j.idleWorkerJoined() {
				return errWorkerJoined
			}
		}
	}
	return nil
}

// buildAtOnce is the size of the rows that a worker is asked to fetch and build at a time, in a job by rows.
const buildAtOnce = 64 << 20

// tilesAtOnce returns how many tiles a worker is asked to build with one command: a few per thread, so that batches are
// small enough to show progress and to let joining workers take a share, and large enough to keep all threads busy. If
// their rows must be fetched, batches are also large enough to keep its link busy.
func (j *job) tilesAtOnce(s *session) int {
	tiles := 2 * s.threads
	if j.needOn(s).ByRows() {
		return max(tiles, int(buildAtOnce*int64(len(j.tiles))/j.need.DatasetBytes))
	}
	return tiles
}

// tilesToUnstore returns the tiles on a group's worker that are stored but should not be.
func (j *job) tilesToUnstore(g *group) []int {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	return slices.DeleteFunc(g.unstore, func(t int) bool { return j.tiles[t].worker != g.session || !j.tiles[t].toUnstore() })
}

// toUnstore reports whether the tile is stored but should not be.
func (t *tile) toUnstore() bool { return t.state == builtStored && !t.wantStored }

// findUnstored gives each group the tiles of its worker that are stored but should not be. It looks at all tiles once for
// all groups. The caller holds f.mu.
func (j *job) findUnstored(groups []*group) {
	var of map[*session][]int
	for t := range j.tiles {
		if s := j.tiles[t].worker; s != nil && j.tiles[t].toUnstore() {
			if of == nil {
				of = map[*session][]int{}
			}
			of[s] = append(of[s], t)
		}
	}
	for _, g := range groups {
		if g.copies == nil {
			g.unstore = slices.Clone(of[g.session])
		}
	}
}

// buildTiles makes a worker build tiles. Tiles that are already built are converted between stored and computed and
// keep their sums.
func (j *job) buildTiles(ctx context.Context, g *group, tiles []int, stored bool) error {
	_, err := j.runCommand(ctx, g, tiles, 0, func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_Build{Build: &workerv1.Build{MatrixFree: !stored}}
	})
	if err != nil {
		return err
	}
	fresh := 0
	for _, t := range tiles {
		built := j.at(g, t)
		if built.state == notBuilt {
			built.step = 0
			fresh++
		}
		built.state = builtAs(stored)
	}
	j.fleet.cfg.Observe.TilesBuilt(fresh)
	if g.copies == nil {
		j.progress.update(func(s *Status) { s.TilesBuilt += fresh })
	}
	return nil
}

// idleWorkerJoined reports whether a worker without tiles of this job could take some.
func (j *job) idleWorkerJoined() bool {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	if len(j.members) == len(j.fleet.sessions) { // every worker that builds tiles asks
		return false
	}
	for _, s := range j.fleet.sessions {
		if j.moves[s] == nil && j.newcomer(s) && j.host(s).FreeBytes >= j.sizes[0].Bytes(j.need.StorageRule() != partition.StoreNone) {
			return true
		}
	}
	return false
}

// newcomer reports whether a worker has no tiles of the job yet and may take some. The caller holds f.mu.
func (j *job) newcomer(s *session) bool {
	return j.members[s] == nil && s.takesTiles() && j.refused(s) == nil && !j.doubts(s) && !j.full[s]
}

// The rest of this file builds tiles in the background on workers that have none of the job. Meanwhile the workers that
// have the tiles go on, even if they are draining, so that no operation waits for a build. Workers that have tiles of the
// job build further ones at once: their threads are busy with operations, so that the background would not be faster.

// move is a worker that builds tiles in the background, to take them over between two operations. If the job has labels, it also
// loads them, and follows their changes. Only its goroutine uses member, and the tiles that are not built; Fleet.mu guards the
// other fields.
type move struct {
	to      *session
	member  *membership
	copies  map[int]*copied // by number
	built   map[int]bool    // by number
	follows bool            // the job has labels whose sums are worth following
	loaded  bool            // the sums are those of a step, or will be after the queue
	queue   []followed
	version int             // grows when what was queued so far has become useless
	waited  int             // operations that began since everything was built
	ctx     context.Context // ends with the move and with the job
	cancel  context.CancelFunc
	running bool          // the goroutine runs; it ends when there is nothing to do
	ended   chan struct{} // closed when running becomes false
}

// followed is a change of the labels of a job: all of them at a step, or moves from a step to the next.
type followed struct {
	step          uint64
	labels, moves *payload // one is nil
}

// maxFollowed is how many operations a move may wait for its worker to reach the step of the job. After that it takes the tiles over as
// they are.
const maxFollowed = 64

// ready reports whether a move has everything that its worker needs to take the tiles over. The caller holds f.mu.
func (m *move) ready() bool {
	return !m.running && m.complete() && (!m.follows || m.loaded && len(m.queue) == 0)
}

// complete reports whether all tiles of the move are built. The caller holds f.mu.
func (m *move) complete() bool { return len(m.built) == len(m.copies) }

// working reports whether a worker can go on with its tiles until others have built them. The caller holds f.mu.
func (s *session) working() bool { return !s.ended && !s.away && s.stream != nil && s.wrong == nil }

// movesLater reports whether a tile moves to a worker only after that one has built it. The caller holds f.mu, and no
// operation uses the tile.
func (j *job) movesLater(t int, to *session) bool {
	return j.tiles[t].state != notBuilt && j.tiles[t].worker.working() && j.newcomer(to) && !j.direct[to]
}

// startMove makes a newcomer build a tile in the background. Only the running operation calls it. The caller holds f.mu.
func (j *job) startMove(t int, to *session, stored bool) {
	m := j.moves[to]
	if m == nil {
		m = &move{to: to, member: &membership{}, copies: map[int]*copied{}, built: map[int]bool{}, follows: !j.answersChanges && j.labels != nil}
		m.ctx, m.cancel = context.WithCancel(j.ctx)
		j.moves[to] = m
		to.used += j.needOn(to).FixedBytes(to.threads)
	}
	c := &copied{tile: tile{worker: to, epoch: j.newEpoch(), wantStored: stored}, number: t, bytes: j.sizes[t].Bytes(stored)}
	m.copies[t], j.moving[t] = c, c
	to.used += c.bytes
	m.forget()
	j.continueMove(m)
}

// continueMove runs the goroutine of a move that has something to do. The caller holds f.mu.
func (j *job) continueMove(m *move) {
	if !m.running && j.ctx.Err() == nil {
		m.running, m.ended = true, make(chan struct{})
		j.background.Go(func() { j.runMove(m) })
	}
}

// runMove builds the tiles of a move, a few at a time, and follows the labels.
func (j *job) runMove(m *move) {
	for {
		g, change, version := j.nextOfMove(m)
		if g == nil {
			return
		}
		err := j.prepare(m.ctx, g)
		switch {
		case err != nil:
		case change == nil:
			err = j.build(m.ctx, g)
		default:
			err = j.follow(m.ctx, g, change)
		}
		j.noteMoved(m, g, change, version, err)
	}
}

// nextOfMove returns the next tiles to build, or all tiles and a change of their labels. It ends the run of a move that has nothing to do,
// and returns nil.
func (j *job) nextOfMove(m *move) (g *group, change *followed, version int) {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	g = &group{session: m.to, member: m.member, copies: map[int]*tile{}}
	for t, c := range m.copies {
		if m.complete() && len(m.queue) > 0 || !m.built[t] && len(g.tiles) < j.tilesAtOnce(m.to) {
			g.tiles = append(g.tiles, t)
			g.copies[t] = &c.tile
		}
	}
	if len(g.tiles) == 0 || m.ctx.Err() != nil {
		m.running = false
		close(m.ended)
		j.fleet.notifyChanged() // an operation takes the tiles over
		return nil, nil, 0
	}
	slices.Sort(g.tiles)
	if m.complete() {
		change = &m.queue[0]
		m.queue = m.queue[1:]
	}
	return g, change, m.version
}

// follow makes the tiles of a group follow a change of the labels.
func (j *job) follow(ctx context.Context, g *group, change *followed) error {
	defer change.labels.free()
	defer change.moves.free()
	if j.ensureOperands != nil {
		if err := j.ensureOperands(ctx, g); err != nil {
			return err
		}
	}
	_, err := j.runCommand(ctx, g, g.tiles, j.sumBytes, func(c *workerv1.Command) {
		if change.labels != nil {
			c.Operation = &workerv1.Command_Load{Load: &workerv1.Load{Step: change.step, Labels: change.labels.message()}}
		} else if g.session.compact() {
			c.Operation = &workerv1.Command_Update{Update: &workerv1.Update{Step: change.step, PackedMoves: change.moves.message()}}
		} else {
			c.Operation = &workerv1.Command_Update{Update: &workerv1.Update{Step: change.step, Moves: change.moves.message()}}
		}
	})
	return err
}

// noteMoved records that tiles of a move were built or have followed a change, or gives the move up. If the worker could not do
// it, its next tiles move at once, so that the operation that needs them finds out why.
func (j *job) noteMoved(m *move, g *group, change *followed, version int, err error) {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	switch {
	case j.moves[m.to] != m: // given up meanwhile
	case change != nil && version != m.version: // useless meanwhile
	case err == nil && change == nil:
		for _, t := range g.tiles {
			if c := m.copies[t]; c != nil && g.copies[t] == &c.tile {
				m.built[t] = true
			}
		}
	case err == nil:
		step := change.step
		if change.moves != nil {
			step++
		}
		for _, t := range g.tiles {
			g.copies[t].step = step
		}
	case m.ctx.Err() == nil:
		j.fleet.log.Warn("a worker cannot build tiles in the background", "job", j.jobID, "worker", m.to.name, "error", err)
		j.direct[m.to] = true
		j.giveUpMove(m)
	}
}

// forget drops what the worker of a move was to follow, because it has become useless. The caller holds f.mu.
func (m *move) forget() {
	m.version++
	m.loaded, m.queue = false, nil
	for t := range m.built {
		m.copies[t].step = 0
	}
}

// followLabels makes moves load the labels of the current step. Tiles of vectors load them faster than they could follow them. Only the
// running operation calls it.
func (j *job) followLabels() {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	for _, m := range j.moves {
		if m.follows = !j.answersChanges; !m.follows || !m.complete() || m.loaded {
			continue
		}
		labels := slices.Clone(j.labels)
		m.loaded, m.queue = true, []followed{{step: j.step, labels: j.fleet.newPayload(func() []byte { return wire.PackInt32s(labels) })}}
		j.continueMove(m)
	}
}

// followMoves makes moves follow the moves from a step to the next. Only the running operation calls it.
func (j *job) followMoves(step uint64, moves []labeling.Move) {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	for _, m := range j.moves {
		if !m.loaded {
			continue
		}
		moves, pack := slices.Clone(moves), wire.PackMoveTriples
		if k := j.k; m.to.compact() {
			pack = func(moves []labeling.Move) []byte { return wire.PackMoves(moves, k) }
		}
		m.queue = append(m.queue, followed{step: step, moves: j.fleet.newPayload(func() []byte { return pack(moves) })})
		j.continueMove(m)
	}
}

// followNothing makes moves forget the labels, which were all replaced.
func (j *job) followNothing() {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	for _, m := range j.moves {
		m.forget()
	}
}

// dropFromMove takes a tile out of the move that it is part of, if any. The caller holds f.mu.
func (j *job) dropFromMove(t int) {
	c := j.moving[t]
	if c == nil {
		return
	}
	m := j.moves[c.worker]
	delete(j.moving, t)
	delete(m.copies, t)
	delete(m.built, t)
	m.to.used -= c.bytes
	m.to.post(&workerv1.Command{JobId: j.key, Tiles: []*workerv1.Tile{{Tile: uint32(t), Epoch: c.epoch}}, Operation: &workerv1.Command_Drop{Drop: &workerv1.Drop{}}})
	if len(m.copies) == 0 {
		j.giveUpMove(m)
	}
}

// giveUpMove ends a move whose tiles stay where they are. The caller holds f.mu.
func (j *job) giveUpMove(m *move) {
	m.cancel()
	m.forget()
	delete(j.moves, m.to)
	for t, c := range m.copies {
		delete(j.moving, t)
		m.to.used -= c.bytes
	}
	m.to.used -= j.needOn(m.to).FixedBytes(m.to.threads)
	m.to.post(&workerv1.Command{JobId: j.key, Operation: &workerv1.Command_Release{Release: &workerv1.Release{}}})
	j.balancedAt = nil
	j.fleet.notifyChanged()
	j.fleet.dismissIfIdle(m.to)
}

// giveUpMoves ends all moves, and reports whether there were any. The caller holds f.mu.
func (j *job) giveUpMoves() bool {
	before := len(j.moves)
	for _, m := range j.moves {
		j.giveUpMove(m)
	}
	return before > 0
}

// reconsiderMoves gives up what is not built of tiles that need not move, if tiles of a draining worker have no new place yet: a
// newcomer that replaces the draining worker should build the tiles of that one. The caller holds f.mu.
func (j *job) reconsiderMoves() {
	if len(j.moving) == 0 || !slices.ContainsFunc(j.unassigned(), func(s *session) bool { return s.yields() }) {
		return
	}
	for t, c := range j.moving {
		if !j.tiles[t].worker.yields() && !j.moves[c.worker].built[t] {
			j.dropFromMove(t)
		}
	}
}

// unassigned returns the workers of the tiles that nobody builds in the background. The caller holds f.mu.
func (j *job) unassigned() []*session {
	var workers []*session
	for t := range j.tiles {
		if s := j.tiles[t].worker; s != nil && j.moving[t] == nil {
			workers = append(workers, s)
		}
	}
	return workers
}

// stopUrgentMoves stops the moves that have tiles which are nowhere else, because their worker is gone. The caller holds f.mu.
func (j *job) stopUrgentMoves() {
	for t, c := range j.moving {
		if s := j.tiles[t].worker; s == nil || s.yields() && !s.working() {
			j.stopMove(j.moves[c.worker])
		}
	}
}

// stopMove makes a move end with the tiles that it has built, so that place takes them over. The caller holds f.mu.
func (j *job) stopMove(m *move) {
	m.cancel()
	j.balancedAt = nil
}

// takeOver places the tiles of moves that are ready on the workers that have built them, and gives up the moves to workers
// that may no longer take tiles. During an operation it takes only the
// tiles of moves that were stopped. It returns a move whose goroutine must end first, or nil. The caller holds f.mu, and no
// operation uses the tiles.
func (j *job) takeOver(betweenOps bool) *move {
	j.unplaceLost()
	j.stopUrgentMoves()
	for s, m := range j.moves {
		if s.ended || s.away || s.stream != nil && !j.newcomer(s) {
			j.giveUpMove(m)
			continue
		}
		if betweenOps && m.complete() {
			if m.waited++; m.waited > maxFollowed {
				j.stopMove(m)
			}
		}
		stopped := m.ctx.Err() != nil
		switch {
		case stopped && m.running:
			return m
		case !stopped && !(betweenOps && m.ready() && s.stream != nil):
			continue
		}
		for t := range m.copies {
			if !m.built[t] {
				j.dropFromMove(t)
			}
		}
		if j.moves[s] != m { // nothing was built
			continue
		}
		m.cancel()
		delete(j.moves, s)
		from := map[*session][]int{}
		for t := range m.copies {
			delete(j.moving, t)
			if was := j.tiles[t].worker; was != nil {
				from[was] = append(from[was], t)
			}
		}
		for was, tiles := range from {
			j.removeFrom(was, tiles)
		}
		j.members[s] = m.member
		for _, c := range m.copies {
			j.adopt(c)
		}
		j.fleet.log.Info("worker took tiles over", "job", j.jobID, "worker", s.name, "tiles", len(m.copies), "of", len(j.tiles))
		j.placementChanged()
	}
	return nil
}
