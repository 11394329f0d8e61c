package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
)

// ErrReleased is the error of operations after Release.
var ErrReleased = errors.New("fleet: the job has released its workers")

// Status is the progress of placing a job on workers.
type Status struct {
	Waiting    string // what the job is waiting for, for people; empty when it is not
	TilesBuilt int
	Tiles      int
	Workers    int // that hold tiles of the job
}

// Task describes a job to the fleet.
type Task struct {
	JobID     string
	DatasetID string
	Need      planning.Workload // the matrix, the vectors or the neighbors, and the memory they take
	Vectors   *vector.RowSpec   // for a job of the vector family
	Diagonal  []float64         // for neighbors in a kernel matrix
	Units     *dataset.Units    // that the data set is put into first; nil: it is taken as it is
	Verify    float64           // the share of the tiles whose answers are compared with those of another worker
	Trust     *Trust            // what executors of the job share about their workers; may be nil
	Ran       *atomic.Bool      // whether there was memory enough for the job once; its executors share and set it; may be nil
	Report    func(Status)      // called with every change of the status, one call at a time; may be nil
}

// job is what the executors of both families have in common: the placement of a job's tiles on workers,
// and running an operation on all of them. It keeps the current labels and their step, so that any tile
// can be rebuilt on any worker.
//
// Operations run one at a time. Each continues until every tile has answered once, on however many
// workers that takes.
type job struct {
	fleet          *Fleet
	jobID          string
	key            string // the job's id in commands; no two executors have the same
	datasetID      string
	need           planning.Workload
	units          struct{ center, scale *payload } // of the columns of the data set; nil: as they are
	rows           int
	sizes          []partition.Size                               // of the tiles
	patience       time.Duration                                  // how long a command may make no progress
	describe       func(p *workerv1.Prepare)                      // completes a Prepare command
	ensureOperands func(ctx context.Context, worker *group) error // gives a worker what it lacks beside tiles; may be nil
	sumBytes       int                                            // limits the sums that a load or update answers with
	answersChanges bool                                           // updates answer with changes, and loads with nothing
	payloads       []*payload                                     // freed with the job
	identity       []byte                                         // tells the worker's tiles from those of other jobs

	operating chan struct{} // semaphore: held by the operation that is running
	k, lanes  int           // clusters of a labeling, and labelings; 0 before there are operands
	labels    []int32       // lane after lane; nil before the first load
	step      uint64        // of the labels; increases with every load and update
	ran       *atomic.Bool  // there was memory enough for the job once
	verify    float64
	trust     *Trust
	pace      *pace
	progress  progress
	ctx       context.Context // canceled by Release
	cancel    context.CancelFunc

	// Guarded by Fleet.mu. The fields of tiles and members are also used by the running operation.
	tiles      []tile
	members    map[*session]*membership
	failing    map[*session]bool         // had an internal error: used only when there is no other
	full       map[*session]bool         // reported that it has no memory left
	aside      map[*session]*fault.Error // cannot do the job, and why: gets no tiles of it
	copies     map[*copied]struct{}      // of tiles that are verified, or late
	epochs     uint64                    // placements and copies of tiles so far
	ops        int                       // operations since tiles were last placed
	balancedAt <-chan struct{}           // Fleet.changed when the placement was last balanced; nil: it must be checked
	storedAt   <-chan struct{}           // Fleet.changed when tiles were last stored wherever there is room
	usage      Usage                     // only EverStored and EverComputed are kept up to date
}

// tile is where a tile is placed, and its state there.
type tile struct {
	worker     *session   // nil: not placed
	epoch      uint64     // number of its placement
	wantStored bool       // whether its entries should be stored
	state      buildState // as the worker last reported
	step       uint64     // of its sums; 0: it has none
}

// membership is the part of one worker in a job.
type membership struct {
	tiles      int
	prepared   bool
	operandsID uint64 // of the operands that it has; 0: none
}

func (f *Fleet) newJob(task Task) *job {
	tiles := partition.TileCount(task.Need.Rows())
	j := &job{
		operating: make(chan struct{}, 1),
		fleet:     f,
		jobID:     task.JobID,
		datasetID: task.DatasetID,
		need:      task.Need,
		rows:      task.Need.Rows(),
		sizes:     task.Need.TileSizes(),
		patience:  max(f.cfg.StalledAfter, time.Duration(slowWorker*task.Need.PieceSeconds()*float64(time.Second))),
		tiles:     make([]tile, tiles),
		members:   map[*session]*membership{},
		failing:   map[*session]bool{},
		full:      map[*session]bool{},
		aside:     map[*session]*fault.Error{},
		copies:    map[*copied]struct{}{},
		verify:    task.Verify,
		trust:     task.Trust,
		pace:      newPace(f.cfg.SlowAfter),
		progress:  progress{report: task.Report, last: Status{Tiles: tiles}},
	}
	if j.trust == nil {
		j.trust = NewTrust()
	}
	if j.ran = task.Ran; j.ran == nil {
		j.ran = &atomic.Bool{}
	}
	j.ctx, j.cancel = context.WithCancel(context.Background())
	if j.need.Scaled = task.Units != nil; j.need.Scaled {
		j.units.center = j.keepPayload(func() []byte { return wire.PackFloat64s(task.Units.Center) })
		j.units.scale = j.keepPayload(func() []byte { return wire.PackFloat64s(task.Units.Scale) })
	}
	return j
}

// keepPayload makes a payload that is freed with the job.
func (j *job) keepPayload(pack func() []byte) *payload {
	p := j.fleet.newPayload(pack)
	j.payloads = append(j.payloads, p)
	return p
}

// start places the tiles of the job on workers and builds those that no worker has.
func (j *job) start(ctx context.Context) error {
	f := j.fleet
	f.mu.Lock()
	f.nextJob++
	j.key = fmt.Sprintf("%s#%d", j.jobID, f.nextJob)
	f.jobs[j] = struct{}{}
	delete(f.damaged, j.datasetID) // it may have been repaired since; the next fetch finds out
	f.mu.Unlock()
	j.adoptOffers(ctx)
	err := j.perform(ctx, &operation{name: "build"})
	if err != nil {
		j.Release()
	}
	return err
}

// Release frees what the job holds on workers. An operation that is running fails with ErrReleased.
func (j *job) Release() {
	f := j.fleet
	f.mu.Lock()
	if _, running := f.jobs[j]; !running {
		f.mu.Unlock()
		return
	}
	delete(f.jobs, j)
	j.cancel()
	j.releaseTiles()
	f.notifyChanged()
	f.mu.Unlock()

	j.operating <- struct{}{}
	defer func() { <-j.operating }()
	for _, p := range j.payloads {
		p.free()
	}
}

// tryOperate takes the operating semaphore if no operation is running, and reports whether it did.
func (j *job) tryOperate() bool {
	select {
	case j.operating <- struct{}{}:
		return true
	default:
		return false
	}
}
