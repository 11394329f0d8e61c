package round_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/fleet/round"
)

// twoTiles are computed, and take one byte each.
var twoTiles = []round.Tile{{Number: 0, Forms: []round.Form{{Bytes: 1}}}, {Number: 1, Forms: []round.Form{{Bytes: 1}}}}

func helper(worker string, free int64) round.Helper {
	return round.Helper{Worker: worker, Threads: 1, Free: free}
}

// end says that a group has ended, and checks which groups must be stopped.
func end(t *testing.T, r *round.Round, number int, answered bool, cancel ...int) {
	t.Helper()
	if got := r.Ended(number, answered); !slices.Equal(got, cancel) {
		t.Errorf("after the end of group %d, groups %v are stopped, want %v", number, got, cancel)
	}
}

// The late group is that of worker a, number 0. Workers b and c, groups 1 and 2, have answered, and help as groups 3
// and 4.
func rescued(t *testing.T) *round.Round {
	t.Helper()
	r := round.New([]string{"a", "b", "c"})
	end(t, r, 1, true)
	end(t, r, 2, true)
	asks := r.Late(0, twoTiles, []round.Helper{helper("b", 2), helper("c", 2)})
	if len(asks) != 2 || asks[0].Group != 3 || asks[0].Worker != "b" || asks[1].Group != 4 || asks[1].Worker != "c" {
		t.Fatalf("helpers are asked for %+v", asks)
	}
	return r
}

// Whose answers count is decided by who is first: all helpers, or the late worker.
func TestRescues(t *testing.T) {
	type ended struct {
		group    int
		answered bool
		cancel   []int
	}
	for name, c := range map[string]struct {
		events []ended
		won    bool
	}{
		"all helpers are first":                {[]ended{{3, true, nil}, {4, true, []int{0}}, {0, false, nil}}, true},
		"the late worker answers all the same": {[]ended{{3, true, nil}, {4, true, []int{0}}, {0, true, nil}}, true},
		"the late worker is first": {
			[]ended{{0, true, []int{3, 4}}, {3, false, nil}, {4, false, nil}}, false},
		"the late worker is before the last helper": {[]ended{{4, true, nil}, {0, true, []int{3}}, {3, true, nil}},
			false},
		"a helper fails": {[]ended{{3, false, nil}, {4, true, nil}, {0, true, nil}}, false},
		"a helper fails, and the late worker too": {[]ended{{3, false, nil}, {0, false, nil}, {4, true, nil}}, false},
		"the late worker fails, and others go on": {[]ended{{0, false, nil}, {3, true, nil}, {4, true, nil}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := rescued(t)
			for _, e := range c.events {
				if r.Over() {
					t.Fatal("the round is over before all groups have ended")
				}
				end(t, r, e.group, e.answered, e.cancel...)
			}
			if !r.Over() {
				t.Error("the round is not over")
			}
			rescues := r.Rescues()
			if len(rescues) != 1 || rescues[0].Late != 0 || rescues[0].Won != c.won {
				t.Errorf("the rescues are %+v", rescues)
			}
		})
	}
}

// A worker is helped once, while it runs, and only by workers that have nothing else to do.
func TestWhoIsHelped(t *testing.T) {
	r := round.New([]string{"a", "b", "c"})
	end(t, r, 1, true)
	if !r.MayBeHelped(0) || r.MayBeHelped(1) {
		t.Error("a group that runs may be helped, and no other one")
	}
	if asks := r.Late(0, twoTiles, []round.Helper{helper("b", 1), helper("c", 9)}); asks != nil {
		t.Errorf("a worker without enough room, or one that works, is asked: %+v", asks)
	}
	if !r.MayBeHelped(0) {
		t.Error("a group that nobody had room to help may not be helped later")
	}
	asks := r.Late(0, twoTiles, []round.Helper{helper("b", 2), helper("c", 9)})
	if len(asks) != 1 || asks[0].Worker != "b" || len(asks[0].Copies) != 2 {
		t.Fatalf("helpers are asked for %+v", asks)
	}
	if r.MayBeHelped(0) || r.MayBeHelped(3) || !r.MayBeHelped(2) {
		t.Error("a group that is helped, or that helps, may be helped")
	}
	if asks := r.Late(2, twoTiles, []round.Helper{helper("b", 9)}); asks != nil {
		t.Errorf("a worker that helps already is asked again: %+v", asks)
	}
}

// Tiles go to the helper with the least work for each thread that has room, in the best form that fits.
func TestDistribute(t *testing.T) {
	either := []round.Form{{Stored: true, Bytes: 10}, {Bytes: 1}}
	stored := either[:1]
	tiles := func(count int, forms []round.Form) []round.Tile {
		var all []round.Tile
		for number := range count {
			all = append(all, round.Tile{Number: number, Forms: forms})
		}
		return all
	}
	for name, c := range map[string]struct {
		tiles   []round.Tile
		helpers []round.Helper
		want    string
	}{
		"by threads": {tiles(6, stored), []round.Helper{{"a", 1, 99}, {"b", 2, 99}},
			"a[0 stored 3 stored] b[1 stored 2 stored 4 stored 5 stored]"},
		"stored while there is room": {tiles(3, either), []round.Helper{{"a", 1, 12}}, "a[0 stored 1 2]"},
		"where there is room": {tiles(2, stored), []round.Helper{{"a", 1, 9}, {"b", 1, 20}},
			"b[0 stored 1 stored]"},
		"not stored nearby rather than stored at a worker with more work": {tiles(2, either),
			[]round.Helper{{"a", 1, 99}, {"b", 1, 5}}, "a[0 stored] b[1]"},
		"no room for the last": {tiles(3, stored), []round.Helper{{"a", 1, 29}}, "none"},
		"nobody":               {tiles(1, either), nil, "none"},
		"nothing":              {nil, []round.Helper{{"a", 1, 9}}, ""},
	} {
		shares, fit := round.Distribute(c.tiles, c.helpers)
		got := describe(shares)
		if !fit {
			got = "none"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// describe writes shares as WORKER[TILE TILE ...], and marks tiles that are stored.
func describe(shares []round.Share) string {
	text := ""
	for _, share := range shares {
		if text != "" {
			text += " "
		}
		text += share.Worker + "["
		for at, c := range share.Copies {
			if at > 0 {
				text += " "
			}
			text += fmt.Sprint(c.Tile)
			if c.Stored {
				text += " stored"
			}
		}
		text += "]"
	}
	return text
}

// model is what a fleet knows about a round: it does what the round decides, in any order.
type model struct {
	*rapid.T
	round    *round.Round
	workers  []string     // of the groups, by number
	ended    []bool       // by number
	answered []bool       // by number
	stopped  map[int]bool // groups that were to be stopped
	tiles    []round.Tile // of every late group
	free     map[string]int64
}

// running returns the groups that have not ended.
func (m *model) running() []int {
	var running []int
	for number := range m.workers {
		if !m.ended[number] {
			running = append(running, number)
		}
	}
	return running
}

func (m *model) start(worker string) {
	for _, number := range m.running() {
		if m.workers[number] == worker {
			m.Fatalf("worker %s is asked for two groups at the same time", worker)
		}
	}
	m.workers = append(m.workers, worker)
	m.ended = append(m.ended, false)
	m.answered = append(m.answered, false)
}

// late makes a group late, and checks who helps.
func (m *model) late(number int, helpers []round.Helper) {
	if !m.round.MayBeHelped(number) {
		return
	}
	asks := m.round.Late(number, m.tiles, helpers)
	copies := map[int]int{} // by tile
	for _, ask := range asks {
		if ask.Group != len(m.workers) {
			m.Fatalf("the next group has number %d, want %d", ask.Group, len(m.workers))
		}
		m.start(ask.Worker)
		var bytes int64
		for _, c := range ask.Copies {
			copies[c.Tile]++
			bytes += c.Bytes
		}
		if bytes > m.free[ask.Worker] {
			m.Fatalf("worker %s is asked to hold %d bytes and has %d", ask.Worker, bytes, m.free[ask.Worker])
		}
		m.free[ask.Worker] -= bytes
	}
	for _, tile := range m.tiles {
		if len(asks) > 0 && copies[tile.Number] != 1 {
			m.Fatalf("tile %d is copied %d times", tile.Number, copies[tile.Number])
		}
	}
}

func (m *model) end(number int, answered bool) {
	m.ended[number] = true
	m.answered[number] = answered
	for _, stop := range m.round.Ended(number, answered) {
		if m.ended[stop] || m.stopped[stop] {
			m.Fatalf("group %d is stopped although it has ended, or twice", stop)
		}
		m.stopped[stop] = true
	}
}

// checkOutcome checks that every group of the first ones that answered, or whose helpers all did, counts once.
func (m *model) checkOutcome() {
	rescued := map[int]bool{}
	for _, rescue := range m.round.Rescues() {
		if rescued[rescue.Late] {
			m.Fatalf("group %d is rescued twice", rescue.Late)
		}
		rescued[rescue.Late] = true
		all := true
		for _, helper := range rescue.Helpers {
			all = all && m.answered[helper]
		}
		switch {
		case rescue.Won && !all:
			m.Fatal("a rescue is won although a helper has not answered")
		case rescue.Won && m.stopped[rescue.Helpers[0]]:
			m.Fatal("a rescue is won whose helpers were stopped")
		case !rescue.Won && all && !m.answered[rescue.Late]:
			m.Fatal("all helpers have answered and the late worker has not, and the rescue is not won")
		}
	}
}

// Whatever happens to groups, and in whatever order, a worker does one thing at a time, every tile of a late group is
// copied once, and the round is over when all groups have ended.
func TestAnyRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		workers := []string{"a", "b", "c", "d", "e"}[:rapid.IntRange(1, 5).Draw(t, "workers")]
		m := &model{T: t, round: round.New(workers), stopped: map[int]bool{}, free: map[string]int64{}}
		for _, worker := range workers {
			m.start(worker)
			m.free[worker] = rapid.Int64Range(0, 40).Draw(t, "free")
		}
		for number := range rapid.IntRange(1, 4).Draw(t, "tiles") {
			m.tiles = append(m.tiles, round.Tile{Number: number,
				Forms: []round.Form{{Stored: true, Bytes: 5}, {Bytes: int64(1 + number)}}})
		}
		for len(m.running()) > 0 {
			if m.round.Over() {
				t.Fatal("the round is over although a group is running")
			}
			number := rapid.SampledFrom(m.running()).Draw(t, "group")
			if rapid.Bool().Draw(t, "ends") {
				m.end(number, rapid.IntRange(0, 3).Draw(t, "answered") > 0)
				continue
			}
			var helpers []round.Helper
			for _, worker := range workers {
				if rapid.Bool().Draw(t, "can help") {
					helpers = append(helpers, helper(worker, m.free[worker]))
				}
			}
			m.late(number, helpers)
		}
		if !m.round.Over() {
			t.Fatal("the round goes on although no group is running")
		}
		m.checkOutcome()
	})
}
