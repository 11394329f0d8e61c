package kernel

import (
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/partition"
)

// plan describes what a sweep does to the sums. A shard has one plan and reuses its buffers.
//
// For a dense matrix it is a list of entries. An entry is a column that is subtracted from one cluster's sums, added to
// another's, or both. Entries are sorted by cluster, so that several columns are summed in registers before they touch
// memory; layouts define the order in which tiles apply them.
type plan struct {
	n, k      int
	recompute []bool          // per lane: whether all its sums are recomputed
	counts    []int           // per lane: number of points that moved
	labels    []int32         // labels after the sweep
	moves     []labeling.Move // only of lanes that are not recomputed
	changes   *rowChanges     // graphs only; nil if all sums are recomputed
	columns   []int32         // the columns to read, ascending
	// The entries, sorted by key.
	keys, places []int32 // a place is the index of an entry's column in columns
	distinct     int     // number of different keys
	layouts      [chunkings]layout
	// Scratch.
	place  []int32 // per column of the matrix: its place plus one, or 0
	starts []int   // per key
	kept   []labeling.Move
}

// labelsOf returns the labels of a lane, which alias those of the plan.
func (p *plan) labelsOf(lane int) []int32 { return p.labels[lane*p.n : (lane+1)*p.n] }

// newPlan resets and returns the shard's plan, which invalidates the previous one.
func (s *Shard) newPlan() *plan {
	p := &s.plan
	p.n, p.k, p.labels, p.moves, p.changes = s.source.Rows(), s.operands.K, s.labels, nil, nil
	p.recompute = resized(p.recompute, s.operands.lanes())
	p.counts = resized(p.counts, len(p.recompute))
	clear(p.recompute)
	clear(p.counts)
	return p
}

// planFullSweep plans to recompute all sums.
func (s *Shard) planFullSweep() *plan {
	p := s.newPlan()
	for lane := range p.recompute {
		p.recompute[lane], p.counts[lane] = true, p.n
	}
	if s.source.graph == nil {
		p.buildEntries()
	}
	return p
}

// planDenseDelta plans to update the sums of dense tiles by the points that moved. In lanes where recomputing is less
// work, it plans that instead. Sums are exact, so both give the same bits.
func (s *Shard) planDenseDelta(moves []labeling.Move) *plan {
	p, shape := s.newPlan(), s.shape()
	for _, m := range moves {
		p.counts[shape.Lane(m)]++
	}
	p.moves = moves
	for lane, count := range p.counts {
		if FullSweepIsCheaper(p.n, count) {
			p.recompute[lane] = true
			p.moves = nil
		}
	}
	if p.moves == nil {
		p.kept = p.kept[:0]
		for _, m := range moves {
			if !p.recompute[shape.Lane(m)] {
				p.kept = append(p.kept, m)
			}
		}
		p.moves = p.kept
	}
	p.buildEntries()
	return p
}

// FullSweepIsCheaper reports whether summing all columns is less work than moving some of them from one cluster's sums
// to another's, when this many of n points in a lane move.
func FullSweepIsCheaper(n, moves int) bool { return 4*moves > 3*n }

// buildEntries computes the columns and the entries from labels, moves and recompute, and invalidates the layouts.
func (p *plan) buildEntries() {
	p.place = resized(p.place, p.n)
	clear(p.place)
	p.forEachEntry(false, func(_, column int32) { p.place[column] = 1 })
	p.columns = p.columns[:0]
	for j, used := range p.place {
		if used != 0 {
			p.columns = append(p.columns, int32(j))
			p.place[j] = int32(len(p.columns))
		}
	}
	p.sortEntries(p.pairingPays())
	for pace := range p.layouts {
		p.layouts[pace].ready = false
	}
}

// pairingPays reports whether many columns move between the same two clusters. In that case leaving and joining are
// combined into one entry, and a column is read once for both. With few columns per pair that costs more than it saves,
// because every pair reads and writes the sums of two clusters.
func (p *plan) pairingPays() bool {
	const minPerPair, maxKeys = 4, 1 << 16
	if len(p.moves) == 0 || p.keyCount(true) > maxKeys {
		return false
	}
	p.starts = resized(p.starts, p.keyCount(true))
	clear(p.starts)
	entries, pairs := 0, 0
	p.forEachEntry(true, func(key, _ int32) {
		if p.starts[key] == 0 {
			pairs++
		}
		p.starts[key]++
		entries++
	})
	return entries >= minPerPair*pairs
}

// sortEntries creates the entries in order of their keys, by counting sort.
func (p *plan) sortEntries(paired bool) {
	p.starts = resized(p.starts, p.keyCount(paired)+1)
	clear(p.starts)
	p.forEachEntry(paired, func(key, _ int32) { p.starts[key+1]++ })
	p.distinct = 0
	for key := range len(p.starts) - 1 {
		p.distinct += min(1, p.starts[key+1])
		p.starts[key+1] += p.starts[key]
	}
	total := p.starts[len(p.starts)-1]
	p.keys, p.places = resized(p.keys, total), resized(p.places, total)
	p.forEachEntry(paired, func(key, column int32) {
		at := p.starts[key]
		p.keys[at], p.places[at] = key, p.place[column]-1
		p.starts[key]++
	})
}

// keyCount returns the number of possible keys. The keys are, in this order: the cluster being left, the cluster being
// joined and, if paired, the pair of both within a lane.
func (p *plan) keyCount(paired bool) int {
	clusters := len(p.recompute) * p.k
	if paired {
		return clusters * (2 + p.k)
	}
	return 2 * clusters
}

// clustersOf decodes a key into the cluster being left and the cluster being joined; -1 means none.
func (p *plan) clustersOf(key int32) (from, to int32) {
	k, clusters := int32(p.k), int32(len(p.recompute)*p.k)
	switch {
	case key < clusters:
		return key, -1
	case key < 2*clusters:
		return -1, key - clusters
	}
	from, to = (key-2*clusters)/k, (key-2*clusters)%k
	return from, from/k*k + to
}

// forEachEntry calls do for every entry, in the same order each time.
func (p *plan) forEachEntry(paired bool, do func(key, column int32)) {
	k, clusters := int32(p.k), int32(len(p.recompute)*p.k)
	for lane, recompute := range p.recompute {
		if !recompute {
			continue
		}
		for j, c := range p.labelsOf(lane) {
			if c >= 0 {
				do(clusters+c, int32(j))
			}
		}
	}
	for _, m := range p.moves {
		switch {
		case paired && m.From >= 0 && m.To >= 0:
			do(2*clusters+m.From*k+m.To%k, m.Point)
			continue
		case m.From >= 0:
			do(m.From, m.Point)
		}
		if m.To >= 0 {
			do(clusters+m.To, m.Point)
		}
	}
}

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

// DenseTileBytes returns the memory of the entries of one float32 tile of n columns. A float16 tile takes half of it.
func DenseTileBytes(n, tile int) int64 {
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
	entries := DenseTileBytes(s.Rows, tile)
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
	return 8*int64(columns)*(FeatureRows+columnsPerFill) + (8+4)*columnsPerFill*FeatureRows + 16*FeatureRows + 8*int64(rank)*FeatureRows
}
