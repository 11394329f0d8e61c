package partition

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func drawHosts(t *rapid.T, room int64) []Host {
	hosts := make([]Host, rapid.IntRange(1, 8).Draw(t, "hosts"))
	for i := range hosts {
		hosts[i] = Host{ID: fmt.Sprint("worker-", i), Weight: rapid.IntRange(1, 16).Draw(t, "weight"), Room: room, Open: true}
	}
	return hosts
}

func homeless(n int) ([]int64, []int) {
	bytes, owner := make([]int64, n), make([]int, n)
	for i := range owner {
		bytes[i], owner[i] = 10, Nowhere
	}
	return bytes, owner
}

func TestPlaceKeepsEveryHostWithinItsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := drawHosts(t, math.MaxInt64)
		bytes, owner := homeless(rapid.IntRange(1, 200).Draw(t, "tiles"))
		placed, ok := Place(rapid.String().Draw(t, "key"), bytes, owner, hosts)
		if !ok {
			t.Fatal("nothing was in the way")
		}
		for h, load := range loads(placed, hosts) {
			if share := shares(len(owner), hosts)[h]; load > share {
				t.Fatalf("host %d has %d tiles, its share is %d", h, load, share)
			}
		}
	})
}

func TestPlaceDoesNotDependOnTheOrderOfHosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := drawHosts(t, math.MaxInt64)
		bytes, owner := homeless(rapid.IntRange(1, 100).Draw(t, "tiles"))
		shuffled := rapid.Permutation(hosts).Draw(t, "order")
		a, _ := Place("job", bytes, owner, hosts)
		b, _ := Place("job", bytes, owner, shuffled)
		for tile := range owner {
			if hosts[a[tile]].ID != shuffled[b[tile]].ID {
				t.Fatalf("tile %d lies on %s or %s", tile, hosts[a[tile]].ID, shuffled[b[tile]].ID)
			}
		}
	})
}

func TestPlaceMovesOnlyLostTiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := drawHosts(t, math.MaxInt64)
		bytes, owner := homeless(rapid.IntRange(1, 200).Draw(t, "tiles"))
		before, _ := Place("job", bytes, owner, hosts)
		if len(hosts) == 1 {
			return
		}
		lost := rapid.IntRange(0, len(hosts)-1).Draw(t, "lost")
		survivors := slices.Delete(slices.Clone(hosts), lost, lost+1)
		left := slices.Clone(before)
		for tile, h := range before {
			switch {
			case h == lost:
				left[tile] = Nowhere
			case h > lost:
				left[tile] = h - 1
			}
		}
		after, ok := Place("job", bytes, left, survivors)
		if !ok {
			t.Fatal("nothing was in the way")
		}
		for tile := range after {
			if left[tile] != Nowhere && after[tile] != left[tile] {
				t.Fatalf("tile %d moved although its host is alive", tile)
			}
		}
		for h, load := range loads(after, survivors) {
			if share := shares(len(owner), survivors)[h]; load > share {
				t.Fatalf("host %d has %d tiles, its share is %d", h, load, share)
			}
		}
	})
}

func TestPlaceRespectsMemoryAndClosedDoors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := drawHosts(t, 0)
		capacity := 0
		for i := range hosts {
			hosts[i].Room = rapid.Int64Range(0, 200).Draw(t, "room")
			hosts[i].Open = rapid.IntRange(0, 4).Draw(t, "open") > 0
			if hosts[i].Open {
				capacity += int(hosts[i].Room / 10)
			}
		}
		bytes, owner := homeless(rapid.IntRange(1, 60).Draw(t, "tiles"))
		placed, ok := Place("job", bytes, owner, hosts)
		if ok != (capacity >= len(owner)) {
			t.Fatalf("placed: %v, with room for %d of %d tiles", ok, capacity, len(owner))
		}
		for h, load := range loads(placed, hosts) {
			if int64(load)*10 > hosts[h].Room || load > 0 && !hosts[h].Open {
				t.Fatalf("host %d (%+v) has %d tiles", h, hosts[h], load)
			}
		}
	})
}

func TestPlaceSpreadsJobsWithOneTile(t *testing.T) {
	hosts := []Host{{ID: "a", Weight: 1, Room: 100, Open: true}, {ID: "b", Weight: 3, Room: 100, Open: true}}
	bytes, owner := homeless(1)
	counts := [2]int{}
	for job := range 4000 {
		placed, _ := Place(fmt.Sprint("job-", job), bytes, owner, hosts)
		counts[placed[0]]++
	}
	if counts[0] < 850 || counts[0] > 1150 {
		t.Errorf("of 4000 tiles %v lie on hosts of weights 1 and 3", counts)
	}
}

func TestBalanceGivesANewcomerItsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := drawHosts(t, math.MaxInt64/2)
		bytes, owner := homeless(rapid.IntRange(1, 200).Draw(t, "tiles"))
		before, _ := Place("job", bytes, owner, hosts)
		grown := append(slices.Clone(hosts), Host{ID: "newcomer", Weight: rapid.IntRange(1, 16).Draw(t, "weight"), Room: math.MaxInt64 / 2, Open: true})
		after, moved := Balance("job", bytes, before, grown)
		was, is := largest(loads(before, grown), grown), largest(loads(after, grown), grown)
		if moved != (is <= worthMoving*was) {
			t.Fatalf("moved: %v, largest load %g -> %g", moved, was, is)
		}
		if is > was {
			t.Fatalf("the largest load rose from %g to %g", was, is)
		}
		// No single further move would help.
		load := loads(after, grown)
		for from := range grown {
			for to := range grown {
				if relative(load[from], grown[from]) == is && relative(load[to]+1, grown[to]) < is {
					t.Fatalf("host %d at %g could still give to host %d", from, is, to)
				}
			}
		}
		// Tiles only leave hosts that had more, and each moves once: old hosts never gain.
		for tile := range after {
			if after[tile] != before[tile] && load[after[tile]] <= loads(before, grown)[after[tile]] {
				t.Fatalf("tile %d moved to host %d, which has not gained by it", tile, after[tile])
			}
		}
		if again, moved := Balance("job", bytes, after, grown); moved {
			t.Fatalf("balanced twice: %v, then %v", after, again)
		}
	})
}

func TestBalanceRespectsMemory(t *testing.T) {
	hosts := []Host{{ID: "old", Weight: 1, Open: true}, {ID: "small", Weight: 1, Room: 25, Open: true}}
	bytes := []int64{10, 10, 10, 10, 10, 10, 10, 10}
	after, moved := Balance("job", bytes, make([]int, 8), hosts)
	if !moved || loads(after, hosts)[1] != 2 {
		t.Errorf("loads %v with room for two", loads(after, hosts))
	}
}
