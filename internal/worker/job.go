package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/planning"
)

// job is the tiles of one job and the queue of its commands, which run one after the other.
type job struct {
	session *session
	id      string
	ctx     context.Context // ends with the job's release or the session
	cancel  context.CancelFunc

	mu      sync.Mutex
	queue   []*workerv1.Command
	running uint64           // id of the running command; 0: none
	last    *workerv1.Answer // to the last command that was run
	wake    chan struct{}

	pieces atomic.Uint64 // of its work that are done, so that the coordinator sees that it gets on

	// The fields below are used only by the job's own goroutine.
	rows     int
	need     planning.Workload // tells how much memory the job takes
	shard    shard             // nil before the job is prepared
	data     *lease            // of the data set, if the job keeps it
	tiles    map[int]bool      // the built tiles, true if stored
	epochs   map[uint32]uint64 // the newest epoch seen of each tile
	reserved int64             // bytes of the worker's memory
}

func newJob(s *session, id string) *job {
	s.worker.jobs.Add(1)
	j := &job{session: s, id: id, wake: make(chan struct{}, 1), tiles: map[int]bool{}, epochs: map[uint32]uint64{}}
	j.ctx, j.cancel = context.WithCancel(parallel.WithProgress(s.ctx, &j.pieces))
	return j
}

// enqueue queues a command, unless it is queued or running already. If it is the last command that was
// run, its answer is returned, to be sent again.
func (j *job) enqueue(c *workerv1.Command) *workerv1.Answer {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.last != nil && j.last.GetCommandId() == c.GetCommandId() {
		return j.last
	}
	if j.running == c.GetCommandId() {
		return nil
	}
	for _, queued := range j.queue {
		if queued.GetCommandId() == c.GetCommandId() {
			return nil
		}
	}
	j.queue = append(j.queue, c)
	select {
	case j.wake <- struct{}{}:
	default:
	}
	return nil
}

// run runs the queued commands until the job is over.
func (j *job) run() {
	defer j.close()
	for {
		c := j.next()
		if c == nil {
			return
		}
		answer := j.execute(c)
		if j.ctx.Err() != nil {
			return // nobody waits for the answer
		}
		j.mu.Lock()
		j.running, j.last = 0, answer
		j.mu.Unlock()
		j.session.answer(answer)
	}
}

// next waits for a command. It returns nil when the job is over.
func (j *job) next() *workerv1.Command {
	for {
		j.mu.Lock()
		if len(j.queue) > 0 && j.ctx.Err() == nil {
			c := j.queue[0]
			j.queue = j.queue[1:]
			j.running = c.GetCommandId()
			j.mu.Unlock()
			return c
		}
		j.mu.Unlock()
		select {
		case <-j.wake:
		case <-j.ctx.Done():
			return nil
		}
	}
}

// progress tells how far the running command is, nil if there is none.
func (j *job) progress() *workerv1.Progress {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.running == 0 {
		return nil
	}
	// The job may be waiting for a data set that another one fetches, so all that arrives counts.
	return &workerv1.Progress{CommandId: j.running, Pieces: j.pieces.Load() + j.session.worker.received.Load()}
}

// stop ends the job: its running command is canceled, and its goroutine frees its memory soon.
func (j *job) stop() {
	j.session.worker.memory.beginRelease()
	j.cancel()
}

// close frees what the job holds. It runs after stop, the only way to end a job.
func (j *job) close() {
	j.session.worker.jobs.Add(-1)
	j.shard = nil
	j.free(j.reserved)
	if j.data != nil {
		j.data.release()
		j.data = nil
	}
	j.session.worker.memory.endRelease()
}

// reserve reserves memory for the job.
func (j *job) reserve(bytes int64, what string) error {
	err := j.session.worker.memory.reserve(j.ctx, bytes, what)
	if err == nil {
		j.reserved += bytes
	}
	return err
}

func (j *job) free(bytes int64) {
	j.session.worker.memory.free(bytes)
	j.reserved -= bytes
}

// execute runs a command and turns every outcome, even a panic, into an answer.
func (j *job) execute(c *workerv1.Command) (answer *workerv1.Answer) {
	end := j.observe(c)
	defer func() { end(answer) }()
	log := j.session.worker.log.With("job", j.publicID(), "command", fmt.Sprintf("%T", c.GetOperation()))
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic", "panic", p, "stack", string(debug.Stack()))
			answer = failed(c, workerv1.FailureKind_FAILURE_KIND_INTERNAL, "PANIC", fmt.Sprint("panic: ", p))
		}
	}()
	log.Trace("command begins", "tiles", len(c.GetTiles()))
	result, err := j.dispatch(c)
	if err == nil {
		return done(c, result)
	}
	f, isFault := errors.AsType[*fault.Error](err)
	switch {
	case j.ctx.Err() != nil:
	case errors.Is(err, kernel.ErrNotReady):
		return failed(c, workerv1.FailureKind_FAILURE_KIND_NOT_READY, "NOT_READY", err.Error())
	case errors.Is(err, errUnprepared):
		return failed(c, workerv1.FailureKind_FAILURE_KIND_UNPREPARED, "UNPREPARED", err.Error())
	case isFault && f.Kind == fault.ResourceExhausted:
		return failed(c, workerv1.FailureKind_FAILURE_KIND_NO_MEMORY, f.Reason, f.Message)
	case isFault && f.Kind == fault.InvalidArgument:
		return failed(c, workerv1.FailureKind_FAILURE_KIND_INVALID, f.Reason, f.Message)
	default:
		log.Error("command failed", "error", err)
	}
	return failed(c, workerv1.FailureKind_FAILURE_KIND_INTERNAL, "INTERNAL", err.Error())
}
