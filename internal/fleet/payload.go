package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// payload is an array in a command. It is packed once for all workers, when the first command needs it. A large
// payload stays in Fleet.payloads, where workers fetch it, until it is freed. A nil payload is valid and empty.
type payload struct {
	fleet *Fleet
	pack  func() []byte

	once      sync.Once
	packed    *workerv1.Payload
	reference string // guarded by Fleet.mu
	freed     bool   // guarded by Fleet.mu
}

func (f *Fleet) newPayload(pack func() []byte) *payload { return &payload{fleet: f, pack: pack} }

// message returns the payload as part of a command, or nil if p is nil.
func (p *payload) message() *workerv1.Payload {
	if p == nil {
		return nil
	}
	p.once.Do(func() {
		data := p.pack()
		if len(data) <= wire.InlineBytes {
			p.packed = &workerv1.Payload{Where: &workerv1.Payload_Inline{Inline: data}}
			return
		}
		p.fleet.mu.Lock()
		defer p.fleet.mu.Unlock()
		p.fleet.nextPayload++
		p.reference = fmt.Sprintf("payload-%d", p.fleet.nextPayload)
		if !p.freed { // otherwise nobody waits for the command that needs it
			p.fleet.payloads[p.reference] = data
		}
		p.packed = &workerv1.Payload{Where: &workerv1.Payload_Reference{Reference: p.reference}}
	})
	return p.packed
}

// free removes a large payload from the fleet. Its message must not be used afterward.
func (p *payload) free() {
	if p == nil {
		return
	}
	p.fleet.mu.Lock()
	defer p.fleet.mu.Unlock()
	p.freed = true
	delete(p.fleet.payloads, p.reference)
}

// copied is a copy of a tile on a second worker, to verify the first one or to overtake it.
type copied struct {
	tile
	number int
	bytes  int64
}

// newEpoch returns a new number for a placement or a copy of a tile, so that workers can tell them apart. The caller
// holds f.mu.
func (j *job) newEpoch() uint64 {
	j.epochs++
	return j.epochs
}

// helpers returns the workers of the job that can take copies of tiles, sorted by id, without those in except. The
// caller holds f.mu.
func (j *job) helpers(except ...*session) []*session {
	var able []*session
	for s, member := range j.members {
		if member.tiles > 0 && s.takesTiles() && !s.ended && !s.away && j.refused(s) == nil && !j.doubts(s) && !j.full[s] && !slices.Contains(except, s) {
			able = append(able, s)
		}
	}
	slices.SortFunc(able, func(a, b *session) int { return cmp.Compare(a.id, b.id) })
	return able
}

// copyTo reserves room for a copy of a tile on a worker of the job. The copy is stored only if stored is set and
// there is room. copyTo returns nil if there is no room at all. The caller holds f.mu.
func (j *job) copyTo(s *session, t int, stored bool) *copied {
	free, rule := s.capacity()-s.used, j.need.StorageRule()
	stored = rule == partition.StoreAll || stored && rule != partition.StoreNone
	bytes := j.sizes[t].Bytes(stored)
	if bytes > free && stored && rule == partition.StoreWhatFits {
		stored, bytes = false, j.sizes[t].Bytes(false)
	}
	if bytes > free {
		return nil
	}
	c := &copied{tile: tile{worker: s, epoch: j.newEpoch(), wantStored: stored}, number: t, bytes: bytes}
	s.used += bytes
	j.copies[c] = struct{}{}
	return c
}

// dropCopies frees the copies for which is returns true, and reports whether there were any. The caller holds f.mu.
func (j *job) dropCopies(is func(*copied) bool) bool {
	dropped := map[*session][]*workerv1.Tile{}
	for c := range j.copies {
		if is(c) {
			delete(j.copies, c)
			c.worker.used -= c.bytes
			dropped[c.worker] = append(dropped[c.worker], &workerv1.Tile{Tile: uint32(c.number), Epoch: c.epoch})
		}
	}
	for s, tiles := range dropped {
		if !s.ended && j.members[s] != nil {
			s.post(&workerv1.Command{JobId: j.key, Tiles: tiles, Operation: &workerv1.Command_Drop{Drop: &workerv1.Drop{}}})
		}
	}
	return len(dropped) > 0
}

// forgetCopies removes the copies on a worker that no longer has them. The caller holds f.mu.
func (j *job) forgetCopies(s *session) {
	for c := range j.copies {
		if c.worker == s {
			delete(j.copies, c)
			s.used -= c.bytes
		}
	}
}

// adopt makes a copy the placement of its tile, which must not be placed. The caller holds f.mu.
func (j *job) adopt(c *copied) {
	delete(j.copies, c)
	j.tiles[c.number] = c.tile
	j.members[c.worker].tiles++
	c.worker.tiles++
	j.usage.record(c.wantStored)
}
