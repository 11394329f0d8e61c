package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/vector"
)

// ErrReleased is what operations get after Release.
var ErrReleased = errors.New("fleet: the job has released its workers")

// Status is how far a job's placement on workers is.
type Status struct {
	Waiting    string // what the job waits for, in words; empty when it does not
	TilesBuilt int
	Tiles      int
	Workers    int // that hold tiles of the job
}

// Task is what a job asks of the fleet.
type Task struct {
	JobID     string
	DatasetID string
	Need      planning.Problem // the matrix or the vectors, and what they take
	Vectors   *vector.Spec     // of a job of the vector family
	Report    func(Status)     // hears how it goes, one call at a time; may be nil
}

// job is one job's tiles on workers, and how an operation goes over all of them: what executors of both
// families have in common. It keeps the labels and the step that they belong to, so that any tile can
// be made anew anywhere.
//
// Operations run one at a time. Each goes on until every tile has answered once, over however many
// workers that takes.
type job struct {
	fleet          *Fleet
	jobID          string
	key            string // the job's name on the wire: no two executors share one
	datasetID      string
	need           planning.Problem
	rows           int
	sizes          []partition.Size                               // of the tiles
	describe       func(p *workerv1.Prepare)                      // says what a worker is to make of the data
	ensureOperands func(ctx context.Context, worker *group) error // gives a worker what it needs beside tiles
	sumBytes       int                                            // of the sums that a load answers with, as values
	payloads       []*payload                                     // that live as long as the job

	opMu          sync.Mutex // one operation at a time
	k, lanes      int        // clusters of a labeling, and labelings; 0: none can be loaded yet
	labels        []int32    // lane after lane; nil: none loaded
	step          uint64     // of the labels; grows with every load and update
	everSucceeded bool       // an operation succeeded, so there were workers enough
	progress      progress
	ctx           context.Context // ends with Release
	cancel        context.CancelFunc

	// Guarded by Fleet.mu; the states of tiles and seats also belong to the operation under way.
	tiles      []tile
	members    map[*session]*membership
	failing    map[*session]bool // failed us with an internal error: used only when there is no other
	full       map[*session]bool // said that it has no memory left
	ops        int               // since the last placement or the last look at the balance
	balancedAt <-chan struct{}   // Fleet.changed when the placement was last found good
	storedAt   <-chan struct{}   // Fleet.changed when tiles were last stored where there is room
	held       Held              // what has been held so far
}

// tile is where a tile lives and what is known of it there.
type tile struct {
	worker     *session   // nil: nowhere
	epoch      uint64     // of its placement
	wantStored bool       // whether its entries are to be stored there
	state      buildState // what is there
	step       uint64     // of its sums, 0: none
}

// seat is a worker's part in the job.
type membership struct {
	tiles      int
	prepared   bool
	operandsID uint64 // the armament that it has, 0: none
}

func (f *Fleet) newJob(task Task) *job {
	tiles := partition.TileCount(task.Need.Rows())
	j := &job{
		fleet:     f,
		jobID:     task.JobID,
		datasetID: task.DatasetID,
		need:      task.Need,
		rows:      task.Need.Rows(),
		sizes:     task.Need.Sizes(),
		tiles:     make([]tile, tiles),
		members:   map[*session]*membership{},
		failing:   map[*session]bool{},
		full:      map[*session]bool{},
		progress:  progress{report: task.Report, last: Status{Tiles: tiles}},
	}
	j.ctx, j.cancel = context.WithCancel(context.Background())
	return j
}

// keep makes an operand that lives as long as the job.
func (j *job) keepPayload(pack func() []byte) *payload {
	o := j.fleet.newPayload(pack)
	j.payloads = append(j.payloads, o)
	return o
}

// begin places the job's tiles on workers and builds them.
func (j *job) start(ctx context.Context) error {
	f := j.fleet
	f.mu.Lock()
	f.nextJob++
	j.key = fmt.Sprintf("%s#%d", j.jobID, f.nextJob)
	f.jobs[j] = struct{}{}
	f.mu.Unlock()
	err := j.perform(ctx, &operation{name: "build"})
	if err != nil {
		j.Release()
	}
	return err
}

// Release frees what the job holds on workers. An operation under way fails with ErrReleased.
func (j *job) Release() {
	f := j.fleet
	f.mu.Lock()
	if _, here := f.jobs[j]; !here {
		f.mu.Unlock()
		return
	}
	delete(f.jobs, j)
	j.cancel()
	j.releaseTiles()
	f.notifyChanged()
	f.mu.Unlock()

	j.opMu.Lock()
	defer j.opMu.Unlock()
	for _, o := range j.payloads {
		o.free()
	}
}
