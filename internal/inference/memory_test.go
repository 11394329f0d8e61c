package inference

import (
	"math/rand/v2"
	"runtime"
	"testing"
)

// The planned memory of an energy of one component is about what solving it allocates: not less than half of it,
// because some becomes garbage on the way, and not more. LP and Exact take more than BP, whose messages they pass too.
func TestTheMemoryOfAnEnergyIsPlanned(t *testing.T) {
	const points, pairs, k = 1000, 4000, 20
	for _, engine := range []Engine{ICM, BP} {
		rng := rand.New(rand.NewPCG(1, 2))
		e := NewEnergy(k, make([]Pair, pairs))
		for at := range e.pairs {
			i := rng.IntN(points)
			e.pairs[at] = Pair{I: int32(i), J: int32((i + 1 + rng.IntN(points-1)) % points),
				MustLink: rng.IntN(2) == 0, Cost: 1}
		}
		e.limits.bpRounds = 1
		unary := make([]float64, points*k)
		for at := range unary {
			unary[at] = rng.Float64()
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := e.Solve(t.Context(), engine, unary, make([]int32, points), rng); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		planned := MemoryBytes(engine, k, points, pairs)
		allocated := int64(after.TotalAlloc - before.TotalAlloc)
		if planned < allocated/2 || planned > allocated {
			t.Errorf("%v: %d bytes are planned, %d are allocated", engine, planned, allocated)
		}
	}
	for _, engine := range []Engine{LP, Exact} {
		if more, bp := MemoryBytes(engine, k, points, pairs), MemoryBytes(BP, k, points, pairs); more <= bp {
			t.Errorf("%d bytes for %v, %d for BP", more, engine, bp)
		}
	}
	// A piece with more messages than the limit passes none.
	if at, beyond := MemoryBytes(BP, 1000, 10, 1<<18), MemoryBytes(BP, 1000, 10, 1<<20); beyond-at > 3<<18*96 {
		t.Errorf("%d bytes for too many messages, %d for as many as there may be", beyond, at)
	}
}
