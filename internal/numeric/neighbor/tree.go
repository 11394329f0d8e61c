package neighbor

import (
	"cmp"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/choose"
)

// maxFeatures is the maximum number of features that boxes bound: those that vary most.
const maxFeatures = 16

// tree is a binary tree of boxes around rows. The leaves are groups of groupRows rows, in the order of the tree. Nodes
// are numbered depth first, each before its descendants, the left half before the right one.
type tree struct {
	groups   int
	features []int // the features that boxes bound, ascending
	boxes    []float64
}

// box holds the smallest and the largest value of each bounded feature.
type box struct{ low, high []float64 }

// growTree builds a tree over the rows and sorts order into the order of its leaves.
func growTree(data *dataset.Points, order []int32) tree {
	t := tree{groups: (data.N + groupRows - 1) / groupRows, features: widestFeatures(data)}
	t.boxes = make([]float64, 2*len(t.features)*(2*t.groups-1))
	t.grow(data, order, 0, 0, t.groups)
	return t
}

// widestFeatures returns the features that vary most, at most maxFeatures of them.
func widestFeatures(data *dataset.Points) []int {
	deviation := dataset.ColumnSpread(data).Deviation
	features := choose.All[int](data.D)
	slices.SortStableFunc(features, func(a, b int) int { return cmp.Compare(deviation[b], deviation[a]) })
	features = features[:min(maxFeatures, data.D)]
	slices.Sort(features)
	return features
}

// grow builds the node that spans the given groups. It splits the rows at the median of the feature where their box is
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
	choose.RankFunc(order, half, func(a, b int32) int {
		return cmp.Or(cmp.Compare(data.Values[int(a)*data.D+f], data.Values[int(b)*data.D+f]), cmp.Compare(a, b))
	})
	t.grow(data, order[:half], left, from, middle)
	t.grow(data, order[half:], right, middle, to)
}

// children returns the two child nodes of a node that spans the groups from..to-1, and the first group of the right
// child.
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
	for i := range b.low {
		b.low[i], b.high[i] = math.Inf(1), math.Inf(-1)
	}
}

// include extends the box to contain a row.
func (b box) include(features []int, row []float64) {
	for i, f := range features {
		b.low[i], b.high[i] = min(b.low[i], row[f]), max(b.high[i], row[f])
	}
}

// boxes holds one box for each batch of a block, feature by feature.
type boxes struct{ low, high []float64 }

func newBoxes(features int) boxes {
	return boxes{low: make([]float64, features*blockBatches), high: make([]float64, features*blockBatches)}
}

func (b *boxes) empty() {
	for i := range b.low {
		b.low[i], b.high[i] = math.Inf(1), math.Inf(-1)
	}
}

// include extends the box of one batch to contain a row.
func (b *boxes) include(batch int, features []int, row []float64) {
	for i, f := range features {
		i = i*blockBatches + batch
		b.low[i], b.high[i] = min(b.low[i], row[f]), max(b.high[i], row[f])
	}
}
