package neighbor

import (
	"math"
	"math/bits"
	"slices"
)

// Queries are compared with a group of rows in batches. The batches of a block traverse the tree together, so that a
// group of rows is read once for all of them.
const (
	batchQueries = 8
	blockBatches = 8
	blockQueries = batchQueries * blockBatches
)

// featuresPerPass is the number of features to add before distances are compared with their limits. A sum of squares
// never decreases, so a row is dropped once its sum exceeds the limit.
const featuresPerPass = 64

// block is a set of queries with the neighbors found so far. One goroutine uses it at a time.
type block struct {
	in      *pointSearch
	queries int
	own     [blockQueries]int32
	nearest [blockQueries]nearest
	batches [blockBatches]batch
	boxes   boxes                 // around the queries of each batch
	limits  [blockBatches]float64 // largest limit of each batch; -1 if the batch has no queries
	sums    [batchQueries * groupRows]float64
	hits    [batchQueries]uint16
}

// batch is a few queries that are compared with rows side by side.
type batch struct {
	values []float64             // feature by feature
	limits [batchQueries]float64 // largest distance of interest; -1 for a missing query, so nothing is within it
}

func newBlock(s *pointSearch) *block {
	return &block{in: s, boxes: newBoxes(len(s.tree.features))}
}

// reset removes all queries. Each of the next ones wants count neighbors.
func (b *block) reset(count int) {
	b.queries = 0
	for q := range b.nearest {
		b.nearest[q].reset(count)
	}
	b.boxes.empty()
	for i := range b.batches {
		b.limits[i] = -1
		for q := range b.batches[i].limits {
			b.batches[i].limits[q] = -1
		}
	}
}

// addQuery adds a query, of which there may be blockQueries. own is its row, which is not its neighbor, or None.
func (b *block) addQuery(values []float64, own int32) {
	i, lane := b.queries/batchQueries, b.queries%batchQueries
	batch := &b.batches[i]
	if batch.values == nil {
		batch.values = make([]float64, batchQueries*len(values))
	}
	for f, v := range values {
		batch.values[f*batchQueries+lane] = v
	}
	b.boxes.include(i, b.in.tree.features, values)
	batch.limits[lane], b.limits[i] = math.Inf(1), math.Inf(1)
	b.own[b.queries] = own
	b.queries++
}

// search finds the nearest rows of all queries added so far.
func (b *block) search() {
	all := (b.queries + batchQueries - 1) / batchQueries
	b.visit(0, 0, b.in.tree.groups, 1<<all-1)
}

// visit compares the batches in a bit set with the rows below a node, which spans the groups from..to-1. It visits the
// half nearer to the first batch first, so that limits are already low when it reaches the other.
func (b *block) visit(node, from, to int, batches uint64) {
	if to-from == 1 {
		b.compare(from, batches)
		return
	}
	t := &b.in.tree
	middle, left, right := t.children(node, from, to)
	var toLeft, toRight [blockBatches]float64
	b.in.routines.gaps(&toLeft, &b.boxes, t.box(left))
	b.in.routines.gaps(&toRight, &b.boxes, t.box(right))
	leftFirst := toLeft[bits.TrailingZeros64(batches)] <= toRight[bits.TrailingZeros64(batches)]
	for _, isLeft := range [...]bool{leftFirst, !leftFirst} {
		if isLeft {
			if near := b.within(&toLeft, batches); near != 0 {
				b.visit(left, from, middle, near)
			}
		} else if near := b.within(&toRight, batches); near != 0 {
			b.visit(right, middle, to, near)
		}
	}
}

// within returns the batches, out of the given bit set, that may have neighbors in a box at these distances.
func (b *block) within(distances *[blockBatches]float64, batches uint64) uint64 {
	near := uint64(0)
	for rest := batches; rest != 0; rest &= rest - 1 {
		if i := bits.TrailingZeros64(rest); distances[i] <= b.limits[i] {
			near |= 1 << i
		}
	}
	return near
}

// compare compares the batches in a bit set with a group of rows.
func (b *block) compare(group int, batches uint64) {
	rows := b.in.group(group)
	for ; batches != 0; batches &= batches - 1 {
		i := bits.TrailingZeros64(batches)
		if b.near(&b.batches[i], rows) {
			b.enter(i, group)
		}
	}
}

// near computes the distances of a batch to a group of rows into b.sums. It stops and returns false once all exceed
// their limits.
func (b *block) near(batch *batch, rows []float64) bool {
	d := b.in.data.D
	for from := 0; from < d; from += featuresPerPass {
		to := min(from+featuresPerPass, d)
		b.in.routines.distances(&b.sums, &b.hits, rows[from*groupRows:to*groupRows],
			batch.values[from*batchQueries:to*batchQueries], &batch.limits, from == 0)
		if b.hits == [batchQueries]uint16{} {
			return false
		}
	}
	return true
}

// enter adds the rows within the limits to the neighbors of the queries in batch i. near must have been called before.
func (b *block) enter(i, group int) {
	batch, order := &b.batches[i], b.in.order[group*groupRows:]
	for lane, hits := range b.hits {
		if hits == 0 {
			continue
		}
		q := i*batchQueries + lane
		found := &b.nearest[q]
		for ; hits != 0; hits &= hits - 1 {
			r := bits.TrailingZeros16(hits)
			if r < len(order) && order[r] != b.own[q] {
				found.add(b.sums[lane*groupRows+r], order[r])
			}
		}
		batch.limits[lane] = found.limit()
	}
	b.limits[i] = slices.Max(batch.limits[:])
}
