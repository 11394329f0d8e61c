package signal

import "sync"

// Broadcast tells any number of goroutines that something has changed. Its zero value is ready to use. It is safe for
// concurrent use.
type Broadcast struct {
	mu   sync.Mutex
	next chan struct{} // closed by the next Notify; nil if nobody has asked for it
}

// Wait returns a channel that is closed by the next Notify, the same one until then. To miss no change, call Wait, look
// whether the condition is met, and only then receive from the channel.
func (b *Broadcast) Wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

// Notify wakes up everybody who waits.
func (b *Broadcast) Notify() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}
