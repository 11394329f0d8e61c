package worker

import (
	"context"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"

	"github.com/cleave-project/cleave/internal/signal"
)

// commands is the queue of a job's commands, which run one after the other. The coordinator repeats commands when its
// stream breaks. Each runs once: a command is in the queue, runs, or is the last that ran, or it is a new one. It is
// safe for concurrent use.
type commands struct {
	wake chan struct{} // signals that the queue is not empty

	mu      sync.Mutex // guards the fields below
	queue   []*workerv1.Command
	running uint64           // id of the running command; 0 for none
	last    *workerv1.Answer // answer to the last command that ran
}

func newCommands() *commands { return &commands{wake: make(chan struct{}, 1)} }

// add queues a command, unless it is queued or runs already. If it was the last that ran, add returns its answer, to
// be sent again; otherwise it returns nil.
func (c *commands) add(command *workerv1.Command) *workerv1.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && c.last.GetCommandId() == command.GetCommandId() {
		return c.last
	}
	if c.running == command.GetCommandId() {
		return nil
	}
	for _, queued := range c.queue {
		if queued.GetCommandId() == command.GetCommandId() {
			return nil
		}
	}
	c.queue = append(c.queue, command)
	signal.Wake(c.wake)
	return nil
}

// next waits for a command to run. It returns nil when ctx has ended.
func (c *commands) next(ctx context.Context) *workerv1.Command {
	for {
		if command := c.take(ctx); command != nil {
			return command
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// take begins the first command of the queue, or returns nil if there is none or ctx has ended.
func (c *commands) take(ctx context.Context) *workerv1.Command {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 || ctx.Err() != nil {
		return nil
	}
	command := c.queue[0]
	c.queue, c.running = c.queue[1:], command.GetCommandId()
	return command
}

// finish records the answer to the running command. It returns false if ctx has ended: then nobody waits for the
// answer, and the queue may be that of another session already.
func (c *commands) finish(ctx context.Context, answer *workerv1.Answer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	c.running, c.last = 0, answer
	return true
}

// reset forgets all commands, because those of another session may have the same ids. The context of the session
// before must have ended.
func (c *commands) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue, c.running, c.last = nil, 0, nil
}

// current returns the id of the running command, or 0 if there is none.
func (c *commands) current() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running
}
