package coordinator

import (
	"context"
	"runtime/debug"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
)

func (s *jobService) PlanJob(ctx context.Context, request *cleavev1.PlanJobRequest) (*cleavev1.PlanJobResponse, error) {
	if request.GetSpec() == nil {
		return nil, errNoSpec()
	}
	if err := s.c.checkSize(ctx, request.GetSpec()); err != nil {
		return nil, err
	}
	ready, err := s.c.problems.Make(ctx, request.GetSpec(), s.c.cfg.MaxDatasetBytes)
	if err != nil {
		return nil, err
	}
	ready.FitLanes(s.c.fleet)
	plan, err := s.c.fleet.Plan(ready.Parts()...)
	if err != nil {
		return nil, err
	}
	response := &cleavev1.PlanJobResponse{Plan: wire.PlanProto(plan, ready.Need.Matrix.Grid)}
	snapshots, _ := s.c.problems.SnapshotBytes(ready)
	response.Plan.SnapshotBytes = uint64(snapshots)
	if t := ready.Table; t != nil {
		response.Recipe, response.Notices = wire.RecipeProto(t.Recipe), wire.NoticesProto(t.Notices)
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
