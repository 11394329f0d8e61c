package kernel

import (
	"math"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/partition"
)

// pointSet is the points as kernels see them: centered, in float32, with their squared lengths. The product
// of two float32 is exact in float64, so that x.y, summed in feature order, has the same bits with and
// without fused multiply-add. Nor do features that are 0 change it, so that sparse points, which are not centered, have
// the bits of dense ones.
type pointSet struct {
	n, d   int
	values []float32   // row by row; of sparse points those that are stored
	norms  []float64   // |x_i|^2, summed in feature order
	sparse *sparseRows // nil: the points are dense
}

func newPointSet(points *dataset.Points, mean []float64) (*pointSet, error) {
	p := &pointSet{n: points.N, d: points.D, values: make([]float32, len(points.Values)), norms: make([]float64, points.N)}
	for i := range p.n {
		row := p.row(i)
		for f, v := range points.Row(i) {
			if mean != nil {
				v -= mean[f]
			}
			row[f] = float32(v)
			if math.IsInf(float64(row[f]), 0) {
				return nil, fault.Invalid("OUT_OF_FLOAT32_RANGE",
					"row %d, column %d is %g, beyond what float32 holds; scale the data", i, f, v)
			}
		}
		norm := 0.0
		for _, v := range row {
			norm += float64(v) * float64(v)
		}
		p.norms[i] = norm
	}
	return p, nil
}

func (p *pointSet) row(i int) []float32 { return p.values[i*p.d : (i+1)*p.d : (i+1)*p.d] }

// ColumnMeans is the mean of each feature, summed tile by tile.
func ColumnMeans(points *dataset.Points) []float64 {
	means := make([]float64, points.D)
	for f := range means {
		means[f] = partition.SumByTile(points.N, func(i int) float64 { return points.Values[i*points.D+f] }) / float64(points.N)
	}
	return means
}
