package runner

import (
	"context"
	"fmt"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/comparison"
	"github.com/cleave-project/cleave/internal/coordinator/datasets"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// ProblemMaker turns the spec of a job into a problem that can run, within the limits of a coordinator. It finds what
// the job clusters, makes points of the rows of a table, checks the spec against the data, and says what a run needs.
// It knows nothing of jobs, queues and events. It is safe for concurrent use.
type ProblemMaker struct {
	Datasets *datasets.Datasets
	Tables   datasets.Tables

	// MaxBytes limits the points that are made from a table for a new job.
	MaxBytes int64
	// MemoryBytes is the memory of the coordinator that jobs share; 0 means no limit.
	MemoryBytes int64
	// Snapshots says that the states of runs are stored, which takes memory.
	Snapshots bool
	// CheckClusters and CheckConstraints reject a number of clusters or constraints that is too large for a new job;
	// asks says what in the field asks for them.
	CheckClusters, CheckConstraints func(field, asks string, count int64) error
}

// Problem is a job that is ready to run, with the resources that it needs.
type Problem struct {
	Runner     Runner
	Need       planning.Workload
	Data       dataset.Dataset
	Table      *Table                 // the table that Data was made from; nil for a data set
	Comparison *comparison.Comparison // comparison with the default algorithm; nil if there is none

	dataBytes int64 // coordinator memory taken by the data
}

// Make validates a spec, chooses an algorithm if it names none, and prepares its problem. Checks that do not
// need the values of the data come first. It rejects jobs that do not fit into the coordinator's memory and, unless
// they were accepted before, those whose table becomes more points, clusters or constraints than the limits allow. It
// sets the algorithm in p.
func (m *ProblemMaker) Make(ctx context.Context, p *cleavev1.JobSpec, accepted bool) (*Problem, error) {
	if err := wire.CheckInput(p); err != nil {
		return nil, err
	}
	in, err := m.find(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := wire.ChooseAlgorithm(p, in.kind); err != nil {
		return nil, err
	}
	if err := wire.Validate(p, in.kind); err != nil {
		return nil, err
	}
	if err := in.open(ctx, accepted); err != nil {
		return nil, err
	}
	spec, err := in.Spec(ctx)
	if err != nil {
		return nil, err
	}
	if err := clustering.Validate(in.rows, spec); err != nil {
		return nil, err
	}
	data, err := in.Load(ctx)
	if err != nil {
		return nil, err
	}
	r, err := New(ctx, data, spec, dataset.EncodedSize(data), m.Datasets)
	if err != nil {
		return nil, err
	}
	ready := &Problem{Runner: r, Need: r.Need(), Data: data, Table: in.table, dataBytes: in.bytes}
	if err := m.fitMemory(ready); err != nil {
		return nil, err
	}
	ready.Need.Storage = wire.Storage(p)
	if !p.GetPaperSettings() { // paper settings reproduce a paper as it is
		ready.Comparison = comparison.New(data, spec)
	}
	return ready, nil
}

// Parts returns what each executor of the job needs.
func (p *Problem) Parts() []planning.Workload {
	return append([]planning.Workload{p.Need}, p.Runner.OtherNeeds()...)
}

// LeastParts returns the minimum that the parts of the job need: one restart at a time and, for a job on a neighbor
// graph, the search alone, because the size of the graph is unknown until it is built.
func (p *Problem) LeastParts() []planning.Workload {
	if p.Need.Search != nil {
		return []planning.Workload{*p.Need.Search}
	}
	parts := p.Parts()
	for at := range parts {
		parts[at].Lanes = 1
	}
	return parts
}

// FitLanes halves the number of concurrent restarts for as long as the memory of their sums would displace stored
// tiles.
func (p *Problem) FitLanes(f *fleet.Fleet) {
	if p.Need.Lanes <= 1 {
		return
	}
	alone := p.Need
	alone.Lanes = 1
	best, err := f.Plan(alone)
	if err != nil {
		return // it does not fit in any case
	}
	for p.Need.Lanes > 1 {
		if plan, err := f.Plan(p.Need); err == nil && plan.Stored == best.Stored {
			return
		}
		p.halveLanes()
	}
}

// halveLanes halves the number of restarts that run side by side.
func (p *Problem) halveLanes() {
	p.Need.Lanes /= 2
	p.Runner.LimitLanes(p.Need.Lanes)
}

// ExposeToWorkers makes the data of a job on a table available to workers under the returned id, until end is called.
// The data of other jobs is available in any case.
func (m *ProblemMaker) ExposeToWorkers(p *Problem, datasetID string) (id string, end func(), err error) {
	if p.Table == nil {
		return datasetID, func() {}, nil
	}
	id, _, err = m.Datasets.AddTemporary(p.Data)
	if err != nil {
		return "", nil, err
	}
	return id, func() { m.Datasets.Release(id) }, nil
}

// CoordinatorBytes returns the coordinator memory that the job needs for its data set and its algorithm.
func (p *Problem) CoordinatorBytes() int64 {
	return p.dataBytes + min(planning.CoordinatorBytes(p.Parts()), planning.Unlimited)
}

// fewSnapshotBytes is what the states of a job may always take, beside the memory of jobs.
const fewSnapshotBytes = 16 << 20

// SnapshotBytes returns the memory in bytes that the job reserves for its states, and the limit on their size. The
// job reserves the planned amount, but at most half of the memory that it leaves free.
func (m *ProblemMaker) SnapshotBytes(p *Problem) (reserved, limit int64) {
	if !m.Snapshots {
		return 0, 0
	}
	planned := planning.SnapshotBytes(p.Parts())
	if m.MemoryBytes == 0 {
		return planned, planning.MaxSnapshotBytes
	}
	reserved = min(planned, max(0, m.MemoryBytes-p.CoordinatorBytes())/2)
	return reserved, max(reserved, min(planned, fewSnapshotBytes))
}

// ReservedBytes returns the coordinator memory that the job reserves while it runs.
func (m *ProblemMaker) ReservedBytes(p *Problem) int64 {
	snapshots, _ := m.SnapshotBytes(p)
	return p.CoordinatorBytes() + snapshots
}

// fitMemory halves the number of concurrent restarts for as long as the job needs more than the coordinator's memory.
// It rejects a job that does not fit with one.
func (m *ProblemMaker) fitMemory(p *Problem) error {
	for {
		err := m.checkMemory(p.dataBytes, planning.CoordinatorBytes(p.Parts()))
		if err == nil || p.Need.Lanes <= 1 {
			return err
		}
		p.halveLanes()
	}
}

// checkMemory rejects a job that needs more than the coordinator's memory. Both arguments are in bytes.
func (m *ProblemMaker) checkMemory(data, algorithm int64) error {
	if m.MemoryBytes == 0 || data <= m.MemoryBytes && algorithm <= m.MemoryBytes-data {
		return nil
	}
	needed := data + min(algorithm, planning.Unlimited)
	remedy := "start the coordinator with more --memory, on a machine that has it"
	if algorithm > 0 {
		remedy += ", or ask for fewer clusters, eigenvectors, neighbors, landmarks or constraints"
	}
	return fault.New(fault.ResourceExhausted, "COORDINATOR_TOO_SMALL",
		"the job does not fit into the coordinator's memory: it needs %s there, %s for the data set and %s for its "+
			"algorithm, and the coordinator has %s; %s",
		text.Bytes(needed), text.Bytes(data), text.Bytes(algorithm), text.Bytes(m.MemoryBytes), remedy).
		With("needed_bytes", fmt.Sprint(needed)).With("offered_bytes", fmt.Sprint(m.MemoryBytes))
}
