package placing_test

import (
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/fleet/placing"
	"github.com/cleave-project/cleave/internal/partition"
)

// jobOn returns a job whose tiles are placed on worker 0. Each takes one byte, and two if it is stored.
func jobOn(tiles int, workers ...placing.Worker) *placing.Job {
	j := &placing.Job{Key: "job", Rule: partition.StoreNone, Workers: workers}
	for range tiles {
		j.Sizes = append(j.Sizes, partition.Size{Stored: 2, Computed: 1})
		j.Tiles = append(j.Tiles, placing.Tile{HandoverTo: placing.None})
	}
	return j
}

// able returns a worker that may get any number of tiles.
func able(id string) placing.Worker {
	return placing.Worker{Host: partition.Host{ID: id, FreeBytes: 100}, Usable: true, Works: true}
}

// The tiles of a draining worker go to a worker that can build them in the background, rather than to a member that
// must build them at once.
func TestTilesOfADrainingWorkerGoToFreshWorkers(t *testing.T) {
	draining, member, fresh := able("draining"), able("member"), able("fresh")
	draining.Yields, draining.Usable = true, false
	fresh.Fresh = true
	layout, unplaced := jobOn(1, draining, member, fresh).Layout()
	if unplaced || !slices.Equal(layout.Owner, []int{2}) {
		t.Errorf("the tile goes to worker %d; it is unplaced: %v", layout.Owner[0], unplaced)
	}
	draining.Yields = false
	if layout, _ = jobOn(1, draining, member, fresh).Layout(); !slices.Equal(layout.Owner, []int{0}) {
		t.Errorf("the tile of a worker that does not drain goes to worker %d", layout.Owner[0])
	}
}

// A tile that is being handed over counts as placed where it will be, in the form that it has there.
func TestAHandoverCountsAsDone(t *testing.T) {
	j := jobOn(2, able("from"), able("to"))
	j.Tiles[1] = placing.Tile{Worker: placing.None, HandoverTo: 1, CopyStored: true}
	layout, unplaced := j.Layout()
	if unplaced || !slices.Equal(layout.Owner, []int{0, 1}) || !slices.Equal(layout.Stored, []bool{false, true}) {
		t.Errorf("the tiles are on %v, stored %v; one is unplaced: %v", layout.Owner, layout.Stored, unplaced)
	}
	j.Tiles[1].HandoverTo = placing.None
	if _, unplaced = j.Layout(); !unplaced {
		t.Error("a tile without a worker does not count as unplaced")
	}
}

// Doubted workers get tiles only if there is no other, or it has no room.
func TestDoubtedWorkersAreTheLastResort(t *testing.T) {
	for name, c := range map[string]struct {
		first, second placing.Doubt
		full          bool // the first has room for one tile only
		want          []int
	}{
		"one is slow":                        {placing.NoDoubt, placing.Slow, false, []int{0, 0}},
		"one is slow, and needed":            {placing.NoDoubt, placing.Slow, true, []int{0, 1}},
		"one is unreliable, and needed":      {placing.NoDoubt, placing.Unreliable, true, []int{0, 1}},
		"both are doubted, and share":        {placing.Slow, placing.Unreliable, false, []int{0, 1}},
		"one is slow, and there is no other": {placing.Unreliable, placing.Slow, true, []int{0, 1}},
	} {
		first, second := able("first"), able("second")
		first.Doubt, second.Doubt = c.first, c.second
		if c.full {
			first.Host.FreeBytes = 1
		}
		j := jobOn(2, first, second)
		for t := range j.Tiles {
			j.Tiles[t].Worker = placing.None
		}
		layout, _ := j.Layout()
		if layout == nil || !slices.Equal(slices.Sorted(slices.Values(layout.Owner)), c.want) {
			t.Errorf("%s: %+v", name, layout)
		}
	}
}
