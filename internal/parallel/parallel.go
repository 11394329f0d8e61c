// Package parallel runs the numbered pieces of a task on several goroutines, and lends them scratch space. It decides
// nothing about the work itself: results must not depend on which goroutine runs a piece.
//
// Operations that a user may cancel take a context, which says how many threads they may use (Threads). Making a table
// or a data set from what was read takes none: it uses all processors and runs to its end.
package parallel

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Pool runs tasks on several goroutines, one task at a time: Run panics while another Run of the same pool is in
// progress. Reusing a pool avoids allocations when a task starts.
type Pool struct {
	threads int
	running atomic.Bool
	group   sync.WaitGroup
	thread  func() // body of each goroutine besides the caller

	// The task: set before its goroutines start.
	ctx   context.Context
	do    func(at int) error
	count int
	next  atomic.Int64

	// mutex guards failure and failed.
	mutex   sync.Mutex
	failure error
	failed  int // index of the piece that failure belongs to; count if none failed
}

// NewPool returns a pool of the given number of goroutines, at least one, including the caller's.
func NewPool(threads int) *Pool {
	p := &Pool{threads: max(1, threads)}
	p.thread = func() {
		defer p.group.Done()
		p.work()
	}
	return p
}

// Threads returns the number of goroutines.
func (p *Pool) Threads() int { return p.threads }

// Run calls do for the pieces 0..count-1, in this order, on the goroutines of the pool and waits for all of them. Once
// a piece fails, it starts no others. If several pieces fail, it returns the error of the lowest, so that the same
// input gives the same error. Once ctx is done, remaining pieces fail with its error. A panic in do becomes an error,
// because the caller could not recover from it on another goroutine.
func (p *Pool) Run(ctx context.Context, count int, do func(at int) error) error {
	return p.RunOn(ctx, p.threads, count, do)
}

// RunOn is Run on at most the given number of the pool's goroutines, for tasks that are too small for all of them.
func (p *Pool) RunOn(ctx context.Context, threads, count int, do func(at int) error) error {
	if !p.running.CompareAndSwap(false, true) {
		panic("parallel: a pool runs one task at a time")
	}
	defer p.running.Store(false)
	p.ctx, p.do, p.count = ctx, do, count
	p.failure, p.failed = nil, count
	p.next.Store(0)
	for range min(p.threads, threads, count) - 1 {
		p.group.Add(1)
		go p.thread()
	}
	p.work()
	p.group.Wait()
	p.ctx, p.do = nil, nil
	return p.failure
}

// Run is Pool.Run with a pool that is used once.
func Run(ctx context.Context, threads, count int, do func(at int) error) error {
	return NewPool(threads).Run(ctx, count, do)
}

// Ranges calls do for consecutive ranges of 0..n-1, each of the given size, on the context's threads. Once ctx is done,
// it returns the context's error. A panic in do becomes a panic of the caller, which can recover from it.
func Ranges(ctx context.Context, n, size int, do func(from, to int)) error {
	err := Run(ctx, Threads(ctx), (n+size-1)/size, func(at int) error {
		do(at*size, min((at+1)*size, n))
		return nil
	})
	if err != nil && err != ctx.Err() { // do returns no errors, so it is a panic
		panic(err)
	}
	return err
}

// threadsKey is the context key of the number of threads.
type threadsKey struct{}

// WithThreads returns a context for a task that may use the given number of threads, at least one, because others run
// beside it.
func WithThreads(ctx context.Context, threads int) context.Context {
	return context.WithValue(ctx, threadsKey{}, max(1, threads))
}

// Threads returns the number of threads that a task in this context may use, by default all processors.
func Threads(ctx context.Context) int {
	if threads, limited := ctx.Value(threadsKey{}).(int); limited {
		return threads
	}
	return runtime.GOMAXPROCS(0)
}

// progressKey is the context key of the progress counter.
type progressKey struct{}

// WithProgress returns a context with a counter. Every Run in that context adds 1 to it for each finished piece.
func WithProgress(ctx context.Context, pieces *atomic.Uint64) context.Context {
	return context.WithValue(ctx, progressKey{}, pieces)
}

// work runs pieces until none are left.
func (p *Pool) work() {
	pieces, counted := p.ctx.Value(progressKey{}).(*atomic.Uint64)
	for {
		at := int(p.next.Add(1)) - 1
		if at >= p.count {
			return
		}
		err := p.ctx.Err()
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
			p.next.Store(int64(p.count)) // lower pieces have started, and errors of higher ones do not count
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
