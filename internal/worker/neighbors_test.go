package worker

import (
	"math"
	"reflect"
	"strings"
	"testing"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
)

// neighborJob is a search for 5 neighbors among 64 points in 4 tiles, and all of them.
func neighborJob(t *testing.T) (*job, []int32) {
	t.Helper()
	points := &dataset.Points{N: 64, D: 2, Values: make([]float64, 64*2)}
	for i := range points.Values {
		points.Values[i] = float64(i*i%17) - 8
	}
	search, err := neighbor.NewSearch(points)
	if err != nil {
		t.Fatal(err)
	}
	all, err := search.All(t.Context(), 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	j := newTestJob(t)
	j.rows = 64
	j.shard = newNeighbors(search, 5, 1)
	j.need = planning.NeighborWorkload(points, 0, 5)
	return j, all
}

func TestNeighborsAreThoseOfTheTiles(t *testing.T) {
	j, all := neighborJob(t)
	ask := func(tiles ...uint32) *workerv1.Command {
		c := &workerv1.Command{Operation: &workerv1.Command_Neighbors{Neighbors: &workerv1.Neighbors{}}}
		for _, tile := range tiles {
			c.Tiles = append(c.Tiles, &workerv1.Tile{Tile: tile, Epoch: 1})
		}
		return c
	}
	if kind := j.execute(ask(0)).GetFailure().GetKind(); kind != workerv1.FailureKind_FAILURE_KIND_NOT_READY {
		t.Errorf("before the build: %v", kind)
	}
	for range 2 { // built twice, a tile is the same
		if failure := j.executeOnAll(&workerv1.Command{Operation: buildCommand}).GetFailure(); failure != nil {
			t.Fatal(failure)
		}
	}
	got, err := wire.UnpackInt32s(j.execute(ask(2, 0)).GetDone().GetValues().GetInline())
	var want []int32
	order := j.shard.(*neighbors).order
	for _, i := range append(append([]int32(nil), order[32:48]...), order[:16]...) {
		want = append(append(want, i), all[5*i:5*(i+1)]...)
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for name, c := range map[string]*workerv1.Command{
		"a command for a matrix": {Operation: &workerv1.Command_Degrees{Degrees: &workerv1.Degrees{}}},
		"tiles not stored":       {Operation: &workerv1.Command_Build{Build: &workerv1.Build{MatrixFree: true}}},
	} {
		if failure := j.executeOnAll(c).GetFailure(); failure.GetKind() != workerv1.FailureKind_FAILURE_KIND_INTERNAL {
			t.Errorf("%s: %v", name, failure)
		}
	}
}

func TestReservedMemoryFollowsTheTilesOfNeighbors(t *testing.T) {
	j, _ := neighborJob(t)
	size := j.need.TileSize(0).Stored
	memory := j.worker.memory
	memory.limit = 3 * size
	held := func() (all []int32) {
		for _, found := range j.shard.(*neighbors).found {
			all = append(all, found...)
		}
		return all
	}
	if _, err := j.build(partition.AllTiles(64), true); !fault.Is(err, "NO_MEMORY") || memory.used != 0 ||
		len(held()) != 0 {
		t.Errorf("four tiles with room for three: %v, %d bytes", err, memory.used)
	}
	if _, err := j.build([]int{0, 2}, true); err != nil || memory.used != 2*size || 4*int64(len(held())) > 2*size ||
		len(held()) == 0 {
		t.Errorf("two tiles: %v, %d bytes, %d numbers", err, memory.used, len(held()))
	}
	j.drop([]*workerv1.Tile{{Tile: 0}})
	if memory.used != size || 4*int64(len(held())) > size {
		t.Errorf("one tile: %d bytes, %d numbers", memory.used, len(held()))
	}
}

func TestInvalidSearchesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		spec *workerv1.NeighborSpec
		says string
	}{
		"no rows":         {&workerv1.NeighborSpec{}, "of each of 0 rows"},
		"too many rows":   {&workerv1.NeighborSpec{Rows: math.MaxUint64}, "of each of"},
		"as many as rows": {&workerv1.NeighborSpec{Rows: 5, Count: 5}, "5 neighbors of each of 5 rows"},
		"a short diagonal": {&workerv1.NeighborSpec{Rows: 5, Count: 2, Diagonal: inline(make([]byte, 32))},
			"32 bytes for 5 values"},
		"a broken diagonal": {&workerv1.NeighborSpec{Rows: 5, Count: 2, Diagonal: inline(make([]byte, 39))},
			"39 bytes"},
	} {
		j := newTestJob(t)
		failure := j.execute(&workerv1.Command{Operation: &workerv1.Command_Prepare{Prepare: &workerv1.Prepare{
			K: 1, What: &workerv1.Prepare_Neighbors{Neighbors: c.spec}}}}).GetFailure()
		if failure == nil || !strings.Contains(failure.GetMessage(), c.says) || j.reserved != 0 {
			t.Errorf("%s: %v", name, failure)
		}
	}
}
