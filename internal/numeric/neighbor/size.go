package neighbor

import (
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// Memory needs of a search in bytes, besides the data set.

// ListBytes returns the memory of a list of the count nearest rows, whose slices may have grown to twice their length.
func ListBytes(count int64) int64 { return 2*12*count + 64 }

// PointBytes returns the memory of a search among n points of d columns: the packed rows, their order and places, the
// boxes, and the scratch space for the spread of the columns.
func PointBytes(n, d int64) int64 {
	groups := (n + groupRows - 1) / groupRows
	return 8*groups*groupRows*d + 8*n + 2*groups*2*8*min(d, maxFeatures) + 64*d
}

// PointThreadBytes returns the working memory of one thread that searches n points.
func PointThreadBytes(n, d, count int64) int64 {
	queries := min(blockQueries, (n+batchQueries-1)/batchQueries*batchQueries)
	return queries*8*d + blockQueries*ListBytes(count) + 8<<10
}

// SparseBytes returns the memory of a search among n sparse points of d columns: the values scaled to length 1, the
// entries by column, and the order of the rows.
func SparseBytes(n, d, entries int64) int64 { return 24*entries + 16*(min(d, entries)+1) + 12*n }

// SparseThreadBytes returns the working memory of one thread that searches sparse points.
func SparseThreadBytes(n, count int64) int64 { return 8*n + ListBytes(count) }

// CosineProducts returns how many products of two entries in the same column a search among sparse points computes: the
// sum over columns of the squared number of entries. There may be far more columns than entries.
func CosineProducts(p *dataset.SparsePoints) int64 {
	columns := slices.Clone(p.Column)
	slices.Sort(columns)
	products, inColumn := int64(0), int64(0)
	for at, f := range columns {
		inColumn++
		if at > 0 && f != columns[at-1] {
			inColumn = 1
		}
		products += 2*inColumn - 1 // c² is the sum of the first c odd numbers
	}
	return products
}
