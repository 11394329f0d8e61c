package invalid

// Reasons about preparing the data for an algorithm.
const (
	ScaleNeedsPoints  Reason = "the data has no columns to scale"       // scale, kind
	NoKernelWidth     Reason = "the median distance is no kernel width" // median, algorithm
	ProductOverflow   Reason = "products of values overflow"
	FullMetricColumns Reason = "too many columns for a full metric" // columns, limit, algorithm
	ScatterBytes      Reason = "the scatter needs too much memory"  // columns, bytes, rows, limit, algorithm
)

// Reasons about units of columns.
const (
	UnitCounts      Reason = "there are not as many scales as centers"       // centers, scales
	UnitOfColumn    Reason = "a center or scale of a column is out of range" // column, center, scale
	UnitsNeedPoints Reason = "only dense points can be scaled"               // kind
	UnitColumns     Reason = "the units are for another number of columns"   // columns, units
	ScaledValue     Reason = "a value of the row is not finite once scaled"  // value, column, scaled
)

// Reasons about landmarks.
const (
	LandmarksNeedPoints Reason = "landmarks need dense points"      // kind, algorithm
	TooFewLandmarks     Reason = "there are fewer landmarks than k" // landmarks, k, algorithm
	NoFeatures          Reason = "the kernel matrix of the landmarks has no positive eigenvalue"
)

// Reasons about beliefs, and about cuts that satisfy them.
const (
	NoBeliefs          Reason = "there are no beliefs"
	NoPairs            Reason = "no two points are constrained"
	SeedsOfOnePoint    Reason = "all seeds are of one point"                  // point
	BeliefRows         Reason = "a belief's rows are out of range"            // belief, i, j, limit
	BeliefValue        Reason = "a belief is not finite"                      // belief, i, j, value
	RepeatedBelief     Reason = "a pair has two beliefs"                      // i, j
	SourceRows         Reason = "there are too many points for beliefs"       // points, limit
	NoSourceWidth      Reason = "the median distance of points is no width"   // median
	TooManyPieces      Reason = "the graph has too many connected components" // pieces, limit
	TooFewCuts         Reason = "too few cuts were found"                     // found, needed, k, beta
	TooFewCutsOfPieces Reason = "too few cuts within components were found"   // found, needed, k, beta, pieces
	TooFewBeliefs      Reason = "too few eigenvalues of beliefs are positive" // k
	BetaTooLarge       Reason = "beta is too large"                           // k, needed, feasible, beta, largest_beta
	BetaOutside        Reason = "beta is out of range"                        // as BetaTooLarge, and least_beta
	NoBeta             Reason = "no beta is feasible"                         // as BetaTooLarge
)

// Reasons about mixtures.
const (
	MixtureSize       Reason = "the mixture has another number of values" // k, columns, values
	MixtureValue      Reason = "a value of the mixture is not finite"     // column, at, value
	MixtureVariance   Reason = "a variance of the mixture is negative"    // column, variance
	MixtureCovariance Reason = "no column of the mixture has a covariance"
	MixtureShare      Reason = "the share of a cluster is out of range"               // cluster, share
	MixtureShareSum   Reason = "the shares of the clusters do not add up to 1"        // total
	MixtureDiagonal   Reason = "the diagonal of a cluster's triangle is not positive" // at, cluster, value
	MixtureZeros      Reason = "a cluster's triangle has entries that must be 0"      // cluster
	TooFar            Reason = "the row is too far from a cluster"                    // cluster
)

// Reasons about new rows for a job or a model.
const (
	NewPointsForCut  Reason = "only kernel k-means on points can assign new points"
	NewPointsForKind Reason = "new points cannot be compared with this kind of data"    // kind
	OtherKind        Reason = "the new data is of another kind"                         // clustered, given
	OtherColumns     Reason = "the new points have other columns than the job's"        // columns, clustered
	ModelColumns     Reason = "the points have other columns than the model's"          // columns, fitted
	ModelOfPoints    Reason = "the model was fitted to dense points, and these are not" // kind
)

// Reasons about costs of joint assignments.
const (
	LabelCost    Reason = "the cost of a label is not finite"               // point, label, cost
	PairCost     Reason = "the cost of a pair is not finite or is negative" // pair, i, j, cost
	CostOverflow Reason = "the costs add up to infinity"                    // total
)
