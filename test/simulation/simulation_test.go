package simulation

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
)

var (
	seed  = flag.Uint64("seed", 0, "simulate this seed alone, and print what happens")
	seeds = flag.Uint64("seeds", defaultSeeds(), "simulate so many seeds")
	from  = flag.Uint64("from", 1, "the first of the seeds")
)

func defaultSeeds() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("SIM_SEEDS"), 10, 64); err == nil {
		return n
	}
	return ciSeeds
}

func TestMain(m *testing.M) {
	// With one thread, the order in which goroutines run depends less on chance.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(800) // a simulation makes much garbage and keeps little
	os.Exit(m.Run())
}

// TestFaults simulates clusters in which something goes wrong at some messages and steps of the store, each seed in
// other ways.
func TestFaults(t *testing.T) {
	loads := workloads(t)
	for _, load := range loads {
		undisturbed(t, load)
	}
	if *seed != 0 {
		simulate(t, *seed, loads, map[kind]int{})
		return
	}
	faults := map[kind]int{}
	for s := *from; s < *from+*seeds && !t.Failed(); s++ {
		t.Run(fmt.Sprint(s), func(t *testing.T) { simulate(t, s, loads, faults) })
	}
	t.Logf("faults: %v", faults)
}

// undisturbed records the events of a workload without faults.
func undisturbed(t *testing.T, load *workload) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &plan{counts: map[string]uint64{}})
		w.start(1, 2)
		w.patient("client", load)
		load.events = w.acknowledged[0].seen.events
		w.check()
		w.end()
	})
}

// simulate runs the simulation of one seed, and counts its faults.
func simulate(t *testing.T, s uint64, loads []*workload, faults map[kind]int) {
	var w *world
	defer func() {
		p := recover()
		if p == nil && !t.Failed() && *seed == 0 {
			return
		}
		fmt.Printf("--- simulation of seed %d\n%s\n%s\nreplay it with: go test ./test/simulation -run TestFaults "+
			"-seed %d\n", s, w.plan.describe(), w.lines, s)
		if p != nil {
			panic(p)
		}
	}()
	uuid.SetRand(newPlan(s).ids())
	defer uuid.SetRand(nil)
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, newPlan(s))
		w.play(loads)
		w.plan.end()
		w.check()
		w.end()
	})
	for k, n := range w.plan.happened {
		faults[k] += n
	}
}
