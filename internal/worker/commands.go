package worker

import (
	"context"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/signal"
)

// commands is the queue of a job's commands, which run one after the other. When its stream breaks, the coordinator
// repeats the commands that it has no answer to, in order. Each runs once: the ids of a session ascend, so a command is
// new if its id is higher than those of all before it. It is safe for concurrent use.
type commands struct {
	wake chan struct{} // signals that the queue is not empty

	mu      sync.Mutex // guards the fields below
	queue   []*workerv1.Command
	newest  uint64           // highest id so far; 0 for none
	running uint64           // id of the running command; 0 for none
	ran     uint64           // id of the last command that ran; 0 for none
	last    *workerv1.Answer // answer to the last command that ran and is no drop: nobody waits for those
}

func newCommands() *commands { return &commands{wake: make(chan struct{}, 1)} }

// add queues a command if it is new, and returns nil. If the command has run, add returns an answer to be sent again.
// The coordinator waits for one command of a job at a time: its answer is the last one. Nobody waits for any other, but
// the coordinator repeats a command until it is answered, so add returns that it is done.
func (c *commands) add(command *workerv1.Command) *workerv1.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch id := command.GetCommandId(); {
	case id > c.newest:
		c.newest = id
		c.queue = append(c.queue, command)
		signal.Wake(c.wake)
		return nil
	case id > c.ran: // it runs, or is queued
		return nil
	case c.last.GetCommandId() == id:
		return c.last
	}
	return done(command, &workerv1.Done{})
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
func (c *commands) finish(ctx context.Context, command *workerv1.Command, answer *workerv1.Answer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	c.running = 0
	c.ran = command.GetCommandId()
	if command.GetDrop() == nil {
		c.last = answer
	}
	return true
}

// reset forgets all commands, because those of another session may have the same ids. The context of the session
// before must have ended.
func (c *commands) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue, c.newest, c.running, c.ran, c.last = nil, 0, 0, 0, nil
}

// current returns the id of the running command, or 0 if there is none.
func (c *commands) current() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running
}
