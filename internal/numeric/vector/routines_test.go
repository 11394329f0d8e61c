package vector

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/partition"
)

// Every implementation has the bits of the portable one, also with unaligned slices.
func TestRoutinesAgreeBitForBit(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	reference := portable()
	for _, other := range availableRoutines()[1:] {
		t.Run(other.name, func(t *testing.T) {
			for range 300 {
				offset := rng.IntN(4)
				floats := func(count int) []float64 {
					v := make([]float64, count+offset)
					for at := range v {
						v[at] = rng.NormFloat64() * math.Ldexp(1, rng.IntN(40)-20)
					}
					return v[offset:]
				}
				features := 1 + rng.IntN(40)
				rows := floats(features * groupRows)
				weights := floats(features * blockClusters)
				bias := floats(blockClusters)
				want, got := make([]float64, blockClusters*groupRows), floats(blockClusters*groupRows)
				reference.scoreBlock(want, rows, weights, bias)
				other.scoreBlock(got, rows, weights, bias)
				sameBits(t, "scores from bias", want, got)
				for c := range blockClusters {
					for r := range groupRows {
						score := bias[c]
						for f := range features {
							score = math.FMA(rows[f*groupRows+r], weights[f*blockClusters+c], score)
						}
						if score != got[c*groupRows+r] {
							t.Fatalf("score of row %d for cluster %d is %v, want %v", r, c, got[c*groupRows+r], score)
						}
					}
				}
				reference.scoreBlock(want, rows, weights, nil)
				other.scoreBlock(got, rows, weights, nil)
				sameBits(t, "scores that go on", want, got)

				scores := floats((1 + rng.IntN(20)) * groupRows)
				var least, greatest, otherLeast, otherGreatest [groupRows]float64
				reference.extremes(&least, &greatest, scores)
				other.extremes(&otherLeast, &otherGreatest, scores)
				sameBits(t, "least", least[:], otherLeast[:])
				sameBits(t, "greatest", greatest[:], otherGreatest[:])

				var at places
				centroids := floats(5 * features)
				for r := range at {
					at[r] = int64(rng.IntN(5) * features)
				}
				reference.distances(&least, rows, &at, centroids, weights[:features])
				other.distances(&otherLeast, rows, &at, centroids, weights[:features])
				sameBits(t, "distances", least[:], otherLeast[:])

				block := floats(distanceClusters * groupRows)
				otherBlock := append([]float64(nil), block...)
				var begin [distanceClusters]int
				for c := range begin {
					begin[c] = rng.IntN(5) * features
				}
				reference.distanceBlock(block, rows, &begin, centroids, weights[:features])
				other.distanceBlock(otherBlock, rows, &begin, centroids, weights[:features])
				sameBits(t, "distances to several centroids", block, otherBlock)

				stride := sparsePadding * (1 + rng.IntN(12))
				columns := []int32{}
				for f := range features {
					if rng.IntN(2) == 0 {
						columns = append(columns, int32(f))
					}
				}
				table := floats(features * stride)
				values := floats(len(columns))
				sums := floats(stride)
				otherSums := append([]float64(nil), sums...)
				reference.scoreSparse(sums, table, columns, values)
				other.scoreSparse(otherSums, table, columns, values)
				sameBits(t, "sparse scores", sums, otherSums)
			}
		})
	}
}

// Rows that take several calls of assembly go to the nearest cluster, at the same distance.
func TestWideRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	const n, d, k = 40, 2*featuresPerCall + 77, 7
	values := table(rng, n, d, Plain)
	sparse := newSource(t, sparsePoints(t, n, d, values), Plain)
	dense, err := NewSource(sparse.spec, densePoints(t, n, d, values))
	if err != nil {
		t.Fatal(err)
	}
	model := randomModel(rng, sparse.spec, naiveRows(n, d, values, Plain, nil), metric.SquaredEuclidean,
		metric.Identity, k)
	model.Absent = nil
	j := randomJob(rng, n, k, model)
	j.skip = nil
	for _, routines := range availableRoutines() {
		for _, source := range []*Source{sparse, dense} {
			source.routines = routines
			s := built(t, source, 2)
			if err := s.Load(0, k, j.labels); err != nil {
				t.Fatal(err)
			}
			moves, err := s.Assign(t.Context(), partition.AllTiles(n), 0, one(model, nil))
			if err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("%s, sparse %v", routines.name, source.sparse)
			after := append([]int32(nil), j.labels...)
			for _, m := range moves {
				after[m.Point] = m.To
			}
			measured, err := s.Nearest(t.Context(), partition.AllTiles(n), one(model, nil))
			if err != nil {
				t.Fatal(err)
			}
			nearestOf := measured[0]
			for i, row := range stored(s) {
				best := int32(0)
				nearest := math.Inf(1)
				square := 0.0
				for _, v := range row {
					square += v * v
				}
				for c := range k {
					distance := 0.0
					for f, v := range row {
						difference := v - model.Centroids[c*d+f]
						distance += difference * difference
					}
					if distance < nearest {
						best, nearest = int32(c), distance
					}
				}
				if !near(nearestOf[i], nearest, square) || !source.sparse && nearestOf[i] != nearest {
					t.Fatalf("%s: point %d is at %g, want %g", what, i, nearestOf[i], nearest)
				}
				if after[i] != best {
					t.Fatalf("%s: point %d goes to %d, want %d", what, i, after[i], best)
				}
			}
		}
	}
}
