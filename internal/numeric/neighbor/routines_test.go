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
				offset := random.IntN(4)
				features := 1 + random.IntN(100)
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
				rows := floats(features * groupRows)
				queries := floats(features * batchQueries)
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

// Every implementation has the bits of the portable one, and the distance of boxes is at most that of any two rows in
// them, as it is computed.
func TestGaps(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 14))
	for range 300 {
		features := make([]int, 1+random.IntN(maxFeatures))
		size := math.Ldexp(1, random.IntN(1000)) // up to where squares overflow
		row := func() []float64 {
			values := make([]float64, len(features))
			for f := range values {
				features[f] = f
				values[f] = size * (random.NormFloat64() + float64(random.IntN(3)))
			}
			return values
		}
		of := newBoxes(len(features))
		from := box{row(), row()}
		batchRows := [blockBatches][][]float64{}
		rows := [][]float64{row(), row()}
		of.empty()
		from.empty()
		for _, values := range rows {
			from.include(features, values)
		}
		for i := range random.IntN(blockBatches + 1) { // the others stay empty
			for range 3 {
				batchRows[i] = append(batchRows[i], row())
				of.include(i, features, batchRows[i][len(batchRows[i])-1])
			}
		}
		var want [blockBatches]float64
		gapsPortable(&want, &of, from)
		for _, other := range availableRoutines()[1:] {
			var got [blockBatches]float64
			if other.gaps(&got, &of, from); got != want {
				t.Fatalf("%s: the distances are %v, want %v", other.name, got, want)
			}
		}
		for i, queries := range batchRows {
			if queries == nil && !math.IsInf(want[i], 1) {
				t.Fatalf("an empty batch is at the distance %v", want[i])
			}
			for _, x := range queries {
				for _, y := range rows {
					sum := 0.0
					for f := range x {
						sum = math.FMA(x[f]-y[f], x[f]-y[f], sum)
					}
					if want[i] > sum {
						t.Fatalf("boxes are at the distance %v, but two of their rows at %v", want[i], sum)
					}
				}
			}
		}
	}
}
