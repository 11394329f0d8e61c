package worker

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
)

// readyJob is a job of 64 points, in 4 tiles, on a worker with room for so many stored ones.
func readyJob(t *testing.T, tiles int64) *job {
	t.Helper()
	points, err := dataset.NewPoints(64, 1, make([]float64, 64))
	if err != nil {
		t.Fatal(err)
	}
	spec := kernel.Spec{Function: kernel.Gaussian, Rho: 1, Rows: 64, Columns: 1, Grid: -40}
	source, err := kernel.NewSource(spec, points, nil)
	if err != nil {
		t.Fatal(err)
	}
	j := idleJob(t)
	j.rows, j.need, j.shard = 64, planning.Problem{Matrix: spec, K: 3}, &matrix{Shard: kernel.NewShard(source, 1)}
	j.session.worker.memory.limit = tiles * j.need.TileSize(0).Stored
	return j
}

func TestTheBooksFollowTheTiles(t *testing.T) {
	j := readyJob(t, 2)
	size, memory := j.need.TileSize(0), j.session.worker.memory
	expect := func(what string, bytes int64) {
		t.Helper()
		if memory.used != bytes || j.charged != bytes {
			t.Errorf("%s: %d bytes are used and %d charged, want %d", what, memory.used, j.charged, bytes)
		}
	}
	build := func(stored bool, tiles ...int) error {
		done, err := j.build(tiles, stored)
		if want := int64(len(tiles)) * size.Of(stored); err == nil && int64(done.GetTileBytes()) != want {
			t.Errorf("%d bytes for tiles %v, want %d", done.GetTileBytes(), tiles, want)
		}
		return err
	}
	if err := build(true, 0, 1, 2); !fault.Is(err, "NO_MEMORY") {
		t.Errorf("three tiles with room for two: %v", err)
	}
	expect("after a refusal", 0)
	if err := build(true, 0, 1); err != nil {
		t.Fatal(err)
	}
	expect("two stored", 2*size.Stored)
	if err := build(true, 0, 1); err != nil {
		t.Fatal(err)
	}
	expect("again", 2*size.Stored)
	if err := build(false, 1, 2, 3); err == nil {
		t.Error("there is no room for two more before the storage of one is given up")
	}
	if err := build(false, 1); err != nil {
		t.Fatal(err)
	}
	expect("one changed over", size.Stored+size.Computed)
	if err := build(false, 2, 3); err != nil {
		t.Fatal(err)
	}
	expect("two more", size.Stored+3*size.Computed)
	j.drop([]*workerv1.Tile{{Tile: 0}, {Tile: 1}, {Tile: 1}})
	expect("two dropped", 2*size.Computed)
	if err := build(true, 2); err != nil {
		t.Fatal(err)
	}
	expect("one stored after all", size.Stored+size.Computed)
	memory.expect()
	j.close()
	expect("closed", 0)
}

// A build of a given matrix takes the memory of the rows that pass through, for as many tiles at a
// time as there is room; one that fails on the way leaves nothing behind.
func TestRowsThatPassThroughAreCounted(t *testing.T) {
	const n = 64
	spec := kernel.Spec{Function: kernel.Given, Rows: n, Columns: n, Grid: -40}
	need := planning.Problem{Matrix: spec, K: 3, DatasetBytes: 8 * n * n}
	for _, spare := range []int64{0, 1, 3} { // tiles beside the one that there always is room for
		j := idleJob(t)
		j.session.worker.cfg.Threads = 4
		memory := j.session.worker.memory
		memory.limit = 4*need.TileSize(0).Stored + spare*need.PassingBytes()
		var now, most, calls atomic.Int64
		rows := func(_ context.Context, from, to int) ([]float64, error) {
			for at := now.Add(1); at > most.Load(); at = now.Load() {
				most.Store(at)
			}
			defer now.Add(-1)
			if calls.Add(1) == 4 {
				return nil, errors.New("the line is cut")
			}
			return make([]float64, n*(to-from)), nil
		}
		source, err := kernel.NewSource(spec, nil, rows)
		if err != nil {
			t.Fatal(err)
		}
		j.rows, j.need, j.shard = n, need, &matrix{Shard: kernel.NewShard(source, 4)}
		if _, err := j.build(partition.All(n), true); err == nil || memory.used != 0 || j.shard.Bytes() != 0 {
			t.Errorf("a build that failed left %d bytes, the shard %d: %v", memory.used, j.shard.Bytes(), err)
		}
		if _, err := j.build(partition.All(n), true); err != nil || memory.used != 4*need.TileSize(0).Stored {
			t.Errorf("built: %d bytes, %v", memory.used, err)
		}
		if most.Load() > 1+spare {
			t.Errorf("%d tiles at a time with room for %d", most.Load(), 1+spare)
		}
	}
}

// Memory that a job is about to free is waited for, and nothing else is.
func TestReservationsWaitForLeavingJobs(t *testing.T) {
	m := newMemory(100)
	m.reclaim = func(int64) {}
	if err := m.reserve(t.Context(), 80, "a job"); err != nil {
		t.Fatal(err)
	}
	if err := m.reserve(t.Context(), 30, "a second"); !fault.Is(err, "NO_MEMORY") {
		t.Errorf("nobody leaves: %v", err)
	}
	m.expect()
	got := make(chan error, 1)
	go func() { got <- m.reserve(t.Context(), 30, "a second") }()
	m.free(80)
	m.settle()
	select {
	case err := <-got:
		if err != nil {
			t.Errorf("after the first left: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("still waiting")
	}
	m.expect()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.reserve(ctx, 80, "a third"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while it waits: %v", err)
	}
	m.settle()
}

func TestLimitProcess(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	debug.SetMemoryLimit(math.MaxInt64)
	if LimitProcess(0); debug.SetMemoryLimit(-1) != math.MaxInt64 {
		t.Error("no limit became one")
	}
	if LimitProcess(8 << 30); debug.SetMemoryLimit(-1) != 8<<30+RuntimeBytes-codeBytes {
		t.Errorf("the limit is %d", debug.SetMemoryLimit(-1))
	}
	if LimitProcess(math.MaxUint64); debug.SetMemoryLimit(-1) != 8<<30+RuntimeBytes-codeBytes {
		t.Errorf("a lower limit became %d", debug.SetMemoryLimit(-1))
	}
}
