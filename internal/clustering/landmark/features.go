package landmark

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
)

// Features are the eigenvectors of the landmarks' kernel matrix that hold wantedShare of its trace, at most maxRank,
// because k-means takes time in proportion. Entries are float32, so eigenvectors with nearly zero eigenvalues are
// rounding errors.
const (
	wantedShare     = 0.999
	maxRank         = 128
	leastEigenvalue = 1e-6 // of the largest
)

// draw chooses the landmarks among n points, uniformly without replacement. It returns them in ascending order.
func draw(n int, spec clustering.Spec) ([]int32, error) {
	options := spec.Algorithm.(*kernelkmeans.Options)
	count := min(options.Landmarks, n)
	if count < spec.K {
		return nil, invalid.New(invalid.TooFewLandmarks, "landmarks", options.Landmarks, "k", spec.K,
			"algorithm", spec.Algorithm.Name())
	}
	return choose.Random[int32](n, count, spec.Random(clustering.StreamLandmarks)), nil
}

// features returns the map from points, in their units, to features.
func (p *Problem) features(ctx context.Context, points *dataset.Points, chosen []int32,
	k int) (*kernel.FeatureSpec, error) {
	m, own := len(chosen), points.Take(chosen)
	if p.Matrix.Mean != nil { // the mean of the landmarks is as good, and is all that predictions have
		p.Matrix.Mean = kernel.ColumnMeans(own)
	}
	small := p.Matrix
	small.Rows = m
	values, err := kernel.Square(small, own)
	if err != nil {
		return nil, err
	}
	trace := 0.0
	for i := range m {
		trace += values[i*m+i]
	}
	count := 0
	eigenvalues, vectors, err := eigen.LeadingEigenpairs(ctx, mat.NewSymDense(m, values),
		func(eigenvalues []float64) int {
			count = rank(eigenvalues, trace, k)
			return count
		})
	if err != nil {
		return nil, err
	}
	f := &kernel.FeatureSpec{Matrix: p.Matrix, Landmarks: chosen, Rank: count, Projection: make([]float64, m*count),
		Points: own}
	for c := range count {
		root := math.Sqrt(eigenvalues[c])
		for j := range m {
			f.Projection[j*count+c] = vectors.At(j, c) / root
		}
	}
	if f.Rank == 0 {
		return nil, invalid.New(invalid.NoFeatures)
	}
	return f, nil
}

// rank returns the number of eigenvectors to use, given all eigenvalues in descending order.
func rank(eigenvalues []float64, trace float64, k int) int {
	share, count := 0.0, 0
	for _, v := range eigenvalues {
		if !(v > leastEigenvalue*eigenvalues[0]) || v <= 0 || count >= max(k, maxRank) || share >= wantedShare*trace {
			break
		}
		share += v
		count++
	}
	return count
}
