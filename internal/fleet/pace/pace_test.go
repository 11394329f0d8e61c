package pace

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func names(count int) []string {
	workers := make([]string, count)
	for at := range workers {
		workers[at] = fmt.Sprint(at)
	}
	return workers
}

func BenchmarkPace(b *testing.B) {
	for _, count := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			workers := names(count)
			m := New(time.Hour)
			now := time.Now()
			for b.Loop() {
				m.Begin(true)
				m.Ask(workers)
				for _, w := range workers {
					m.Finish(m.Start(Command{Worker: w, Threads: 1, Kind: "update", Tiles: 1, Rows: 1}, now), true,
						now.Add(time.Millisecond))
				}
			}
		})
	}
}

// definition is what a meter knows, kept naively.
type definition struct {
	asked []string
	last  map[string]map[string][2]float64 // by kind and worker: seconds per unit, and in total
}

// allowed is the naive definition of allowedLocked: by the medians of the others, where those that are asked and not
// done yet take infinitely long.
func (d *definition) allowed(c *Running) (time.Duration, bool) {
	var perUnit, took []float64
	last := d.last[c.kind()]
	for worker, times := range last {
		if worker != c.Worker {
			perUnit = append(perUnit, times[0])
			took = append(took, times[1])
		}
	}
	if c.steady() {
		took = make([]float64, len(perUnit)) // it does not count
	} else {
		others := 0
		for _, worker := range d.asked {
			if worker != c.Worker {
				others++
			}
		}
		for len(perUnit) < others {
			perUnit = append(perUnit, math.Inf(1))
			took = append(took, math.Inf(1))
		}
	}
	if len(perUnit) == 0 {
		return 0, false
	}
	slices.Sort(perUnit)
	slices.Sort(took)
	middle := (len(perUnit) - 1) / 2
	if math.IsInf(perUnit[middle], 1) {
		return 0, false
	}
	return time.Duration(tolerated * max(perUnit[middle]*c.units(), took[middle]) * float64(time.Second)), true
}

// Whatever workers do in whatever order, the ranking gives the median of the definition.
func TestWorkersAreRankedLikeTheDefinition(t *testing.T) {
	kinds := []Command{{Kind: "update"}, {Kind: "assign"}, {Kind: "build", Class: Build},
		{Kind: "prepare", Class: Setup}}
	now := time.Unix(0, 0)
	rapid.Check(t, func(t *rapid.T) {
		workers := names(rapid.IntRange(1, 6).Draw(t, "workers"))
		m := New(time.Hour)
		d := definition{last: map[string]map[string][2]float64{}}
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			switch rapid.IntRange(0, 6).Draw(t, "event") {
			case 0:
				m.Begin(true)
				for _, kind := range []string{"update", "assign", "copy update", "copy assign"} {
					delete(d.last, kind)
				}
			case 6:
				gone := rapid.SampledFrom(workers).Draw(t, "gone")
				m.Forget(gone)
				d.asked = slices.DeleteFunc(d.asked, func(worker string) bool { return worker == gone })
				for _, last := range d.last {
					delete(last, gone)
				}
			case 1:
				d.asked = rapid.SliceOfDistinct(rapid.SampledFrom(workers), rapid.ID[string]).Draw(t, "asked")
				m.Ask(d.asked)
			default:
				c := rapid.SampledFrom(kinds).Draw(t, "command")
				c.Worker = rapid.SampledFrom(workers).Draw(t, "worker")
				c.Threads = 1
				c.Tiles = 1
				c.Rows = rapid.IntRange(0, 3).Draw(t, "rows")
				c.Copy = rapid.Bool().Draw(t, "copy")
				took := time.Duration(rapid.IntRange(0, 5).Draw(t, "seconds")) * time.Second
				done := rapid.Bool().Draw(t, "done")
				m.Finish(m.Start(c, now), done, now.Add(took))
				if !done {
					break
				}
				if d.last[c.kind()] == nil {
					d.last[c.kind()] = map[string][2]float64{}
				}
				d.last[c.kind()][c.Worker] = [2]float64{took.Seconds() / c.units(), took.Seconds()}
			}
			for _, worker := range workers {
				for _, c := range kinds {
					c.Worker, c.Threads, c.Tiles, c.Rows = worker, 1, 1, 1
					asking := m.Start(c, now)
					got, known := m.allowedLocked(asking)
					want, wanted := d.allowed(asking)
					if got != want || known != wanted {
						t.Fatalf("allowed are %v, %v; by the definition %v, %v", got, known, want, wanted)
					}
				}
			}
		}
	})
}

// A worker is late once it has kept the others waiting for the limit beyond 3 times their median, in one command or in
// several. The time of a command that failed does not count.
func TestLate(t *testing.T) {
	m := New(time.Second)
	now := time.Unix(0, 0)
	m.Begin(true)
	m.Ask([]string{"fast", "also fast", "slow"})
	command := func(worker string) Command {
		return Command{Worker: worker, Threads: 1, Kind: "x", Tiles: 1, Rows: 1000}
	}
	slow := m.Start(command("slow"), now)
	if m.Late("slow", now.Add(time.Hour)) {
		t.Error("it is late although no other is done")
	}
	m.Finish(m.Start(command("fast"), now), true, now.Add(time.Second))
	m.Finish(m.Start(command("also fast"), now), true, now.Add(time.Second))
	if m.Late("slow", now.Add(3900*time.Millisecond)) || !m.Late("slow", now.Add(4*time.Second)) {
		t.Error("it is not late exactly after 3 times the median and the limit")
	}
	m.Finish(slow, true, now.Add(3600*time.Millisecond))
	slow = m.Start(command("slow"), now)
	if m.Late("slow", now.Add(3390*time.Millisecond)) || !m.Late("slow", now.Add(3400*time.Millisecond)) {
		t.Error("what it kept others waiting before does not count")
	}
	next := m.Start(command("slow"), now) // before the end of one that was given up is known
	m.Finish(slow, false, now.Add(time.Hour))
	if !m.Late("slow", now.Add(3400*time.Millisecond)) {
		t.Error("the end of an earlier command hides that the next one is late")
	}
	m.Finish(next, false, now.Add(time.Hour))
	m.Forgive("slow")
	m.Start(command("slow"), now)
	if m.Late("slow", now.Add(3900*time.Millisecond)) {
		t.Error("it was not forgiven")
	}
}

// A worker is compared with those that are there: where all are slower than those before them, none is late.
func TestWorkersThatAreGoneDoNotCount(t *testing.T) {
	m := New(time.Second)
	now := time.Unix(0, 0)
	build := func(worker string, took time.Duration) {
		m.Finish(m.Start(Command{Worker: worker, Threads: 1, Kind: "build", Class: Build, Tiles: 1, Rows: 1}, now),
			true, now.Add(took))
	}
	m.Begin(true)
	for _, worker := range names(5) {
		build(worker, time.Second)
	}
	late := m.Start(Command{Worker: "0", Threads: 1, Kind: "build", Class: Build, Tiles: 1, Rows: 1}, now)
	for _, worker := range names(5) {
		m.Forget(worker)
	}
	m.Finish(late, true, now.Add(time.Second)) // its answer was on its way
	build("a", time.Minute)
	m.Start(Command{Worker: "b", Threads: 1, Kind: "build", Class: Build, Tiles: 1, Rows: 1}, now)
	if m.Late("b", now.Add(2*time.Minute)) {
		t.Error("a worker is late that is as fast as the others")
	}
	if count := len(m.ranks["build"].perUnit.of); count != 1 {
		t.Errorf("%d workers are remembered", count)
	}
}
