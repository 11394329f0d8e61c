package kernel

import "github.com/cleave-project/cleave/internal/partition"

// Memory needs of a shard in bytes, for planning before anything is allocated. These formulas must match the
// allocations of this package; size_test.go compares the two.
const (
	// Per row, once: the squared length (8) and the column number (4) of the point, the weights a_i in the matrix and
	// in the objective (16), and the start of its sparse part (8).
	sharedRowBytes = 36
	// Per row of a tile: its diagonal entry (8), and 12 for padding in a dense tile, or for the start and number of its
	// sums in a graph tile.
	tileRowBytes = 20
	// Per row of a tile and lane: the sum of its own cluster (8), and a move (12) in a list that may have twice the
	// capacity that it needs while it grows.
	tileLaneRowBytes = 32
	// Per sum of a row over one cluster in a dense tile.
	denseSumBytes = 8
	// Per cluster and thread: its share of the self-affinity (16), and a place in a row (4, padded).
	threadClusterBytes = 24
	// Per entry of a graph: its weight on the grid (8), and its part of the changes that moved vertices make (16 each,
	// and at most one for twelve entries: with more, all sums are recomputed).
	graphEntryBytes = 8 + 2
	// Per sum of a row over one cluster in a graph.
	graphSumBytes = 16
	// Per entry of sparse points: its value and its feature (8), and a second copy of the feature while features are
	// renumbered (4).
	sparseEntryBytes = 12
	// ProductRowBytes is the memory per row of each further vector that the matrix is multiplied with: its value and
	// that of the product.
	ProductRowBytes = 16
)

// denseTileBytes returns the memory of the entries of one float32 tile of n columns. A float16 tile takes half of it.
func denseTileBytes(n, tile int) int64 {
	return 4 * int64(n) * int64(padded(partition.Tile(n, tile).Len()))
}

// TileSize returns the memory of one tile with the sums of k clusters in every lane, with and without stored entries.
// Tiles of a graph are views, and their number of sums depends on the degrees of their vertices, so SharedBytes counts
// the sums of all of them.
func (s *MatrixSpec) TileSize(tile, k, lanes int) partition.Size {
	rows := int64(padded(partition.Tile(s.Rows, tile).Len()))
	if s.Function == Adjacency {
		bytes := rows * (tileRowBytes + tileLaneRowBytes)
		return partition.Size{Stored: bytes, Computed: bytes}
	}
	entries := denseTileBytes(s.Rows, tile)
	if s.HalfScale != 0 {
		entries /= 2
	}
	sums := rows * (tileRowBytes + int64(lanes)*(tileLaneRowBytes+denseSumBytes*int64(k)))
	return partition.Size{Stored: entries + sums, Computed: sums}
}

// SharedBytes returns the memory of a shard beyond its tiles and the data set: per-row data, and either the centered
// points in float32 or the weights, changes and sums of a graph. graphEntries includes the entries of the sparse part.
func (s *MatrixSpec) SharedBytes(k int, graphEntries int64) int64 {
	n := int64(s.Rows)
	shared := n * sharedRowBytes
	switch s.Function {
	case Given:
		return shared
	case Adjacency: // a row has sums for at most k clusters
		return shared + graphEntryBytes*graphEntries + graphSumBytes*min(graphEntries, n*int64(k))
	}
	if s.Entries > 0 {
		return shared + 8*(n+1) + sparseEntryBytes*s.Entries
	}
	return shared + 4*n*int64(s.Columns)
}

// ThreadBytes returns the working memory of each thread. Besides the clusters, points need: the points of a tile and of
// some columns in float64 (for sparse points, some columns over all features), the products of both, the entries
// computed from them, and the squared lengths and kernel values of a column.
func (s *MatrixSpec) ThreadBytes(k, lanes int) int64 {
	clusters := int64(lanes) * int64(k) * threadClusterBytes
	if s.Function == Given || s.Function == Adjacency {
		return clusters
	}
	d, height := int64(s.Columns), int64(partition.TileRows(s.Rows))
	points := 8 * d * (height + columnsPerFill)
	if s.Entries > 0 {
		points = 8 * sparseLanes * min(d, s.Entries)
	}
	return clusters + points + (8+4)*columnsPerFill*height + 16*height
}

// FeatureBytes returns the memory that features of points take besides the resulting rows: the points in float32 with
// their squared lengths and numbers, and the projection twice, as given and in bundles.
func FeatureBytes(n, columns, landmarks, rank int) int64 {
	return int64(n)*(4*int64(columns)+12) + 16*int64(landmarks)*int64(rank)
}

// FeatureThreadBytes returns the working memory of each thread that computes features: FeatureRows points and some
// landmarks in float64, their products, the entries computed from them, and the features.
func FeatureThreadBytes(columns, rank int) int64 {
	return 8*int64(columns)*(FeatureRows+columnsPerFill) + (8+4)*columnsPerFill*FeatureRows + 16*FeatureRows +
		8*int64(rank)*FeatureRows
}
