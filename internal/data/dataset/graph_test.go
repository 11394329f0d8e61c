package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// sortedGraph makes a graph by sorting its edges, one after the other.
func sortedGraph(n int, edges []Edge) *Graph {
	edges = slices.Clone(edges)
	for at := range edges {
		if e := &edges[at]; e.Source > e.Target {
			e.Source, e.Target = e.Target, e.Source
		}
	}
	slices.SortStableFunc(edges, func(a, b Edge) int {
		if a.Source != b.Source {
			return int(a.Source) - int(b.Source)
		}
		return int(a.Target) - int(b.Target)
	})
	rows := make([]map[int32]float64, n)
	for i := range rows {
		rows[i] = map[int32]float64{}
	}
	for at, e := range edges {
		if at > 0 && e.Source == edges[at-1].Source && e.Target == edges[at-1].Target {
			e.Weight += rows[e.Source][e.Target]
		}
		rows[e.Source][e.Target], rows[e.Target][e.Source] = e.Weight, e.Weight
	}
	g := &Graph{N: n, RowStart: make([]int64, 1, n+1), Column: []int32{}, Weight: []float64{}}
	for _, row := range rows {
		columns := make([]int32, 0, len(row))
		for c := range row {
			columns = append(columns, c)
		}
		slices.Sort(columns)
		for _, c := range columns {
			g.Column = append(g.Column, c)
			g.Weight = append(g.Weight, row[c])
		}
		g.RowStart = append(g.RowStart, int64(len(g.Column)))
	}
	return g
}

func randomEdges(rng *rand.Rand, n, count int, weighted bool) []Edge {
	edges := make([]Edge, count)
	for at := range edges {
		edges[at] = Edge{Source: int32(rng.IntN(n)), Target: int32(rng.IntN(1 + rng.IntN(n))), Weight: 1}
		if weighted {
			edges[at].Weight = rng.NormFloat64() * math.Pow(10, float64(rng.IntN(20)))
		}
	}
	return edges
}

// Counting gives the rows that sorting gives, with sums of repeated edges equal to the last bit: from one list or
// several, of weights that are all 1, of others, or of both.
func TestGraphsAreThoseOfSortedEdges(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 200 {
		n := 1 + rng.IntN(40)
		count := rng.IntN(300)
		if round%100 == 99 {
			n = 1 + rng.IntN(20_000)
			count = 150_000 // enough for several threads
		}
		edges := randomEdges(rng, n, count, round%2 == 0)
		var lists []Edges
		for rest := edges; len(rest) > 0; {
			size := 1 + rng.IntN(len(rest))
			list := rest[:size]
			if round%3 == 0 && rng.IntN(2) == 0 {
				for at := range list {
					list[at].Weight = 1
				}
			}
			lists = append(lists, EdgesOf(list))
			rest = rest[size:]
		}
		want := sortedGraph(n, edges)
		got, err := GraphOf(n, lists)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%d vertices, %d edges: %v", n, count, err)
		}
		if err := got.check(); err != nil {
			t.Fatal(err)
		}
		if again, err := NewGraph(n, edges); err != nil || !reflect.DeepEqual(again, want) {
			t.Fatalf("%d vertices, %d edges at once: %v", n, count, err)
		}
	}
}

// Faults name the first wrong edge, by its number among all, whatever list it is in.
func TestFaultsOfEdges(t *testing.T) {
	list := func(edges ...Edge) Edges { return EdgesOf(edges) }
	good := list(Edge{0, 1, 1}, Edge{1, 2, 2})
	for _, c := range []struct {
		n     int
		lists []Edges
		says  string
	}{
		{0, []Edges{good, list(Edge{0, 1, 1}, Edge{2, 1, math.NaN()}), list(Edge{-1, 0, 1})},
			"edge 3 (2-1) has weight NaN; weights must be finite numbers"},
		{2, []Edges{good}, "edge 1 (1-2) names a vertex outside 0..1"},
		{5, []Edges{good, list(Edge{3, -2, 1})}, "edge 2 (-2-3) names a vertex outside 0..4"},
		{0, []Edges{good, list(Edge{1 << 22, 3, 1})},
			"an edge names vertex 4194304, but the graph has only 3 edges; if this is intended, set the number " +
				"of vertices"},
		{0, []Edges{list(Edge{4, 3, 1e308}, Edge{1, 0, 1e308}), list(Edge{0, 1, 1e308}, Edge{3, 4, 1e308})},
			"the weights of edge 0-1 add up to +Inf"},
		{0, []Edges{{}}, "the graph has no edges and no vertices"},
	} {
		if _, err := GraphOf(c.n, c.lists); err == nil || err.Error() != c.says {
			t.Errorf("%s: told %v", c.says, err)
		}
	}
}

func BenchmarkGraphOf(b *testing.B) {
	for _, weighted := range []bool{false, true} {
		edges := randomEdges(rand.New(rand.NewPCG(1, 1)), 100_000, 1_000_000, weighted)
		b.Run(fmt.Sprintf("weighted %v", weighted), func(b *testing.B) {
			for b.Loop() {
				if _, err := NewGraph(100_000, edges); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(edges))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Medges/s")
		})
	}
}
