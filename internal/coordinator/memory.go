package coordinator

import (
	"fmt"
	"runtime/debug"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/text"
)

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
