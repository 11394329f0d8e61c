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

// PointThreadBytes is what one thread of a search among points works with, and the turns of the rows.
func PointThreadBytes(d, count int64) int64 {
	return blockQueries*(8*d+ListBytes(count)) + 8<<10
}

// SparseBytes is a search among n sparse points of d columns: the values at length 1, and the entries by columns.
func SparseBytes(n, d, entries int64) int64 { return 20*entries + 16*(d+1) + 8*n }

// SparseThreadBytes is what one thread of a search among sparse points works with.
func SparseThreadBytes(n, count int64) int64 { return 8*n + ListBytes(count) }
