package clustering

import (
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
	"github.com/cleave-project/cleave/internal/text"
)

// Result is the outcome of a run: what every algorithm has, followed by one part for each family.
type Result struct {
	Labels        []int32
	StopReason    StopReason
	Iterations    int
	ObjectiveName string
	Objective     float64 // includes the rewards and penalties of constraints
	// BehindUnconstrained is how much worse the objective is than that of the labels found by the same algorithm
	// without constraints. It is 0 if it is not worse or if those labels are not known.
	BehindUnconstrained float64
	History             []HistoryEntry
	Warnings            []Notice
	Units               *dataset.Units // units that dense points were converted to; nil if unchanged
	Restart             int            // the restart that won, counted from 0
	Satisfaction        constraint.Satisfaction
	ClusterSizes        []int
	Model               *model.Model // nil if new points cannot be assigned without the data
	Rows                *RowScores   // nil if there are no scores
	// Runs holds the labels of all runs, such as restarts, including those of the result. Vote consumes it.
	Runs []Labeling

	Kernel        KernelReport
	Inference     *Inference // of the k-means family; nil if no points were assigned jointly
	Spectral      SpectralReport
	Auto          AutoReport
	NeighborGraph *NeighborGraph  // nil unless a nearest-neighbor graph was clustered
	Landmarks     *LandmarkReport // nil unless landmarks were used
	KSelection    *KSelection     // nil unless a range of k was given
}

// KernelReport describes the matrix of a run. It is zero if there was none.
type KernelReport struct {
	Matrix *kernel.MatrixSpec // how entries were computed
	Shifts []ShiftChange
	Sigma  float64 // the diagonal shift at the end
	// PlainObjective is the cut or the association of the labels in the graph alone, without the rewards and penalties
	// of constraints: it is computed on A, and Objective on A + W (Kulis2009 Table 3). It is nil if the objective is
	// not that of a graph.
	PlainObjective *float64
}

// SpectralReport describes the eigenvectors of a run. It is zero if none were used.
type SpectralReport struct {
	Eigen     *EigenReport
	Embedding *Embedding
}

// AutoReport describes the decision of the algorithm auto. It is zero for every other algorithm.
type AutoReport struct {
	Choice   *Choice
	Suspects []Suspect // the strongest first
}

// CountSizes sets ClusterSizes from the labels of k clusters. All rows must have labels.
func (r *Result) CountSizes(k int) {
	r.ClusterSizes = make([]int, k)
	for _, c := range r.Labels {
		r.ClusterSizes[c]++
	}
}

// Suspect is a seed or a constraint that the data contradicts: the methods that agree best with the supervision get it
// wrong when it is held out.
type Suspect struct {
	Row   int32
	Other int32 // the second row of the pair; -1 for a seed
	Must  bool  // whether the pair is a must-link
	Label int32 // the label of the seed
	// Strength is how strongly the data contradicts it, from 0 to 1. For a seed, it is how often the seed is separated
	// from the other seeds of its label, over all trials that held it out. For a pair, take the row that is less
	// clearly inside its cluster: Strength is the share of all rows that are even less clear.
	Strength float64
}

// NeighborGraph is the nearest-neighbor graph that was clustered in place of the data.
type NeighborGraph struct {
	Graph   *dataset.Graph
	Count   int // number of neighbors of each row
	Weights neighbor.Weights
}

// Edges returns the number of undirected edges. The graph has no loops.
func (g *NeighborGraph) Edges() int { return len(g.Graph.Column) / 2 }

// LandmarkReport says how well landmarks approximate the full kernel matrix.
type LandmarkReport struct {
	Count int
	Rank  int // number of features
	// Lost is the share of the kernel that the features lose: trace(K - K~) / trace(K), where K is the kernel matrix
	// and K~ holds the inner products of the features.
	Lost float64
	// ExactNMI and ExactObjective compare with the same job run with the full matrix: the normalized mutual
	// information of the labels, and the objective. Both are nil if that was not run, as for many points.
	// ExactObjective is also nil with constraints.
	ExactNMI, ExactObjective *float64
}

// Inference describes the last joint assignment of the constrained points.
type Inference struct {
	Engine    inference.Engine
	Exact     bool     // whether the assignment is provably optimal
	LPValue   *float64 // lower bound of the objective, including unconstrained points; nil if the engine has none
	Fallbacks int      // number of constraint components left to belief propagation
	Rounds    int      // iterations of the engine in its largest component
}

// EigenReport describes the eigenvectors that were used. The slices have one entry per eigenvector, in the order of
// use. Beta, FeasibleVectors and Satisfaction are set only by constrained-spectral.
type EigenReport struct {
	Beta            *float64
	FeasibleVectors *int
	Volume          float64 // the sum of all degrees
	Eigenvalues     []float64
	Costs           []float64 // v' Lbar v with v'v = vol
	Satisfaction    []float64 // u' Q u
	Residuals       []float64
	Products        int // number of matrix-vector products

	// What the constraints selected: the rule, the number of eigenvectors that the coordinates are made of (0 means
	// all), and the candidates that were compared. Chosen is 0 if there was no selection.
	Chosen     CutRule
	Width      int
	Candidates []CutCandidate
}

// CutRule is how constraints enter the coordinates that constrained-spectral clusters.
type CutRule uint8

// The rules.
const (
	CutUnconstrained CutRule = iota + 1 // constraints are ignored
	CutPencil                           // the eigenproblem of Wang2014, within the span of the lowest eigenvectors
	CutCompletion                       // completion of the matrix of all pairs, within that span
	CutPaper                            // beta of Wang2014 (19), in the space of all points
	CutStrict                           // the beta at which exactly k - 1 cuts are feasible there
)

// String returns the name of the rule, "" for 0.
func (r CutRule) String() string {
	return text.Name(r, "", "unconstrained", "pencil", "completion", "paper", "strict")
}

// CutCandidate is a rule with its parameters, and how well it did on held-out constraints.
type CutCandidate struct {
	Rule       CutRule
	Width      int      // number of eigenvectors; 0 means all
	Theta, Rho *float64 // parameters of CutPencil and of CutCompletion; nil for other rules
	Loss       float64  // mean squared difference of inner products of coordinates from 1 (must) and 0 (cannot)
	Violated   *float64 // share of the constraints that its labels violate; nil if its loss ruled it out
}

// Embedding holds coordinates of points, row by row.
type Embedding struct {
	Rows, Columns int
	Values        []float64
}

// Among returns the embedding of n points whose points kept, in ascending order, have the coordinates of e. The
// coordinates of all others are 0. It returns e itself if kept holds all n points.
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
