package component

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

func graphOf(t *testing.T, n int, edges ...[2]int32) *dataset.Graph {
	t.Helper()
	var list []dataset.Edge
	for _, e := range edges {
		list = append(list, dataset.Edge{Source: e[0], Target: e[1], Weight: 1})
	}
	g, err := dataset.NewGraph(n, list)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func setOf(t *testing.T, n int, constraints ...constraint.Constraint) *constraint.Set {
	t.Helper()
	set, err := constraint.NewSet(n, constraints, constraint.UnitWeight)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestFind(t *testing.T) {
	g := graphOf(t, 8, [2]int32{1, 4}, [2]int32{4, 6}, [2]int32{2, 2}, [2]int32{3, 7})
	p := Find(g, nil, 0)
	if want := []int32{0, 1, 2, 3, 1, 4, 1, 3}; !slices.Equal(p.Piece, want) {
		t.Errorf("pieces %v, want %v", p.Piece, want)
	}
	if want := []int{1, 3, 1, 2, 1}; !slices.Equal(p.Size, want) {
		t.Errorf("sizes %v, want %v", p.Size, want)
	}
	if want := []bool{false, true, false, true, false}; !slices.Equal(p.Bound, want) {
		t.Errorf("bound %v, want %v", p.Bound, want)
	}
	set := setOf(t, 8, constraint.Constraint{I: 7, J: 3, Kind: constraint.MustLink}, constraint.Constraint{I: 5, J: 6,
		Kind: constraint.MustLink})
	p = Find(g, set.Components(), 0)
	if want := []int32{0, 1, 2, 3, 1, 1, 1, 3}; !slices.Equal(p.Piece, want) {
		t.Errorf("pieces with must-links %v, want %v", p.Piece, want)
	}
	if want := []bool{false, true, false, false}; !slices.Equal(p.Bound, want) {
		t.Errorf("bound with must-links %v, want %v: 3 and 7 are one vertex", p.Bound, want)
	}
	if p = Find(g, nil, 2); p.Count() != 8 {
		t.Errorf("%d pieces of edges that are all too light, want 8", p.Count())
	}
}

// TestFindByRepeatedMerging compares with merging the ends of every edge until nothing changes.
func TestFindByRepeatedMerging(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 1 + rng.IntN(40)
		var edges [][2]int32
		var constraints []constraint.Constraint
		for range rng.IntN(n + 1) {
			edges = append(edges, [2]int32{int32(rng.IntN(n)), int32(rng.IntN(n))})
		}
		for range rng.IntN(6) {
			constraints = append(constraints, constraint.Constraint{I: int32(rng.IntN(n)), J: int32(rng.IntN(n)),
				Kind: constraint.MustLink})
		}
		set := setOf(t, n, constraints...)
		p := Find(graphOf(t, n, edges...), set.Components(), 0)
		for _, c := range constraints {
			edges = append(edges, [2]int32{c.I, c.J})
		}
		lowest := make([]int32, n)
		for i := range lowest {
			lowest[i] = int32(i)
		}
		for changed := true; changed; {
			changed = false
			for _, e := range edges {
				if least := min(lowest[e[0]], lowest[e[1]]); lowest[e[0]] != least || lowest[e[1]] != least {
					lowest[e[0]], lowest[e[1]], changed = least, least, true
				}
			}
		}
		for i := range n {
			for j := range n {
				if (p.Piece[i] == p.Piece[j]) != (lowest[i] == lowest[j]) {
					t.Fatalf("%d and %d: pieces %v, by merging %v", i, j, p.Piece, lowest)
				}
			}
		}
	}
}

func TestKeep(t *testing.T) {
	pieces := func(sizes ...int) Pieces {
		p := Pieces{Size: sizes}
		for c, size := range sizes {
			p.Piece = append(p.Piece, slices.Repeat([]int32{int32(c)}, size)...)
			p.Bound = append(p.Bound, size > 1)
		}
		return p
	}
	tests := []struct {
		name  string
		sizes []int
		k     int
		want  []bool
	}{
		{"a tenth of n/k is enough", []int{90, 5, 5}, 2, []bool{true, true, true}},
		{"less is not", []int{92, 4, 4}, 2, []bool{true, false, false}},
		{"nor is a vertex that nothing is bound to", []int{5, 1}, 2, []bool{true, false}},
		{"the largest stays however small it is", []int{2, 3, 1}, 1, []bool{true, true, false}},
		{"where most are small all stay", slices.Repeat([]int{2}, 50), 2, slices.Repeat([]bool{true}, 50)},
		{"no edges", []int{1, 1, 1}, 2, []bool{false, false, false}},
	}
	for _, test := range tests {
		if got := pieces(test.sizes...).Included(test.k); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestAttach(t *testing.T) {
	must := func(i, j int32) constraint.Constraint {
		return constraint.Constraint{I: i, J: j, Kind: constraint.MustLink}
	}
	cannot := func(i, j int32) constraint.Constraint {
		return constraint.Constraint{I: i, J: j, Kind: constraint.CannotLink}
	}
	labels := []int32{0, 1, 1, 2, 2, 2, -1, -1, -1}
	g := graphOf(t, 9, [2]int32{6, 0}, [2]int32{6, 1}, [2]int32{6, 2}, [2]int32{7, 8})
	tests := []struct {
		name        string
		graph       *dataset.Graph
		constraints []constraint.Constraint
		want        []int32 // of 6, 7 and 8
	}{
		{"by neighbors, else to the largest", g, nil, []int32{1, 2, 2}},
		{"without a graph", nil, nil, []int32{2, 2, 2}},
		{"a piece follows its must-links", g, []constraint.Constraint{must(8, 0)}, []int32{1, 0, 0}},
		{"also through points that have no label yet", nil, []constraint.Constraint{must(7, 8), must(6, 8), must(6, 1)},
			[]int32{1, 1, 1}},
		{"and avoids its cannot-links", g, []constraint.Constraint{cannot(7, 3)}, []int32{1, 1, 1}},
		{"one against another", nil, []constraint.Constraint{cannot(6, 7), cannot(6, 8)}, []int32{2, 1, 1}},
	}
	for _, test := range tests {
		got := slices.Clone(labels)
		Attach(got, 3, test.graph, setOf(t, 9, test.constraints...))
		if !slices.Equal(got[:6], labels[:6]) || !slices.Equal(got[6:], test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	none := slices.Repeat([]int32{-1}, 4)
	Attach(none, 2, nil, nil)
	if !slices.Equal(none, make([]int32, 4)) {
		t.Errorf("where no vertex has a label: %v, want the first cluster", none)
	}
}
