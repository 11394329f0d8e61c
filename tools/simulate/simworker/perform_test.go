package simworker

import (
	"testing"

	"pgregory.net/rapid"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/partition"
)

// The moves of all tiles, one step after the other, fit the labels that they change, and move the share of points that
// was asked for.
func TestMovesFitTheLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(2, 3000).Draw(t, "rows")
		k := rapid.IntRange(2, 6).Draw(t, "k")
		every := rapid.IntRange(2, 50).Draw(t, "every")
		j := &job{rows: rows, k: k, vectors: rapid.Bool().Draw(t, "vectors"),
			first: uint64(rapid.IntRange(1, 3).Draw(t, "first"))}
		labels := make([]int32, rows)
		for i := range labels {
			labels[i] = -1
			if !j.vectors {
				labels[i] = Label(i, 0, k, every)
			}
		}
		var tiles []*workerv1.Tile
		for n := range partition.TileCount(rows) {
			tiles = append(tiles, &workerv1.Tile{Tile: uint32(n)})
		}
		shape := labeling.Shape{Points: rows, Clusters: k, Lanes: 1}
		for step := range uint64(8) {
			moves := j.moves(tiles, j.first+step, every)
			want := rows
			if !j.vectors || step > 0 {
				want = rows / every
			}
			if len(moves) < want || len(moves) > want+1 {
				t.Fatalf("step %d moves %d of %d points", step, len(moves), rows)
			}
			if err := shape.Apply(labels, moves); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
		}
	})
}
