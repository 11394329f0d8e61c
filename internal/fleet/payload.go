package fleet

import (
	"fmt"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/wire"
)

// payload is an array of a command. It is packed once for all workers, when the first command needs it.
// A large one stays in Fleet.payloads, where workers fetch it, until it is freed.
type payload struct {
	fleet *Fleet
	pack  func() []byte

	once      sync.Once
	packed    *workerv1.Payload
	reference string
}

func (f *Fleet) newPayload(pack func() []byte) *payload { return &payload{fleet: f, pack: pack} }

// message is the payload as part of a command.
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
		o.reference = fmt.Sprintf("payload-%d", o.fleet.nextPayload)
		o.fleet.payloads[o.reference] = data
		o.packed = &workerv1.Payload{Where: &workerv1.Payload_Reference{Reference: o.reference}}
	})
	return o.packed
}

// free removes a large payload from the fleet. Its message must not be used afterwards.
func (o *payload) free() {
	if o == nil || o.reference == "" {
		return
	}
	o.fleet.mu.Lock()
	defer o.fleet.mu.Unlock()
	delete(o.fleet.payloads, o.reference)
}
