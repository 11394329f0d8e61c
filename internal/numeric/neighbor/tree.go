package neighbor

import (
	"cmp"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// maxFeatures is how many features boxes are bounded in at most: those that vary most.
const maxFeatures = 16

// tree is a binary tree of boxes around rows. The leaves are groups of groupRows rows, in the order of the tree. Nodes
// are numbered from the top, each before those below it, the left half before the right one.
type tree struct {
	groups   int
	features []int // that boxes are bounded in, ascending
	boxes    []float64
}

// box is the least and the largest value of some features.
type box struct{ low, high []float64 }

// growTree puts the rows into the order of the tree.
func growTree(data *dataset.Points, order []int32) tree {
	t := tree{groups: (data.N + groupRows - 1) / groupRows, features: widestFeatures(data)}
	t.boxes = make([]float64, 2*len(t.features)*(2*t.groups-1))
	t.grow(data, order, 0, 0, t.groups)
	return t
}

// widestFeatures are the features that vary most.
func widestFeatures(data *dataset.Points) []int {
	deviation := dataset.ColumnSpread(data).Deviation
	features := make([]int, data.D)
	for f := range features {
		features[f] = f
	}
	slices.SortStableFunc(features, func(a, b int) int { return cmp.Compare(deviation[b], deviation[a]) })
	features = features[:min(maxFeatures, data.D)]
	slices.Sort(features)
	return features
}

// grow makes the node that spans some groups. The rows are divided at their median in the feature where their box is
// widest.
func (t *tree) grow(data *dataset.Points, order []int32, node, from, to int) {
	b := t.box(node)
	b.empty()
	for _, i := range order {
		b.include(t.features, data.Row(int(i)))
	}
	if to-from == 1 {
		return
	}
	widest := 0
	for at := range t.features {
		if b.high[at]-b.low[at] > b.high[widest]-b.low[widest] {
			widest = at
		}
	}
	f := t.features[widest]
	middle, left, right := t.children(node, from, to)
	half := (middle - from) * groupRows
	divide(order, half, func(a, b int32) int {
		return cmp.Or(cmp.Compare(data.Values[int(a)*data.D+f], data.Values[int(b)*data.D+f]), cmp.Compare(a, b))
	})
	t.grow(data, order[:half], left, from, middle)
	t.grow(data, order[half:], right, middle, to)
}

// children are the two nodes below a node that spans the groups from..to-1, and the first group of the second.
func (t *tree) children(node, from, to int) (middle, left, right int) {
	middle = from + (to-from)/2
	return middle, node + 1, node + 2*(middle-from)
}

func (t *tree) box(node int) box {
	size := len(t.features)
	values := t.boxes[2*size*node : 2*size*(node+1)]
	return box{low: values[:size], high: values[size:]}
}

func (b box) empty() {
	for at := range b.low {
		b.low[at], b.high[at] = math.Inf(1), math.Inf(-1)
	}
}

// include widens the box to the features of a row.
func (b box) include(features []int, row []float64) {
	for at, f := range features {
		b.low[at], b.high[at] = min(b.low[at], row[f]), max(b.high[at], row[f])
	}
}

// boxes are those of the batches of a block, feature by feature.
type boxes struct{ low, high []float64 }

func newBoxes(features int) boxes {
	return boxes{low: make([]float64, features*blockBatches), high: make([]float64, features*blockBatches)}
}

func (b *boxes) empty() {
	for at := range b.low {
		b.low[at], b.high[at] = math.Inf(1), math.Inf(-1)
	}
}

// include widens the box of one batch to the features of a row.
func (b *boxes) include(batch int, features []int, row []float64) {
	for at, f := range features {
		at = at*blockBatches + batch
		b.low[at], b.high[at] = min(b.low[at], row[f]), max(b.high[at], row[f])
	}
}

// divide moves the lowest items to the front: count of them, 0 < count < len(items).
func divide(items []int32, count int, compare func(a, b int32) int) {
	for rounds := 0; len(items) > 1; rounds++ {
		if rounds > 64 { // the pivots were bad
			slices.SortFunc(items, compare)
			return
		}
		last := len(items) - 1
		candidates := []int32{items[0], items[last/2], items[last]}
		slices.SortFunc(candidates, compare)
		pivot, low, high := candidates[1], 0, last
		for low <= high {
			for compare(items[low], pivot) < 0 {
				low++
			}
			for compare(items[high], pivot) > 0 {
				high--
			}
			if low <= high {
				items[low], items[high] = items[high], items[low]
				low++
				high--
			}
		}
		switch { // items up to high are at most the pivot, items from low on at least
		case count <= high:
			items = items[:high+1]
		case count > low:
			items, count = items[low:], count-low
		default:
			return
		}
	}
}
