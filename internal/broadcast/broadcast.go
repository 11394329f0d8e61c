// Package broadcast wakes up everybody who waits for a change.
package broadcast

import "sync"

// Signal tells any number of goroutines that something has changed. Its zero value is ready to use. It is safe for
// concurrent use.
type Signal struct {
	mu   sync.Mutex
	next chan struct{} // closed by the next Notify; nil if nobody has asked for it
}

// Wait returns a channel that is closed by the next Notify, the same one until then. To miss no change, call Wait, look
// whether the condition is met, and only then receive from the channel.
func (s *Signal) Wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(chan struct{})
	}
	return s.next
}

// Notify wakes up everybody who waits.
func (s *Signal) Notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
}
