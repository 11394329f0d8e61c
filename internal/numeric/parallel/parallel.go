// Package parallel runs the numbered pieces of a task on several threads.
package parallel

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Pool runs tasks on several threads, one task at a time. It is reused, so that starting a task allocates
// nothing.
type Pool struct {
	do     func(at int) error
	count  int
	next   atomic.Int64
	group  sync.WaitGroup
	starts chan context.Context // carries the task's context to each thread beside the caller
	thread func()               // what such a thread runs

	mutex   sync.Mutex
	failure error
	failed  int
}

// NewPool makes a pool with a maximum number of threads, the caller's included.
func NewPool(threads int) *Pool {
	p := &Pool{starts: make(chan context.Context, max(1, threads))}
	p.thread = func() {
		defer p.group.Done()
		p.work(<-p.starts)
	}
	return p
}

// Run calls do for the pieces 0..count-1 on at most the given number of threads. Of several errors it returns
// that of the lowest piece, so that the same input gives the same error. A panic becomes an error, because the
// caller could not recover from it on another goroutine.
func (p *Pool) Run(ctx context.Context, threads, count int, do func(at int) error) error {
	p.do, p.count, p.failure, p.failed = do, count, nil, count
	p.next.Store(0)
	for range min(cap(p.starts), threads, count) - 1 {
		p.group.Add(1)
		p.starts <- ctx
		go p.thread()
	}
	p.work(ctx)
	p.group.Wait()
	p.do = nil
	return p.failure
}

// progressKey is the key of a context's counter.
type progressKey struct{}

// WithProgress gives a context a counter of the pieces that are done, of all tasks that run in it.
func WithProgress(ctx context.Context, pieces *atomic.Uint64) context.Context {
	return context.WithValue(ctx, progressKey{}, pieces)
}

// work takes one piece after the other until none are left.
func (p *Pool) work(ctx context.Context) {
	pieces, counted := ctx.Value(progressKey{}).(*atomic.Uint64)
	for {
		at := int(p.next.Add(1)) - 1
		if at >= p.count {
			return
		}
		err := ctx.Err()
		if err == nil {
			err = p.guarded(at)
		}
		if counted {
			pieces.Add(1)
		}
		if err != nil {
			p.mutex.Lock()
			if at < p.failed {
				p.failure, p.failed = err, at
			}
			p.mutex.Unlock()
		}
	}
}

func (p *Pool) guarded(at int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return p.do(at)
}
