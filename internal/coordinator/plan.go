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

// prepared is a job that is ready to run, with the resources that it needs.
type prepared struct {
	runner       runner.Runner
	need         planning.Workload
	data         dataset.Dataset
	table        *tablePoints           // the table that the data was made from; nil for a data set
	datasetBytes int64                  // coordinator memory taken by the data
	comparison   *comparison.Comparison // comparison with the default algorithm; nil if there is none
}

// prepare prepares a new job, enforcing the limits of this coordinator.
func (c *Coordinator) prepare(ctx context.Context, p *cleavev1.JobSpec) (*prepared, error) {
	return c.prepareWithin(ctx, p, c.cfg.MaxDatasetBytes)
}

// prepareWithin validates a spec, chooses an algorithm if it names none, and prepares its problem. Checks that do not
// need the values of the data come first. It rejects jobs that do not fit into the coordinator's memory, and tables
// whose points would take more than limit bytes.
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
	if !p.GetPaperSettings() { // paper settings reproduce a paper as it is
		ready.comparison = comparison.New(data, spec)
	}
	return ready, nil
}

// parts returns what each executor of the job needs.
func (p *prepared) parts() []planning.Workload {
	return append([]planning.Workload{p.need}, p.runner.Beside()...)
}

// leastParts returns the minimum that the parts of the job need: one restart at a time and, for a job on a neighbor
// graph, the search alone, because the size of the graph is unknown until it is built.
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

// fitLanes halves the number of concurrent restarts for as long as the memory of their sums would displace stored
// tiles.
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

// actualPlan describes how the rows were cut into tiles and how the tiles were held in the end. The tiles of a graph
// are views of the data set and take no additional memory.
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

// runtimeBytes is the memory that the process may take in addition to its jobs, for the embedded store, calls and the
// Go runtime.
const runtimeBytes = 64 << 20

// LimitProcess makes Go collect garbage more eagerly as the process approaches memoryBytes plus runtimeBytes. It
// never raises a limit that is already set (GOMEMLIMIT). 0 means no limit.
func LimitProcess(memoryBytes int64) {
	limit := min(memoryBytes, planning.Unlimited) + runtimeBytes
	if memoryBytes > 0 && limit < debug.SetMemoryLimit(-1) {
		debug.SetMemoryLimit(limit)
	}
}

// coordinatorBytes returns the coordinator memory that the job needs for its data set and its algorithm.
func (p *prepared) coordinatorBytes() int64 {
	return p.datasetBytes + min(planning.CoordinatorBytes(p.parts()), planning.Unlimited)
}

// fewSnapshotBytes is what the states of a job may always take. It is covered by runtimeBytes.
const fewSnapshotBytes = 16 << 20

// snapshotBytes returns the memory in bytes that the job reserves for its states, and the limit on their size. The
// job reserves the planned amount, but at most half of the memory that it leaves free.
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

// reservedBytes returns the coordinator memory that the job reserves while it runs.
func (c *Coordinator) reservedBytes(p *prepared) int64 {
	snapshots, _ := c.snapshotBytes(p)
	return p.coordinatorBytes() + snapshots
}

// checkMemory rejects a job that needs more than the coordinator's memory. Both arguments are in bytes.
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

// largeTable is the size in bytes from which a table's leftovers are worth a garbage collection. By default, Go lets
// garbage grow as large as the memory in use.
const largeTable = 256 << 20

// freeAfter returns memory to the operating system after work on something of this size, if it was large.
func freeAfter(bytes int64) {
	if bytes >= largeTable {
		debug.FreeOSMemory()
	}
}
