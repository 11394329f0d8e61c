package vector

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/refusal"
)

// The means and grids of rows are part of answers. Their bits are those of sums in row order, tile by tile.
func TestSpecsHaveTheseBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, shape := range [][2]int{{1, 1}, {1025, 3}, {9000, 9}, {5000, 40}} {
		n, d := shape[0], shape[1]
		values := make([]float64, n*d)
		for at := range values {
			values[at] = math.Ldexp(rng.NormFloat64(), at%d)
		}
		points := &dataset.Points{N: n, D: d, Values: values}
		got, err := NewRowSpec(points, Plain)
		if err != nil {
			t.Fatal(err)
		}
		sums := make([]float64, d)
		centeredMagnitudes(points, got.Mean, sums)
		p := newPreparer(got, points, 0)
		for f := range d {
			mean, magnitude := 0.0, 0.0
			for tile := range partition.TileCount(n) {
				part := 0.0
				rows := partition.Tile(n, tile)
				for i := rows.From; i < rows.To; i++ {
					part += points.Row(i)[f]
				}
				mean += part
			}
			mean /= float64(n)
			for i := range n {
				r, err := p.prepare(i)
				if err != nil {
					t.Fatal(err)
				}
				magnitude += max(r.values[f], -r.values[f])
			}
			if got.Mean[f] != mean || sums[f] != magnitude {
				t.Errorf("%d x %d, column %d: mean %v, magnitudes %v; want %v, %v", n, d, f, got.Mean[f], sums[f],
					mean, magnitude)
			}
		}
	}
}

// Of values that are too large, the first is named.
func TestTheFirstValueTooLargeIsNamed(t *testing.T) {
	values := make([]float64, 100*20)
	values[5*20+17], values[6*20+1] = 2*maxValue, 2*maxValue
	_, err := NewRowSpec(&dataset.Points{N: 100, D: 20, Values: values}, Plain)
	if f, ok := refusal.Of(err).(*fault.Error); !ok || f.Reason != "OUT_OF_RANGE" || f.Metadata["row"] != "5" ||
		f.Metadata["column"] != "17" {
		t.Errorf("got %v", err)
	}
}
