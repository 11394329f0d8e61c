package coordinator

import (
	"context"
	"fmt"
	"runtime/debug"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/comparison"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// prepared is a job that is ready to run, and the resources that it needs.
type prepared struct {
	runner       runner.Runner
	need         planning.Workload
	data         dataset.Dataset
	table        *tablePoints           // that the data are made of; nil: they are a data set of their own
	datasetBytes int64                  // what the data take of the coordinator's memory
	comparison   *comparison.Comparison // with the default; nil: there is none
}

// prepare prepares a new job, for which the limits of this coordinator hold.
func (c *Coordinator) prepare(ctx context.Context, p *cleavev1.JobSpec) (*prepared, error) {
	return c.prepareWithin(ctx, p, c.cfg.MaxDatasetBytes)
}

// prepareWithin checks a spec, gives it an algorithm if it names none, and prepares its problem. What can be checked without the
// values of the data set comes first. A job that does not fit into the coordinator's memory is refused, and so are
// points of a table that take more bytes than the limit.
func (c *Coordinator) prepareWithin(ctx context.Context, p *cleavev1.JobSpec, limit int64) (*prepared, error) {
	if err := wire.CheckInput(p); err != nil {
		return nil, err
	}
	in, err := c.findInput(ctx, p, limit)
	if err != nil {
		return nil, err
	}
	if err := wire.ChooseAlgorithm(p, in.kind); err != nil {
		return nil, err
	}
	if err := wire.Validate(p, in.kind); err != nil {
		return nil, err
	}
	if err := in.open(); err != nil {
		return nil, err
	}
	spec, err := in.spec(c.tables.Finder(ctx))
	if err != nil {
		return nil, err
	}
	if err := clustering.Validate(in.rows, spec); err != nil {
		return nil, err
	}
	if err := c.checkMemory(in.bytes, 0); err != nil {
		return nil, err
	}
	data, err := in.load()
	if err != nil {
		return nil, err
	}
	r, err := runner.New(data, spec, dataset.EncodedSize(data), c.datasets)
	if err != nil {
		return nil, err
	}
	ready := &prepared{runner: r, need: r.Need(), data: data, table: in.table, datasetBytes: in.bytes}
	if err := c.checkMemory(in.bytes, planning.CoordinatorBytes(ready.parts())); err != nil {
		return nil, err
	}
	ready.need.Storage = wire.Storage(p)
	if !p.GetPaperSettings() { // which are for reproducing a paper
		ready.comparison = comparison.New(data, spec)
	}
	return ready, nil
}

// parts are what all executors of the job need.
func (p *prepared) parts() []planning.Workload {
	return append([]planning.Workload{p.need}, p.runner.Beside()...)
}

// leastParts are what the parts of the job need at least: with one restart at a time, and of a job on a graph of
// neighbors the search alone, because the size of the graph is only known once it is there.
func (p *prepared) leastParts() []planning.Workload {
	if p.need.Search != nil {
		return []planning.Workload{*p.need.Search}
	}
	parts := p.parts()
	for at := range parts {
		parts[at].Lanes = 1
	}
	return parts
}

// fitLanes reduces the number of restarts that run side by side as long as the memory of their sums would
// be at the expense of stored tiles.
func (p *prepared) fitLanes(f *fleet.Fleet) {
	if p.need.Lanes <= 1 {
		return
	}
	alone := p.need
	alone.Lanes = 1
	best, err := f.Plan(alone)
	if err != nil {
		return // it does not fit in any case
	}
	for p.need.Lanes > 1 {
		if plan, err := f.Plan(p.need); err == nil && plan.Stored == best.Stored {
			return
		}
		p.need.Lanes /= 2
		p.runner.LimitLanes(p.need.Lanes)
	}
}

func (s *jobService) PlanJob(ctx context.Context, request *cleavev1.PlanJobRequest) (*cleavev1.PlanJobResponse, error) {
	if request.GetSpec() == nil {
		return nil, errNoSpec()
	}
	if err := s.c.checkSize(ctx, request.GetSpec()); err != nil {
		return nil, err
	}
	ready, err := s.c.prepare(ctx, request.GetSpec())
	if err != nil {
		return nil, err
	}
	ready.fitLanes(s.c.fleet)
	plan, err := s.c.fleet.Plan(ready.parts()...)
	if err != nil {
		return nil, err
	}
	response := &cleavev1.PlanJobResponse{Plan: wire.PlanProto(plan, ready.need.Matrix.Grid)}
	snapshots, _ := s.c.snapshotBytes(ready)
	response.Plan.SnapshotBytes = uint64(snapshots)
	if t := ready.table; t != nil {
		response.Recipe, response.Notices = wire.RecipeProto(t.recipe), wire.NoticesProto(t.notices)
	}
	return response, nil
}

// actualPlan says how the rows were cut into tiles and how the tiles were held in the end. The tiles of a
// graph are views of the data set and take no memory beyond it.
func actualPlan(need planning.Workload, held fleet.Usage, workers int) *cleavev1.Plan {
	rows := need.Rows()
	p := &cleavev1.Plan{
		Tiles:         uint32(partition.TileCount(rows)),
		TileRows:      uint32(partition.TileRows(rows)),
		Storage:       wire.PlanStorageProto(need.StorageName(held.EverStored, held.EverComputed)),
		TileBytes:     uint64(held.EntryBytes),
		Workers:       uint32(workers),
		GridExponent:  int32(need.Matrix.Grid),
		StoredTiles:   uint32(held.Stored),
		ComputedTiles: uint32(held.Computed),
		Shares:        wire.SharesProto(held.Shares),
	}
	if need.Matrix.Function == kernel.Adjacency {
		p.TileBytes = uint64(need.DatasetBytes)
	}
	for _, share := range held.Shares {
		p.Bytes += uint64(share.Bytes)
	}
	return p
}

// runtimeBytes is what the process may take beside its jobs: the embedded store, calls, the Go runtime.
const runtimeBytes = 64 << 20

// LimitProcess makes Go collect garbage sooner when the process comes near the memory of its jobs and what it takes
// beside them. A lower limit that is already set (GOMEMLIMIT) stays.
func LimitProcess(memoryBytes int64) {
	limit := min(memoryBytes, planning.Unlimited) + runtimeBytes
	if memoryBytes > 0 && limit < debug.SetMemoryLimit(-1) {
		debug.SetMemoryLimit(limit)
	}
}

// coordinatorBytes is what the job needs of the coordinator's memory: its data set, and what its algorithm has there.
func (p *prepared) coordinatorBytes() int64 {
	return p.datasetBytes + min(planning.CoordinatorBytes(p.parts()), planning.Unlimited)
}

// fewSnapshotBytes is what the states of a job may have in any case; it belongs to what the process takes beside its jobs.
const fewSnapshotBytes = 16 << 20

// snapshotBytes is the memory for the states of a job: what the job reserves for them, which is what is planned or half of what
// the job leaves, and how much they may have.
func (c *Coordinator) snapshotBytes(p *prepared) (reserved, limit int64) {
	if c.cfg.Snapshots.Interval == 0 {
		return 0, 0
	}
	planned := planning.SnapshotBytes(p.parts())
	if c.cfg.MemoryBytes == 0 {
		return planned, planning.MostSnapshotBytes
	}
	reserved = min(planned, max(0, c.cfg.MemoryBytes-p.coordinatorBytes())/2)
	return reserved, max(reserved, min(planned, fewSnapshotBytes))
}

// reservedBytes is what the job takes of the coordinator's memory while it runs.
func (c *Coordinator) reservedBytes(p *prepared) int64 {
	snapshots, _ := c.snapshotBytes(p)
	return p.coordinatorBytes() + snapshots
}

// checkMemory refuses a job that takes more than the coordinator's memory.
func (c *Coordinator) checkMemory(dataset, algorithm int64) error {
	if c.cfg.MemoryBytes == 0 || dataset <= c.cfg.MemoryBytes && algorithm <= c.cfg.MemoryBytes-dataset {
		return nil
	}
	needed := dataset + min(algorithm, planning.Unlimited)
	remedy := "start the coordinator with more --memory, on a machine that has it"
	if algorithm > 0 {
		remedy += ", or ask for fewer clusters, eigenvectors, neighbors or landmarks"
	}
	return fault.New(fault.ResourceExhausted, "COORDINATOR_TOO_SMALL",
		"the job does not fit into the coordinator's memory: it needs %s there, %s for the data set and %s for its algorithm, and the coordinator has %s; %s",
		text.Bytes(needed), text.Bytes(dataset), text.Bytes(algorithm), text.Bytes(c.cfg.MemoryBytes), remedy).
		With("needed_bytes", fmt.Sprint(needed)).With("offered_bytes", fmt.Sprint(c.cfg.MemoryBytes))
}

// largeTable is the size of tables whose leftovers are worth a collection of garbage: by default garbage may become as large as what
// is in use.
const largeTable = 256 << 20

// freeAfter gives memory back after work on something large.
func freeAfter(bytes int64) {
	if bytes >= largeTable {
		debug.FreeOSMemory()
	}
}
