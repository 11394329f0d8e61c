package fleet

import (
	"fmt"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/wire"
)

// operand is an array that commands carry: packed once, when first needed, for all workers. A big
// one is kept in the fleet for workers to fetch until it is dropped.
type payload struct {
	fleet *Fleet
	pack  func() []byte

	once      sync.Once
	packed    *workerv1.Payload
	reference string
}

func (f *Fleet) newPayload(pack func() []byte) *payload { return &payload{fleet: f, pack: pack} }

// payload is how a command refers to the operand.
func (o *payload) message() *workerv1.Payload {
	if o == nil {
		return nil
	}
	o.once.Do(func() {
		data := o.pack()
		if len(data) <= wire.InlineBytes {
			o.packed = &workerv1.Payload{Where: &workerv1.Payload_Inline{Inline: data}}
			return
		}
		o.fleet.mu.Lock()
		defer o.fleet.mu.Unlock()
		o.fleet.nextPayload++
		o.reference = fmt.Sprintf("operand-%d", o.fleet.nextPayload)
		o.fleet.payloads[o.reference] = data
		o.packed = &workerv1.Payload{Where: &workerv1.Payload_Reference{Reference: o.reference}}
	})
	return o.packed
}

// drop forgets a big operand. Nobody asks for its payload from then on.
func (o *payload) free() {
	if o == nil || o.reference == "" {
		return
	}
	o.fleet.mu.Lock()
	defer o.fleet.mu.Unlock()
	delete(o.fleet.payloads, o.reference)
}
