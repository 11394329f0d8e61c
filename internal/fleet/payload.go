package fleet

import (
	"fmt"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
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
