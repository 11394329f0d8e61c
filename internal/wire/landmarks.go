package wire

import (
	"fmt"
	"math"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
)

// landmarkReport says how well landmarks stand for all points; nil where there are none.
func landmarkReport(r *clustering.LandmarkReport) *cleavev1.LandmarkReport {
	if r == nil {
		return nil
	}
	return &cleavev1.LandmarkReport{Count: uint32(r.Count), Rank: uint32(r.Rank), Lost: r.Lost, ExactNmi: r.ExactNMI, ExactObjective: r.ExactObjective}
}

// landmarkHead says how the landmarks of a model make features; nil where there are none.
func landmarkHead(l *clustering.Landmarks) *cleavev1.LandmarkHead {
	if l == nil {
		return nil
	}
	return &cleavev1.LandmarkHead{
		Count: uint32(l.Points.N), Columns: uint32(l.Points.D), Kernel: kernelReport(l.Matrix), Centered: l.Centered, GridExponent: int32(l.Matrix.Grid),
	}
}

// landmarkValues is how many values a model with landmarks has by its head.
func landmarkValues(head *cleavev1.ModelHead, l *cleavev1.LandmarkHead) (uint64, error) {
	k, rank, count, columns := uint64(head.GetK()), uint64(head.GetColumns()), uint64(l.GetCount()), uint64(l.GetColumns())
	switch {
	case count < 1 || count > catalog.MaxLandmarks || rank > count || columns < 1 || columns > dataset.MaxColumns:
		return 0, fmt.Errorf("wire: a model of %d features of %d landmarks of %d columns", rank, count, columns)
	case head.GetMetric() != cleavev1.Metric_METRIC_IDENTITY || head.GetDistortion() != cleavev1.Distortion_DISTORTION_EUCLIDEAN:
		return 0, fmt.Errorf("wire: a model of landmarks with the metric %v and the distortion %v", head.GetMetric(), head.GetDistortion())
	case kernelFunctions[l.GetKernel().GetFunction()] == 0:
		return 0, fmt.Errorf("wire: a model of landmarks with the unknown kernel function %d", l.GetKernel().GetFunction())
	}
	values := k*rank + count*(columns+rank)
	if head.GetScaled() {
		values += 2 * columns
	}
	return values, nil
}

// landmarksOf makes the landmarks of a model of the values after its centroids.
func landmarksOf(head *cleavev1.ModelHead, values []float64) (*clustering.Landmarks, error) {
	of := head.GetLandmarks()
	count, columns, rank := int(of.GetCount()), int(of.GetColumns()), int(head.GetColumns())
	points, err := dataset.NewPoints(count, columns, values[:count*columns:count*columns])
	if err != nil {
		return nil, fmt.Errorf("wire: the landmarks of a model: %w", err)
	}
	return NewLandmarks(of, points, values[count*columns:count*(columns+rank)])
}

// NewLandmarks puts together what a head describes: the landmarks and their projection.
func NewLandmarks(head *cleavev1.LandmarkHead, points *dataset.Points, projection []float64) (*clustering.Landmarks, error) {
	for at, v := range projection {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("wire: value %d of a projection is %v", at, v)
		}
	}
	report := head.GetKernel()
	return &clustering.Landmarks{Points: points, Projection: projection, Centered: head.GetCentered(), Matrix: kernel.MatrixSpec{
		Function: kernelFunctions[report.GetFunction()], Rho: report.GetRho(), Gamma: report.GetGamma(), Coef0: report.GetCoef0(), Degree: int(report.GetDegree()),
		Grid: kernel.Grid(head.GetGridExponent()), Columns: points.D,
	}}, nil
}
