package worker

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
)

// matrixJob is a job of 64 points in 4 tiles, on a worker with memory for a number of stored tiles.
func matrixJob(t *testing.T, tiles int64) *job {
	t.Helper()
	points, err := dataset.NewPoints(64, 1, make([]float64, 64))
	if err != nil {
		t.Fatal(err)
	}
	spec := kernel.MatrixSpec{Function: kernel.Gaussian, Rho: 1, Rows: 64, Columns: 1, Grid: -40}
	source, err := kernel.NewSource(spec, points, nil)
	if err != nil {
		t.Fatal(err)
	}
	j := newTestJob(t)
	j.rows = 64
	j.need = planning.Workload{Matrix: &planning.Matrix{Spec: spec}, K: 3}
	j.shard = &matrix{Shard: kernel.NewShard(source, 1)}
	j.worker.memory.limit = tiles * j.need.TileSize(0).Stored
	return j
}

func TestReservedMemoryFollowsTheTiles(t *testing.T) {
	j := matrixJob(t, 2)
	size := j.need.TileSize(0)
	memory := j.worker.memory
	expect := func(what string, bytes int64) {
		t.Helper()
		if memory.used != bytes || j.reserved != bytes {
			t.Errorf("%s: %d bytes are used and %d reserved by the job, want %d", what, memory.used, j.reserved, bytes)
		}
	}
	build := func(stored bool, tiles ...int) error {
		done, err := j.build(tiles, stored)
		if want := int64(len(tiles)) * size.Bytes(stored); err == nil && int64(done.GetTileBytes()) != want {
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
	expect("one converted", size.Stored+size.Computed)
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
	memory.beginRelease()
	j.close()
	expect("closed", 0)
}

// A build from a kernel matrix reserves memory for the rows that it fetches, of as many tiles at a time as
// possible. A build that fails leaves nothing reserved.
func TestFetchedRowsAreReserved(t *testing.T) {
	const n = 64
	spec := kernel.MatrixSpec{Function: kernel.Given, Rows: n, Columns: n, Grid: -40}
	need := planning.Workload{Matrix: &planning.Matrix{Spec: spec}, K: 3, DatasetBytes: 8 * n * n}
	for _, spare := range []int64{0, 1, 3} { // tiles whose rows fit in addition to one
		j := newTestJob(t)
		j.worker.cfg.Threads = 4
		memory := j.worker.memory
		memory.limit = 4*need.TileSize(0).Stored + spare*need.TileBuildBytes()
		var now, highest, calls atomic.Int64
		rows := func(_ context.Context, from, to int) ([]float64, error) {
			for at := now.Add(1); at > highest.Load(); at = now.Load() {
				highest.Store(at)
			}
			defer now.Add(-1)
			if calls.Add(1) == 4 {
				return nil, errors.New("the connection broke")
			}
			return make([]float64, n*(to-from)), nil
		}
		source, err := kernel.NewSource(spec, nil, rows)
		if err != nil {
			t.Fatal(err)
		}
		j.rows, j.need, j.shard = n, need, &matrix{Shard: kernel.NewShard(source, 4)}
		if _, err := j.build(partition.AllTiles(n), true); err == nil || memory.used != 0 {
			t.Errorf("a build that failed left %d bytes: %v", memory.used, err)
		}
		for _, tile := range partition.AllTiles(n) {
			if _, err := j.shard.(*matrix).Maxima(t.Context(), []int{tile}); !errors.Is(err, kernel.ErrNotReady) {
				t.Errorf("a build that failed left tile %d: %v", tile, err)
			}
		}
		if _, err := j.build(partition.AllTiles(n), true); err != nil || memory.used != 4*need.TileSize(0).Stored {
			t.Errorf("built: %d bytes, %v", memory.used, err)
		}
		if highest.Load() > 1+spare {
			t.Errorf("%d tiles at a time with room for %d", highest.Load(), 1+spare)
		}
	}
}

// A reservation waits only for memory that a job is about to free.
func TestReservationsWaitForEndingJobs(t *testing.T) {
	m := newMemory(100)
	if err := m.reserve(t.Context(), 80, "a job"); err != nil {
		t.Fatal(err)
	}
	if err := m.reserve(t.Context(), 30, "a second"); !fault.Is(err, "NO_MEMORY") {
		t.Errorf("no job ends: %v", err)
	}
	m.beginRelease()
	got := make(chan error, 1)
	go func() { got <- m.reserve(t.Context(), 30, "a second") }()
	m.free(80)
	m.endRelease()
	select {
	case err := <-got:
		if err != nil {
			t.Errorf("after the first ended: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("still waiting")
	}
	m.beginRelease()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.reserve(ctx, 80, "a third"); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled while it waits: %v", err)
	}
	m.endRelease()
}

// Cached data is freed in order, and no more of it than a reservation needs.
func TestReservationsReclaimOnlyWhatTheyNeed(t *testing.T) {
	m := newMemory(100)
	var freed []string
	step := func(name string, bytes int64) func(int64) {
		return func(int64) {
			freed = append(freed, name)
			m.free(bytes)
			bytes = 0
		}
	}
	m.reclaim = []func(int64){step("data sets", 10), step("pieces", 20), step("kept jobs", 30)}
	if !m.take(100) {
		t.Fatal("there is no memory")
	}
	for _, c := range []struct {
		bytes int64
		freed []string
	}{
		{10, []string{"data sets"}},
		{20, []string{"data sets", "pieces"}},
		{40, []string{"data sets", "pieces", "kept jobs"}}, // which are not enough
	} {
		freed = nil
		if err := m.reserve(t.Context(), c.bytes, "a job"); (err == nil) != (c.bytes < 40) ||
			!slices.Equal(freed, c.freed) {
			t.Errorf("%d bytes: freed %v, %v", c.bytes, freed, err)
		}
	}
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
