package krange

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// A cloud has the mean and the covariance of the data, and neither their clusters nor a value beyond a normal
// distribution's.
func TestCloud(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := &dataset.Points{N: 400, D: 2, Values: make([]float64, 800)}
	for i := range p.N {
		side := float64(2*(i%2) - 1)
		p.Row(i)[0], p.Row(i)[1] = 7+3*side+rng.Float64(), 1+side+rng.Float64()
	}
	drawn := cloud(p, 4000, rng)
	moments := func(p *dataset.Points) (mean [2]float64, covariance [3]float64) {
		for i := range p.N {
			mean[0], mean[1] = mean[0]+p.Row(i)[0]/float64(p.N), mean[1]+p.Row(i)[1]/float64(p.N)
		}
		for i := range p.N {
			a, b := p.Row(i)[0]-mean[0], p.Row(i)[1]-mean[1]
			covariance[0], covariance[1], covariance[2] = covariance[0]+a*a/float64(p.N),
				covariance[1]+a*b/float64(p.N), covariance[2]+b*b/float64(p.N)
		}
		return mean, covariance
	}
	mean, covariance := moments(p)
	got, found := moments(drawn)
	for f := range mean {
		if math.Abs(got[f]-mean[f]) > 0.2 {
			t.Errorf("the mean is %v, of the data %v", got, mean)
		}
	}
	for f := range covariance {
		if math.Abs(found[f]-covariance[f]) > 0.1*covariance[f] {
			t.Errorf("the covariance is %v, of the data %v", found, covariance)
		}
	}
	between := 0
	for i := range drawn.N {
		if math.Abs(drawn.Row(i)[0]-mean[0]) < 1 {
			between++
		}
	}
	if between < drawn.N/5 { // of the data there are none
		t.Errorf("%d of %d rows are between the two clusters of the data", between, drawn.N)
	}
}
