package fleet

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// What can be checked of an answer at a cost far below that of the answer: that it is possible at all. Merging checks all
// of it before it uses any.

// finite is what most values must be.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// finiteNonNegative is what row sums and maxima must be.
func finiteNonNegative(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// number is what distances and gains must be: those of absent clusters, and of rows that cannot move, are infinite.
func number(v float64) bool { return !math.IsNaN(v) }

// unpackPossible unpacks values, each of which must be possible.
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

// checkMoves checks the moves of one tile in some lanes, those of each lane in row order: each is of a point that has the
// label it moves from, to another cluster of the lane.
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

// checkCandidates checks the farthest points of some tiles, one for each lane that was asked for.
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

// checkSelfAffinities checks the sums of clusters over some tiles: each row adds less than 2^53, which keeps its sums exact.
func (j *job) checkSelfAffinities(tiles []int, sums []kernel.Int128) error {
	limit := math.Ldexp(float64(j.rowsOf(tiles)), 53)
	for c, sum := range sums {
		if math.Abs(sum.Float64()) > limit {
			return fmt.Errorf("a sum of %v for cluster %d", sum.Float64(), c)
		}
	}
	return nil
}

// checkChanges checks how the sums of clusters over some tiles change by moves: lane after lane, for each that moves are
// in. Sums are exact, which makes wrong ones visible: what points take from one cluster they bring to another, so that the
// changes of a lane add up to nothing; what all rows bring that had no cluster is the same in every lane; values are
// multiples of their grid; and clusters that no point moves to or from do not change.
func (e *VectorExecutor) checkChanges(tiles []int, moves []labeling.Move, changes []float64) error {
	width, shape := e.spec.Width(), e.shape()
	rows := e.rowsOf(tiles)
	var total []float64 // of all rows of the tiles
	for _, lane := range vector.MovedLanes(e.k, moves) {
		end := slices.IndexFunc(moves, func(m labeling.Move) bool { return shape.Lane(m) > lane })
		if end < 0 {
			end = len(moves)
		}
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

// addClusters adds up the changes of the clusters of one lane, and checks each.
func (e *VectorExecutor) addClusters(changes []float64, moved []bool) ([]float64, error) {
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

// movesWithin are the moves of points of a range; moves ascend.
func movesWithin(moves []labeling.Move, rows partition.Range) []labeling.Move {
	at := func(row int) int {
		i, _ := slices.BinarySearchFunc(moves, row, func(m labeling.Move, row int) int { return cmp.Compare(int(m.Point), row) })
		return i
	}
	return moves[at(rows.From):at(rows.To)]
}

// checkNeighbors checks rows of an answer, each with its number first: none of them was seen before.
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

// checkNeighborsOf checks the neighbors of one row: other rows, none of them twice, and nothing after the last.
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
