package kernel

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/partition"
)

// Fits are the distances of Kulis2009 (1) by their definition.
func TestFitsAreDistancesInFeatureSpace(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 6))
		p := newProblem(t, rng, 5+rng.IntN(40), 1+rng.IntN(6), []Function{Gaussian, Linear, Adjacency}[seed%3])
		s := p.shard(t, 2)
		tiles := partition.AllTiles(p.n)
		labels := p.labels()
		if seed%4 == 0 { // few clusters, so that some are empty
			for i := range labels {
				labels[i] = min(labels[i], 1)
			}
		}
		m := p.matrix(t, s)
		must(s.Load(ctx, tiles, 1, labels))
		stats := p.exactStats(m, labels)
		fits := must(s.Fits(ctx, tiles, 1, []ClusterStats{stats}))
		for i, own := range labels {
			a := p.operands.Weights[i]
			near := math.Inf(1)
			next := math.Inf(1)
			for c, count := range stats.Count {
				if count == 0 {
					continue
				}
				sum := 0.0
				for j, of := range labels {
					if int(of) == c {
						sum += m[i][j]
					}
				}
				d := m[i][i]/(a*a) - 2*sum/(a*stats.Weight[c]) + stats.SelfAffinity[c]/(stats.Weight[c]*stats.Weight[c])
				if int32(c) == own {
					near = d
				} else {
					next = min(next, d)
				}
			}
			for list, want := range []float64{near, next} {
				if got := fits[list][i]; got != want && !(math.Abs(got-want) < 1e-9*(1+math.Abs(want))) {
					t.Fatalf("seed %d, list %d, row %d of cluster %d: %g, not %g", seed, list, i, own, got, want)
				}
			}
		}
	}
}

// A graph gives the bits of the same matrix made dense.
func TestGraphFitsEqualDenseOnes(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(60) {
		c := newGraphCase(t, seed)
		stats := c.stats()
		got := must(c.shard.Fits(ctx, c.tiles, c.step, []ClusterStats{stats}))[1]
		for number := range c.tiles {
			sums := c.dense(number)
			tile := c.shard.tiles[number]
			w := &workspace{assignment: c.shard.assignment(tile, 0)}
			w.terms = &clusterTerms{}
			w.terms.set(stats)
			want := make([]float64, tile.rows.Len())
			sums.otherParts(want, w)
			for r, weight := range w.weights[:len(want)] {
				want[r] += w.terms.shifted(tile.diagonal[r], weight) / float64(weight*weight)
			}
			if !slices.Equal(got[tile.rows.From:tile.rows.To], want) {
				t.Fatalf("seed %d, tile %d: %v, of the dense matrix %v", seed, number,
					got[tile.rows.From:tile.rows.To], want)
			}
		}
	}
}
