package placing_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/fleet/placing"
)

// Each case is about tile 0, which is on worker 0 and should be on worker 1, but for what the case changes.
func TestStepsOfOneTile(t *testing.T) {
	const none = placing.None
	for name, c := range map[string]struct {
		tile   placing.Tile
		target placing.Target
		to     placing.Worker // worker 1
		want   []placing.Step
	}{
		"it stays": {
			tile:   placing.Tile{Worker: 1, HandoverTo: none, Stored: true},
			target: placing.Target{Worker: 1, Stored: true},
		},
		"it stays, and is no longer stored": {
			tile:   placing.Tile{Worker: 1, HandoverTo: none, Stored: true},
			target: placing.Target{Worker: 1},
			want:   []placing.Step{{Kind: placing.SetStored, Tile: 0, Worker: 1}},
		},
		"it has no worker": {
			tile:   placing.Tile{Worker: none, HandoverTo: none},
			target: placing.Target{Worker: 1, Stored: true},
			to:     placing.Worker{MayJoin: true},
			want:   []placing.Step{{Kind: placing.Put, Tile: 0, Worker: 1, Stored: true}},
		},
		"it moves to a worker that joins": {
			tile:   placing.Tile{HandoverTo: none, Stays: true},
			target: placing.Target{Worker: 1, Stored: true},
			to:     placing.Worker{MayJoin: true},
			want:   []placing.Step{{Kind: placing.HandOver, Tile: 0, Worker: 1, Stored: true}},
		},
		"it moves to one that builds others in the background": {
			tile:   placing.Tile{HandoverTo: none, Stays: true},
			target: placing.Target{Worker: 1},
			to:     placing.Worker{MayJoin: true, Builds: true},
			want:   []placing.Step{{Kind: placing.HandOver, Tile: 0, Worker: 1}},
		},
		"it moves to a member": {
			tile:   placing.Tile{HandoverTo: none, Stays: true},
			target: placing.Target{Worker: 1},
			want: []placing.Step{
				{Kind: placing.Remove, Tile: 0, Worker: 0}, {Kind: placing.Put, Tile: 0, Worker: 1}},
		},
		"it moves from a worker that does not go on with it": {
			tile:   placing.Tile{HandoverTo: none},
			target: placing.Target{Worker: 1},
			to:     placing.Worker{MayJoin: true},
			want: []placing.Step{
				{Kind: placing.Remove, Tile: 0, Worker: 0}, {Kind: placing.Put, Tile: 0, Worker: 1}},
		},
		"and that worker builds others in the background": {
			tile:   placing.Tile{HandoverTo: none},
			target: placing.Target{Worker: 1},
			to:     placing.Worker{MayJoin: true, Builds: true},
			want:   []placing.Step{{Kind: placing.StopHandover, Tile: none, Worker: 1}},
		},
		"it is being handed over": {
			tile:   placing.Tile{HandoverTo: 1, Stays: true},
			target: placing.Target{Worker: 1},
			to:     placing.Worker{MayJoin: true, Builds: true},
		},
		"it is being handed over, and its worker is gone": {
			tile:   placing.Tile{Worker: none, HandoverTo: 1},
			target: placing.Target{Worker: 1},
			to:     placing.Worker{MayJoin: true, Builds: true},
			want:   []placing.Step{{Kind: placing.StopHandover, Tile: none, Worker: 1}},
		},
		"it should stay after all": {
			tile:   placing.Tile{HandoverTo: 1, Stays: true, Stored: true},
			target: placing.Target{Worker: 0},
			to:     placing.Worker{MayJoin: true, Builds: true},
			want: []placing.Step{
				{Kind: placing.DropCopy, Tile: 0, Worker: 1}, {Kind: placing.SetStored, Tile: 0, Worker: 0}},
		},
		"it should go elsewhere after all": {
			tile:   placing.Tile{HandoverTo: 2, Stays: true},
			target: placing.Target{Worker: 1},
			to:     placing.Worker{MayJoin: true},
			want: []placing.Step{
				{Kind: placing.DropCopy, Tile: 0, Worker: 2}, {Kind: placing.HandOver, Tile: 0, Worker: 1}},
		},
	} {
		workers := []placing.Worker{{}, c.to, {MayJoin: true, Builds: true}}
		got := placing.Steps([]placing.Tile{c.tile}, []placing.Target{c.target}, workers)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A worker that must build one tile at once builds all of its new ones at once.
func TestAWorkerDoesNotBuildInBothWays(t *testing.T) {
	tiles := []placing.Tile{
		{HandoverTo: placing.None, Stays: true},
		{Worker: placing.None, HandoverTo: placing.None},
	}
	got := placing.Steps(tiles, []placing.Target{{Worker: 1}, {Worker: 1}}, []placing.Worker{{}, {MayJoin: true}})
	want := []placing.Step{
		{Kind: placing.Remove, Tile: 0, Worker: 0},
		{Kind: placing.Put, Tile: 0, Worker: 1},
		{Kind: placing.Put, Tile: 1, Worker: 1},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Whatever is where, the steps are possible one after the other, and lead to where the tiles should be. No worker
// takes part in operations for a new tile and builds others in the background.
func TestStepsLeadToTheTargets(t *testing.T) {
	const workers, none = 4, placing.None
	rapid.Check(t, func(t *rapid.T) {
		able := make([]placing.Worker, workers)
		var members, joining []int
		for w := range able {
			able[w].MayJoin = rapid.Bool().Draw(t, "may join")
			if able[w].MayJoin {
				joining = append(joining, w)
			} else {
				members = append(members, w)
			}
		}
		tiles := make([]placing.Tile, rapid.IntRange(1, 8).Draw(t, "tiles"))
		targets := make([]placing.Target, len(tiles))
		for n := range tiles {
			tiles[n] = placing.Tile{Worker: none, HandoverTo: none, Stored: rapid.Bool().Draw(t, "stored")}
			if len(members) > 0 && rapid.IntRange(0, 3).Draw(t, "placed") > 0 {
				tiles[n].Worker = rapid.SampledFrom(members).Draw(t, "worker")
				tiles[n].Stays = rapid.Bool().Draw(t, "stays")
			}
			if tiles[n].Stays && len(joining) > 0 && rapid.Bool().Draw(t, "handed over") {
				tiles[n].HandoverTo = rapid.SampledFrom(joining).Draw(t, "handover to")
				able[tiles[n].HandoverTo].Builds = true
			}
			targets[n] = placing.Target{
				Worker: rapid.IntRange(0, workers-1).Draw(t, "target"), Stored: rapid.Bool().Draw(t, "target stored")}
		}
		steps := placing.Steps(tiles, targets, able)
		if len(steps) == 1 && steps[0].Kind == placing.StopHandover {
			if !able[steps[0].Worker].Builds {
				t.Fatal("a handover is stopped that does not exist")
			}
			return
		}
		now := slices.Clone(tiles)
		put := map[int]bool{}
		for _, step := range steps {
			tile := &now[step.Tile]
			var possible bool
			switch step.Kind {
			case placing.DropCopy:
				possible = tile.HandoverTo == step.Worker
				tile.HandoverTo = none
			case placing.HandOver:
				possible = tile.HandoverTo == none && tile.Stays && able[step.Worker].MayJoin
				tile.HandoverTo = step.Worker
			case placing.Remove:
				possible = tile.Worker == step.Worker && tile.HandoverTo == none
				tile.Worker = none
			case placing.Put:
				possible = tile.Worker == none && tile.HandoverTo == none
				tile.Worker = step.Worker
				tile.Stored = step.Stored
				put[step.Worker] = true
			case placing.SetStored:
				possible = tile.Worker == step.Worker && tile.HandoverTo == none && tile.Stored != step.Stored
				tile.Stored = step.Stored
			}
			if !possible {
				t.Fatalf("step %+v of %+v is impossible", step, steps)
			}
		}
		for n, tile := range now {
			there := tile.Worker == targets[n].Worker && tile.Stored == targets[n].Stored
			if !there && tile.HandoverTo != targets[n].Worker {
				t.Fatalf("tile %d should be at %+v and is %+v", n, targets[n], tile)
			}
			if tile.HandoverTo != none && put[tile.HandoverTo] {
				t.Fatalf("worker %d builds tiles at once and others in the background", tile.HandoverTo)
			}
		}
	})
}
