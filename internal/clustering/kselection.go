package clustering

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
	// Eigengap is the k-th minus the next eigenvalue of the graph.
	Eigengap *float64
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
func (s Confidence) String() string { return [...]string{"", "unsure", "likely", "clear"}[s] }
