package clustering

import (
	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/metric"
)

// Result is the answer.
type Result struct {
	Labels        []int32
	StopReason    StopReason
	Iterations    int
	ObjectiveName string
	Objective     float64
	History       []Entry
	Shifts        []ShiftChange
	Warnings      []Notice
	Sigma         float64
	Matrix        *kernel.Spec // what the entries were, of families that have a matrix
	Restart       int
	Satisfaction  constraint.Satisfaction
	ClusterSizes  []int
	Model         *Model     // vector family
	Inference     *Inference // of the methods that do any
	Eigen         *EigenReport
	Embedding     *Embedding // spectral family
}

// Model is what new points can be assigned by: in the coordinates of the data, or of its rows as the
// distortion prepares them.
type Model struct {
	Distortion metric.Distortion
	K, D       int
	Centroids  []float64 // k x d
	Metric     *metric.Metric
}

// Inference is about the last time that constrained points were assigned together.
type Inference struct {
	Engine    inference.Engine
	Exact     bool
	LPValue   *float64 // a lower bound of the objective then, unconstrained points included
	Fallbacks int
	Rounds    int
}

// SpectralReport is about the eigenvectors that were used, in the order of their use.
type EigenReport struct {
	Beta            *float64 // of ConstrainedSpectral, as what follows
	FeasibleVectors *int
	Volume          float64
	Eigenvalues     []float64
	Costs           []float64 // v' Lbar v with v'v = vol
	Satisfaction    []float64 // u' Q u
	Residuals       []float64
	Products        int
}

// Embedding is the coordinates of the points, row by row.
type Embedding struct {
	Rows, Columns int
	Values        []float64
}
