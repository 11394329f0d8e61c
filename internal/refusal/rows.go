package refusal

import "github.com/cleave-project/cleave/internal/invalid"

// ofRows has what users see of reasons about rows, and about kernels, metrics and neighbors of them.
var ofRows = map[invalid.Reason]refusal{
	// rows of the data, and kernels of them
	invalid.NoKernelOf: {reason: "UNSUPPORTED_DATA",
		says: "a kernel matrix cannot be made from this kind of data"},
	invalid.ZeroRow: {reason: "ZERO_ROW",
		says: " is all zeros and has no direction; remove it or use another distortion"},
	invalid.ZeroRowOfKernel: {reason: "ZERO_ROW",
		says: " is all zeros, which has no direction; the {kernel} kernel needs non-zero rows"},
	invalid.RowOverflow: {reason: "VALUE_TOO_LARGE",
		says: " has values that add up to more than a float64 holds; scale the data"},
	invalid.ValueOutOfRange: {reason: "OUT_OF_RANGE",
		says: " is {value}; scale the data to magnitudes of at most {limit}"},
	invalid.NegativeForDivergence: {reason: "NEGATIVE_VALUE",
		says: " is {value}; a divergence needs values of 0 and above"},
	invalid.NegativeForDistortion: {reason: "NEGATIVE_VALUE",
		says: " is {value}; the distortion {distortion} needs values of 0 and above"},
	invalid.AboveFloat32: {reason: "OUT_OF_FLOAT32_RANGE",
		says: " is {value}, beyond what float32 holds; scale the data"},
	invalid.KernelAboveFloat32: {reason: "OUT_OF_FLOAT32_RANGE",
		says: " has the kernel value {value} with row {other}, beyond what float32 holds ({limit}); scale the data " +
			"or choose another kernel"},
	invalid.DiagonalAboveFloat32: {reason: "OUT_OF_FLOAT32_RANGE",
		says: " has the kernel value {value} with itself, beyond what float32 holds ({limit}); scale the data or " +
			"choose another kernel"},
	invalid.BoundAboveFloat32: {reason: "OUT_OF_FLOAT32_RANGE",
		says: " may have kernel values as large as {value}, beyond what float32 holds ({limit}); scale the data or " +
			"choose another kernel"},
	invalid.FeatureOutOfRange: {reason: "OUT_OF_RANGE",
		says: " has the feature {value} of its kernel values with the landmarks; scale the data or choose another " +
			"kernel"},
	invalid.NegativeAffinity: {reason: "NEGATIVE_AFFINITY",
		says: "the affinity of {i} and {j} is {value}; cuts need affinities of at least 0 (ratio-association and " +
			"kernel-kmeans allow any)"},
	invalid.MatrixNotFinite: {reason: "VALUE_TOO_LARGE",
		says: "a matrix of {rows:row} has an entry that is not finite, or its products overflow; scale the data"},

	// metrics
	invalid.MetricWeight: {reason: "NOT_POSITIVE_DEFINITE",
		says: "the metric's weight of feature {column} is {weight}; weights must be positive and finite"},
	invalid.MetricSize: {reason: "SIZE_MISMATCH",
		says: "a full metric of {columns} features has {needed} values; {given} were given"},
	invalid.MetricColumns: {reason: "TOO_MANY_COLUMNS",
		says: "a full metric is supported for 1 to {limit} features, and there are {columns}; use a diagonal one"},
	invalid.AsymmetricMetric: {reason: "ASYMMETRIC_METRIC",
		says: "the metric is not symmetric: entry ({i},{j}) is {value} but entry ({j},{i}) is {mirrored}"},
	invalid.MetricNotPositive: {reason: "NOT_POSITIVE_DEFINITE",
		says: "the metric is not a positive definite matrix"},

	// centroids and neighbors
	invalid.NoCentroidsOf: {reason: "UNSUPPORTED_DATA",
		says: "centroids need points, dense or sparse; this data set is another kind of data"},
	invalid.UnknownPreparation: {reason: "UNKNOWN_PREPARATION",
		says: "preparation {preparation} is not known"},
	invalid.NoNeighborsOf: {reason: "UNSUPPORTED_DATA",
		says: "neighbors are found among points or in a kernel matrix; a {kind} has edges instead"},
	invalid.NegativeNeighbors: {reason: "OUT_OF_RANGE",
		says: "{count} neighbors were asked for; a row has 0 or more"},
	invalid.NewRowsForKernel: {reason: "UNSUPPORTED_DATA",
		says: "new rows cannot be compared with a kernel matrix; neighbors of new rows need points"},
	invalid.OtherPoints: {reason: "UNSUPPORTED_DATA",
		says: "neighbors among points of {columns} columns are found for points of the same kind and columns"},
	invalid.OtherSparsePoints: {reason: "UNSUPPORTED_DATA",
		says: "neighbors among sparse points of {columns} columns are found for points of the same kind and columns"},
}
