package fleet

import (
	"fmt"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/wire"
)

// operand is an array that commands carry: packed once, when first needed, for all workers. A big
// one is kept in the fleet for workers to fetch until it is dropped.
type operand struct {
	fleet *Fleet
	pack  func() []byte

	once      sync.Once
	ready     *workerv1.Payload
	reference string
}

func (f *Fleet) operand(pack func() []byte) *operand { return &operand{fleet: f, pack: pack} }

// payload is how a command refers to the operand.
func (o *operand) payload() *workerv1.Payload {
	if o == nil {
		return nil
	}
	o.once.Do(func() {
		data := o.pack()
		if len(data) <= wire.InlineBytes {
			o.ready = &workerv1.Payload{Where: &workerv1.Payload_Inline{Inline: data}}
			return
		}
		o.fleet.mu.Lock()
		defer o.fleet.mu.Unlock()
		o.fleet.nextOperand++
		o.reference = fmt.Sprintf("operand-%d", o.fleet.nextOperand)
		o.fleet.operands[o.reference] = data
		o.ready = &workerv1.Payload{Where: &workerv1.Payload_Reference{Reference: o.reference}}
	})
	return o.ready
}

// drop forgets a big operand. Nobody asks for its payload from then on.
func (o *operand) drop() {
	if o == nil || o.reference == "" {
		return
	}
	o.fleet.mu.Lock()
	defer o.fleet.mu.Unlock()
	delete(o.fleet.operands, o.reference)
}
