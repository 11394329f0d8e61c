package coordinator

import (
	"context"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
)

// prepared is a job made exact for its data, and what it takes.
type prepared struct {
	work work
	need planning.Problem
}

// prepare resolves a specification, or says what is wrong with it: what needs no values first, then
// the whole problem.
func (c *Coordinator) prepare(ctx context.Context, p *cleavev1.JobSpec) (*prepared, error) {
	if err := required("spec.dataset_id", p.GetDatasetId()); err != nil {
		return nil, err
	}
	record, _, err := c.datasets.record(ctx, p.GetDatasetId())
	if err != nil {
		return nil, err
	}
	rows := int(record.GetDataset().GetRows())
	spec, err := wire.Spec(p, rows, c.tables.finder(ctx))
	if err != nil {
		return nil, err
	}
	kind := wire.Kind(record.GetDataset().GetKind())
	if err := wire.Storage(p).Check(kind); err != nil {
		return nil, err
	}
	if err := clustering.Validate(kind, rows, spec); err != nil {
		return nil, err
	}
	data, info, err := c.datasets.load(ctx, p.GetDatasetId())
	if err != nil {
		return nil, err
	}
	w, err := newWork(data, spec, int64(info.GetBytes()))
	if err != nil {
		return nil, err
	}
	ready := &prepared{work: w, need: w.need()}
	ready.need.Storage = wire.Storage(p)
	return ready, nil
}

// fit lets fewer restarts run side by side where the memory of their sums would be missing for tiles.
func (p *prepared) fit(f *fleet.Fleet) {
	if p.need.Lanes <= 1 {
		return
	}
	alone := p.need
	alone.Lanes = 1
	most, err := f.Plan(alone)
	if err != nil {
		return // it has to wait, or be refused
	}
	for p.need.Lanes > 1 {
		if plan, err := f.Plan(p.need); err == nil && plan.Stored == most.Stored {
			return
		}
		p.need.Lanes /= 2
		p.work.limit(p.need.Lanes)
	}
}

// PlanJob says how a job would run on the workers that are there.
func (s *jobService) PlanJob(ctx context.Context, request *cleavev1.PlanJobRequest) (*cleavev1.PlanJobResponse, error) {
	if request.GetSpec() == nil {
		return nil, fault.Invalid("FIELD_REQUIRED", "the request has no spec; say what to cluster and how").OnField("spec")
	}
	ready, err := s.c.prepare(ctx, request.GetSpec())
	if err != nil {
		return nil, err
	}
	ready.fit(s.c.fleet)
	plan, err := s.c.fleet.Plan(ready.need)
	if err != nil {
		return nil, err
	}
	return &cleavev1.PlanJobResponse{Plan: wire.PlanProto(plan, ready.need.Matrix.Grid)}, nil
}

// carriedOut is the plan as it was carried out: how the work was cut, and what was held in the end. A
// graph's tiles are views of the data set, so its bytes are theirs.
func carriedOut(need planning.Problem, held fleet.Held, workers int) *cleavev1.Plan {
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
