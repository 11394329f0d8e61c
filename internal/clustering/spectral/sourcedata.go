package spectral

import (
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/numeric/elementary"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// maxSourceRows is the maximum number of points whose n^2/2 affinities are converted to beliefs.
const maxSourceRows = 2000

// BeliefsFromPoints returns the Gaussian affinities of points, with their median distance as width: a second metric on
// the objects that are clustered (Wang2014 7.4).
func BeliefsFromPoints(points *dataset.Points) ([]constraint.Belief, error) {
	if points.N > maxSourceRows {
		return nil, invalid.New(invalid.SourceRows, "points", points.N, "limit", maxSourceRows)
	}
	rho, isWidth := kernelkmeans.MedianDistance(points, rand.New(rand.NewPCG(0, clustering.StreamRho)))
	if !isWidth {
		return nil, invalid.New(invalid.NoSourceWidth, "median", rho)
	}
	beliefs := make([]constraint.Belief, 0, points.N*(points.N-1)/2)
	for i := range points.N {
		for j := i + 1; j < points.N; j++ {
			square := metric.SquaredDistance(points.Row(i), points.Row(j))
			if value := elementary.Exp(-square / float64(2*float64(rho*rho))); value > 0 {
				beliefs = append(beliefs, constraint.Belief{I: int32(i), J: int32(j), Value: value})
			}
		}
	}
	return beliefs, nil
}
