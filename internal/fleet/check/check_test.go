package check

import (
	"math"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/vector"
)

func expect(t *testing.T, name string, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: %v instead of %q", name, err, want)
	}
}

func TestMoves(t *testing.T) {
	shape := labeling.Shape{Points: 4, Clusters: 2, Lanes: 2}
	labels := []int32{0, 1, 0, -1, 2, 2, 3, 3}
	for name, c := range map[string]struct {
		moves []labeling.Move
		want  string
	}{
		"good": {[]labeling.Move{{Point: 0, From: 0, To: 1}, {Point: 3, From: -1, To: 0},
			{Point: 0, From: 2, To: 3}}, ""},
		"nowhere":       {[]labeling.Move{{Point: 0, From: 0, To: -1}}, "to -1"},
		"to itself":     {[]labeling.Move{{Point: 0, From: 0, To: 0}}, "from cluster 0 to 0"},
		"other lane":    {[]labeling.Move{{Point: 0, From: 0, To: 2}}, "from cluster 0 to 2"},
		"out of order":  {[]labeling.Move{{Point: 2, From: 0, To: 1}, {Point: 0, From: 0, To: 1}}, "out of order"},
		"wrong label":   {[]labeling.Move{{Point: 1, From: 0, To: 1}}, "but it is in 1"},
		"no such point": {[]labeling.Move{{Point: 4, From: 0, To: 1}}, "point 4"},
	} {
		expect(t, name, Moves(shape, labels, c.moves, []int{0, 1}), c.want)
	}
	expect(t, "a lane that nobody asked for", Moves(shape, labels, []labeling.Move{{Point: 0, From: 2, To: 3}},
		[]int{0}), "out of order")
}

func TestChanges(t *testing.T) {
	shape := labeling.Shape{Points: 4, Clusters: 3, Lanes: 1}
	spec := &vector.RowSpec{Rows: 4, Columns: 1, Grids: []int32{-1}, Preparation: vector.Plain}
	swap := []labeling.Move{{Point: 0, From: 0, To: 1}}
	for name, c := range map[string]struct {
		changes []float64
		want    string
	}{
		"good":             {[]float64{-1.5, 1.5, 0}, ""},
		"do not add up":    {[]float64{-1.5, 1, 0}, "do not add up"},
		"between the grid": {[]float64{-1.25, 1.25, 0}, "not a multiple"},
		"not finite":       {[]float64{math.Inf(-1), math.Inf(1), 0}, "not a multiple"},
		"a cluster apart":  {[]float64{-1.5, 1, 0.5}, "whose points stay"},
	} {
		expect(t, name, Changes(shape, spec, 2, swap, c.changes), c.want)
	}
}

// All rows that had no cluster have the same sum in every lane.
func TestChangesOfAllRows(t *testing.T) {
	shape := labeling.Shape{Points: 1, Clusters: 1, Lanes: 2}
	spec := &vector.RowSpec{Rows: 1, Columns: 1, Grids: []int32{0}, Preparation: vector.Plain}
	moves := []labeling.Move{{Point: 0, From: -1, To: 0}, {Point: 0, From: -1, To: 1}}
	expect(t, "the same", Changes(shape, spec, 1, moves, []float64{3, 3}), "")
	expect(t, "another", Changes(shape, spec, 1, moves, []float64{3, 4}), "another sum")
}

func BenchmarkCheckChanges(b *testing.B) {
	const rows, k, width = 10_240, 10, 8
	shape := labeling.Shape{Points: rows, Clusters: k, Lanes: 1}
	spec := &vector.RowSpec{Rows: rows, Columns: width, Grids: make([]int32, width), Preparation: vector.Plain}
	var moves []labeling.Move
	for i := 0; i < rows; i += 10 {
		moves = append(moves, labeling.Move{Point: int32(i), From: 0, To: 1})
	}
	changes := make([]float64, k*width)
	for b.Loop() {
		if err := Changes(shape, spec, rows, moves, changes); err != nil {
			b.Fatal(err)
		}
	}
}
