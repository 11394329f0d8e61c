package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet/pace"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
)

// ErrReleased is returned by operations that run during or after Release.
var ErrReleased = errors.New("fleet: the job has released its workers")

// Status is the progress of placing a job on workers.
type Status struct {
	Waiting    string // human-readable reason for waiting; "" if not waiting
	TilesBuilt int
	Tiles      int
	Workers    int // workers that hold tiles of the job
}

// progress reports the status of a job to its owner, one call at a time and only if it changed. It is safe for
// concurrent use. report runs while mu is held, so it must not call back.
type progress struct {
	mu     sync.Mutex
	report func(Status)
	last   Status
}

func (p *progress) update(change func(*Status)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.last
	change(&p.last)
	if p.report != nil && p.last != was {
		p.report(p.last)
	}
}

// reportPlaced reports a complete placement. Only the running operation calls it.
func (e *execution) reportPlaced() {
	now := Status{Tiles: len(e.placed.tiles)}
	e.fleet.mu.Lock()
	for t := range e.placed.tiles {
		if e.placed.tiles[t].held.form != notBuilt {
			now.TilesBuilt++
		}
	}
	now.Workers = len(e.placed.members)
	e.fleet.mu.Unlock()
	e.progress.update(func(s *Status) { *s = now })
}

// slowWorker is how many times longer than planned a worker may take for a piece of work.
const slowWorker = 30

// Task describes a job to the fleet.
type Task struct {
	JobID     string
	DatasetID string
	Need      planning.Workload // the matrix, vectors or neighbors, and the memory they take
	Vectors   *vector.RowSpec   // for the k-means family, else nil
	Diagonal  []float64         // for neighbors in a kernel matrix, else nil
	Units     *dataset.Units    // units to convert the data set to first; nil leaves it as it is
	Shared    *Shared           // shared by the executors of a job; nil for a job with one
	Report    func(Status)      // called with every change of the status, never concurrently; may be nil
}

// Shared is what the executors of a job share.
type Shared struct {
	ran   atomic.Bool               // the job had enough memory once
	wrong map[*session]*fault.Error // who gave an answer that cannot be right, and why; Fleet.mu guards it
}

// NewShared returns what the executors of a job share. ran says that the job had enough memory once.
func NewShared(ran bool) *Shared {
	s := &Shared{wrong: map[*session]*fault.Error{}}
	s.ran.Store(ran)
	return s
}

// execution runs a job on workers: it places the job's tiles and runs operations on all of them. It keeps the current
// labels and their step, so that any tile can be rebuilt on any worker. The executor of each family has one. A job of
// several methods has several executions, which share its id but not its key.
//
// Operations run one at a time. Each continues until every tile has answered once, on however many workers that
// takes.
type execution struct {
	// These do not change once the execution has started.
	fleet        *Fleet
	jobID        string
	key          string // the job's id in commands; unique per executor
	datasetID    string
	need         planning.Workload
	rows         int
	units        struct{ center, scale *payload } // applied to the columns of the data set; nil leaves them as they are
	stallTimeout time.Duration                    // how long a command may make no progress
	family       family
	identity     []byte          // distinguishes the job's tiles from those of other jobs; see offers.go
	released     context.Context // canceled by Release
	cancel       context.CancelFunc

	// These are safe for concurrent use.
	ran      *atomic.Bool // of Shared
	pace     *pace.Meter
	progress progress
	lists    atomic.Uint64 // number of lists of tiles sent so far

	operating chan struct{} // semaphore held by the running operation
	current   labelState    // the labels; the running operation owns them
	payloads  []*payload    // freed with the job; the running operation owns them

	// Fleet.mu guards these.
	placed    placement // who has which tile
	handovers handovers // who builds which tile in the background
	blame     blame     // who gets no tiles, or only if there is no other
}

// family is what an execution of one family of algorithms does differently from the others.
type family interface {
	// describe completes a Prepare command.
	describe(p *workerv1.Prepare)
	// ensureOperands sends a worker what it lacks besides tiles.
	ensureOperands(ctx context.Context, worker *group) error
	// changeBytes limits the values in the answer to an update: what the moves change. It is 0 if updates and loads are
	// answered with the sums of all labels instead, which are no values.
	changeBytes() int
}

// answersChanges reports whether updates are answered with changes, and loads with nothing.
func (e *execution) answersChanges() bool { return e.family.changeBytes() > 0 }

// labelState is the labels of a job at a step.
type labelState struct {
	k, lanes int     // clusters of a labeling, and labelings; 0 until there are operands
	labels   []int32 // lane after lane; nil before the first load
	step     uint64  // step of the labels; increases with every load and update
}

func (f *Fleet) newExecution(task Task, family family) *execution {
	shared := task.Shared
	if shared == nil {
		shared = NewShared(false)
	}
	e := &execution{
		operating:    make(chan struct{}, 1),
		fleet:        f,
		jobID:        task.JobID,
		datasetID:    task.DatasetID,
		need:         task.Need,
		rows:         task.Need.Rows(),
		stallTimeout: max(f.cfg.StalledAfter, time.Duration(slowWorker*task.Need.PieceSeconds()*float64(time.Second))),
		ran:          &shared.ran,
		pace:         pace.New(f.cfg.SlowAfter),
		family:       family,
		blame:        newBlame(shared.wrong),
	}
	e.released, e.cancel = context.WithCancel(context.Background())
	if e.need.Scaled = task.Units != nil; e.need.Scaled {
		e.units.center = jobPayload(e, wire.PackFloat64s, task.Units.Center)
		e.units.scale = jobPayload(e, wire.PackFloat64s, task.Units.Scale)
	}
	e.placed = newPlacement(f, e.need)
	e.handovers = newHandovers(&e.placed)
	e.progress = progress{report: task.Report, last: Status{Tiles: len(e.placed.tiles)}}
	return e
}

// start registers the job, places its tiles on workers, and builds those that no worker has.
func (e *execution) start(ctx context.Context) error {
	f := e.fleet
	f.mu.Lock()
	e.key = fmt.Sprintf("%s#%d", e.jobID, f.state.newKeyLocked())
	e.placed.key = e.key
	f.state.executions[e] = struct{}{}
	delete(f.state.damaged, e.datasetID) // it may have been repaired since; the next fetch finds out
	f.mu.Unlock()
	e.adoptOffers(ctx)
	err := e.perform(ctx, &operation{name: "build"})
	if err != nil {
		e.Release()
	}
	return err
}

// Release frees what the execution holds on workers. A running operation fails with ErrReleased.
func (e *execution) Release() {
	f := e.fleet
	f.mu.Lock()
	if _, running := f.state.executions[e]; !running {
		f.mu.Unlock()
		return
	}
	delete(f.state.executions, e)
	e.cancel()
	e.handovers.cancelAllLocked()
	e.placed.removeAllLocked()
	f.notifyLocked()
	f.mu.Unlock()

	e.handovers.active.Wait()
	e.operating <- struct{}{}
	defer func() { <-e.operating }()
	for _, p := range e.payloads {
		p.free()
	}
}
