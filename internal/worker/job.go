package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/refusal"
	"github.com/cleave-project/cleave/internal/worker/exchange"
)

// job holds the tiles of one job. Its goroutine runs its commands, one after the other. A job is bound to one session
// at a time: a job that is kept after its session may be bound to another one later.
type job struct {
	worker   *worker
	offerID  string        // unique among all jobs of the worker
	commands *commands     // to run
	pieces   atomic.Uint64 // pieces of work done, which show the coordinator that the job makes progress
	holding  holding       // what the job offers to another coordinator

	mu    sync.Mutex    // guards the fields below
	bound binding       // of the newest goroutine
	ended chan struct{} // closed when that goroutine has returned

	// The fields below are used only by the job's own goroutine.
	perSession
	rows      int
	need      planning.Workload // determines how much memory the job takes
	shard     shard             // nil before the job is prepared
	data      *lease            // the data set, if the job keeps it
	share     *exchange.Share   // the job's part in the distribution of the data set; nil if it has none
	rowPieces *rowPieces        // what tiles of a job by rows are built from; nil for other jobs
	datasetID string            // empty until the data set is opened
	tiles     map[int]bool      // the built tiles; true if stored
	reserved  int64             // bytes reserved of the worker's memory
	reading   *objectReading    // the object that an import reads; nil for other jobs
}

// perSession is what a job has of its session. It is replaced as a whole when a kept job is bound to another one.
type perSession struct {
	binding
	epochs map[uint32]uint64 // newest epoch seen of each tile
	lists  []tileList        // remembered lists of tiles, by ascending number
	models numberedValues    // of the last queries
}

func newPerSession(b binding) perSession { return perSession{binding: b, epochs: map[uint32]uint64{}} }

// binding ties a job to a session.
type binding struct {
	session *session
	id      string          // the job's id in the commands of the session
	ctx     context.Context // ends with the job's release or the session
	cancel  context.CancelFunc
	kept    *atomic.Bool // the job outlives the session
}

func newJob(w *worker) *job {
	w.jobs.Add(1)
	return &job{
		worker: w, offerID: strconv.FormatUint(w.offers.Add(1), 10), commands: newCommands(),
		tiles: map[int]bool{}, perSession: newPerSession(binding{}),
	}
}

// newBinding returns a binding of the job to a session.
func (j *job) newBinding(s *session, id string) binding {
	b := binding{session: s, id: id, kept: &atomic.Bool{}}
	b.ctx, b.cancel = context.WithCancel(parallel.WithProgress(s.ctx, &j.pieces))
	return b
}

// bind makes a new or kept job part of a session and runs its commands. A kept job first finishes what it did before.
func (j *job) bind(s *session, id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	before, ended, b := j.ended, make(chan struct{}), j.newBinding(s, id)
	j.bound, j.ended = b, ended
	j.commands.reset()
	j.worker.running.Go(func() {
		defer close(ended)
		if before != nil {
			<-before
		}
		j.run(b)
	})
}

// run runs the queued commands until the job is over or its session is.
func (j *job) run(b binding) {
	j.perSession = newPerSession(b)
	j.leave() // the share is that of the session before, and may look alive while it still stores a piece
	defer func() {
		if !b.kept.Load() {
			j.close()
		}
	}()
	for {
		c := j.commands.next(j.ctx)
		if c == nil {
			return
		}
		answer := j.execute(c)
		if !j.commands.finish(j.ctx, c, answer) {
			return
		}
		j.session.answer(answer)
	}
}

// progress returns the progress of the running command, or nil if there is none.
func (j *job) progress() *workerv1.Progress {
	running := j.commands.current()
	if running == 0 {
		return nil
	}
	// The job may be waiting for a data set that another job fetches, so everything that arrives counts.
	return &workerv1.Progress{CommandId: running, Pieces: j.pieces.Load() + j.worker.received.Load()}
}

// stop ends the job: its running command is canceled, and its goroutine frees its memory soon after.
func (j *job) stop() {
	j.worker.memory.beginRelease()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.bound.cancel()
}

// close frees what the job holds. It must run after memory.beginRelease, which stop and dropKept call.
func (j *job) close() {
	j.worker.jobs.Add(-1)
	j.closeObject()
	j.shard = nil
	j.leave()
	j.free(j.reserved)
	if j.data != nil {
		j.data.release()
		j.data = nil
	}
	j.worker.memory.endRelease()
}

// reserve reserves memory for the job.
func (j *job) reserve(bytes int64, what string) error {
	err := j.worker.memory.reserve(j.ctx, bytes, what)
	if err == nil {
		j.reserved += bytes
	}
	return err
}

func (j *job) free(bytes int64) {
	j.worker.memory.free(bytes)
	j.reserved -= bytes
}

// execute runs a command and turns every outcome, even a panic, into an answer.
func (j *job) execute(c *workerv1.Command) (answer *workerv1.Answer) {
	known := j.recallTiles(c)
	end := j.observe(c)
	defer func() { end(answer) }()
	log := j.worker.log.With("job", j.publicID(), "command", fmt.Sprintf("%T", c.GetOperation()))
	defer func() {
		if p := recover(); p != nil {
			log.Error("a command panicked", "panic", p, "stack", string(debug.Stack()))
			answer = failed(c, workerv1.FailureKind_FAILURE_KIND_INTERNAL, "PANIC", fmt.Sprint("panic: ", p))
		}
	}()
	if !known {
		why := fmt.Sprintf("the worker does not remember tile list %d", c.GetTilesId())
		return failed(c, workerv1.FailureKind_FAILURE_KIND_NOT_READY, "NOT_READY", why)
	}
	log.Trace("command begins", "tiles", len(c.GetTiles()))
	result, err := j.dispatch(c)
	if err == nil {
		return done(c, result)
	}
	err = refusal.Of(err)
	f, isFault := errors.AsType[*fault.Error](err)
	switch {
	case j.ctx.Err() != nil:
	case errors.Is(err, kernel.ErrNotReady):
		return failed(c, workerv1.FailureKind_FAILURE_KIND_NOT_READY, "NOT_READY", err.Error())
	case errors.Is(err, errUnprepared):
		return failed(c, workerv1.FailureKind_FAILURE_KIND_UNPREPARED, "UNPREPARED", err.Error())
	case isFault && f.Kind == fault.ResourceExhausted:
		return failed(c, workerv1.FailureKind_FAILURE_KIND_NO_MEMORY, f.Reason, f.Message)
	case isFault && (f.Kind == fault.InvalidArgument || f.Kind == fault.FailedPrecondition):
		return failed(c, workerv1.FailureKind_FAILURE_KIND_INVALID, f.Reason, f.Message)
	case isFault && f.Kind == fault.Unavailable:
		log.Warn("command failed", "error", err)
		return failed(c, workerv1.FailureKind_FAILURE_KIND_INTERNAL, f.Reason, f.Message)
	default:
		log.Error("command failed", "error", err)
	}
	return failed(c, workerv1.FailureKind_FAILURE_KIND_INTERNAL, "INTERNAL", err.Error())
}
