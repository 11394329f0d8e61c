// Package landmark approximates kernel k-means for points that are too many for a kernel matrix. With m of the points
// as landmarks, the matrix is approximated by (Williams and Seeger 2001)
//
//	K ~ K_nm K_mm^-1 K_mn = Phi Phi',    phi(x) = L^-1/2 U'(k(x, l_1), ..., k(x, l_m)),    K_mm = U L U'.
//
// Kernel k-means on the approximation is k-means on the rows of Phi: its centers lie in the span of the landmarks
// (Chitta et al. 2011).
package landmark

import (
	"context"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/vector"
)

// Problem is a spec that was checked against its data: the landmarks, their features, and k-means on those.
type Problem struct {
	*kmeans.Problem
	Matrix    kernel.MatrixSpec // the kernel; its rows are all points
	landmarks *dataset.Points   // in the coordinates of the data
	points    *dataset.Points   // all points; nil if too many for their matrix
	trace     float64           // the sum of k(x, x) over all points
	spec      clustering.Spec
	sample    *sample // on which the start is found; nil if the start is given
}

// Is reports whether a spec asks for landmarks.
func Is(spec clustering.Spec) bool {
	options, ok := spec.Algorithm.(*kernelkmeans.Options)
	return ok && options.Landmarks > 0
}

// Prepare checks a spec against the data, draws the landmarks and computes their features, which takes long for many.
func Prepare(ctx context.Context, data dataset.Dataset, spec clustering.Spec) (*Problem, error) {
	points, dense := data.(*dataset.Points)
	if !dense {
		return nil, invalid.New(invalid.LandmarksNeedPoints, "kind", data.Kind(), "algorithm", spec.Algorithm.Name())
	}
	if err := clustering.Validate(points.N, spec); err != nil {
		return nil, err
	}
	plain := spec
	plain.Supervision.Constraints = nil // k-means on the features reports their notices
	kernels, err := kernelkmeans.Prepare(points, plain)
	if err != nil {
		return nil, err
	}
	p := &Problem{Matrix: kernels.Matrix, spec: spec}
	if points.N <= ExactRows {
		p.points = points
	}
	chosen, err := draw(points.N, spec)
	if err != nil {
		return nil, err
	}
	p.landmarks = points.Take(chosen)
	scaled, err := kernels.Units.Apply(points)
	if err != nil {
		return nil, err
	}
	features, err := p.features(ctx, scaled.(*dataset.Points), chosen, spec.K)
	if err != nil {
		return nil, err
	}
	bounds, err := kernel.FindBounds(p.Matrix, scaled)
	if err != nil {
		return nil, err
	}
	if p.trace, err = kernel.Trace(p.Matrix, scaled); err != nil {
		return nil, err
	}
	rows := vector.NewFeatureSpec(features, bounds.Entry)
	p.Problem, err = kmeans.NewProblem(scaled, rows, kernels.Units, onFeatures(spec, samples(spec)))
	if err != nil {
		return nil, err
	}
	if samples(spec) {
		p.sample = p.drawSample(scaled.(*dataset.Points))
	}
	p.Warnings = slices.Concat(kernels.Warnings, p.notices(spec), p.Warnings)
	return p, nil
}

// onFeatures returns the spec of k-means on features: PC-KMeans with constraints, started at seeds if there are any.
// With constraints, a random start is replaced by the result on the sample.
func onFeatures(spec clustering.Spec, fromSample bool) clustering.Spec {
	algorithm := kmeans.Kmeans
	switch {
	case len(spec.Supervision.Constraints) > 0:
		algorithm = kmeans.PCKmeans
		switch {
		case len(spec.Supervision.Seeds) > 0:
			spec.Initialization.Start = clustering.StartSeeds
		case samples(spec):
			spec.Initialization.Start = clustering.StartDefault
		}
	case len(spec.Supervision.Seeds) > 0:
		algorithm = kmeans.SeededKmeans
	}
	spec.Algorithm = &kmeans.Options{Algorithm: algorithm, FromSample: fromSample}
	spec.Scale = clustering.ScaleNone
	return spec
}

// notices warns if there are fewer points than requested landmarks.
func (p *Problem) notices(spec clustering.Spec) []clustering.Notice {
	asked := spec.Algorithm.(*kernelkmeans.Options).Landmarks
	if asked <= p.landmarks.N {
		return nil
	}
	return []clustering.Notice{{Code: "FEW_POINTS", Message: fmt.Sprintf(
		"%d landmarks were requested, but there are only %d points; every point is a landmark", asked, p.landmarks.N)}}
}
