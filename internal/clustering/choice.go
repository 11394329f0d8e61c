package clustering

import (
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/text"
)

// Space is a representation of the data that points are clustered in.
type Space uint8

// The spaces.
const (
	SpaceRows                  Space = iota + 1 // the rows, unchanged
	SpaceStandardized                           // the rows, every column with mean 0 and variance 1
	SpaceNeighbors                              // eigenvectors of the nearest-neighbor graph of the rows
	SpaceStandardizedNeighbors                  // eigenvectors of the nearest-neighbor graph of the standardized rows
	SpaceGraph                                  // eigenvectors of the given graph
	SpaceLevels                                 // the given graph itself, cut from coarse to fine levels
	// the rows, clusters being Gaussians with a covariance each; see package mixture
	SpaceMixture
)

// String returns the name of the space in the catalog, "" for 0.
func (s Space) String() string {
	return text.Name(s, "", "rows", "standardized", "neighbors", "standardized-neighbors", "graph", "levels", "mixture")
}

// ConstraintUse is how a method uses constraints.
type ConstraintUse uint8

// The uses of constraints.
const (
	UseNone   ConstraintUse = iota + 1 // constraints are ignored
	UseSoft                            // a violated constraint costs its weight
	UseHard                            // must-linked points are merged into one, and implied cannot-links hold too
	UseMetric                          // as UseHard, and a metric is learned
	// constraints select coordinates from the span of additional eigenvectors; see package span
	UseCuts

	// A classifier is fitted to the rows whose group follows from the constraints, and predicts the group of all
	// others; see package discriminant.
	UseDiscriminant
	UseSpread // the groups that follow from the constraints spread along the edges of the graph
	// UseHard after whitening: rows are rescaled so that must-linked rows spread equally in every direction.
	UseWhitened
)

// String returns the name of the use in the catalog, "" for 0.
func (u ConstraintUse) String() string {
	return text.Name(u, "", "none", "soft", "hard", "metric", "cuts", "discriminant", "spread", "whitened")
}

// Method is one of the methods that auto chooses from: a space to cluster in, and how constraints are used.
type Method struct {
	Space         Space
	ConstraintUse ConstraintUse
}

// Trial counts the held-out constraints that a method satisfied.
type Trial struct {
	Method
	// Fold is the fold that was held out, counted from 1 to Folds. It is 0 for a method that ignores constraints, and
	// for sums over all folds.
	Fold, Folds int
	// Number of held-out constraints of each kind, and how many of them the labels satisfy.
	MustLinks, MustLinksRight     int
	CannotLinks, CannotLinksRight int
}

// Agreement returns the adjusted Rand index over the held-out pairs: 1 if all are satisfied, 0 if as many as by chance.
func (t Trial) Agreement() float64 {
	return evaluate.AdjustedRand(t.MustLinksRight, t.MustLinks-t.MustLinksRight, t.CannotLinks-t.CannotLinksRight,
		t.CannotLinksRight)
}

// Choice records how auto chose among several methods.
type Choice struct {
	Chosen Method
	// Tried holds the methods that were compared, summed over the folds. It is empty if there were too few constraints.
	Tried []MethodScore
	// Reason explains the choice to the user.
	Reason text.Message
}

// MethodScore is a method with its score.
type MethodScore struct {
	Trial
	// Advantage is how many standard errors more of the held-out constraints it satisfies than the method that would
	// be used without constraints.
	Advantage float64
}

// KSelection records how a number of clusters was proposed; see package krange.
type KSelection struct {
	Min, Max, Proposed int
	Confidence         Confidence
	Plausible          []int // the numbers that the scores support, ascending, including Proposed
	Reason             string
	Scores             []KScore  // one per k, starting at Min; fewer if the run was canceled
	Labels             [][]int32 // in the order of Scores
}

// KScore holds the scores of one number of clusters. A nil score was not computed. Higher scores are better.
type KScore struct {
	K         int
	Objective float64
	Space     Space // the space that auto chose; 0 for other algorithms
	// Agreement is the agreement with held-out constraints, from 0 (chance) to 1 (perfect).
	Agreement *float64
	// Stability is how well the least stable cluster is found again in a part of the data, at most 1.
	Stability *float64
	// Silhouette is the mean silhouette of the points in the space that was clustered, from -1 to 1.
	Silhouette *float64
	// Modularity is the modularity of the labels in the graph, at most 1.
	Modularity *float64
}

// Confidence is how certain a proposal is.
type Confidence uint8

// The degrees of confidence.
const (
	Unsure Confidence = iota + 1 // several numbers are equally plausible
	Likely                       // more plausible than the alternatives
	Clear                        // all evidence supports it
)

// String returns the name of the degree in the API, "" for 0.
func (s Confidence) String() string { return text.Name(s, "", "unsure", "likely", "clear") }
