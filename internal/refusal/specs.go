package refusal

import (
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/invalid"
)

// Fields of the API that several reasons are about.
const (
	fieldRange       = "spec.k_range"
	fieldLabels      = "spec.initialization.labels"
	fieldCentroids   = "spec.initialization.centroids"
	fieldSeeds       = "spec.supervision.seeds"
	fieldConstraints = "spec.supervision.constraints"
	fieldNeighbors   = "spec.neighbor_graph.neighbors"
)

// ofSpecs has what users see of reasons about what a job asks for.
var ofSpecs = map[invalid.Reason]refusal{
	// the number of clusters and of neighbors
	invalid.NoAlgorithm: {reason: "NO_ALGORITHM", field: "spec.algorithm",
		says: "no algorithm is given"},
	invalid.KBelowOne: {reason: "BAD_K", field: "spec.k",
		says: "k is {k}; at least one cluster is needed"},
	invalid.KAboveRows: {reason: "BAD_K", field: "spec.k",
		says: "k is {k} but there {rows:is only|are only} {rows:row}; k must be at most the number of rows"},
	invalid.RangeBelowTwo: {reason: "BAD_K", field: fieldRange,
		says: "the range of k starts at {k}; it must start at 2 or more, because a single cluster cannot be compared"},
	invalid.RangeEmpty: {reason: "BAD_K", field: fieldRange,
		says: "the range of k is {k}..{last}; the last number must be larger than the first"},
	invalid.RangeTooLong: {reason: "BAD_K", field: fieldRange,
		says: "the range {k}..{last} has {count} numbers of clusters; at most {limit} are supported"},
	invalid.RangeAboveRows: {reason: "BAD_K", field: fieldRange,
		says: "the range of k is {k}..{last} but there {rows:is only|are only} {rows:row}; k must be at most the " +
			"number of rows"},
	invalid.RangeBelowSeeds: {reason: "BAD_K", field: fieldRange,
		says: "the range of k starts at {k} but seeds have labels up to {label}: start at {least}"},
	invalid.RangeWithStart: {reason: "BAD_START", field: "spec.initialization.start",
		says: "a start from {start} has one number of clusters; it cannot be combined with a range of k"},
	invalid.NeighborsAboveRows: {reason: "BAD_KNN", field: fieldNeighbors,
		says: "{neighbors} neighbors of each row are requested; with {rows:row}, there can be 1 to {limit}"},
	invalid.NeighborsOfGraph: {reason: "OPTION_DOES_NOT_APPLY", field: fieldNeighbors,
		says: "neighbors are found among points or in a kernel matrix; a {kind} has edges instead"},

	// starts
	invalid.StartWithoutLabels: {reason: "BAD_START", field: fieldLabels,
		says: "initial labels and the start from labels go together: give both or neither"},
	invalid.StartWithoutSeeds: {reason: "BAD_START", field: fieldSeeds,
		says: "the start from seeds needs seeds"},
	invalid.InitialLabelCount: {reason: "BAD_START", field: fieldLabels,
		says: "there are {labels} initial labels for {rows} rows"},
	invalid.InitialLabel: {reason: "BAD_START", field: fieldLabels,
		says: "row {point} has initial label {label}; labels are 0..{limit}"},
	invalid.CentroidCount: {reason: "BAD_START", field: fieldCentroids,
		says: "there are {values} values of centroids; {k} clusters of {columns} columns need {needed}"},
	invalid.CentroidValue: {reason: "BAD_START", field: fieldCentroids,
		says: "the centroid of cluster {cluster} has the value {value} in column {column}; magnitudes are at most " +
			"{limit}, also when it is scaled"},
	invalid.CentroidUnusable: {reason: "BAD_START", field: fieldCentroids,
		says: "the centroid of cluster {cluster}: {why}"},
	invalid.MultilevelNeedsGraph: {reason: "OPTION_DOES_NOT_APPLY", field: "spec.initialization.start",
		says: "the start multilevel is for graphs"},

	// seeds
	invalid.NoSeeds: {reason: "NO_SEEDS", field: fieldSeeds,
		says: "{algorithm} starts from seeds; give at least one"},
	invalid.SeedPoint: {reason: "INDEX_OUT_OF_RANGE", field: fieldSeeds,
		says: "seed {seed} names point {point}, outside 0..{limit}"},
	invalid.SeedLabel: {reason: "BAD_SEED_LABEL", field: fieldSeeds,
		says: "seed {seed} gives point {point} the label {label}; labels are 0..{limit}"},
	invalid.SeedProbability: {reason: "BAD_PROBABILITY", field: fieldSeeds,
		says: "seed {seed} gives point {point} the label {label} with probability {probability}; it must be from 0 " +
			"to 1, where 0 or none means certain"},
	invalid.SeedsMixed: {reason: "CONTRADICTORY_SEEDS", field: fieldSeeds,
		says: "point {point} has a seed with a probability and one without; give all its seeds a probability, or " +
			"give it one seed"},
	invalid.SeedsDiffer: {reason: "CONTRADICTORY_SEEDS", field: fieldSeeds,
		says: "point {point} is seeded with label {first} and with label {second}"},
	invalid.ProbabilityUnused: {reason: "OPTION_DOES_NOT_APPLY", field: fieldSeeds,
		says: "seed {seed} has a probability, which only auto, seeded-kmeans, constrained-kmeans and " +
			"constrained-spectral understand"},

	// constraints
	invalid.ConstraintKind: {reason: "UNKNOWN_CONSTRAINT_KIND", field: fieldConstraints,
		says: "constraint {constraint} ({i},{j}) has an unknown kind; use must or cannot"},
	invalid.ConstraintPoints: {reason: "INDEX_OUT_OF_RANGE", field: fieldConstraints,
		says: "constraint {constraint} ({i},{j}) has a point outside 0..{limit}"},
	invalid.SelfCannotLink: {reason: "SELF_CANNOT_LINK", field: fieldConstraints,
		says: "constraint {constraint} is a cannot-link of point {point} with itself; remove it"},
	invalid.ConstraintNotPositive: {reason: "BAD_WEIGHT", field: fieldConstraints,
		says: "constraint {constraint} ({i},{j}) has weight {weight}; weights must be positive and finite"},
	invalid.ConstraintWeightSum: {reason: "BAD_WEIGHT", field: fieldConstraints,
		says: "the weights of the {link}-links {i}-{j} add up to infinity; use smaller weights"},
	invalid.TooManyEntailed: {reason: "TOO_MANY_ENTAILED", field: fieldConstraints,
		says: "the constraints imply more than {limit} pairs; leave entail off (the closure is used implicitly " +
			"anyway)"},
	invalid.TooManyOfClasses: {reason: "TOO_MANY_CONSTRAINTS",
		says: "{labels:label} would become {constraints} constraints, more than {limit}; use them as seeds, or give " +
			"fewer of them"},
	invalid.ConstraintWeight: {reason: "BAD_WEIGHT", field: fieldConstraints,
		says: "the {link}-link {i}-{j} has weight {weight}; at most {limit} is supported"},
	invalid.Conflict: {reason: "INCONSISTENT_CONSTRAINTS", field: fieldConstraints,
		says: "{conflict}: no labels satisfy both, and cop-kmeans takes constraints as hard"},
	invalid.TooFewGroups: {reason: "INFEASIBLE_CONSTRAINTS", field: fieldConstraints,
		says: "the constraints are proven infeasible: the must-links leave {groups:group} of points, too few for {k} " +
			"clusters that are not empty"},
	invalid.Clique: {reason: "INFEASIBLE_CONSTRAINTS", field: fieldConstraints,
		says: "the constraints are proven infeasible: {count} points are all cannot-linked to each other ({points}), " +
			"which needs as many clusters, and k is {k}"},
	invalid.NotColorable: {reason: "INFEASIBLE_CONSTRAINTS", field: fieldConstraints,
		says: "the constraints are proven infeasible: an exhaustive search found no way to put {groups} " +
			"cannot-linked groups of points into {k} clusters"},
	invalid.NotColored: {reason: "COP_DEAD_END", kind: fault.FailedPrecondition,
		says: "cop-kmeans found no labels that satisfy all cannot-links, in {orders:order} and a search of {steps} " +
			"steps; there may be none: use more clusters, fewer constraints or a larger max_restarts, or pc-kmeans, " +
			"which may violate some"},
	invalid.LinkBytes: {reason: "TOO_MANY_CONSTRAINTS", kind: fault.ResourceExhausted,
		field: "spec.{algorithm}.penalty",
		says: "the penalty {penalty} needs the distances of constrained points, whose {columns} columns each would " +
			"take more than {limit} bytes; give fewer constraints or the penalty potts"},

	// weights of points and edges
	invalid.PointWeightCount: {reason: "BAD_WEIGHT", field: "spec.{algorithm}.weights",
		says: "there are {weights} point weights for {rows} rows"},
	invalid.PointWeight: {reason: "BAD_WEIGHT", field: "spec.{algorithm}.weights",
		says: "point {point} has weight {weight}; weights must be positive and finite"},
	invalid.PointWeightSum: {reason: "BAD_WEIGHT",
		says: "the point weights add up to {total}; scale them into {least}..{limit}"},
	invalid.PointWeightTooSmall: {reason: "BAD_WEIGHT",
		says: "point {point} has weight {weight}, too small compared with the sum of all weights, {total}"},
	invalid.NegativeEdge: {reason: "NEGATIVE_AFFINITY",
		says: "edge {i}-{j} has weight {weight}; {objective} needs weights of at least 0 (ratio-association allows " +
			"any)"},
	invalid.NegativeEdgeOfCut: {reason: "NEGATIVE_AFFINITY",
		says: "edge {i}-{j} has weight {weight}; {objective} needs weights of at least 0"},
	invalid.EdgeWeightSum: {reason: "BAD_WEIGHT",
		says: "the weights of the edges add up to more than {limit:%.3g}, the largest number; divide all of them by " +
			"the same number"},
}
