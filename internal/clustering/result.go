package clustering

import (
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
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
	Choice              *Choice         // nil: the algorithm was given
	NeighborGraph       *NeighborGraph  // nil: the data were clustered as they are
	Landmarks           *LandmarkReport // nil: there were no landmarks
	HowMany             *HowMany        // nil: k was given
	Rows                *RowScores      // nil: nothing is known of single rows
	Suspects            []Suspect       // the clearest first
	// Runs are the labels of all restarts and the like, the answer's among them, until Vote compares them.
	Runs []Labeling
}

// Suspect is a seed or a constraint that the data speak against: the answers that agree best with the supervision have it
// wrong when they are not shown it.
type Suspect struct {
	Row   int32
	Other int32 // the second row of a pair; -1: the row has a seed
	Must  bool  // whether a pair is a must-link
	Label int32 // of a seed
	// Strength is how clearly the data speak against it, from 0 to 1. Of a seed, how often it is put apart from the others of
	// its label, over all that was tried without it. Of a pair, the share of all rows that are less clearly inside a cluster
	// than the less clear one of the two.
	Strength float64
}

// NeighborGraph is the graph of nearest neighbors that was clustered in place of the data.
type NeighborGraph struct {
	Graph   *dataset.Graph
	Count   int // neighbors of each row
	Weights neighbor.Weights
}

// Edges is how many edges the graph has, none of which is a loop.
func (g *NeighborGraph) Edges() int { return len(g.Graph.Column) / 2 }

// Model is what new points are assigned by. Centroids are in the coordinates of the data, or of its rows as
// the distortion prepares them: unit vectors for cosines, probabilities for KL. Distances are between points and
// centroids in the units.
type Model struct {
	Distortion metric.Distortion
	K, D       int
	Centroids  []float64 // k x d
	Metric     *metric.Metric
	Units      *dataset.Units // nil: columns are compared as they are
	Landmarks  *Landmarks     // nil: centroids are in the coordinates of the data
}

// Columns is how many columns points have that the model assigns.
func (m *Model) Columns() int {
	if m.Landmarks != nil {
		return m.Landmarks.Points.D
	}
	return m.D
}

// Landmarks make features of points; centroids are means of these.
type Landmarks struct {
	Matrix     kernel.MatrixSpec // the kernel: its function, parameters and grid
	Centered   bool              // points are compared by their differences from the mean of the landmarks, all in the units
	Points     *dataset.Points   // the landmarks, in the coordinates of the data
	Projection []float64         // see kernel.FeatureSpec: a row of Model.D values for each landmark
}

// LandmarkReport says how well landmarks stand for all points.
type LandmarkReport struct {
	Count int
	Rank  int // features
	// Lost is the share of the kernel that features leave out: the trace of the difference of the kernel matrix and the
	// one that features have, relative to the trace of the kernel matrix.
	Lost float64
	// Of the same job by the kernel matrix, where there are few points: how much its labels have in common with these,
	// and its objective. nil: it was not run; without constraints alone there is an objective to compare.
	ExactNMI, ExactObjective *float64
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

	// What the constraints chose, where they choose: which coordinates, how many eigenvectors they are made of (0: all),
	// and what was compared.
	Chosen     CutRule
	Width      int
	Candidates []CutCandidate
}

// CutRule is how constraints enter the coordinates of constrained-spectral.
type CutRule uint8

// The rules.
const (
	CutUnconstrained CutRule = iota + 1 // they do not
	CutPencil                           // the eigenproblem of Wang2014 in the span of the lowest eigenvectors
	CutCompletion                       // completion of the matrix of pairs in that span
	CutPaper                            // Wang2014 (19) in the space of all points
	CutStrict                           // so that exactly k - 1 cuts are feasible there
)

// String is the name of a rule.
func (r CutRule) String() string {
	return [...]string{"", "unconstrained", "pencil", "completion", "paper", "strict"}[r]
}

// CutCandidate is a rule with its parameters, and how it did on constraints that it did not know.
type CutCandidate struct {
	Rule       CutRule
	Width      int      // eigenvectors; 0: all
	Theta, Rho *float64 // of the pencil; of the completion
	Loss       float64  // mean square by which inner products of coordinates miss 1 and 0
	Violated   *float64 // share of the constraints that its labels violate; nil: it was out of the question by its loss
}

// Embedding is the coordinates of the points, row by row.
type Embedding struct {
	Rows, Columns int
	Values        []float64
}

// Among is the embedding of n points of which only some, in ascending order, have coordinates: those of the others are 0.
func (e *Embedding) Among(n int, kept []int32) *Embedding {
	if len(kept) == n {
		return e
	}
	all := &Embedding{Rows: n, Columns: e.Columns, Values: make([]float64, n*e.Columns)}
	for row, i := range kept {
		copy(all.Values[int(i)*e.Columns:], e.Values[row*e.Columns:(row+1)*e.Columns])
	}
	return all
}
