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
		hosts[i] = Host{ID: fmt.Sprint("worker-", i), Weight: float64(rapid.IntRange(1, 16).Draw(t, "weight")),
			FreeBytes: room, Accepting: true}
	}
	return hosts
}

// unplacedTiles are tiles that take 10 bytes if they are stored and 2 if not.
func unplacedTiles(n int) []Size {
	sizes := make([]Size, n)
	for i := range sizes {
		sizes[i] = Size{Stored: 10, Computed: 2}
	}
	return sizes
}

func drawTiles(t *rapid.T, most int) []Size {
	return unplacedTiles(rapid.IntRange(1, most).Draw(t, "tiles"))
}

// placed returns a layout of all tiles, stored on hosts with enough memory.
func placed(t interface{ Fatal(...any) }, key string, sizes []Size, hosts []Host) *Layout {
	return placedIn(t, false, key, sizes, hosts)
}

// placedIn does the same, in runs or not.
func placedIn(t interface{ Fatal(...any) }, runs bool, key string, sizes []Size, hosts []Host) *Layout {
	l := layoutIn(runs, key, sizes, hosts)
	if !l.Place(StoreAll) {
		t.Fatal("a tile was not placed although there is room for all")
	}
	return l
}

// layoutIn returns a layout without placed tiles, in runs or not.
func layoutIn(runs bool, key string, sizes []Size, hosts []Host) *Layout {
	l := NewLayout(key, sizes, hosts)
	if runs {
		l.KeepRuns()
	}
	return l
}

func TestPlaceKeepsEveryHostWithinItsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := drawHosts(t, math.MaxInt64/2)
		sizes := drawTiles(t, 200)
		for h, load := range placedIn(t, rapid.Bool().Draw(t, "runs"), rapid.String().Draw(t, "key"),
			sizes, hosts).load {
			if share := shares(len(sizes), hosts)[h]; load > share {
				t.Fatalf("host %d has %d tiles, its share is %d", h, load, share)
			}
		}
	})
}

func TestPlaceDoesNotDependOnTheOrderOfHosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := drawHosts(t, 0)
		sizes := drawTiles(t, 100)
		for h := range hosts {
			hosts[h].FreeBytes = rapid.Int64Range(0, 400).Draw(t, "room")
		}
		shuffled := rapid.Permutation(hosts).Draw(t, "order")
		runs := rapid.Bool().Draw(t, "runs")
		a := layoutIn(runs, "job", sizes, hosts)
		b := layoutIn(runs, "job", sizes, shuffled)
		if ok := a.Place(StoreWhatFits); ok != b.Place(StoreWhatFits) {
			t.Fatal("only one order can be placed")
		} else if !ok {
			return
		}
		for tile := range sizes {
			if hosts[a.Owner[tile]].ID != shuffled[b.Owner[tile]].ID || a.Stored[tile] != b.Stored[tile] {
				t.Fatalf("tile %d lies on %s or %s", tile, hosts[a.Owner[tile]].ID, shuffled[b.Owner[tile]].ID)
			}
		}
	})
}

func TestPlaceMovesOnlyLostTiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := drawHosts(t, math.MaxInt64/2)
		sizes := drawTiles(t, 200)
		runs := rapid.Bool().Draw(t, "runs")
		before := placedIn(t, runs, "job", sizes, hosts)
		if len(hosts) == 1 {
			return
		}
		lost := rapid.IntRange(0, len(hosts)-1).Draw(t, "lost")
		survivors := slices.Delete(slices.Clone(hosts), lost, lost+1)
		after := layoutIn(runs, "job", sizes, survivors)
		left := slices.Clone(before.Owner)
		for tile, h := range before.Owner {
			switch {
			case h == lost:
				left[tile] = Nowhere
				continue
			case h > lost:
				left[tile] = h - 1
			}
			after.MarkPlaced(tile, left[tile], true)
		}
		if !after.Place(StoreAll) {
			t.Fatal("a tile was not placed although there is room for all")
		}
		for tile := range sizes {
			if left[tile] != Nowhere && after.Owner[tile] != left[tile] {
				t.Fatalf("tile %d moved although its host is alive", tile)
			}
		}
		for h, load := range after.load {
			if share := shares(len(sizes), survivors)[h]; load > share {
				t.Fatalf("host %d has %d tiles, its share is %d", h, load, share)
			}
		}
	})
}

// Under every rule a job is placed if and only if it fits, within the memory of hosts that take new tiles, and as
// much is stored as fits.
func TestPlaceRespectsMemoryAndClosedHosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := drawHosts(t, 0)
		sizes := drawTiles(t, 60)
		stored, computed := 0, 0
		for i := range hosts {
			hosts[i].FreeBytes = rapid.Int64Range(-5, 200).Draw(t, "room")
			hosts[i].Accepting = rapid.IntRange(0, 4).Draw(t, "open") > 0
			if hosts[i].Accepting && hosts[i].FreeBytes > 0 {
				stored += int(hosts[i].FreeBytes / 10)
				computed += int(hosts[i].FreeBytes / 2)
			}
		}
		for _, c := range []struct {
			rule StorageRule
			can  bool
		}{{StoreAll, stored >= len(sizes)}, {StoreNone, computed >= len(sizes)},
			{StoreWhatFits, computed >= len(sizes)}} {
			l := layoutIn(rapid.Bool().Draw(t, "runs"), "job", sizes, hosts)
			if ok := l.Place(c.rule); ok != c.can {
				t.Fatalf("rule %d placed: %v, with room for %d of %d tiles, %d without storage", c.rule, ok, stored,
					len(sizes), computed)
			} else if !ok {
				continue
			}
			used := make([]int64, len(hosts))
			stores := 0
			for tile, h := range l.Owner {
				if l.Stored[tile] {
					stores++
				}
				used[h] += sizes[tile].Bytes(l.Stored[tile])
			}
			for h := range hosts {
				if used[h] > 0 &&
					(!hosts[h].Accepting || used[h] > hosts[h].FreeBytes || l.room[h] != hosts[h].FreeBytes-used[h]) {
					t.Fatalf("host %+v holds %d bytes, %d free", hosts[h], used[h], l.room[h])
				}
			}
			switch {
			case c.rule == StoreAll && stores < len(sizes), c.rule == StoreNone && stores > 0:
				t.Fatalf("rule %d stores %d of %d tiles", c.rule, stores, len(sizes))
			case c.rule == StoreWhatFits && stored >= len(sizes) && stores < len(sizes):
				t.Fatalf("%d of %d tiles are stored, with room for %d", stores, len(sizes), stored)
			}
			if c.rule == StoreWhatFits {
				l.StoreMore()
				for tile := range sizes {
					if !l.Stored[tile] && l.room[l.Owner[tile]] >= 8 {
						t.Fatalf("tile %d could still be stored on host %d", tile, l.Owner[tile])
					}
				}
			}
		}
	})
}

// For a tile that does not fit, a stored one gives up its storage, and nothing moves.
func TestStorageIsGivenUpForALostTile(t *testing.T) {
	hosts := []Host{{ID: "a", Weight: 1, FreeBytes: 1, Accepting: true}, {ID: "shut", Weight: 1, FreeBytes: 100}}
	l := NewLayout("job", unplacedTiles(3), hosts)
	l.MarkPlaced(0, 0, true)
	l.MarkPlaced(1, 0, true)
	if !l.Place(StoreWhatFits) {
		t.Fatal("a stored tile could have given up its storage")
	}
	if !slices.Equal(l.Owner, []int{0, 0, 0}) || !slices.Equal(l.Stored, []bool{true, false, false}) || l.room[0] != 7 {
		t.Errorf("owners %v, stored %v, %d free", l.Owner, l.Stored, l.room[0])
	}
	l.Remove(0)
	if l.StoreMore(); !l.Stored[1] || !l.Stored[2] || l.room[0] != 1 {
		t.Errorf("stored %v, %d free", l.Stored, l.room[0])
	}
	strict := NewLayout("job", unplacedTiles(3), hosts)
	strict.MarkPlaced(0, 0, true)
	strict.MarkPlaced(1, 0, true)
	if strict.Place(StoreAll) {
		t.Error("a tile was placed where it does not fit")
	}
}

// A host that comes first takes the tiles without a host, up to its share, and others take the rest.
func TestPlaceFillsTheFirstHost(t *testing.T) {
	for unplaced := range 14 {
		hosts := []Host{{ID: "a", FreeBytes: 1000, Accepting: true}, {ID: "b", FreeBytes: 1000, Accepting: true,
			First: true}}
		l := NewLayout("job", unplacedTiles(13), hosts)
		for tile := range 13 - unplaced {
			l.MarkPlaced(tile, 0, true)
		}
		if !l.Place(StoreAll) || l.load[1] != min(unplaced, 7) {
			t.Errorf("of %d tiles without a host, the first host has %d; its share is 7", unplaced, l.load[1])
		}
	}
}

func TestPlaceSpreadsJobsWithOneTile(t *testing.T) {
	hosts := []Host{{ID: "a", Weight: 1, FreeBytes: 100, Accepting: true}, {ID: "b", Weight: 3, FreeBytes: 100,
		Accepting: true}}
	counts := [2]int{}
	for job := range 4000 {
		counts[placed(t, fmt.Sprint("job-", job), unplacedTiles(1), hosts).Owner[0]]++
	}
	if counts[0] < 850 || counts[0] > 1150 {
		t.Errorf("of 4000 tiles %v lie on hosts of weights 1 and 3", counts)
	}
}

func TestBalanceGivesANewcomerItsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := drawHosts(t, math.MaxInt64/2)
		sizes := drawTiles(t, 200)
		runs := rapid.Bool().Draw(t, "runs")
		before := placedIn(t, runs, "job", sizes, hosts)
		grown := append(slices.Clone(hosts),
			Host{ID: "newcomer", Weight: float64(rapid.IntRange(1, 16).Draw(t, "weight")), FreeBytes: math.MaxInt64 / 2,
				Accepting: true})
		after := layoutIn(runs, "job", sizes, grown)
		for tile, h := range before.Owner {
			after.MarkPlaced(tile, h, true)
		}
		loadBefore := slices.Clone(after.load)
		moved := after.Balance(StoreAll)
		was := maxLoad(loadBefore, grown)
		is := maxLoad(after.load, grown)
		if moved && is > worthMoving*was {
			t.Fatalf("moved for the largest load %g -> %g", was, is)
		}
		if !moved {
			if !slices.Equal(after.Owner, before.Owner) {
				t.Fatal("tiles moved although it did not pay")
			}
			return
		}
		// No single further move would help.
		for from := range grown {
			for to := range grown {
				if relativeLoad(after.load[from], grown[from]) == is && relativeLoad(after.load[to]+1, grown[to]) < is {
					t.Fatalf("host %d at %g could still give to host %d", from, is, to)
				}
			}
		}
		// Tiles only leave hosts that had more, and each moves once: old hosts never gain.
		for tile, h := range after.Owner {
			if h != before.Owner[tile] && after.load[h] <= loadBefore[h] {
				t.Fatalf("tile %d moved to host %d, which has not gained by it", tile, h)
			}
		}
		if after.Balance(StoreAll) {
			t.Fatalf("balanced twice: %v", after.Owner)
		}
	})
}

// Without hosts, or without tiles, there is nothing to balance.
func TestBalanceOfNothing(t *testing.T) {
	for _, hosts := range [][]Host{nil, {{ID: "a", Accepting: true}}} {
		if NewLayout("job", nil, hosts).Balance(StoreAll) {
			t.Errorf("tiles of nothing were moved between %d hosts", len(hosts))
		}
	}
}

func TestBalanceRespectsMemory(t *testing.T) {
	hosts := []Host{{ID: "old", Weight: 1, Accepting: true}, {ID: "small", Weight: 1, FreeBytes: 25, Accepting: true}}
	for _, stored := range []bool{true, false} {
		l := NewLayout("job", unplacedTiles(8), hosts)
		for tile := range 8 {
			l.MarkPlaced(tile, 0, stored)
		}
		moved := l.Balance(StoreWhatFits)
		stores := 0
		for tile, h := range l.Owner {
			if h == 1 && l.Stored[tile] {
				stores++
			}
		}
		// Tiles that come without storage get it while there is room; further ones move without it.
		if want := map[bool]int{true: 2, false: 4}[stored]; !moved || l.load[1] != want || stores != 2 {
			t.Errorf("stored %v: loads %v, %d stored with room for two", stored, l.load, stores)
		}
	}
}

// A host without room does not keep others from taking tiles.
func TestBalanceSkipsFullHosts(t *testing.T) {
	hosts := []Host{
		{ID: "loaded", Weight: 1, Accepting: true},
		{ID: "full", Weight: 1, FreeBytes: -1, Accepting: true},
		{ID: "free", Weight: 1, FreeBytes: 1000, Accepting: true},
	}
	l := NewLayout("job", unplacedTiles(8), hosts)
	for tile := range 8 {
		l.MarkPlaced(tile, 0, true)
	}
	if !l.Balance(StoreWhatFits) || !slices.Equal(l.load, []int{4, 0, 4}) {
		t.Errorf("loads %v", l.load)
	}
}

// naiveNextToMove returns the tile that host `from` gives to host `to`, by looking at all of them.
func naiveNextToMove(l *Layout, from, to int) int {
	for tile := range l.Owner {
		if l.runs && l.canMove(tile, from, to) && (l.ownerOf(tile-1) == to || l.ownerOf(tile+1) == to) {
			return tile
		}
	}
	for _, tile := range slices.Backward(l.givingOrder()) {
		if l.canMove(tile, from, to) {
			return tile
		}
	}
	return Nowhere
}

// Each move is that of the tile that makes a run of the taker longer, or of the first one that fits.
func TestBalanceMovesTheRightTiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := drawHosts(t, 0)
		sizes := make([]Size, rapid.IntRange(1, 100).Draw(t, "tiles"))
		for tile := range sizes {
			sizes[tile] = Size{Stored: rapid.Int64Range(2, 20).Draw(t, "stored"),
				Computed: rapid.Int64Range(0, 2).Draw(t, "computed")}
		}
		for h := range hosts {
			hosts[h].FreeBytes, hosts[h].Accepting = rapid.Int64Range(0, 300).Draw(t, "room"),
				rapid.IntRange(0, 4).Draw(t, "open") > 0
		}
		l := layoutIn(rapid.Bool().Draw(t, "runs"), "job", sizes, hosts)
		for tile := range sizes {
			l.MarkPlaced(tile, rapid.IntRange(0, (len(hosts)-1)/2).Draw(t, "owner"), rapid.Bool().Draw(t, "is stored"))
		}
		rule := []StorageRule{StoreWhatFits, StoreAll, StoreNone}[rapid.IntRange(0, 2).Draw(t, "rule")]
		keep := rapid.IntRange(0, 1).Draw(t, "keep")
		want := l.clone()
		full := make([]bool, len(hosts))
		for l.levelOut(rule, keep); ; {
			from, to := want.mostAndLeast(keep, full)
			if from == Nowhere {
				break
			}
			tile := naiveNextToMove(want, from, to)
			if tile == Nowhere {
				full[to] = true
				continue
			}
			want.move(tile, to, rule)
		}
		if !slices.Equal(l.Owner, want.Owner) || !slices.Equal(l.Stored, want.Stored) ||
			!slices.Equal(l.room, want.room) {
			t.Fatalf("%v, want %v", l.Owner, want.Owner)
		}
	})
}

// BenchmarkPlace places the tiles of a new job, about ten on each host.
func BenchmarkPlace(b *testing.B) {
	for _, count := range []int{100, 1000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			hosts := make([]Host, count)
			for h := range hosts {
				hosts[h] = Host{ID: fmt.Sprintf("1b4e28ba-2fa1-11d2-883f-%012d", h), Weight: 1,
					FreeBytes: math.MaxInt64 / 2, Accepting: true}
			}
			sizes := unplacedTiles(10 * count)
			for b.Loop() {
				placed(b, "job", sizes, hosts)
			}
		})
	}
}

// BenchmarkBalance gives a fifth worker its share of the tiles of 100 million rows.
func BenchmarkBalance(b *testing.B) {
	for _, runs := range []bool{false, true} {
		b.Run(fmt.Sprint("runs ", runs), func(b *testing.B) {
			hosts := make([]Host, 5)
			for h := range hosts {
				hosts[h] = Host{ID: fmt.Sprint("worker-", h), FreeBytes: math.MaxInt64 / 2, Accepting: true}
			}
			before := placedIn(b, runs, "job", unplacedTiles(TileCount(100_000_000)), hosts[:4])
			for b.Loop() {
				after := layoutIn(runs, "job", before.sizes, hosts)
				for tile, h := range before.Owner {
					after.MarkPlaced(tile, h, true)
				}
				if !after.Balance(StoreAll) {
					b.Fatal("nothing moved")
				}
			}
		})
	}
}
