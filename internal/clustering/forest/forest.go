// Package forest predicts the class of rows by randomized decision trees (extremely randomized trees, Geurts, Ernst and
// Wehenkel 2006). Every tree is grown on all rows of known class until its leaves are pure. A node is split by a column
// and a threshold: among about sqrt(d) columns drawn at random, each with a threshold drawn uniformly between its
// smallest and largest value in the node, the split with the least Gini impurity. The score of a class is the share of
// trees whose leaf has it, so scores do not depend on the units of columns.
package forest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/parallel"
)

// Forest is a list of trees.
type Forest struct {
	nodes []node // tree after tree; the left subtree of a node follows it, and then its right subtree
	roots []int32
}

// node is an inner node or, if column is negative, a leaf.
type node struct {
	column    int32
	right     int32   // index of the right child; the left child follows the node
	threshold float64 // rows whose value is at most this go left; the class of a leaf
}

// leaf is the column of leaves.
const leaf int32 = -1

// Fit grows trees on points of known class, 0 to k-1. The weights of points count in the impurity of a node. Every tree
// has a generator of its own, so the forest does not depend on the number of threads.
func Fit(ctx context.Context, points *dataset.Points, classes []int32, weights []float64, k, trees int, rng *rand.Rand,
	threads int) (*Forest, error) {
	generators := make([]*rand.Rand, trees)
	for t := range generators {
		generators[t] = rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
	}
	grown := make([][]node, trees)
	err := parallel.Run(ctx, threads, trees, func(t int) error {
		g := newGrower(points, classes, weights, k, generators[t])
		g.grow(g.rows)
		grown[t] = g.nodes
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	return link(slices.Concat(grown...))
}

// link finds the roots and the right children of nodes, which are in the order of Forest.nodes. It fails if a subtree
// is missing.
func link(nodes []node) (*Forest, error) {
	f := &Forest{nodes: nodes}
	var open []int32 // inner nodes whose right subtree has not begun
	complete := true // the node before is a leaf
	for i := range int32(len(nodes)) {
		switch {
		case complete && len(open) == 0:
			f.roots = append(f.roots, i)
		case complete:
			nodes[open[len(open)-1]].right = i
			open = open[:len(open)-1]
		}
		complete = nodes[i].column == leaf
		if !complete {
			open = append(open, i)
		}
	}
	if !complete || len(open) > 0 || len(f.roots) == 0 {
		return nil, fmt.Errorf("the last tree of %d lacks a part", len(f.roots))
	}
	return f, nil
}

// ValueColumns is the number of values of a node.
const ValueColumns = 2

// Values returns two values for each node: its column, counted from 0, and its threshold; for a leaf -1 and its class.
// The left subtree of a node follows it, and then its right subtree; tree follows tree.
func (f *Forest) Values() []float64 {
	values := make([]float64, 0, ValueColumns*len(f.nodes))
	for _, n := range f.nodes {
		values = append(values, float64(n.column), n.threshold)
	}
	return values
}

// New returns the forest of the given values, for rows with the given number of columns and for k classes.
func New(k, columns int, values []float64) (*Forest, error) {
	nodes := make([]node, len(values)/ValueColumns)
	for i := range nodes {
		column, threshold := values[ValueColumns*i], values[ValueColumns*i+1]
		switch {
		case column != math.Trunc(column) || !(column >= float64(leaf)) || column >= float64(columns):
			return nil, fmt.Errorf("node %d compares column %v of %d", i, column, columns)
		case math.IsNaN(threshold) || math.IsInf(threshold, 0):
			return nil, fmt.Errorf("the threshold of node %d is %v", i, threshold)
		case int32(column) == leaf && (threshold != math.Trunc(threshold) || threshold < 0 || threshold >= float64(k)):
			return nil, fmt.Errorf("leaf %d has class %v of %d", i, threshold, k)
		}
		nodes[i] = node{column: int32(column), threshold: threshold}
	}
	return link(nodes)
}

// Renumbered returns the forest with other numbers for the classes.
func (f *Forest) Renumbered(numbers []int32) *Forest {
	nodes := slices.Clone(f.nodes)
	for i, n := range nodes {
		if n.column == leaf {
			nodes[i].threshold = float64(numbers[int(n.threshold)])
		}
	}
	return &Forest{nodes, f.roots}
}

// Trees returns the number of trees.
func (f *Forest) Trees() int { return len(f.roots) }

// Nodes returns the number of nodes of all trees.
func (f *Forest) Nodes() int { return len(f.nodes) }

// grower grows one tree.
type grower struct {
	points  *dataset.Points
	classes []int32
	weights []float64
	rng     *rand.Rand
	tried   int // columns that a split is chosen from
	rows    []int32
	columns []int32 // a permutation
	nodes   []node
	// Weights of the classes in a node, and on the left of a split.
	total, left []float64
}

// newGrower returns a grower whose first node has all rows of the points. A split is chosen from sqrt(d) columns.
func newGrower(points *dataset.Points, classes []int32, weights []float64, k int, rng *rand.Rand) *grower {
	return &grower{
		points: points, classes: classes, weights: weights, rng: rng, tried: max(1, int(math.Sqrt(float64(points.D)))),
		rows: choose.All[int32](points.N), columns: choose.All[int32](points.D), total: make([]float64, k),
		left: make([]float64, k),
	}
}

// grow appends the subtree of some rows, which it reorders.
func (g *grower) grow(rows []int32) {
	at := len(g.nodes)
	g.nodes = append(g.nodes, node{column: leaf, threshold: float64(g.heaviest(rows))})
	column, threshold, found := g.split(rows)
	if !found {
		return
	}
	middle := 0
	for i, row := range rows {
		if g.points.Row(int(row))[column] <= threshold {
			rows[i], rows[middle] = rows[middle], row
			middle++
		}
	}
	g.nodes[at].column, g.nodes[at].threshold = column, threshold
	g.grow(rows[:middle])
	g.grow(rows[middle:])
}

// heaviest sets the weights of the classes of rows and returns the class with the largest, the first of equal ones.
func (g *grower) heaviest(rows []int32) int {
	clear(g.total)
	for _, row := range rows {
		g.total[g.classes[row]] += g.weights[row]
	}
	return slices.Index(g.total, slices.Max(g.total))
}

// split draws splits and returns the best. It finds none if all rows have the same class, or the same values.
func (g *grower) split(rows []int32) (column int32, threshold float64, found bool) {
	if !slices.ContainsFunc(rows, func(row int32) bool { return g.classes[row] != g.classes[rows[0]] }) {
		return 0, 0, false
	}
	purest := math.Inf(-1)
	for drawn, tried := 0, 0; drawn < len(g.columns) && tried < g.tried; drawn++ {
		other := drawn + g.rng.IntN(len(g.columns)-drawn)
		g.columns[drawn], g.columns[other] = g.columns[other], g.columns[drawn]
		c := g.columns[drawn]
		low := math.Inf(1)
		high := math.Inf(-1)
		for _, row := range rows {
			v := g.points.Row(int(row))[c]
			low, high = min(low, v), max(high, v)
		}
		if low == high {
			continue
		}
		tried++
		at := low + float64(g.rng.Float64()*(high-low))
		if !(at < high) {
			at = low
		}
		if purity := g.purity(rows, c, at); purity > purest {
			column, threshold, purest, found = c, at, purity, true
		}
	}
	return column, threshold, found
}

// purity returns the sum over both sides of a split of sum_c w_c^2 / sum_c w_c, which is the total weight minus the
// weighted Gini impurity.
func (g *grower) purity(rows []int32, column int32, threshold float64) float64 {
	clear(g.left)
	for _, row := range rows {
		if g.points.Row(int(row))[column] <= threshold {
			g.left[g.classes[row]] += g.weights[row]
		}
	}
	leftSum, leftSquares, rightSum, rightSquares := 0.0, 0.0, 0.0, 0.0
	for c, w := range g.left {
		rest := g.total[c] - w
		leftSum, leftSquares = leftSum+w, leftSquares+float64(w*w)
		rightSum += rest
		rightSquares += float64(rest * rest)
	}
	return leftSquares/leftSum + rightSquares/rightSum
}

// Score sets scores to the share of the trees that assign a row to each class.
func (f *Forest) Score(row, scores []float64) {
	clear(scores)
	for _, at := range f.roots {
		for f.nodes[at].column != leaf {
			if row[f.nodes[at].column] <= f.nodes[at].threshold {
				at++
			} else {
				at = f.nodes[at].right
			}
		}
		scores[int(f.nodes[at].threshold)]++ // exact
	}
	for c := range scores {
		scores[c] /= float64(len(f.roots))
	}
}
