package fleet

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"net"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/partition"
)

// Verification: some tiles are also built on a second worker, which then does everything that the first one is asked
// to do. Their answers must be identical bit for bit. If they are not, a third worker decides which one is wrong, or
// the coordinator itself if there is no third.

// verifyWindow is the number of operations after which other tiles are verified. A copy costs a build before it can
// verify anything, so it stays for some time.
const verifyWindow = 64

// workersDisagree is the reason of a job whose workers give different answers if it is unknown which is right.
const workersDisagree = "WORKERS_DISAGREE"

// verifiedLocked returns the copies of the given tiles that are verified in this operation. The choice depends only on
// the job and the number of the operation; a tile is left out if no other worker has room for it.
func (e *execution) verifiedLocked(op *operation, tiles []int) map[int]*copied {
	if e.verify <= 0 || op.request == nil && op.reload == nil {
		return nil
	}
	window, helpers, able := e.pace.Operations()/verifyWindow, e.helpersLocked(), map[*session]bool{}
	for _, s := range helpers {
		able[s] = true
	}
	e.placed.dropCopies(func(c *copied) bool {
		return !e.chosen(window, c.number) || c.worker == e.placed.tiles[c.number].worker || !able[c.worker]
	})
	there := map[int]*copied{}
	for _, c := range e.placed.copies {
		there[c.number] = c
	}
	for _, t := range tiles {
		if there[t] == nil && e.chosen(window, t) {
			if c := e.copyForVerificationLocked(t, helpers, e.placed.tiles[t].worker); c != nil {
				there[t] = c
			}
		}
	}
	return there
}

// chosen reports whether a tile is verified in a window of operations.
func (e *execution) chosen(window uint64, t int) bool {
	return float64(e.draw(fmt.Sprint(window, " ", t))>>11) < e.verify*(1<<53)
}

// draw returns a pseudorandom number that depends only on the job and on what.
func (e *execution) draw(what string) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, e.jobID, " ", what)
	return partition.Mix(h.Sum64())
}

// copyForVerificationLocked copies a tile to one of the helpers other than its worker, or returns nil if none has room.
func (e *execution) copyForVerificationLocked(t int, helpers []*session, worker *session) *copied {
	drawn, others := make(map[*session]uint64, len(helpers)), make([]*session, 0, len(helpers))
	for _, s := range helpers {
		if s != worker {
			drawn[s] = e.draw(fmt.Sprint(t, " ", s.id))
			others = append(others, s)
		}
	}
	slices.SortFunc(others, func(a, b *session) int { return cmp.Compare(drawn[a], drawn[b]) })
	return e.placed.copyTo(others, t, true)
}

// compareCopies compares the answers for verified tiles before any of them is used. A worker that is wrong is
// quarantined and its answers are dropped. compareCopies returns ErrDistrusted if earlier answers of that worker were
// used.
func (e *execution) compareCopies(ctx context.Context, groups []*group, op *operation) error {
	first := map[int]*group{}
	for _, g := range groups {
		if g.role == owns && len(g.tiles) == 1 && g.reply() != nil {
			first[g.tiles[0]] = g
		}
	}
	for _, second := range groups {
		if second.role != verifies || second.reply() == nil {
			continue
		}
		t := second.tiles[0]
		if g := first[t]; g != nil && !g.reply().same(second.reply()) && !e.anyWrong(g.session, second.session) {
			liar, err := e.findWrong(ctx, g, second, op)
			if err != nil {
				return err
			}
			e.fleet.mu.Lock()
			e.fleet.quarantineLocked(liar, fault.New(fault.Internal, workerWrong,
				"worker %q returned a different answer to %q for tile %d than another worker and a third computation", liar.name, op.name, t))
			e.fleet.mu.Unlock()
		}
	}
	for _, g := range groups {
		if e.anyWrong(g.session) {
			g.parts, g.err = nil, errLost
		}
	}
	return e.fleet.CheckTrust(e.blame.trust)
}

// findWrong returns which of two workers is wrong about a tile, namely the one that a third worker disagrees with.
func (e *execution) findWrong(ctx context.Context, a, b *group, op *operation) (*session, error) {
	d := &dispute{about: fmt.Sprint("tile ", a.tiles[0]), tile: a.tiles[0], first: a.session, second: b.session}
	third, err := e.decide(ctx, op, d)
	switch {
	case err != nil:
		return nil, err
	case third.same(a.reply()):
		return b.session, nil
	case third.same(b.reply()):
		return a.session, nil
	}
	return nil, d.undecided(op, thirdDisagrees)
}

// dispute is what two workers say that cannot both be true.
type dispute struct {
	about         string
	tile          int // a third worker is asked about this one
	first, second *session
}

// Why a dispute is undecided.
const (
	noThird        = "there is no third worker to break the tie"
	thirdDisagrees = "a third worker disagrees with both"
)

// undecided returns the error of a job if it is unknown which of two workers is right.
func (d *dispute) undecided(op *operation, why string) error {
	return fault.New(fault.Internal, workersDisagree, "workers %q and %q contradict each other in %q for %s, and %s; add one and rerun the job",
		d.first.name, d.second.name, op.name, d.about, why)
}

// decide returns the answer of a third worker for the tile of a dispute, or that of the coordinator itself. If there is
// neither, it returns the error of the job.
func (e *execution) decide(ctx context.Context, op *operation, d *dispute) (*reply, error) {
	e.fleet.log.Error("two workers give different answers; a third one decides", "job", e.jobID, "operation", op.name, "about", d.about,
		"worker", d.first.name, "other", d.second.name)
	third := e.thirdAnswer(ctx, d.tile, op, d.first, d.second)
	if third == nil {
		third = e.askReferee(ctx, d.tile, op)
	}
	switch {
	case context.Cause(ctx) != nil:
		return nil, context.Cause(ctx)
	case third == nil:
		return nil, d.undecided(op, noThird)
	}
	return third, nil
}

// thirdAnswer returns the answer for a tile of a worker outside the given set, or nil if there is none.
func (e *execution) thirdAnswer(ctx context.Context, t int, op *operation, except ...*session) *reply {
	for {
		e.fleet.mu.Lock()
		c := e.copyForVerificationLocked(t, e.helpersLocked(except...), nil)
		var g *group
		if c != nil {
			g = verifier(c, e.placed.members[c.worker])
		}
		e.fleet.mu.Unlock()
		if c == nil {
			return nil
		}
		g.err = e.runGroup(ctx, g, op)
		e.fleet.mu.Lock()
		e.placed.dropCopies(func(other *copied) bool { return other == c })
		e.fleet.mu.Unlock()
		if g.reply() != nil || ctx.Err() != nil {
			return g.reply()
		}
		except = append(except, c.worker)
	}
}

// anyWrong reports whether one of the workers is quarantined.
func (e *execution) anyWrong(sessions ...*session) bool {
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	return slices.ContainsFunc(sessions, func(s *session) bool { return s.wrong != nil })
}

// reply returns the answer of a group of one tile, or nil if it has none.
func (g *group) reply() *reply {
	if g.err != nil || len(g.parts) == 0 {
		return nil
	}
	return g.parts[len(g.parts)-1].reply
}

// same reports whether two answers have the same bits.
func (r *reply) same(other *reply) bool {
	return bytes.Equal(r.values, other.values) && bytes.Equal(r.selfAffinity, other.selfAffinity) && slices.Equal(r.moves, other.moves) &&
		slices.EqualFunc(r.farthest, other.farthest, func(a, b *workerv1.Candidate) bool {
			return math.Float64bits(a.GetDistance()) == math.Float64bits(b.GetDistance()) && proto.Equal(a, b)
		})
}

// Referee runs a worker in the process of the coordinator, which has the data and is trusted anyway. It runs until
// ctx ends and reaches the fleet through dial. It decides when two workers disagree and there is no third.
type Referee func(ctx context.Context, dial func(context.Context, string) (net.Conn, error)) error

// askReferee returns the answer of the coordinator itself for a tile, or nil if it cannot answer.
func (e *execution) askReferee(ctx context.Context, t int, op *operation) *reply {
	f := e.fleet
	if f.cfg.Referee == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	attached := make(chan *session, 1)
	listener := dial.ListenPipe(dial.PipeAddr{}) // no other process can reach it, so whoever attaches here is the referee
	server := grpc.NewServer(ServerOptions()...)
	workerv1.RegisterWorkerServiceServer(server, &service{fleet: f, referee: attached})
	var serving, referee sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // until it is stopped
	refereeCtx, dismiss := context.WithCancel(context.WithoutCancel(ctx))
	referee.Go(func() {
		defer cancel()
		err := f.cfg.Referee(refereeCtx, func(ctx context.Context, _ string) (net.Conn, error) { return listener.Dial(ctx) })
		if err != nil {
			f.log.Warn("the coordinator cannot decide which worker is wrong: its own worker ended", "job", e.jobID, "error", err)
		}
	})
	defer func() {
		dismiss()
		referee.Wait()
		server.Stop()
		serving.Wait()
	}()
	select {
	case s := <-attached:
		f.mu.Lock()
		c := &copied{number: t, tile: tile{worker: s, epoch: e.placed.newEpoch(), wantStored: e.need.StorageRule() == partition.StoreAll}}
		f.mu.Unlock()
		g := verifier(c, &membership{})
		if g.err = e.runGroup(ctx, g, op); g.err != nil {
			f.log.Warn("the coordinator cannot decide which worker is wrong", "job", e.jobID, "error", g.err)
		}
		return g.reply()
	case <-ctx.Done():
		return nil
	}
}

// helpersLocked returns the workers of the job that can take copies of tiles, sorted by id, without those in except.
func (e *execution) helpersLocked(except ...*session) []*session {
	var able []*session
	for s, member := range e.placed.members {
		if member.tiles > 0 && !s.ended && !s.away && e.blame.accepts(s) && !slices.Contains(except, s) {
			able = append(able, s)
		}
	}
	slices.SortFunc(able, func(a, b *session) int { return cmp.Compare(a.id, b.id) })
	return able
}
