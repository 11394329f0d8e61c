// Package waitlock has a mutex for those who hold it while they wait, for a store or for workers. Who waits for it waits
// in a channel, so that testing/synctest, for which a goroutine at a sync.Mutex is about to go on, lets time pass.
package waitlock

import "sync"

// Lock is a mutual exclusion lock. The zero value is unlocked.
type Lock struct {
	mu    sync.Mutex
	held  bool
	freed chan struct{} // closed when the lock is free again; nil while nobody waits
}

// Lock waits until the lock is free and takes it.
func (l *Lock) Lock() {
	for {
		freed := l.take()
		if freed == nil {
			return
		}
		<-freed
	}
}

// TryLock takes the lock if it is free.
func (l *Lock) TryLock() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	free := !l.held
	l.held = true
	return free
}

// take takes the lock if it is free, and otherwise says what to wait for.
func (l *Lock) take() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held {
		l.held = true
		return nil
	}
	if l.freed == nil {
		l.freed = make(chan struct{})
	}
	return l.freed
}

// Unlock frees the lock. It panics if the lock is free.
func (l *Lock) Unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held {
		panic("waitlock: Unlock of a lock that is free")
	}
	l.held = false
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}
