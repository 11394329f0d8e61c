package fleet

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// These checks test whether an answer is possible at all, at a cost far below that of computing it. Merging checks an
// answer completely before it uses any of it.

// finite reports whether v is finite, as most values must be.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// finiteNonNegative reports whether v is finite and not negative, as row sums and maxima must be.
func finiteNonNegative(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// number reports whether v is not NaN. Distances and gains may be infinite, for absent clusters and for rows that
// cannot move.
func number(v float64) bool { return !math.IsNaN(v) }

// unpackPossible unpacks values and fails if possible rejects one of them.
func unpackPossible(values []float64, packed []byte, possible func(float64) bool) error {
	if err := wire.UnpackFloat64sInto(values, packed); err != nil {
		return err
	}
	for at, v := range values {
		if !possible(v) {
			return fmt.Errorf("%v as value %d", v, at)
		}
	}
	return nil
}

// checkMoves checks the moves of one tile in the given lanes. Within each lane they must be in row order, and each
// must move a point from the label it has to another cluster of the lane.
func (j *job) checkMoves(moves []labeling.Move, lanes []int) error {
	shape, before := j.shape(), make(map[int]int32, len(lanes))
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
		if label := j.labels[lane*j.rows+int(m.Point)]; label != m.From {
			return fmt.Errorf("a move of point %d from cluster %d, but it is in %d", m.Point, m.From, label)
		}
	}
	return nil
}

// checkCandidates checks the farthest points of some tiles. There must be one for each of the given lanes.
func (j *job) checkCandidates(tiles []int, candidates []labeling.Candidate, lanes []int) error {
	if len(candidates) != len(lanes) {
		return fmt.Errorf("%d candidates instead of %d", len(candidates), len(lanes))
	}
	for at, c := range candidates {
		switch {
		case !c.Found:
		case c.Point < 0 || int(c.Point) >= j.rows || !slices.Contains(tiles, partition.TileOf(j.rows, int(c.Point))):
			return fmt.Errorf("point %d, which is in none of the tiles", c.Point)
		case j.labels[lanes[at]*j.rows+int(c.Point)] < 0:
			return fmt.Errorf("point %d as the farthest from its cluster, but it has none", c.Point)
		case !number(c.Distance):
			return fmt.Errorf("a distance of %v", c.Distance)
		}
	}
	return nil
}

// checkSelfAffinities checks the sums of clusters over some tiles. Each row contributes less than 2^53, which keeps
// its sums exact.
func (j *job) checkSelfAffinities(tiles []int, sums []kernel.Int128) error {
	limit := math.Ldexp(float64(j.rowsOf(tiles)), 53)
	for c, sum := range sums {
		if math.Abs(sum.Float64()) > limit {
			return fmt.Errorf("a sum of %v for cluster %d", sum.Float64(), c)
		}
	}
	return nil
}

// checkChanges checks how the sums of clusters over some tiles change with moves. changes holds one lane after the
// other, for each lane that has moves. Because sums are exact, errors are visible: what points take from one cluster
// they add to another, so the changes of a lane add up to zero; what all rows that had no cluster contribute is the
// same in every lane; values are multiples of their grid; and clusters that no point enters or leaves do not change.
func (e *KMeansExecutor) checkChanges(tiles []int, moves []labeling.Move, changes []float64) error {
	width, shape := e.spec.Width(), e.shape()
	rows := e.rowsOf(tiles)
	var total []float64 // total over all rows of the tiles
	for len(moves) > 0 {
		lane := shape.Lane(moves[0])
		// Every worker's answer is checked, so this must not read all moves.
		end, _ := slices.BinarySearchFunc(moves, lane+1, func(m labeling.Move, next int) int { return cmp.Compare(shape.Lane(m), next) })
		of, between, joins := moves[:end], true, 0
		moves = moves[end:]
		moved := make([]bool, e.k)
		for _, t := range tiles {
			for _, m := range movesWithin(of, partition.Tile(e.rows, t)) {
				between = between && m.From >= 0 && m.To >= 0
				if m.From >= 0 {
					moved[int(m.From)-lane*e.k] = true
				} else {
					joins++
				}
				if m.To >= 0 {
					moved[int(m.To)-lane*e.k] = true
				}
			}
		}
		part := changes[:e.k*width]
		changes = changes[e.k*width:]
		sums, err := e.addClusters(part, moved)
		if err != nil {
			return err
		}
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
func (e *KMeansExecutor) addClusters(changes []float64, moved []bool) ([]float64, error) {
	width := e.spec.Width()
	sums := make([]float64, width)
	for at, v := range changes {
		c, f := at/width, at%width
		grid := e.spec.BackgroundGrid
		if f < len(e.spec.Grids) {
			grid = e.spec.Grids[f]
		}
		if units := math.Ldexp(v, -int(grid)); !finite(v) || units != math.Trunc(units) {
			return nil, fmt.Errorf("a change of %v, which is not a multiple of 2^%d", v, grid)
		}
		if !moved[c] && v != 0 {
			return nil, fmt.Errorf("a change of %v in cluster %d, whose points stay", v, c)
		}
		sums[f] += v
	}
	return sums, nil
}

// movesWithin returns the moves of points in a range of rows. moves must be in ascending order.
func movesWithin(moves []labeling.Move, rows partition.Range) []labeling.Move {
	at := func(row int) int {
		i, _ := slices.BinarySearchFunc(moves, row, func(m labeling.Move, row int) int { return cmp.Compare(int(m.Point), row) })
		return i
	}
	return moves[at(rows.From):at(rows.To)]
}

// checkNeighbors checks the rows of an answer, each of which begins with its row number. No row may appear twice or
// be marked in seen.
func checkNeighbors(answer []int32, width int, seen []bool) error {
	numbers := make([]int32, 0, len(answer)/width)
	for row := range slices.Chunk(answer, width) {
		if err := checkNeighborsOf(row, len(seen)); err != nil {
			return err
		}
		if seen[row[0]] {
			return fmt.Errorf("row %d, which another tile has", row[0])
		}
		numbers = append(numbers, row[0])
	}
	slices.Sort(numbers)
	if distinct := len(slices.Compact(numbers)); distinct < len(answer)/width {
		return fmt.Errorf("%d rows instead of %d", distinct, len(answer)/width)
	}
	return nil
}

// checkNeighborsOf checks the neighbors of one row: they must be other rows, none of them twice, and nothing may
// follow the last.
func checkNeighborsOf(row []int32, rows int) error {
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
