package neighbor

// What a search takes in bytes, beside the data set.

// ListBytes is a list of the nearest rows, whose slices may have grown to twice their length.
func ListBytes(count int64) int64 { return 2*12*count + 64 }

// PointBytes is a search among n points of d columns: the packed rows, their order and places, and the boxes; and what the
// spread of the columns is found with.
func PointBytes(n, d int64) int64 {
	groups := (n + groupRows - 1) / groupRows
	return 8*groups*groupRows*d + 8*n + 2*groups*2*8*min(d, maxFeatures) + 64*d
}

// PointThreadBytes is what one thread of a search among n points works with.
func PointThreadBytes(n, d, count int64) int64 {
	queries := min(blockQueries, (n+batchQueries-1)/batchQueries*batchQueries)
	return queries*8*d + blockQueries*ListBytes(count) + 8<<10
}

// SparseBytes is a search among n sparse points of d columns: the values at length 1, the entries by columns, and the
// order of the rows.
func SparseBytes(n, d, entries int64) int64 { return 24*entries + 16*(min(d, entries)+1) + 12*n }

// SparseThreadBytes is what one thread of a search among sparse points works with.
func SparseThreadBytes(n, count int64) int64 { return 8*n + ListBytes(count) }
