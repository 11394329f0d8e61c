// Package check tests whether an answer of a worker is possible at all, at a cost far below that of computing it. It
// knows what was asked, and the labels before it; it does not know who answered. An answer is checked completely
// before any of it is used.
package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
)

// Finite reports whether v is finite, as most values must be.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// FiniteNonNegative reports whether v is finite and not negative, as row sums and maxima must be.
func FiniteNonNegative(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// Number reports whether v is not NaN. Distances and gains may be infinite, for absent clusters and for rows that
// cannot move.
func Number(v float64) bool { return !math.IsNaN(v) }

// Moves checks the moves of one tile in the given lanes. Within each lane they must be in row order, and each must
// move a point from the label it has to another cluster of the lane.
func Moves(shape labeling.Shape, labels []int32, moves []labeling.Move, lanes []int) error {
	before := make(map[int]int32, len(lanes))
	for _, lane := range lanes {
		before[lane] = -1
	}
	for _, m := range moves {
		if !shape.Valid(m) || m.To < 0 || m.To == m.From {
			return fmt.Errorf("a move of point %d from cluster %d to %d", m.Point, m.From, m.To)
		}
		lane := shape.Lane(m)
		if last, asked := before[lane]; !asked || m.Point <= last {
			return fmt.Errorf("a move of point %d out of order", m.Point)
		}
		before[lane] = m.Point
		if label := labels[lane*shape.Points+int(m.Point)]; label != m.From {
			return fmt.Errorf("a move of point %d from cluster %d, but it is in %d", m.Point, m.From, label)
		}
	}
	return nil
}

// Candidates checks the farthest points of some tiles. There must be one for each of the given lanes.
func Candidates(shape labeling.Shape, labels []int32, tiles []int, candidates []labeling.Candidate, lanes []int) error {
	if len(candidates) != len(lanes) {
		return fmt.Errorf("%d candidates instead of %d", len(candidates), len(lanes))
	}
	for at, c := range candidates {
		switch {
		case !c.Found:
		case c.Point < 0 || int(c.Point) >= shape.Points ||
			!slices.Contains(tiles, partition.TileOf(shape.Points, int(c.Point))):
			return fmt.Errorf("point %d, which is in none of the tiles", c.Point)
		case labels[lanes[at]*shape.Points+int(c.Point)] < 0:
			return fmt.Errorf("point %d as the farthest from its cluster, but it has none", c.Point)
		case !Number(c.Distance):
			return fmt.Errorf("a distance of %v", c.Distance)
		}
	}
	return nil
}

// SelfAffinities checks the sums of clusters over a number of rows. Each row contributes less than 2^53, which keeps
// its sums exact.
func SelfAffinities(rows int, sums []kernel.Int128) error {
	limit := math.Ldexp(float64(rows), 53)
	for c, sum := range sums {
		if math.Abs(sum.Float64()) > limit {
			return fmt.Errorf("a sum of %v for cluster %d", sum.Float64(), c)
		}
	}
	return nil
}

// Changes checks how the sums of clusters over some rows change with moves. moves are those of the rows, ordered by
// lane; changes holds one lane after the other, for each lane that has moves. Because sums are exact, errors are
// visible: what points take from one cluster they add to another, so the changes of a lane add up to zero; what all
// rows that had no cluster contribute is the same in every lane; values are multiples of their grid; and clusters
// that no point enters or leaves do not change.
func Changes(shape labeling.Shape, spec *vector.RowSpec, rows int, moves []labeling.Move, changes []float64) error {
	size := shape.Clusters * spec.Width()
	var total []float64 // over all rows
	for len(moves) > 0 {
		lane := shape.Lane(moves[0])
		end := 0
		between := true
		joins := 0
		moved := make([]bool, shape.Clusters)
		for ; end < len(moves) && shape.Lane(moves[end]) == lane; end++ {
			m := moves[end]
			between = between && m.From >= 0 && m.To >= 0
			if m.From >= 0 {
				moved[int(m.From)-lane*shape.Clusters] = true
			} else {
				joins++
			}
			if m.To >= 0 {
				moved[int(m.To)-lane*shape.Clusters] = true
			}
		}
		sums, err := addClusters(spec, changes[:size], moved)
		if err != nil {
			return err
		}
		moves, changes = moves[end:], changes[size:]
		all := joins == rows
		switch {
		case between && slices.ContainsFunc(sums, func(v float64) bool { return v != 0 }):
			return fmt.Errorf("changes of lane %d that do not add up to nothing", lane)
		case all && total != nil && !slices.Equal(total, sums):
			return fmt.Errorf("the rows of lane %d have another sum than those of another lane", lane)
		case all:
			total = sums
		}
	}
	return nil
}

// addClusters checks each change of one lane's clusters and returns their sums.
func addClusters(spec *vector.RowSpec, changes []float64, moved []bool) ([]float64, error) {
	width := spec.Width()
	sums := make([]float64, width)
	for at, v := range changes {
		c, f := at/width, at%width
		grid := spec.BackgroundGrid
		if f < len(spec.Grids) {
			grid = spec.Grids[f]
		}
		if units := math.Ldexp(v, -int(grid)); !Finite(v) || units != math.Trunc(units) {
			return nil, fmt.Errorf("a change of %v, which is not a multiple of 2^%d", v, grid)
		}
		if !moved[c] && v != 0 {
			return nil, fmt.Errorf("a change of %v in cluster %d, whose points stay", v, c)
		}
		sums[f] += v
	}
	return sums, nil
}

// Neighbors checks some of a number of rows as an answer has them, each of which begins with its row number. No row may
// appear twice.
func Neighbors(answer []int32, width, rows int) error {
	numbers := make([]int32, 0, len(answer)/width)
	for row := range slices.Chunk(answer, width) {
		if err := neighborsOf(row, rows); err != nil {
			return err
		}
		numbers = append(numbers, row[0])
	}
	slices.Sort(numbers)
	if distinct := len(slices.Compact(numbers)); distinct < len(answer)/width {
		return fmt.Errorf("%d rows instead of %d", distinct, len(answer)/width)
	}
	return nil
}

// neighborsOf checks the neighbors of one row: they must be other rows, none of them twice, and nothing may
// follow the last.
func neighborsOf(row []int32, rows int) error {
	ended := false
	for at, i := range row {
		switch {
		case int(i) >= rows || i < 0 && (at == 0 || i != neighbor.None):
			return fmt.Errorf("there is no row %d of %d", i, rows)
		case ended && i >= 0:
			return fmt.Errorf("row %d has a neighbor after its last", row[0])
		case at > 0 && i == row[0]:
			return fmt.Errorf("row %d is its own neighbor", i)
		}
		ended = ended || i < 0
	}
	found := slices.Sorted(slices.Values(row[1:]))
	for at := 1; at < len(found); at++ {
		if found[at] >= 0 && found[at] == found[at-1] {
			return fmt.Errorf("row %d has row %d as a neighbor twice", row[0], found[at])
		}
	}
	return nil
}
