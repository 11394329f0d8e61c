package invalid

// Reasons about rows of the data, with the values that their errors have.
const (
	ZeroRow               Reason = "the row is all zeros and has no direction"
	RowOverflow           Reason = "the values of the row add up to infinity"
	AboveFloat32          Reason = "the value is too large for a float32"        // value
	ValueOutOfRange       Reason = "the magnitude of the value is too large"     // value, limit
	NegativeForDivergence Reason = "the value is negative and has no divergence" // value
	NegativeForDistortion Reason = "the value is negative and has no distortion" // value, distortion
)

// Reasons about kernels of rows and about affinities.
const (
	NoKernelOf           Reason = "a kernel matrix cannot be made from this kind of data"
	ZeroRowOfKernel      Reason = "the row is all zeros, and the kernel needs a direction"   // kernel
	KernelAboveFloat32   Reason = "a kernel value is above a float32"                        // value, other, limit
	DiagonalAboveFloat32 Reason = "a kernel value on the diagonal is above a float32"        // value, limit
	BoundAboveFloat32    Reason = "kernel values of the row may be above a float32"          // value, limit
	FeatureOutOfRange    Reason = "a feature of the row is out of range"                     // value, limit
	NegativeAffinity     Reason = "the affinity of two rows is negative"                     // i, j, value
	MatrixNotFinite      Reason = "the matrix has an entry that is not finite, or overflows" // rows
)

// Reasons about metrics.
const (
	MetricWeight      Reason = "a weight of the metric is not positive and finite"       // column, weight
	MetricSize        Reason = "a full metric has another number of values"              // columns, needed, given
	MetricColumns     Reason = "the number of columns is out of range for a full metric" // columns, limit
	AsymmetricMetric  Reason = "the metric is not symmetric"                             // i, j, value, mirrored
	MetricNotPositive Reason = "the metric is not positive definite"
)

// Reasons about centroids and neighbors.
const (
	NoCentroidsOf      Reason = "centroids need points"
	UnknownPreparation Reason = "the preparation of rows is unknown"  // preparation
	NoNeighborsOf      Reason = "this kind of data has no neighbors"  // kind
	NegativeNeighbors  Reason = "the number of neighbors is negative" // count
	NewRowsForKernel   Reason = "new rows cannot be compared with a kernel matrix"
	OtherPoints        Reason = "new rows are not points of the same columns"        // columns
	OtherSparsePoints  Reason = "new rows are not sparse points of the same columns" // columns
)
