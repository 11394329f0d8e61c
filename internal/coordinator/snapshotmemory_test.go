package coordinator_test

import (
	"testing"

	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// A job reserves the memory of its states where there is some: never so much that it would not fit.
func TestJobsReserveMemoryForTheirStates(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	cfg.Snapshots = runner.DefaultSnapshots()
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	s, _ := spectralJob(h)
	ready, err := h.Coordinator.Problems().Make(t.Context(), s, runner.Accepted)
	if err != nil {
		t.Fatal(err)
	}
	needed := ready.CoordinatorBytes()
	planned := planning.SnapshotBytes(ready.Parts())
	for _, test := range []struct{ memory, reserved, limit int64 }{
		{0, planned, planning.MaxSnapshotBytes},
		{needed + 2*planned, planned, planned},
		{needed + planned, planned / 2, planned},
		{needed, 0, planned},
	} {
		problems := *h.Coordinator.Problems()
		problems.MemoryBytes = test.memory
		if reserved, limit := problems.SnapshotBytes(ready); reserved != test.reserved ||
			limit != test.limit {
			t.Errorf("of %d bytes %d are reserved for states, which may have %d; want %d and %d", test.memory, reserved,
				limit, test.reserved, test.limit)
		}
	}
	problems := *h.Coordinator.Problems()
	problems.Snapshots = false
	if reserved, limit := problems.SnapshotBytes(ready); reserved != 0 || limit != 0 {
		t.Errorf("%d and %d bytes for states that are not stored", reserved, limit)
	}
}
