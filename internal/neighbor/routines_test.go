package neighbor

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Every implementation has the bits of the portable one, also with unaligned slices and with values that overflow.
func TestRoutinesAgreeBitForBit(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	reference := portable()
	for _, other := range availableRoutines()[1:] {
		t.Run(other.name, func(t *testing.T) {
			for range 500 {
				offset, features := random.IntN(4), 1+random.IntN(100)
				floats := func(count int) []float64 {
					v := make([]float64, count+offset)
					for at := range v {
						v[at] = random.NormFloat64() * math.Ldexp(1, random.IntN(40)-20)
						if random.IntN(1000) == 0 {
							v[at] = math.Copysign(math.MaxFloat64, v[at])
						}
					}
					return v[offset:]
				}
				rows, queries := floats(features*groupRows), floats(features*batchQueries)
				var want, got [batchQueries * groupRows]float64
				var wantHits, gotHits [batchQueries]uint16
				var limits [batchQueries]float64
				for _, first := range []bool{true, false} {
					for q := range limits {
						limits[q] = want[random.IntN(len(want))] + float64(random.IntN(3)) - 1
						if random.IntN(4) == 0 {
							limits[q] = math.Inf(1)
						}
					}
					reference.distances(&want, &wantHits, rows, queries, &limits, first)
					limits[0] = want[0] // equal to its limit
					reference.distances(&want, &wantHits, rows, queries, &limits, first)
					other.distances(&got, &gotHits, rows, queries, &limits, first)
					if !first {
						other.distances(&got, &gotHits, rows, queries, &limits, first)
					}
					for at := range want {
						if math.Float64bits(want[at]) != math.Float64bits(got[at]) {
							t.Fatalf("sum %d is %v, want %v", at, got[at], want[at])
						}
					}
					if gotHits != wantHits {
						t.Fatalf("hits %x, want %x", gotHits, wantHits)
					}
				}
			}
		})
	}
}
