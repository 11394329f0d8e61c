package vector

// Memory needs of a shard in bytes, for planning before anything is allocated. These formulas must match the
// allocations of this package; size_test.go compares the two.

// MaxLanes is the maximum number of lanes of a shard. More would gain little.
const MaxLanes = 16

// laneRowBytes is the memory per row and lane: its move (12) in a list that may have twice the capacity that it needs
// while it grows, and its distance to its own centroid.
const laneRowBytes = 24 + 8

// DenseTileBytes returns the memory of the values of a dense tile: whole groups of rows, width values each.
func DenseTileBytes(rows, width int) int64 {
	return int64(rows+groupRows-1) / groupRows * groupRows * 8 * int64(width)
}

// SparseTileBytes returns the memory of a sparse tile's values, row starts and, if present, backgrounds. The columns
// are shared with the data set; if rows are fetched, they take ColumnBytes in addition.
func SparseTileBytes(rows int, entries int64, background bool) int64 {
	bytes := 8*entries + 8*int64(rows+1)
	if background {
		bytes += 8 * int64(rows)
	}
	return bytes
}

// ColumnBytes returns the memory of the columns of sparse entries.
func ColumnBytes(entries int64) int64 { return 4 * entries }

// LaneBytes returns the memory of a tile's rows in each lane.
func LaneBytes(rows int) int64 { return int64(rows) * laneRowBytes }

// PaddedClusters returns an upper bound of the number of clusters that a model has weights for: they are padded to
// whole SIMD vectors.
func PaddedClusters(k int) int64 { return int64(k) + sparsePadding }

// WeightBytes returns the memory of a model's score weights.
func WeightBytes(k, width int) int64 { return 8 * PaddedClusters(k) * int64(width) }

// ThreadBytes returns the working memory of each thread: sums of all clusters and one extra row, for points without a
// cluster; the scores of a group of rows; a row with all its zeros and its difference to a centroid; and for dense
// tiles some rows that are taken out of a group.
func ThreadBytes(k, width int, sparse bool) int64 {
	bytes := 8*int64(k)*int64(width) + 8*PaddedClusters(k)*groupRows + 3*8*int64(width)
	if !sparse {
		bytes += 8 * max(groupRows, unpackedRows*int64(width))
	}
	return bytes
}
