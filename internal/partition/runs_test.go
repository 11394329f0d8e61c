package partition

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// runsOf returns how many runs of consecutive tiles the hosts have in all.
func runsOf(owner []int) int {
	runs := 0
	for tile, h := range owner {
		if tile == 0 || owner[tile-1] != h {
			runs++
		}
	}
	return runs
}

// Every host gets one run. The loss of a host splits its run among the others. A newcomer gets one run from each, and
// leveling the others may take some tiles of theirs.
func TestHostsGetRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := drawHosts(t, math.MaxInt64/2)
		sizes := drawTiles(t, 300)
		key := rapid.String().Draw(t, "key")
		first := placedIn(t, true, key, sizes, hosts)
		if runs := runsOf(first.Owner); runs > len(hosts) {
			t.Fatalf("%d runs on %d hosts: %v", runs, len(hosts), first.Owner)
		}
		if again := placedIn(t, true, key, sizes, hosts); !slices.Equal(again.Owner, first.Owner) {
			t.Fatal("the same job is placed in two ways")
		}
		closed := slices.Clone(hosts)
		lost := rapid.IntRange(0, len(hosts)-1).Draw(t, "lost")
		closed[lost].Accepting = false
		after := layoutIn(true, key, sizes, closed)
		for tile, h := range first.Owner {
			if h != lost {
				after.MarkPlaced(tile, h, true)
			}
		}
		if len(hosts) > 1 {
			if !after.Place(StoreAll) {
				t.Fatal("a tile was not placed although there is room for all")
			}
			if runs := runsOf(after.Owner); runs > 2*len(hosts) {
				t.Fatalf("%d runs on %d hosts: %v", runs, len(hosts)-1, after.Owner)
			}
		}
		grown := layoutIn(true, key, sizes,
			append(slices.Clone(hosts), Host{ID: "newcomer", Weight: 4, FreeBytes: math.MaxInt64 / 2, Accepting: true}))
		for tile, h := range first.Owner {
			grown.MarkPlaced(tile, h, true)
		}
		if grown.Balance(StoreAll); runsOf(grown.Owner) > 3*(len(hosts)+1) {
			t.Fatalf("%d runs on %d hosts: %v", runsOf(grown.Owner), len(hosts)+1, grown.Owner)
		}
	})
}
