package clustering

import (
	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/dataset"
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
	Objective     float64 // rewards and penalties of constraints included
	// PlainObjective is the cut or the association of the labels in the graph alone, without the rewards and penalties of
	// constraints: on A where Objective is on A + W (Kulis2009 Table 3). nil: the objective is not that of a graph.
	PlainObjective *float64
	History        []HistoryEntry
	Shifts         []ShiftChange
	Warnings       []Notice
	Sigma          float64            // the diagonal shift at the end
	Units          *dataset.Units     // that dense points were put into; nil: as they are given
	Matrix         *kernel.MatrixSpec // what the entries were; nil: there is no matrix
	Restart        int                // the one that won
	Satisfaction   constraint.Satisfaction
	// BehindUnconstrained is by how much the objective is worse than that of the labels that the same algorithm finds
	// without constraints; 0: it is not, or those labels are not known.
	BehindUnconstrained float64
	ClusterSizes        []int
	Model               *Model       // nil: there are no centroids
	Inference           *Inference   // nil: nothing was inferred
	Eigen               *EigenReport // nil, like Embedding, where labels are not made of eigenvectors
	Embedding           *Embedding
	Choice              *Choice // nil: the algorithm was given
}

// Model is what new points are assigned by. Centroids are in the coordinates of the data, or of its rows as
// the distortion prepares them: unit vectors for cosines, probabilities for KL. Distances are between points and
// centroids in the units.
type Model struct {
	Distortion metric.Distortion
	K, D       int
	Centroids  []float64 // k x d
	Metric     *metric.Metric
	Units      *dataset.Units // nil: columns are compared as they are
}

// Inference is about the last time that constrained points were assigned together.
type Inference struct {
	Engine    inference.Engine
	Exact     bool     // no labels are better
	LPValue   *float64 // a lower bound of the objective at that time, unconstrained points included; nil: the engine has none
	Fallbacks int      // components of the constraints that were left to belief propagation
	Rounds    int
}

// EigenReport is about the eigenvectors that were used, in the order of their use. Beta, FeasibleVectors and
// Satisfaction are those of constrained-spectral alone.
type EigenReport struct {
	Beta            *float64
	FeasibleVectors *int
	Volume          float64 // the sum of all degrees
	Eigenvalues     []float64
	Costs           []float64 // v' Lbar v with v'v = vol
	Satisfaction    []float64 // u' Q u
	Residuals       []float64
	Products        int // of the matrix with a vector
}

// Embedding is the coordinates of the points, row by row.
type Embedding struct {
	Rows, Columns int
	Values        []float64
}
