// Package crew lets several threads work on numbered pieces of a task.
package crew

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Crew is threads at work on numbered pieces. It stays with its owner, so that calling it together
// allocates nothing. It does one task at a time.
type Crew struct {
	do     func(at int) error
	count  int
	next   atomic.Int64
	group  sync.WaitGroup
	orders chan context.Context // one for each member of the crew beside the caller
	member func()               // what such a member does

	mutex   sync.Mutex
	failure error
	failed  int
}

// New makes a crew of at most so many threads, the caller being one.
func New(threads int) *Crew {
	c := &Crew{orders: make(chan context.Context, max(1, threads))}
	c.member = func() {
		defer c.group.Done()
		c.work(<-c.orders)
	}
	return c
}

// Run calls do for 0..count-1, on as many of the threads as are wanted. Of several errors the one with the lowest number wins, so that the same
// input gives the same error; a panic is an error too, since nobody could recover it from a goroutine.
func (c *Crew) Run(ctx context.Context, threads, count int, do func(at int) error) error {
	c.do, c.count, c.failure, c.failed = do, count, nil, count
	c.next.Store(0)
	for range min(cap(c.orders), threads, count) - 1 {
		c.group.Add(1)
		c.orders <- ctx
		go c.member()
	}
	c.work(ctx)
	c.group.Wait()
	c.do = nil
	return c.failure
}

// work does pieces until there are none.
func (c *Crew) work(ctx context.Context) {
	for {
		at := int(c.next.Add(1)) - 1
		if at >= c.count {
			return
		}
		err := ctx.Err()
		if err == nil {
			err = c.guarded(at)
		}
		if err != nil {
			c.mutex.Lock()
			if at < c.failed {
				c.failure, c.failed = err, at
			}
			c.mutex.Unlock()
		}
	}
}

func (c *Crew) guarded(at int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return c.do(at)
}
