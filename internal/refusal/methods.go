package refusal

import (
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/invalid"
)

// fieldBeta is the field of the API that has beta.
const fieldBeta = "spec.constrained_spectral.beta"

// ofMethods has what users see of reasons about one algorithm, or about new rows for its result.
var ofMethods = map[invalid.Reason]refusal{
	// preparing the data
	invalid.ScaleNeedsPoints: {reason: "OPTION_DOES_NOT_APPLY", field: "spec.scale",
		says: "the scale {scale} needs dense points, which have columns to scale; the data is of the kind {kind}"},
	invalid.NoKernelWidth: {reason: "BAD_RHO", field: "spec.{algorithm}.kernel.rho",
		says: "rho auto is the median distance between points, which is {median} here; give rho as a number"},
	invalid.ProductOverflow: {reason: "VALUE_TOO_LARGE",
		says: "the products of the points' values overflow; scale the data"},
	invalid.FullMetricColumns: {reason: "TOO_MANY_COLUMNS", field: "spec.{algorithm}.metric",
		says: "a full metric of {columns} columns would have {columns} x {columns} values and take hours to learn; " +
			"at most {limit} columns, or the metric diagonal"},
	invalid.ScatterBytes: {reason: "TOO_MANY_COLUMNS", field: "spec.{algorithm}.metric",
		says: "the scatter that a full metric of {columns} columns is learned from takes {bytes} bytes over {rows} " +
			"rows, and at most {limit} are gathered; reduce the columns, or take the metric diagonal"},

	// units of columns
	invalid.UnitCounts: {reason: "BAD_UNITS",
		says: "the units have {centers} centers and {scales} scales; every column needs one of each"},
	invalid.UnitOfColumn: {reason: "BAD_UNITS",
		says: "column {column} has the center {center} and the scale {scale}; both must be finite, and the scale " +
			"above 0"},
	invalid.UnitsNeedPoints: {reason: "UNSUPPORTED_DATA",
		says: "only dense points have columns to scale; this data set is a different kind of data ({kind})"},
	invalid.UnitColumns: {reason: "SIZE_MISMATCH",
		says: "the points have {columns} columns, but their units are for {units}"},
	invalid.ScaledValue: {reason: "BAD_UNITS",
		says: " has the value {value} in column {column}, which becomes {scaled} when it is scaled"},

	// landmarks
	invalid.LandmarksNeedPoints: {reason: "OPTION_DOES_NOT_APPLY", field: "spec.{algorithm}.landmarks",
		says: "landmarks need dense points; the data is of the kind {kind}"},
	invalid.TooFewLandmarks: {reason: "BAD_LANDMARKS", field: "spec.{algorithm}.landmarks",
		says: "{landmarks} landmarks cannot separate {k} clusters; use at least as many, preferably 10 times as many"},
	invalid.NoFeatures: {reason: "NO_FEATURES",
		says: "the kernel values of the landmarks with each other have no positive eigenvalue; choose another kernel"},

	// beliefs and cuts
	invalid.NoBeliefs: {reason: "NO_BELIEFS", field: fieldConstraints,
		says: "constrained-spectral needs constraints, seeds or beliefs; use spectral if there are none"},
	invalid.NoPairs: {reason: "NO_BELIEFS", field: fieldConstraints,
		says: "no two points are constrained: every constraint links a point to itself, or the labels of the seeds " +
			"are as likely equal as not"},
	invalid.SeedsOfOnePoint: {reason: "NO_BELIEFS", field: fieldSeeds,
		says: "all seeds are for point {point}; constrained-spectral needs seeds for at least two points"},
	invalid.BeliefRows: {reason: "INDEX_OUT_OF_RANGE", field: "spec.constrained_spectral.beliefs",
		says: "belief {belief} is about {i} and {j}; rows are 0..{limit}"},
	invalid.BeliefValue: {reason: "BAD_BELIEF", field: "spec.constrained_spectral.beliefs",
		says: "belief {belief} about {i} and {j} is {value}; beliefs are finite numbers"},
	invalid.RepeatedBelief: {reason: "REPEATED_BELIEF", field: "spec.constrained_spectral.beliefs",
		says: "the pair {i}, {j} has two beliefs; give each unordered pair once"},
	invalid.SourceRows: {reason: "TOO_MANY_ROWS",
		says: "there are {points} points, and at most {limit} are supported, because all pairs of them are used; " +
			"build a graph of their nearest neighbors instead and give it as the source graph"},
	invalid.NoSourceWidth: {reason: "BAD_RHO",
		says: "the width of the beliefs is the median distance between points, which is {median} here; build a graph " +
			"of their nearest neighbors instead and give it as the source graph"},
	invalid.TooManyPieces: {reason: "TOO_MANY_COMPONENTS",
		says: "the graph has {pieces} connected components; constrained-spectral with this beta takes at most " +
			"{limit}; set components to join to connect them"},
	invalid.TooFewCuts: {reason: "TOO_FEW_CUTS",
		says: "only {found} of the {needed} cuts that {k} clusters need were found at beta = {beta:%.6g}; give a " +
			"smaller beta"},
	invalid.TooFewCutsOfPieces: {reason: "TOO_FEW_CUTS",
		says: "only {found} of the {needed} cuts that {k} clusters need were found at beta = {beta:%.6g}; the graph " +
			"has {pieces} connected components, and cuts between them, which cost nothing, do not count; set " +
			"components to join to connect them"},
	invalid.TooFewBeliefs: {reason: "INFEASIBLE_BETA", field: fieldBeta,
		says: "there are too few beliefs for {k} clusters: the matrix of beliefs has too few positive eigenvalues"},
	invalid.BetaTooLarge: {reason: "INFEASIBLE_BETA", field: fieldBeta, detail: "largest_beta",
		says: "beta = {beta:%.6g} leaves {feasible} feasible vectors, but {k} clusters need {needed}; the largest " +
			"usable beta is just below {largest_beta:%.6g}"},
	invalid.BetaOutside: {reason: "INFEASIBLE_BETA", field: fieldBeta, detail: "largest_beta",
		says: "beta = {beta:%.6g} leaves {feasible} feasible vectors, but {k} clusters need {needed}; a beta from " +
			"{least_beta:%.6g} to just below {largest_beta:%.6g} would do"},
	invalid.NoBeta: {reason: "INFEASIBLE_BETA", field: fieldBeta, detail: "largest_beta",
		says: "beta = {beta:%.6g} leaves {feasible} feasible vectors, but {k} clusters need {needed}; no beta above " +
			"0 is feasible: there are too few beliefs for so many clusters, or more of them say apart than together " +
			"(largest usable beta {largest_beta:%.6g})"},

	// mixtures
	invalid.MixtureSize: {reason: "SIZE_MISMATCH",
		says: "the mixture has {k} clusters of {columns} columns and {values} values"},
	invalid.MixtureValue: {reason: "NOT_FINITE",
		says: "value {column} in row {at} of the mixture is {value}"},
	invalid.MixtureVariance: {reason: "BAD_MIXTURE",
		says: "the variance of column {column} of the mixture is {variance}; it must not be negative"},
	invalid.MixtureCovariance: {reason: "BAD_MIXTURE",
		says: "no column of the mixture has a covariance"},
	invalid.MixtureShare: {reason: "BAD_MIXTURE",
		says: "the share of cluster {cluster} in the mixture is {share}; it must be above 0 and at most 1"},
	invalid.MixtureShareSum: {reason: "BAD_MIXTURE",
		says: "the shares of the clusters of the mixture add up to {total}; they must add up to 1"},
	invalid.MixtureDiagonal: {reason: "NOT_POSITIVE_DEFINITE",
		says: "entry ({at},{at}) of the triangle of cluster {cluster} of the mixture is {value}; it must be positive"},
	invalid.MixtureZeros: {reason: "BAD_MIXTURE",
		says: "cluster {cluster} of the mixture has entries above the diagonal of its triangle or in columns without " +
			"a covariance; they must be 0"},
	invalid.TooFar: {reason: "TOO_FAR",
		says: " is too far from cluster {cluster} to be compared with it; check its values"},

	// new rows for a job or a model
	invalid.NewPointsForCut: {reason: "CANNOT_PREDICT", kind: fault.FailedPrecondition,
		says: "only kernel-kmeans on points can assign new points; a graph, a kernel matrix or a cut says nothing " +
			"about points outside it"},
	invalid.NewPointsForKind: {reason: "CANNOT_PREDICT", kind: fault.FailedPrecondition,
		says: "the job clustered a {kind}, which has no coordinates to compare new points by; cluster old and new " +
			"points together"},
	invalid.OtherKind: {reason: "OTHER_DATA",
		says: "the job clustered data of the kind {clustered}, but the new data is of the kind {given}; predict " +
			"needs the same kind"},
	invalid.OtherColumns: {reason: "SIZE_MISMATCH",
		says: "the new points have {columns} columns, but the job clustered points with {clustered}"},
	invalid.ModelColumns: {reason: "SIZE_MISMATCH",
		says: "the points have {columns} columns, but the model was fitted to points with {fitted}"},
	invalid.ModelOfPoints: {reason: "OTHER_DATA",
		says: "the model was made of dense points; the new data set is another kind of data ({kind})"},

	// costs of joint assignments
	invalid.LabelCost: {reason: "BAD_COST",
		says: "the cost of label {label} for point {point} is {cost}; costs must be finite"},
	invalid.PairCost: {reason: "BAD_COST",
		says: "pair {pair} ({i},{j}) costs {cost}; costs of pairs must be finite and at least 0"},
	invalid.CostOverflow: {reason: "BAD_COST",
		says: "the costs add up to {total}, which is not a finite number; scale them down"},
}
