package fleet

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// Workers that lost their coordinator keep the tiles of its jobs for a while and offer them to the next one. That
// coordinator adopts the tiles of the jobs that it resumes, instead of having them rebuilt. Tiles are matched by
// identity, a hash of everything that determines their bits and the memory that they take.

// returnWait is how long after the first worker reattaches a new leader waits before it places a job that was already
// running. It gives the other workers, which retry about twice a second, time to offer what they hold.
const returnWait = 1500 * time.Millisecond

// offer is what a worker that reconnects still holds of a job.
type offer struct {
	id    string
	tiles map[int]bool // true if the tile is stored
	all   int          // number of tiles of the job on all workers
}

func offersOf(hello *workerv1.Hello) map[string]*offer {
	offers := map[string]*offer{}
	for _, o := range hello.GetOffers() {
		tiles := map[int]bool{}
		for _, t := range o.GetComputed() {
			tiles[int(t)] = false
		}
		for _, t := range o.GetStored() {
			tiles[int(t)] = true
		}
		offers[string(o.GetIdentity())] = &offer{id: o.GetId(), tiles: tiles, all: int(o.GetTiles())}
	}
	return offers
}

// Begin sets the term of the coordinator as the leader. It must be called before workers attach; from then on they
// reject coordinators of earlier terms.
func (f *Fleet) Begin(term int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.term = term
}

// AwaitReturn waits for workers of an earlier coordinator, until they offer all tiles of the jobs that they hold, or
// until returnWait after the first of them attached. It returns at once if no worker has attached in this term, so call
// it after the first one has.
func (f *Fleet) AwaitReturn(ctx context.Context) error {
	f.mu.Lock()
	left := returnWait - time.Since(f.state.returned)
	elected := f.state.term > 0
	f.mu.Unlock()
	if left <= 0 || !elected {
		return nil
	}
	over := time.After(left)
	for {
		f.mu.Lock()
		changed := f.changed.Wait()
		complete := f.state.offersAreCompleteLocked()
		f.mu.Unlock()
		if complete {
			return nil
		}
		select {
		case <-changed:
		case <-over:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// offersAreCompleteLocked reports whether there are offers and they contain all tiles of every offered job.
func (st *state) offersAreCompleteLocked() bool {
	offered, all := map[string]map[int]bool{}, map[string]int{}
	for _, s := range st.sessions {
		for identity, o := range s.offers {
			if offered[identity] == nil {
				offered[identity] = map[int]bool{}
			}
			for t := range o.tiles {
				offered[identity][t] = true
			}
			all[identity] = o.all
		}
	}
	for identity, tiles := range offered {
		if len(tiles) < all[identity] {
			return false
		}
	}
	return len(offered) > 0
}

// adoptOffers adopts the tiles of the job that workers offer. Tiles that cannot be adopted are built as usual.
func (e *execution) adoptOffers(ctx context.Context) {
	identity, err := e.computeIdentity()
	if err != nil {
		e.fleet.log.Warn("cannot keep the tiles of the job for the next coordinator", "job", e.jobID, "error", err)
		return
	}
	e.identity = identity
	e.operating <- struct{}{}
	defer func() { <-e.operating }()
	var all sync.WaitGroup
	for _, a := range e.takeOffers() {
		all.Go(func() {
			e.finishAdoption(a.group, fault.Guard(e.fleet.log.Error, func() error {
				c := &workerv1.Command{Operation: &workerv1.Command_Adopt{Adopt: &workerv1.Adopt{Offer: a.offer}}}
				_, err := e.runCommand(ctx, a.group, a.group.tiles, c, 0)
				return err
			}))
		})
	}
	all.Wait()
}

// adoption is the offered tiles that are placed on the worker that offered them.
type adoption struct {
	group *group
	offer string
}

// takeOffers places offered tiles on the workers that offer them. Each tile stays stored or computed as it was; tiles
// in a form that the job does not allow are not taken.
func (e *execution) takeOffers() []adoption {
	f := e.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	var taken []adoption
	for _, s := range f.state.workersLocked() {
		o := s.offers[string(e.identity)]
		if o == nil || !s.takesTilesLocked() {
			continue
		}
		delete(s.offers, string(e.identity))
		g := &group{session: s}
		bytes := fixedBytes(e.need, s)
		for t, stored := range o.tiles {
			if t >= 0 && t < len(e.placed.tiles) && e.placed.tiles[t].worker == nil && e.mayBe(stored) {
				g.tiles = append(g.tiles, t)
				bytes += e.placed.sizes[t].Bytes(stored)
			}
		}
		if len(g.tiles) == 0 || bytes > s.freeLocked() {
			continue
		}
		slices.Sort(g.tiles)
		e.placed.joinLocked(s)
		g.member = e.placed.members[s]
		for _, t := range g.tiles {
			e.placed.putLocked(t, s, o.tiles[t])
		}
		taken = append(taken, adoption{g, o.id})
	}
	return taken
}

// mayBe reports whether the job allows a tile to be stored, or to be not stored.
func (e *execution) mayBe(stored bool) bool {
	rule := e.need.StorageRule()
	return rule == partition.StoreWhatFits || stored == (rule == partition.StoreAll)
}

// finishAdoption marks adopted tiles as built, or takes them off the worker again if err is not nil.
func (e *execution) finishAdoption(g *group, err error) {
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	if e.placed.members[g.session] == nil { // the job was released
		return
	}
	if err != nil {
		e.fleet.log.Info("worker no longer has the tiles that it offered", "job", e.jobID, "worker", g.session.name,
			"why", err)
		for _, t := range g.tiles {
			e.placed.removeLocked(t)
		}
		e.placed.leaveLocked(g.session)
		return
	}
	g.member.prepared = true
	for _, t := range g.tiles {
		e.placed.tiles[t].held.form = builtAs(e.placed.tiles[t].wantStored)
	}
	e.fleet.log.Info("adopted tiles", "job", e.jobID, "worker", g.session.name, "tiles", len(g.tiles),
		"of", len(e.placed.tiles))
}

// computeIdentity returns the hash of what determines the tiles of the job.
func (e *execution) computeIdentity() ([]byte, error) {
	p := proto.CloneOf(e.prepareMessage())
	e.fleet.mu.Lock()
	// Hashing them takes long; those of this job stay until it is released.
	payloads := maps.Clone(e.fleet.state.payloads)
	e.fleet.mu.Unlock()
	inlineHashes(p.ProtoReflect(), payloads)
	described, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
	if err != nil {
		return nil, err
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%d %s %s\n", wire.WorkerProtocol, kernel.NumericClass, e.jobID)
	hash.Write(described)
	return hash.Sum(nil), nil
}

// inlineHashes replaces the references in a message, which differ between coordinators, by hashes of what they refer
// to.
func inlineHashes(m protoreflect.Message, payloads map[string]*payload) {
	if p, is := m.Interface().(*workerv1.Payload); is {
		if referred := payloads[p.GetReference()]; referred != nil {
			hash := sha256.Sum256(referred.data)
			p.Where = &workerv1.Payload_Inline{Inline: hash[:]}
		}
		return
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if field.Message() != nil && !field.IsList() && !field.IsMap() {
			inlineHashes(value.Message(), payloads)
		}
		return true
	})
}
