package cut

import (
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
)

// MaxSourceRows is up to where affinities of points are made into beliefs: n^2/2 of them.
const MaxSourceRows = 2000

// AffinityBeliefs are the gaussian affinities of points, of the width of their median distance: a second
// metric on objects that are clustered by another (Wang2014 7.4).
func AffinityBeliefs(points *dataset.Points) ([]Belief, error) {
	if points.N > MaxSourceRows {
		return nil, fault.Invalid("TOO_MANY_ROWS", "%d points have %d affinities; up to %d points are taken as a whole: make a graph of their nearest neighbours and give that as the source graph",
			points.N, points.N*(points.N-1)/2, MaxSourceRows)
	}
	rho, err := kernelkmeans.MedianDistance(points, rand.New(rand.NewPCG(0, clustering.StreamRho)), "")
	if err != nil {
		return nil, err
	}
	beliefs := make([]Belief, 0, points.N*(points.N-1)/2)
	for i := range points.N {
		for j := i + 1; j < points.N; j++ {
			square := kernelkmeans.SquaredDistance(points.Row(i), points.Row(j))
			if value := kernel.Exp(-square / float64(2*float64(rho*rho))); value > 0 {
				beliefs = append(beliefs, Belief{I: int32(i), J: int32(j), Value: value})
			}
		}
	}
	return beliefs, nil
}
