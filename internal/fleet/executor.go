package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
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

// Executor runs the operations of one job over all workers: clustering.Executor. It keeps the
// labels and the step that they belong to, so that any tile can be made anew anywhere.
//
// Operations run one at a time. Each goes on until every tile has answered once, over however many
// workers that takes.
type Executor struct {
	fleet       *Fleet
	jobID       string
	key         string // the job's name on the wire: no two executors share one
	datasetID   string
	need        planning.Problem
	spec        kernel.Spec
	sizes       []partition.Size // of the tiles
	mean, scale *operand

	turn     sync.Mutex // one operation at a time
	labels   []int32    // lane after lane; nil: none loaded
	step     uint64     // of the labels; grows with every Load and Update
	armed    *armament
	stood    bool // an operation succeeded, so there were workers enough
	progress progress
	life     context.Context // ends with Release
	release  context.CancelFunc

	// Guarded by Fleet.mu; the states of tiles and seats also belong to the operation under way.
	tiles   []tile
	seats   map[*session]*seat
	ailing  map[*session]bool // failed us with an internal error: used only when there is no other
	full    map[*session]bool // said that it has no memory left
	ops     int               // since the last placement or the last look at the balance
	settled <-chan struct{}   // Fleet.changed when the placement was last found good
	filled  <-chan struct{}   // Fleet.changed when tiles were last stored where there is room
	held    Held              // what has been held so far
}

// tile is where a tile lives and what is known of it there.
type tile struct {
	at     *session // nil: nowhere
	epoch  uint64   // of its placement
	stored bool     // whether its entries are to be stored there
	has    holding  // what is there
	step   uint64   // of its sums, 0: none
}

// seat is a worker's part in the job.
type seat struct {
	tiles    int
	prepared bool
	armed    uint64 // the armament that it has, 0: none
}

// armament is kernel.Armament as operands.
type armament struct {
	id                              uint64
	k, lanes                        int
	weights, starts, columns, value *operand
}

var _ clustering.Executor = (*Executor)(nil)

// Task is what a job asks of the fleet.
type Task struct {
	JobID     string
	DatasetID string
	Need      planning.Problem // the matrix, and what it takes
	Report    func(Status)     // hears how it goes, one call at a time; may be nil
}

// NewExecutor places the tiles of a job's matrix on workers and builds them. It waits as long as
// there is no worker, until ctx ends.
func (f *Fleet) NewExecutor(ctx context.Context, task Task) (*Executor, error) {
	spec, tiles := task.Need.Matrix, partition.TileCount(task.Need.Matrix.Rows)
	e := &Executor{
		fleet:     f,
		jobID:     task.JobID,
		datasetID: task.DatasetID,
		need:      task.Need,
		spec:      spec,
		sizes:     task.Need.Sizes(),
		tiles:     make([]tile, tiles),
		seats:     map[*session]*seat{},
		ailing:    map[*session]bool{},
		full:      map[*session]bool{},
		progress:  progress{report: task.Report, last: Status{Tiles: tiles}},
	}
	e.life, e.release = context.WithCancel(context.Background())
	if spec.Mean != nil {
		e.mean = f.operand(func() []byte { return wire.PackFloat64s(spec.Mean) })
	}
	if spec.Scale != nil {
		e.scale = f.operand(func() []byte { return wire.PackFloat64s(spec.Scale) })
	}
	f.mu.Lock()
	f.nextJob++
	e.key = fmt.Sprintf("%s#%d", e.jobID, f.nextJob)
	f.executors[e] = struct{}{}
	f.mu.Unlock()
	if err := e.perform(ctx, &operation{name: "build"}); err != nil {
		e.Release()
		return nil, err
	}
	return e, nil
}

// Release frees what the job holds on workers. An operation under way fails with ErrReleased.
func (e *Executor) Release() {
	f := e.fleet
	f.mu.Lock()
	if _, here := f.executors[e]; !here {
		f.mu.Unlock()
		return
	}
	delete(f.executors, e)
	e.release()
	e.vacate()
	f.announce()
	f.mu.Unlock()

	e.turn.Lock()
	defer e.turn.Unlock()
	e.mean.drop()
	e.scale.drop()
	e.armed.drop()
}

// Degrees implements clustering.Executor.
func (e *Executor) Degrees(ctx context.Context) ([]float64, error) {
	return e.perRow(ctx, &operation{name: "degrees", whole: true, request: func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_Degrees{Degrees: &workerv1.Degrees{}}
	}})
}

// Arm implements clustering.Executor. Each armament gets a number of our own, so that no two of a
// job are ever mistaken for each other.
func (e *Executor) Arm(ctx context.Context, a kernel.Armament) error {
	sparse := a.Sparse
	if sparse == nil {
		sparse = &kernel.Sparse{RowStart: make([]int64, e.spec.Rows+1)}
	}
	if a.K < 1 || len(a.Weights) != e.spec.Rows || len(sparse.RowStart) != e.spec.Rows+1 || len(sparse.Column) != len(sparse.Value) {
		return fmt.Errorf("fleet: an armament of %d clusters, %d weights and %d sparse rows for %d rows",
			a.K, len(a.Weights), len(sparse.RowStart)-1, e.spec.Rows)
	}
	if a.K > e.need.K || a.Lanes > max(1, e.need.Lanes) || int64(len(sparse.Column)) > e.need.SparseEntries {
		return fmt.Errorf("fleet: an armament of %d clusters in %d lanes and %d sparse entries, planned were %d, %d and %d",
			a.K, a.Lanes, len(sparse.Column), e.need.K, e.need.Lanes, e.need.SparseEntries)
	}
	e.turn.Lock()
	id := uint64(1)
	if e.armed != nil {
		id = e.armed.id + 1
		e.armed.drop()
	}
	e.armed = &armament{
		id: id, k: a.K, lanes: max(1, a.Lanes),
		weights: e.fleet.operand(func() []byte { return wire.PackFloat64s(a.Weights) }),
		starts:  e.fleet.operand(func() []byte { return wire.PackInt64s(sparse.RowStart) }),
		columns: e.fleet.operand(func() []byte { return wire.PackInt32s(sparse.Column) }),
		value:   e.fleet.operand(func() []byte { return wire.PackFloat64s(sparse.Value) }),
	}
	e.labels = nil
	for t := range e.tiles {
		e.tiles[t].step = 0
	}
	e.turn.Unlock()
	return e.perform(ctx, &operation{name: "arm"})
}

// Diagonal implements clustering.Executor.
func (e *Executor) Diagonal(ctx context.Context) ([]float64, error) {
	return e.perRow(ctx, &operation{name: "diagonal", request: func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_Diagonal{Diagonal: &workerv1.Diagonal{}}
	}})
}

// ColumnSums implements clustering.Executor.
func (e *Executor) ColumnSums(ctx context.Context, lists [][]int32) ([][]float64, error) {
	ends, end := make([]int32, len(lists)), 0
	for i, list := range lists {
		end += len(list)
		ends[i] = int32(end)
	}
	columns := e.fleet.operand(func() []byte { return wire.PackInt32s(slices.Concat(lists...)) })
	defer columns.drop()
	packedEnds := e.fleet.operand(func() []byte { return wire.PackInt32s(ends) })
	defer packedEnds.drop()
	return e.severalPerRow(ctx, len(lists), &operation{name: "column sums", request: func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_ColumnSums{ColumnSums: &workerv1.ColumnSums{Columns: columns.payload(), Ends: packedEnds.payload()}}
	}})
}

// Multiply implements clustering.Executor.
func (e *Executor) Multiply(ctx context.Context, x []float64) ([]float64, error) {
	packed := e.fleet.operand(func() []byte { return wire.PackFloat64s(x) })
	defer packed.drop()
	return e.perRow(ctx, &operation{name: "multiply", whole: true, request: func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_Multiply{Multiply: &workerv1.Multiply{X: packed.payload()}}
	}})
}

// Load implements clustering.Executor.
func (e *Executor) Load(ctx context.Context, labels []int32) ([]kernel.Int128, error) {
	if err := e.checkLabels(labels); err != nil {
		return nil, err
	}
	own := append([]int32(nil), labels...)
	sums, err := e.advance(ctx, "load", own, nil)
	if err == nil {
		e.labels = own
	}
	return sums, err
}

// Update implements clustering.Executor. The moves are made in the labels first: a tile that has to
// be made anew meanwhile is loaded with the labels after the moves.
func (e *Executor) Update(ctx context.Context, moves []kernel.Move) ([]kernel.Int128, error) {
	if e.labels == nil {
		return nil, errors.New("fleet: update before load")
	}
	for at, m := range moves {
		label := e.label(m)
		if label == nil || *label != m.From {
			e.undo(moves[:at])
			return nil, fmt.Errorf("fleet: move %d takes point %d from cluster %d to %d, which is not how things stand", at, m.Point, m.From, m.To)
		}
		*label = m.To
	}
	sums, err := e.advance(ctx, "update", e.labels, moves)
	if err != nil {
		e.undo(moves)
	}
	return sums, err
}

func (e *Executor) undo(moves []kernel.Move) {
	for at := len(moves) - 1; at >= 0; at-- {
		*e.label(moves[at]) = moves[at].From
	}
}

// label is the place of a move's point among the labels; nil for a move that cannot be.
func (e *Executor) label(m kernel.Move) *int32 {
	n, k := e.spec.Rows, int32(e.armed.k)
	if m.Point < 0 || int(m.Point) >= n || min(m.From, m.To) < -1 || int(max(m.From, m.To)) >= e.armed.clusters() ||
		(min(m.From, m.To) >= 0 && m.From/k != m.To/k) {
		return nil
	}
	return &e.labels[int(max(m.From, m.To, 0)/k)*n+int(m.Point)]
}

// Assign implements clustering.Executor.
func (e *Executor) Assign(ctx context.Context, stats []kernel.Stats) ([]kernel.Move, error) {
	packed := wire.StatsToProto(stats)
	byTile := make([][]kernel.Move, len(e.tiles))
	err := e.atStep(ctx, &operation{
		name:     "assign",
		rowBytes: 12 * len(stats),
		request: func(c *workerv1.Command) {
			c.Operation = &workerv1.Command_Assign{Assign: &workerv1.Assign{Step: e.step, Stats: packed}}
		},
		merge: func(tiles []int, done *reply) error {
			moves, err := wire.UnpackMoves(done.values)
			if err != nil {
				return err
			}
			return e.split(tiles, moves, byTile)
		},
	})
	if err != nil {
		return nil, err
	}
	var moves []kernel.Move
	for _, part := range byTile {
		moves = append(moves, part...)
	}
	return moves, nil
}

// split sorts the moves of ascending tiles into their tiles.
func (e *Executor) split(tiles []int, moves []kernel.Move, byTile [][]kernel.Move) error {
	for _, t := range tiles {
		end, rows := 0, partition.Tile(e.spec.Rows, t)
		for end < len(moves) && int(moves[end].Point) < rows.To {
			if int(moves[end].Point) < rows.From {
				return fmt.Errorf("a move of point %d out of order", moves[end].Point)
			}
			end++
		}
		byTile[t], moves = moves[:end], moves[end:]
	}
	if len(moves) > 0 {
		return fmt.Errorf("a move of point %d, which nobody asked about", moves[0].Point)
	}
	return nil
}

// Farthest implements clustering.Executor.
func (e *Executor) Farthest(ctx context.Context, stats []kernel.Stats) ([]kernel.Candidate, error) {
	packed := wire.StatsToProto(stats)
	best := make([]kernel.Candidate, len(stats))
	err := e.atStep(ctx, &operation{
		name: "farthest",
		request: func(c *workerv1.Command) {
			c.Operation = &workerv1.Command_Farthest{Farthest: &workerv1.Farthest{Step: e.step, Stats: packed}}
		},
		merge: func(_ []int, done *reply) error {
			candidates, err := wire.CandidatesFromProto(done.farthest)
			if err == nil && len(candidates) != len(best) {
				err = fmt.Errorf("%d candidates for %d lanes", len(candidates), len(best))
			}
			if err != nil {
				return err
			}
			for i, c := range candidates {
				best[i] = best[i].Farther(c)
			}
			return nil
		},
	})
	return best, err
}

func (e *Executor) checkLabels(labels []int32) error {
	n := e.spec.Rows
	if e.armed == nil || len(labels) != n*e.armed.lanes {
		return fmt.Errorf("fleet: load of %d labels for %d rows, armed: %v", len(labels), n, e.armed != nil)
	}
	for at, c := range labels {
		if lane := at / n; c != -1 && (int(c) < lane*e.armed.k || int(c) >= (lane+1)*e.armed.k) {
			return fmt.Errorf("fleet: point %d has label %d in lane %d of %d clusters", at%n, c, lane, e.armed.k)
		}
	}
	return nil
}

func (a *armament) clusters() int { return a.k * a.lanes }

func (a *armament) drop() {
	if a != nil {
		a.weights.drop()
		a.starts.drop()
		a.columns.drop()
		a.value.drop()
	}
}
