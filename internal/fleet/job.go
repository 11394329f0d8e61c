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
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
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

// progress reports the status of a job to its owner, one call at a time and only if it changed.
type progress struct {
	mu     sync.Mutex
	report func(Status)
	last   Status
}

// setWaiting reports what the job is waiting for; "" for nothing.
func (p *progress) setWaiting(why string) {
	p.update(func(s *Status) { s.Waiting = why })
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
func (j *job) reportPlaced() {
	now := Status{Tiles: len(j.tiles)}
	j.fleet.mu.Lock()
	for t := range j.tiles {
		if j.tiles[t].state != notBuilt {
			now.TilesBuilt++
		}
	}
	now.Workers = len(j.members)
	j.fleet.mu.Unlock()
	j.progress.update(func(s *Status) { *s = now })
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
	Verify    float64           // share of tiles, from 0 to 1, whose answers are compared with another worker's
	Trust     *Trust            // shared by the executors of a run; may be nil
	Ran       *atomic.Bool      // set once the job had enough memory; shared by its executors; may be nil
	Report    func(Status)      // called with every change of the status, never concurrently; may be nil
}

// job is what the executors of all families have in common: it places a job's tiles on workers and runs operations on
// all of them. It keeps the current labels and their step, so that any tile can be rebuilt on any worker.
//
// Operations run one at a time. Each continues until every tile has answered once, on however many workers that
// takes.
type job struct {
	fleet     *Fleet
	jobID     string
	key       string // the job's id in commands; unique per executor
	datasetID string
	need      planning.Workload
	// Applied to the columns of the data set; nil leaves them as they are.
	units        struct{ center, scale *payload }
	rows         int
	sizes        []partition.Size          // sizes of the tiles
	stallTimeout time.Duration             // how long a command may make no progress
	describe     func(p *workerv1.Prepare) // completes a Prepare command
	// Sends a worker what it lacks besides tiles; may be nil.
	ensureOperands func(ctx context.Context, worker *group) error
	sumBytes       int        // upper limit on the sums in the answer to a load or update
	answersChanges bool       // updates are answered with changes, and loads with nothing
	payloads       []*payload // freed with the job
	identity       []byte     // distinguishes the job's tiles from those of other jobs; see offers.go

	operating chan struct{} // semaphore held by the running operation; guards k, lanes, labels and step
	k, lanes  int           // clusters of a labeling, and labelings; 0 until there are operands
	labels    []int32       // lane after lane; nil before the first load
	step      uint64        // step of the labels; increases with every load and update
	ran       *atomic.Bool  // set once the job had enough memory
	verify    float64
	trust     *Trust
	lists     atomic.Uint64 // number of lists of tiles sent so far
	pace      *pace
	progress  progress
	// The goroutines of handovers.
	background sync.WaitGroup
	ctx        context.Context // canceled by Release
	cancel     context.CancelFunc

	// Guarded by Fleet.mu. The running operation also uses the fields of its tiles and members.
	tiles      []tile
	members    map[*session]*membership
	failing    map[*session]bool         // had an internal error; used only if there is no other worker
	full       map[*session]bool         // reported that they have no memory left
	aside      map[*session]*fault.Error // get no tiles of the job because they cannot do it, and why
	crashes    map[string]crashes        // of workers, by name: a process that was restarted is another session
	copies     map[*copied]struct{}      // copies of tiles that are being verified or are late
	handovers  map[*session]*handover    // workers that build tiles in the background, to take them over
	moving     map[int]*copied           // the tiles that they build
	direct     map[*session]bool         // failed to build in the background; their tiles move at once
	epochs     uint64                    // number of placements and copies so far
	ops        int                       // operations since tiles were last placed
	balancedAt <-chan struct{}           // Fleet.changed when the placement was last balanced; nil forces a check
	storedAt   <-chan struct{}           // Fleet.changed when tiles were last stored wherever there was room
	usage      Usage                     // only EverStored and EverComputed are maintained
}

// tile is the placement of a tile and its state there.
type tile struct {
	worker     *session   // nil if it is not placed
	epoch      uint64     // number of this placement, see newEpoch
	wantStored bool       // whether its entries should be stored
	state      buildState // as last reported by the worker
	step       uint64     // step of its sums; 0 if it has none
}

// membership is what a worker has of a job, as far as the coordinator knows.
type membership struct {
	tiles      int
	prepared   bool
	operandsID uint64      // operands that it has; 0 for none
	valuesID   uint64      // values of queries that it remembers; 0 for none
	lists      []*tileList // last lists of tiles that were sent to it with a number
}

func (f *Fleet) newJob(task Task) *job {
	tiles := partition.TileCount(task.Need.Rows())
	j := &job{
		operating:    make(chan struct{}, 1),
		fleet:        f,
		jobID:        task.JobID,
		datasetID:    task.DatasetID,
		need:         task.Need,
		rows:         task.Need.Rows(),
		sizes:        task.Need.TileSizes(),
		stallTimeout: max(f.cfg.StalledAfter, time.Duration(slowWorker*task.Need.PieceSeconds()*float64(time.Second))),
		tiles:        make([]tile, tiles),
		members:      map[*session]*membership{},
		failing:      map[*session]bool{},
		full:         map[*session]bool{},
		aside:        map[*session]*fault.Error{},
		crashes:      map[string]crashes{},
		copies:       map[*copied]struct{}{},
		handovers:    map[*session]*handover{},
		moving:       map[int]*copied{},
		direct:       map[*session]bool{},
		verify:       task.Verify,
		trust:        task.Trust,
		pace:         newPace(f.cfg.SlowAfter),
		progress:     progress{report: task.Report, last: Status{Tiles: tiles}},
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

// keepPayload returns a payload that is freed with the job.
func (j *job) keepPayload(pack func() []byte) *payload {
	p := j.fleet.newPayload(pack)
	j.payloads = append(j.payloads, p)
	return p
}

// start registers the job, places its tiles on workers, and builds those that no worker has.
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

// Release frees what the job holds on workers. A running operation fails with ErrReleased.
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

	j.background.Wait()
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
