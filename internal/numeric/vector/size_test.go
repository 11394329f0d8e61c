package vector

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/partition"
)

// The formulas of plans are what tiles, weights and threads take; only paddings are counted at their largest.
func TestSizesAreWhatShardsTake(t *testing.T) {
	const n, d = 700, 13
	for _, k := range []int{1, 6, 17} {
		for _, way := range []way{{Plain, metric.SquaredEuclidean}, {Probability, metric.KL}} {
			for _, sparse := range []bool{false, true} {
				rng := rand.New(rand.NewPCG(11, uint64(k)))
				values := table(rng, n, d, way.preparation)
				var data dataset.Dataset = densePoints(t, n, d, values)
				if sparse {
					data = sparsePoints(t, n, d, values)
				}
				source := newSource(t, data, way.preparation)
				form := metric.Identity
				if way.distortion == metric.SquaredEuclidean {
					form = metric.Full
				}
				model := randomModel(rng, source.spec, naiveRows(n, d, values, way.preparation, source.spec.Mean),
					way.distortion, form, k)
				model.Absent = nil
				shard := built(t, source, 1)
				width := source.spec.Width()
				perform(t, randomJob(rng, n, k, model), []*Shard{shard}, [][]int{partition.AllTiles(n)})
				for number, tile := range shard.tiles {
					planned := DenseTileBytes(tile.rows.Len(), width)
					if sparse {
						planned = SparseTileBytes(tile.rows.Len(), int64(len(tile.values)), width > d)
					}
					if planned != tile.bytes() || tile.laneBytes() > LaneBytes(tile.rows.Len()) {
						t.Errorf("%s, sparse %v: tile %d takes %d bytes and has %d moves; planned are %d", way, sparse,
							number, tile.bytes(), cap(tile.moves), planned)
					}
				}
				perform(t, &job{labels: make([]int32, n), model: model, counts: make([]int32, k), k: k},
					[]*Shard{shard}, [][]int{partition.AllTiles(n)})
				if err := shard.setModels(context.Background(), one(model, nil), true); err != nil {
					t.Fatal(err)
				}
				if taken, planned := 8*int64(len(shard.terms[0].weights)), WeightBytes(k, width); taken > planned ||
					planned > taken+8*sparsePadding*int64(width) {
					t.Errorf("%s, k = %d: weights take %d bytes, planned are %d", way, k, taken, planned)
				}
				w := shard.workspaces.Idle[0]
				taken := 8 * int64(len(w.sums)+len(w.scores)+len(w.expanded)+len(w.difference)+len(w.unpacked))
				// and rows that only a full metric or a sparse tile needs
				padding := 8 * int64(groupRows*sparsePadding+2*width)
				if sparse {
					padding += 8 * int64(groupRows-1) * PaddedClusters(k) // sparse rows are scored one by one
				}
				if planned := ThreadBytes(k, width, sparse); planned < taken || planned > taken+padding {
					t.Errorf("%s, k = %d, sparse %v: a thread takes %d bytes, planned are %d", way, k, sparse,
						taken, planned)
				}
			}
		}
	}
}
