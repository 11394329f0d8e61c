package vector

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
)

// Tiles of features hold each row as Row gives it: on its grid, and within half a unit of the feature itself.
func TestTilesOfFeatures(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const n, d, rank = 900, 5, 7
	points := &dataset.Points{N: n, D: d, Values: make([]float64, n*d)}
	for at := range points.Values {
		points.Values[at] = rng.NormFloat64()
	}
	spec := &kernel.FeatureSpec{
		Matrix:    kernel.MatrixSpec{Function: kernel.Gaussian, Rho: 1.5, Rows: n, Columns: d, Grid: -40},
		Landmarks: []int32{1, 4, 100, 101, 300, 555, 600, 899}, Rank: rank,
	}
	for range len(spec.Landmarks) * rank {
		spec.Projection = append(spec.Projection, rng.NormFloat64())
	}
	rows := NewFeatureSpec(spec, 1)
	source, err := NewSource(rows, points)
	if err != nil {
		t.Fatal(err)
	}
	features, err := kernel.NewFeatures(spec, points)
	if err != nil {
		t.Fatal(err)
	}
	exact := make([]float64, rank*kernel.FeatureRows)
	row := make([]float64, rank)
	for number := range partition.TileCount(n) {
		tile, err := source.buildTile(context.Background(), number)
		if err != nil {
			t.Fatal(err)
		}
		var read reader
		read.open(tile, rank)
		for r := range tile.rows.Len() {
			i := tile.rows.From + r
			if err := source.Row(row, i); err != nil {
				t.Fatal(err)
			}
			if err := features.Compute(exact, partition.Range{From: i, To: i + 1}); err != nil {
				t.Fatal(err)
			}
			for f, v := range read.row(r).values {
				unit := math.Ldexp(1, int(rows.Grids[f]))
				if v != row[f] || math.Abs(v-exact[f*kernel.FeatureRows]) > unit/2 || v != math.Round(v/unit)*unit {
					t.Fatalf("feature %d of row %d is %v, %v alone, %v before rounding to %v", f, i, v, row[f],
						exact[f*kernel.FeatureRows], unit)
				}
			}
		}
	}
	if planned := DenseTileBytes(partition.TileRows(n), rank); planned <= 0 || source.sparse {
		t.Errorf("tiles of features are dense and take %d bytes", planned)
	}
	rows.Grids = rows.Grids[1:]
	if _, err := NewSource(rows, points); err == nil {
		t.Error("a grid is missing, and the spec was taken")
	}
}
