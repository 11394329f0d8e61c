package vector

// What a shard takes in memory, in bytes, for plans that are made before anything is allocated. These
// formulas describe the allocations of this package; size_test.go compares the two.

// MaxLanes is how many lanes a shard may have. More would gain little.
const MaxLanes = 16

// laneRowBytes is what a row takes in a lane: its move (12) in a list that may have twice the room that it uses while it
// grows, and its distance to its own centroid.
const laneRowBytes = 24 + 8

// DenseTileBytes is the memory of the values of a dense tile: whole groups of rows, width values each.
func DenseTileBytes(rows, width int) int64 {
	return int64(rows+groupRows-1) / groupRows * groupRows * 8 * int64(width)
}

// SparseTileBytes is the memory of a sparse tile's values, of where its rows begin, and of the rows'
// backgrounds if they have some. The columns are the data set's own.
func SparseTileBytes(rows int, entries int64, background bool) int64 {
	bytes := 8*entries + 8*int64(rows+1)
	if background {
		bytes += 8 * int64(rows)
	}
	return bytes
}

// LaneBytes is what a tile's rows take in each lane.
func LaneBytes(rows int) int64 { return int64(rows) * laneRowBytes }

// PaddedClusters bounds how many clusters a model has weights for: they are padded to whole SIMD vectors.
func PaddedClusters(k int) int64 { return int64(k) + sparsePadding }

// WeightBytes is the memory of a model's weights in scores.
func WeightBytes(k, width int) int64 { return 8 * PaddedClusters(k) * int64(width) }

// ThreadBytes is what each thread works with: sums of all clusters and one row more, for points without a
// cluster; the scores of a group of rows; a row with all its zeros and its difference to a centroid; and for
// dense tiles some rows that are taken out of a group.
func ThreadBytes(k, width int, sparse bool) int64 {
	bytes := 8*int64(k)*int64(width) + 8*PaddedClusters(k)*groupRows + 3*8*int64(width)
	if !sparse {
		bytes += 8 * unpackedRows * int64(width)
	}
	return bytes
}
