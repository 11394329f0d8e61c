// Package waitlock has a mutex for those who hold it while they wait, for a store or for workers. Who waits for it waits
// in a channel, so that testing/synctest, for which a goroutine at a sync.Mutex is about to go on, lets time pass.
package waitlock

import "sync"

// Lock is a lock that one holds alone, or any number share. The zero value is free.
type Lock struct {
	mu     sync.Mutex
	held   bool          // alone
	shared int           // by so many
	wanted int           // by so many who want it alone, for whom those who come to share it wait
	freed  chan struct{} // closed when it may be free; nil while nobody waits
}

// Lock takes the lock alone.
func (l *Lock) Lock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wanted++
	for l.held || l.shared > 0 {
		l.wait()
	}
	l.wanted--
	l.held = true
}

// TryLock takes the lock alone if it is free.
func (l *Lock) TryLock() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held || l.shared > 0 {
		return false
	}
	l.held = true
	return true
}

// RLock takes the lock together with others who share it.
func (l *Lock) RLock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.held || l.wanted > 0 {
		l.wait()
	}
	l.shared++
}

// wait waits until the lock may be free. l.mu is held, but not meanwhile.
func (l *Lock) wait() {
	if l.freed == nil {
		l.freed = make(chan struct{})
	}
	freed := l.freed
	l.mu.Unlock()
	<-freed
	l.mu.Lock()
}

// Unlock frees a lock that is held alone.
func (l *Lock) Unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held {
		panic("waitlock: Unlock of a lock that is not held")
	}
	l.held = false
	l.wake()
}

// RUnlock frees a share of the lock.
func (l *Lock) RUnlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shared == 0 {
		panic("waitlock: RUnlock of a lock that is not shared")
	}
	l.shared--
	l.wake()
}

func (l *Lock) wake() {
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}
