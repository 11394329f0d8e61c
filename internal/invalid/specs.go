package invalid

// Reasons about the number of clusters and of neighbors.
const (
	NoAlgorithm        Reason = "no algorithm is given"
	KBelowOne          Reason = "k is below 1"                                 // k
	KAboveRows         Reason = "k is above the number of rows"                // k, rows
	RangeBelowTwo      Reason = "the range of k starts below 2"                // k
	RangeEmpty         Reason = "the range of k is empty"                      // k, last
	RangeTooLong       Reason = "the range of k is too long"                   // k, last, count, limit
	RangeAboveRows     Reason = "the range of k ends above the number of rows" // k, last, rows
	RangeBelowSeeds    Reason = "the range of k starts below a seed's label"   // k, label, least
	RangeWithStart     Reason = "the start has one number of clusters"         // start
	NeighborsAboveRows Reason = "the number of neighbors is out of range"      // neighbors, rows, limit
	NeighborsOfGraph   Reason = "neighbors are wanted of a graph"              // kind
)

// Reasons about starts.
const (
	StartWithoutLabels   Reason = "only one of initial labels and the start from labels is given"
	StartWithoutSeeds    Reason = "the start from seeds has no seeds"
	InitialLabelCount    Reason = "there is not one initial label for each row" // labels, rows
	InitialLabel         Reason = "an initial label is out of range"            // point, label, limit
	CentroidCount        Reason = "the centroids have another number of values" // values, k, columns, needed
	CentroidValue        Reason = "a value of a centroid is too large"          // cluster, column, value, limit
	CentroidUnusable     Reason = "a centroid cannot be compared"               // cluster, why
	MultilevelNeedsGraph Reason = "the start multilevel has no graph"
)

// Reasons about seeds.
const (
	NoSeeds           Reason = "there are no seeds to start from"                  // algorithm
	SeedPoint         Reason = "a seed's point is out of range"                    // seed, point, limit
	SeedLabel         Reason = "a seed's label is out of range"                    // seed, point, label, limit
	SeedProbability   Reason = "a probability is out of range"                     // seed, point, label, probability
	SeedsMixed        Reason = "a seed of a point has a probability, another none" // point
	SeedsDiffer       Reason = "a point has certain seeds of several labels"       // point, first, second
	ProbabilityUnused Reason = "the algorithm does not use probabilities"          // seed
)

// Reasons about constraints.
const (
	ConstraintKind        Reason = "a constraint is no must-link and no cannot-link"     // constraint, i, j
	ConstraintPoints      Reason = "a constraint's points are out of range"              // constraint, i, j, limit
	SelfCannotLink        Reason = "a cannot-link joins a point to itself"               // constraint, point
	ConstraintNotPositive Reason = "a constraint's weight is not positive and finite"    // constraint, i, j, weight
	ConstraintWeight      Reason = "the weight of a constraint is too large"             // link, i, j, weight, limit
	ConstraintWeightSum   Reason = "the weights of equal constraints add up to infinity" // link, i, j
	TooManyEntailed       Reason = "the constraints imply too many pairs"                // limit
	TooManyOfClasses      Reason = "the classes become too many constraints"             // labels, constraints, limit
)

// Reasons about constraints that cannot be satisfied, or take too much memory.
const (
	Conflict     Reason = "two constraints contradict each other"             // conflict
	TooFewGroups Reason = "must-links leave fewer groups than clusters"       // groups, k
	Clique       Reason = "more points than clusters exclude each other"      // count, points, k
	NotColorable Reason = "no labels satisfy all constraints"                 // groups, k
	NotColored   Reason = "no labels were found that satisfy all constraints" // orders, steps
	LinkBytes    Reason = "constrained rows need too much memory"             // penalty, columns, limit, algorithm
)

// Reasons about weights of points and edges.
const (
	PointWeightCount    Reason = "the number of weights is not the number of rows"   // weights, rows, algorithm
	PointWeight         Reason = "the weight of a point is not positive and finite"  // point, weight, algorithm
	PointWeightSum      Reason = "the sum of the points' weights is out of range"    // total, least, limit
	PointWeightTooSmall Reason = "the weight of a point is too small beside the sum" // point, weight, total
	NegativeEdge        Reason = "an edge of a cut is negative"                      // i, j, weight, objective
	NegativeEdgeOfCut   Reason = "an edge is negative, and every objective is a cut" // i, j, weight, objective
	EdgeWeightSum       Reason = "the weights of the edges add up to infinity"       // limit
)
