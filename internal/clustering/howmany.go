package clustering

// HowMany is how a number of clusters was proposed: see package howmany.
type HowMany struct {
	Min, Max, Proposed int
	Sureness           Sureness
	Plausible          []int // the numbers that the scores allow, ascending; the proposed one is among them
	Reason             string
	Scores             []KScore  // one for each k, from Min on
	Labels             [][]int32 // in the same order
}

// KScore is what tells of a number of clusters, as far as it is known. Higher is better, except for the objective.
type KScore struct {
	K         int
	Objective float64
	Space     Space // that auto took; 0: the algorithm was given
	// Agreement with constraints that were held out, 1 at best and 0 by chance.
	Agreement *float64
	// Stability is how well the worst of the clusters comes out again from a part of the data, 1 at best.
	Stability *float64
	// Silhouette is the mean over points, in the space that was clustered, -1 to 1.
	Silhouette *float64
	// Modularity of the graph, at most 1.
	Modularity *float64
	// Eigengap of the graph: how much smaller the next eigenvalue is than the k-th.
	Eigengap *float64
}

// Sureness is how sure a proposal is.
type Sureness uint8

// The degrees of sureness.
const (
	Unsure Sureness = iota + 1 // several numbers are as plausible
	Likely
	Clear // all that is known speaks for it
)

// String is the name of a degree in the API.
func (s Sureness) String() string { return [...]string{"", "unsure", "likely", "clear"}[s] }
