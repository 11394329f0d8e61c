package fleet

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/cleave-project/cleave/internal/fleet/pace"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
)

// These benchmarks time what the coordinator does for each operation of a job with many workers. With ten times as
// many workers and rows it should take about ten times as long.

// scaled are numbers of workers, with about ten tiles each.
var scaled = []int{100, 1000, 10_000}

func manySessions(count int) []*session {
	sessions := make([]*session, count)
	for at := range sessions {
		sessions[at] = &session{id: fmt.Sprint(at), threads: 1, conduct: &conduct{}}
	}
	return sessions
}

// spreadTiles returns a job of about ten tiles for each worker.
func spreadTiles(sessions []*session) *execution {
	rows := 10 * 1024 * len(sessions)
	e := &execution{fleet: New(Config{}), rows: rows, placed: placement{tiles: make([]tile, partition.TileCount(rows))}}
	for t := range e.placed.tiles {
		e.placed.tiles[t] = tile{worker: sessions[t%len(sessions)], wantStored: true, state: builtStored}
	}
	return e
}

func BenchmarkGroups(b *testing.B) {
	for _, workers := range scaled {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			e := spreadTiles(manySessions(workers))
			all := partition.AllTiles(e.rows)
			for b.Loop() {
				groups := e.groups(&operation{}, all)
				chainsOf(groups)
				for _, g := range groups {
					if len(e.tilesToUnstore(g)) > 0 {
						b.Fatal("a tile that should be stored is not")
					}
				}
			}
		})
	}
}

// Verifying many tiles on many workers takes the time of the tiles, not of the tiles times the workers: the fleet can
// hear of nobody meanwhile. What is allocated tells.
func TestVerificationGrowsWithTheTiles(t *testing.T) {
	sessions := manySessions(200)
	e := spreadTiles(sessions)
	e.verify, e.pace, e.blame = 1, pace.New(time.Second), newBlame(nil)
	need := planning.Workload{Matrix: kernel.MatrixSpec{Function: kernel.Linear, Rows: e.rows, Columns: 2}, K: 2, Lanes: 1}
	placed := e.placed.tiles
	e.placed = newPlacement(e.fleet, need)
	e.placed.tiles = placed
	for _, s := range sessions {
		s.stream = &attachment{}
		e.placed.members[s] = &membership{tiles: 10}
	}
	op, all := &operation{request: always(nil)}, partition.AllTiles(e.rows)
	if copies := e.verifiedLocked(op, all); len(copies) != len(all) {
		t.Fatalf("%d of %d tiles are verified", len(copies), len(all))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	copies := e.verifiedLocked(op, all)
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / uint64(len(all)); len(copies) != len(all) || each > 1000 {
		t.Errorf("%d bytes for each of %d tiles", each, len(all))
	}
}
