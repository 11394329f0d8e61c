package fleet

import (
	"fmt"
	"testing"

	"github.com/cleave-project/cleave/internal/partition"
)

// These benchmarks time what the coordinator does for each operation of a job with many workers. With ten times as
// many workers and rows it should take about ten times as long.

// scaled are numbers of workers, with about ten tiles each.
var scaled = []int{100, 1000, 10_000}

func manySessions(count int) []*session {
	sessions := make([]*session, count)
	for at := range sessions {
		sessions[at] = &session{id: fmt.Sprint(at), threads: 1}
	}
	return sessions
}

// spreadTiles returns a job of about ten tiles for each worker.
func spreadTiles(sessions []*session) *execution {
	rows := 10 * 1024 * len(sessions)
	e := &execution{fleet: New(Config{}), rows: rows, placed: placement{tiles: make([]tile, partition.TileCount(rows))}}
	for t := range e.placed.tiles {
		e.placed.tiles[t] = tile{worker: sessions[t%len(sessions)], wantStored: true, held: held{form: builtStored}}
	}
	return e
}

func BenchmarkGroups(b *testing.B) {
	for _, workers := range scaled {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			e := spreadTiles(manySessions(workers))
			all := partition.AllTiles(e.rows)
			for b.Loop() {
				for _, g := range e.groups(all) {
					if len(e.tilesToUnstore(g)) > 0 {
						b.Fatal("a tile that should be stored is not")
					}
				}
			}
		})
	}
}
