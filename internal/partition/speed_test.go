package partition

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// run is a job on hosts of which each takes a number of seconds for a tile.
type run struct {
	hosts  []Host
	layout *Layout
	shares Shares
	ops    int       // since tiles moved
	tile   []float64 // seconds of each host for a tile, at the moment
	build  float64   // seconds to build a tile, as a multiple of those of an operation

	spent   float64 // seconds of all operations and builds
	changes int
}

func newRun(t interface{ Fatal(...any) }, tiles int, build float64, seconds ...float64) *run {
	r := &run{tile: seconds, build: build}
	for h := range seconds {
		r.hosts = append(r.hosts, Host{ID: fmt.Sprint("worker-", h), Weight: 1, FreeBytes: math.MaxInt64 / 2,
			Accepting: true})
	}
	r.layout = placed(t, "job", unplacedTiles(tiles), r.hosts)
	r.built(slices.Repeat([]int{Nowhere}, tiles))
	return r
}

// built builds the tiles that are elsewhere than before.
func (r *run) built(before []int) {
	arrived := make([]float64, len(r.hosts))
	for tile, h := range r.layout.Owner {
		if before[tile] != h {
			arrived[h]++
		}
	}
	longest := 0.0
	for h, count := range arrived {
		if seconds := count * r.build * r.tile[h]; count > 0 {
			r.shares.AddBuild(r.hosts[h].ID, Work{Amount: count, Seconds: seconds})
			longest = max(longest, seconds)
		}
	}
	r.spent += longest
}

// operate runs an operation that takes size times what an average one does, and rebalances as fleets do.
func (r *run) operate(size float64, noise func() float64) {
	if SpeedsDue(r.ops) {
		l := NewLayout("job", r.layout.sizes, r.shares.Weigh(r.hosts))
		for tile, h := range r.layout.Owner {
			l.MarkPlaced(tile, h, true)
		}
		if _, moved := r.shares.Rebalance(l, StoreAll, r.ops, 0); moved {
			before := r.layout.Owner
			r.layout, r.ops = l, 0
			r.changes++
			r.built(before)
		}
	}
	done, longest := map[string]Work{}, 0.0
	for h, load := range r.layout.load {
		seconds := size * float64(load) * r.tile[h] * noise()
		done[r.hosts[h].ID] = Work{Amount: float64(load), Seconds: seconds}
		longest = max(longest, seconds)
	}
	r.shares.AddOperation(done)
	r.spent += longest
	r.ops++
}

// operation returns how long an operation of average size takes.
func (r *run) operation() float64 {
	longest := 0.0
	for h, load := range r.layout.load {
		longest = max(longest, float64(load)*r.tile[h])
	}
	return longest
}

func steady() float64 { return 1 }

// ideal returns how long an operation would take if tiles could be divided.
func (r *run) ideal() float64 {
	rate := 0.0
	for _, seconds := range r.tile {
		rate += 1 / seconds
	}
	return float64(len(r.layout.Owner)) / rate
}

func drawSeconds(t *rapid.T) []float64 {
	return rapid.SliceOfN(rapid.Float64Range(0.5, 8), 2, 6).Draw(t, "seconds")
}

// With steady speeds, tiles move once at most, and then every operation takes as long as it must, but for a tenth and
// a tile. Even if the job ends right after tiles have moved, that takes no longer than what it lost before.
func TestSharesFollowSteadySpeeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := drawSeconds(t)
		r := newRun(t, rapid.IntRange(8*len(seconds), 100).Draw(t, "tiles"), rapid.Float64Range(0, 20).Draw(t, "build"),
			seconds...)
		fixed := r.operation()
		spent := r.spent
		const count = 400
		for range count {
			r.operate(1, steady)
		}
		if r.changes > 1 {
			t.Fatalf("tiles moved %d times", r.changes)
		}
		if limit := (r.ideal() + slices.Max(seconds)) / worthMoving; r.operation() > limit {
			t.Fatalf("an operation takes %g, at most %g are necessary", r.operation(), limit)
		}
		without := spent + count*fixed
		lost := count * (fixed - r.ideal())
		if r.spent > (without+lost)*(1+1e-9) {
			t.Fatalf("%g seconds, %g without moving, of which the placement wastes %g", r.spent, without, lost)
		}
	})
}

// With speeds that vary by chance from operation to operation, tiles move a few times at most.
func TestSharesDoNotFollowChance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		r := newRun(t, rapid.IntRange(20, 60).Draw(t, "tiles"), rapid.Float64Range(0.1, 20).Draw(t, "build"),
			drawSeconds(t)...)
		without := r.spent
		fixed := r.operation()
		for range 500 {
			size := math.Exp(random.NormFloat64())
			without += size * fixed
			r.operate(size, func() float64 { return math.Exp(0.1 * random.NormFloat64()) })
		}
		if r.changes > 6 {
			t.Fatalf("tiles moved %d times", r.changes)
		}
		if r.spent > 1.3*without { // chance alone makes the slowest of the hosts a fifth slower
			t.Fatalf("%g seconds, %g without moving", r.spent, without)
		}
	})
}

// A host whose speed changes over and over again cannot make tiles move all the time: every change must have been
// worth more than the one before.
func TestSharesDoNotOscillate(t *testing.T) {
	for _, period := range []int{1, 3, 8, 20, 50, 200} {
		r := newRun(t, 60, 1, 1, 1, 1)
		without := r.spent
		for op := range 4000 {
			r.tile[0] = 1
			if op/period%2 == 1 {
				r.tile[0] = 3
			}
			without += 20 * r.tile[0]
			r.operate(1, steady)
		}
		if r.changes > 8 || r.spent > 1.5*without {
			t.Errorf("period %d: tiles moved %d times; %g seconds, %g without moving", period, r.changes,
				r.spent, without)
		}
	}
}

// A host that becomes slow for good gives tiles away, keeps one, and gets them back when it is fast again.
func TestSharesShrinkAndGrow(t *testing.T) {
	r := newRun(t, 60, 1, 1, 1, 1)
	operate := func() {
		for range 400 {
			r.operate(1, steady)
		}
	}
	operate()
	if r.changes > 0 || !slices.Equal(r.layout.load, []int{20, 20, 20}) {
		t.Fatalf("equal hosts have %v after %d changes", r.layout.load, r.changes)
	}
	r.tile[1] = 4
	operate()
	if load := r.layout.load; load[1] < 6 || load[1] > 8 {
		t.Errorf("a host of a quarter of the speed has %v", load)
	}
	r.tile[1] = 1000
	operate()
	if load := r.layout.load; load[1] != 1 {
		t.Errorf("a host that hardly works has %v", load)
	}
	r.tile[1] = 1
	operate()
	if load := r.layout.load; load[1] < 18 {
		t.Errorf("a host that is fast again has %v", load)
	}
}

// A host that is slow in fewer than half of the operations counts as fast as in the others.
func TestSlowMomentsDoNotCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := drawSeconds(t)
		var tempo Shares
		var hosts []string
		for h := range seconds {
			hosts = append(hosts, fmt.Sprint("worker-", h))
			tempo.AddBuild(hosts[h], Work{Amount: 2, Seconds: 2 * seconds[h]})
		}
		slow := rapid.SliceOfNDistinct(rapid.IntRange(0, speedWindow-1), 0, speedSamples-1, rapid.ID[int]).Draw(t,
			"slow operations")
		victim := rapid.IntRange(0, len(hosts)-1).Draw(t, "victim")
		for op := range speedWindow {
			done := map[string]Work{}
			for h := range hosts {
				amount := rapid.Float64Range(1, 1.1).Draw(t, "amount") / seconds[h] // equally long for all
				took := amount * seconds[h]
				if h == victim && slices.Contains(slow, op) {
					took *= rapid.Float64Range(1, 50).Draw(t, "slower")
				}
				done[hosts[h]] = Work{Amount: amount, Seconds: took}
			}
			tempo.AddOperation(done)
		}
		speeds := tempo.Speeds(hosts)
		for h := range hosts[1:] {
			got := speeds[hosts[h+1]].Operation / speeds[hosts[0]].Operation
			want := seconds[h+1] / seconds[0]
			if len(slow) <= speedSamples/2 && math.Abs(got/want-1) > 1e-6 {
				t.Fatalf("host %d is %g times as slow as the first, measured %g", h+1, want, got)
			}
			if speeds[hosts[h]].Build != seconds[h] {
				t.Fatalf("host %d builds in %g, measured %g", h, seconds[h], speeds[hosts[h]].Build)
			}
		}
	})
}

// Nothing is decided about hosts that are not known well enough.
func TestSpeedsNeedMeasurements(t *testing.T) {
	var tempo Shares
	hosts := []string{"a", "b"}
	both := map[string]Work{"a": {Amount: 1, Seconds: 1}, "b": {Amount: 2, Seconds: 3}}
	for range speedSamples - 1 {
		tempo.AddOperation(both)
	}
	tempo.AddOperation(map[string]Work{"a": {Amount: 1, Seconds: 1}})
	tempo.AddOperation(map[string]Work{"a": {Amount: 1}, "b": {Amount: 1}}) // too short to be measured
	tempo.AddBuild("a", Work{Amount: 2, Seconds: 4})
	if tempo.Speeds(hosts) != nil {
		t.Error("too few operations suffice")
	}
	tempo.AddOperation(both)
	tempo.AddLoad("b", Work{Amount: 4, Seconds: 2})
	if got := tempo.Speeds(hosts); !maps.Equal(got, map[string]Speed{"a": {Operation: 1, Build: 2.5},
		"b": {Operation: 1.5, Build: 2.5}}) {
		t.Errorf("speeds are %v", got)
	}
	if tempo.Speeds([]string{"a", "b", "c"}) != nil {
		t.Error("a host that never took part has a speed")
	}
	if tempo.builds = nil; tempo.Speeds(hosts) != nil {
		t.Error("nobody has built anything, and yet moving tiles has a price")
	}
}

// The rule respects memory and closed hosts, does not depend on the order of hosts, and changes nothing that does not
// pay.
func TestRebalanceIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := drawHosts(t, 0)
		sizes := drawTiles(t, 60)
		for h := range hosts {
			hosts[h].FreeBytes = rapid.Int64Range(0, 600).Draw(t, "room")
		}
		runs := rapid.Bool().Draw(t, "runs")
		first := layoutIn(runs, "job", sizes, hosts)
		if !first.Place(StoreWhatFits) {
			return
		}
		var tempo Shares
		done := map[string]Work{}
		for h, host := range hosts {
			hosts[h].Accepting = rapid.IntRange(0, 4).Draw(t, "open") > 0
			seconds := rapid.Float64Range(0.1, 10).Draw(t, "seconds")
			build := rapid.Float64Range(0.1, 10).Draw(t, "build")
			if first.load[h] > 0 { // others have done nothing yet
				done[host.ID] = Work{Amount: 1, Seconds: seconds}
				tempo.AddBuild(host.ID, Work{Amount: 1, Seconds: build})
			}
		}
		for range speedSamples {
			tempo.AddOperation(done)
		}
		operations := rapid.IntRange(1, 50).Draw(t, "operations")
		atLeast := rapid.Float64Range(0, 50).Draw(t, "at least")
		rebalance := func(hosts []Host) (*Layout, *Shares, Gain, bool) {
			l := layoutIn(runs, "job", sizes, hosts)
			shares := &Shares{operations: tempo.operations, builds: tempo.builds}
			for tile, h := range first.Owner {
				at := slices.IndexFunc(hosts, func(host Host) bool { return host.ID == first.hosts[h].ID })
				l.MarkPlaced(tile, at, first.Stored[tile])
				l.room[at] -= sizes[tile].Bytes(first.Stored[tile])
			}
			gain, moved := shares.Rebalance(l, StoreWhatFits, operations, atLeast)
			return l, shares, gain, moved
		}
		l, shares, gain, moved := rebalance(hosts)
		if other, _, _, also := rebalance(rapid.Permutation(hosts).Draw(t, "order")); also != moved {
			t.Fatal("it depends on the order of hosts")
		} else {
			for tile, h := range l.Owner {
				if l.hosts[h].ID != other.hosts[other.Owner[tile]].ID {
					t.Fatalf("tile %d depends on the order of hosts", tile)
				}
			}
		}
		was := maxLoad(first.load, l.hosts)
		is := maxLoad(l.load, l.hosts)
		for h, host := range l.hosts {
			if want := 1 / done[host.ID].Seconds; moved && first.load[h] > 0 && math.Abs(host.Weight/want-1) > 1e-9 {
				t.Fatalf("host %+v has another speed than %g", host, want)
			}
		}
		if want := NewLayout("job", sizes, l.hosts).share; !slices.Equal(l.share, want) {
			t.Fatalf("hosts take up to %v tiles, but %v by their weights", l.share, want)
		}
		if !moved {
			if !slices.Equal(l.Owner, first.Owner) || !slices.Equal(l.Stored, first.Stored) || shares.speeds != nil {
				t.Fatal("it changed something although it does not pay")
			}
			return
		}
		if is > 0.9*was*(1+1e-9) || math.Abs(gain.Saved-(was-is)) > 1e-9*was ||
			gain.Saved*float64(operations) < max(gain.Cost, atLeast) {
			t.Fatalf("%+v for %d operations of %g that now take %g", gain, operations, was, is)
		}
		for h, host := range l.hosts {
			if l.room[h] < 0 || l.load[h] == 0 && first.load[h] > 0 || l.load[h] > first.load[h] && !host.Accepting {
				t.Fatalf("host %+v had %d tiles and has %d, %d bytes free", host, first.load[h], l.load[h], l.room[h])
			}
		}
		if _, again := shares.Rebalance(l, StoreWhatFits, operations, atLeast); again {
			t.Fatal("it moves tiles again for the same speeds")
		}
	})
}
