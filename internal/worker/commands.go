package worker

import (
	"context"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
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
func (q *commands) add(c *workerv1.Command) *workerv1.Answer {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.last != nil && q.last.GetCommandId() == c.GetCommandId() {
		return q.last
	}
	if q.running == c.GetCommandId() {
		return nil
	}
	for _, queued := range q.queue {
		if queued.GetCommandId() == c.GetCommandId() {
			return nil
		}
	}
	q.queue = append(q.queue, c)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return nil
}

// next waits for a command to run. It returns nil when ctx has ended.
func (q *commands) next(ctx context.Context) *workerv1.Command {
	for {
		if c := q.take(ctx); c != nil {
			return c
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// take begins the first command of the queue, or returns nil if there is none or ctx has ended.
func (q *commands) take(ctx context.Context) *workerv1.Command {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) == 0 || ctx.Err() != nil {
		return nil
	}
	c := q.queue[0]
	q.queue, q.running = q.queue[1:], c.GetCommandId()
	return c
}

// finish records the answer to the running command. It returns false if ctx has ended: then nobody waits for the
// answer, and the queue may be that of another session already.
func (q *commands) finish(ctx context.Context, answer *workerv1.Answer) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	q.running, q.last = 0, answer
	return true
}

// reset forgets all commands, because those of another session may have the same ids. The context of the session
// before must have ended.
func (q *commands) reset() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue, q.running, q.last = nil, 0, nil
}

// current returns the id of the running command, or 0 if there is none.
func (q *commands) current() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running
}
