package coloring

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// possible returns the least cost of a coloring, which it finds by trying all; it is infinite if there is none.
func possible(g *Graph, cost Cost) float64 {
	least := math.Inf(1)
	colors := make([]int32, g.Len())
	for code := range int(math.Pow(float64(g.k), float64(g.Len()))) {
		sum := 0.0
		fits := true
		for v := range colors {
			colors[v] = int32(code % g.k)
			code /= g.k
			sum += cost(int32(v), colors[v])
			fits = fits && (g.given[v] == None || g.given[v] == colors[v])
		}
		if fits && g.Satisfied(colors) {
			least = min(least, sum)
		}
	}
	return least
}

// drawn is a small graph, some of whose vertices have a given color, with costs.
func drawn(rng *rand.Rand, withGiven bool) (*Graph, Cost) {
	n := 3 + rng.IntN(6)
	k := 2 + rng.IntN(3)
	var edges [][2]int32
	given := slices.Repeat([]int32{None}, n)
	for i := range int32(n) {
		if withGiven && rng.IntN(4) == 0 {
			given[i] = rng.Int32N(int32(k))
		}
		for j := range i {
			bothGiven := given[i] != None && given[j] != None
			if rng.IntN(10) < 6 && !bothGiven {
				edges = append(edges, [2]int32{i, j})
			}
		}
	}
	costs := make([]float64, n*k)
	for at := range costs {
		costs[at] = rng.Float64()
	}
	return New(k, n, edges, given), func(v, c int32) float64 { return costs[int(v)*k+int(c)] }
}

func checkColors(t *testing.T, g *Graph, colors []int32) {
	t.Helper()
	for v, c := range g.given {
		if c != None && colors[v] != c {
			t.Fatalf("vertex %d has the color %d instead of %d", v, colors[v], c)
		}
	}
	if !g.Satisfied(colors) {
		t.Fatalf("neighbors share colors: %v", colors)
	}
}

// The search agrees with trying all colorings, whether colors are given or not, and so does Repair.
func TestColoringAgainstBruteForce(t *testing.T) {
	colorable := 0
	not := 0
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 5))
		g, cost := drawn(rng, seed%2 == 0)
		least := possible(g, cost)
		colors, found, err := g.Search(t.Context(), cost)
		if err != nil {
			t.Fatal(err)
		}
		if math.IsInf(least, 1) {
			not++
			if found != Uncolorable {
				t.Fatalf("seed %d: verdict %d where there is no coloring", seed, found)
			}
			if clique := g.Clique(); clique != nil && len(clique) <= g.k {
				t.Fatalf("a clique of %d is none too many for %d", len(clique), g.k)
			}
			continue
		}
		colorable++
		if found != Colorable {
			t.Fatalf("seed %d: verdict %d where there is a coloring", seed, found)
		}
		checkColors(t, g, colors)
		start := slices.Clone(g.given)
		for v := range start {
			if start[v] == None {
				start[v] = rng.Int32N(int32(g.k))
			}
		}
		repaired, err := g.Repair(t.Context(), start, cost)
		if err != nil {
			t.Fatal(err)
		}
		checkColors(t, g, repaired)
		for _, one := range [][]int32{colors, repaired} {
			cheap, err := g.Reduce(t.Context(), one, cost)
			if err != nil {
				t.Fatal(err)
			}
			checkColors(t, g, cheap)
			if sum(cheap, cost) > sum(one, cost) || sum(cheap, cost) < least-1e-12 {
				t.Fatalf("seed %d: the cost of %g is reduced to %g, and %g is possible",
					seed, sum(one, cost), sum(cheap, cost), least)
			}
		}
	}
	if colorable < 100 || not < 100 {
		t.Errorf("%d colorable, %d not: the cases are one-sided", colorable, not)
	}
}

func sum(colors []int32, cost Cost) float64 {
	all := 0.0
	for v, c := range colors {
		all += cost(int32(v), c)
	}
	return all
}

func free(int32, int32) float64 { return 0 }

// mycielski returns the edges of a graph without triangles that needs k + 1 colors, which takes long to prove.
func mycielski(k int) (n int, edges [][2]int32) {
	edges = [][2]int32{{0, 1}}
	size := int32(2)
	for range k - 1 {
		for _, e := range edges {
			edges = append(edges, [2]int32{e[0], size + e[1]}, [2]int32{e[1], size + e[0]})
		}
		for v := range size {
			edges = append(edges, [2]int32{size + v, 2 * size})
		}
		size = 2*size + 1
	}
	return int(size), edges
}

// Searches end with their context.
func TestSearchesAreCanceled(t *testing.T) {
	const k = 6
	n, edges := mycielski(k)
	g := New(k, n, edges, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, found, err := g.Search(ctx, free); !errors.Is(err, context.Canceled) {
		t.Errorf("verdict %d, %v", found, err)
	}
	if _, err := g.Repair(ctx, make([]int32, n), free); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := g.Reduce(ctx, make([]int32, n), free); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// The search takes memory for the graph, not for every vertex and color: 20,000 x 1,000 counts would be 80 MB.
func TestMemoryOfASearch(t *testing.T) {
	const n, k = 20_000, 1_000
	var edges [][2]int32
	for i := range int32(n - 1) {
		edges = append(edges, [2]int32{i, i + 1})
	}
	g := New(k, n, edges, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, found, err := g.Search(t.Context(), free)
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; err != nil || found != Colorable || taken > 8<<20 {
		t.Errorf("verdict %d, %v, with %d bytes", found, err, taken)
	}
}

// A coloring of many parts is made cheaper in memory for the colors of one of them.
func TestMemoryOfReducing(t *testing.T) {
	const parts, k = 100, 300
	var edges [][2]int32
	for i := range int32(parts) {
		edges = append(edges, [2]int32{2 * i, 2*i + 1})
	}
	g := New(k, 2*parts, edges, nil)
	colors := make([]int32, 2*parts)
	for v := range colors {
		colors[v] = int32(v % 2)
	}
	cost := func(v, c int32) float64 {
		if v%2 == c {
			return 1
		}
		return 0
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cheap, err := g.Reduce(t.Context(), colors, cost)
	runtime.ReadMemStats(&after)
	if err != nil || !g.Satisfied(cheap) || sum(cheap, cost) > 0 {
		t.Errorf("%v: %v", cheap, err)
	}
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 1<<20 { // k x k numbers for each part take 72 MB
		t.Errorf("%d bytes", bytes)
	}
}

// A graph that is far from having a coloring is left when the work is up, and what can move has moved.
func TestTheWorkOfTradesIsLimited(t *testing.T) {
	const n, k = 400, 3
	var edges [][2]int32
	for i := range int32(n) {
		for j := range i {
			edges = append(edges, [2]int32{i, j})
		}
	}
	edges = append(edges, [2]int32{n, n + 1})
	g := New(k, n+2, edges, nil)
	r := &counted{Cost: free}
	colors, err := g.Repair(t.Context(), make([]int32, n+2), r.cost)
	if err != nil {
		t.Fatal(err)
	}
	if colors[n] == colors[n+1] {
		t.Error("two vertices that could be apart share a color")
	}
	if r.calls > 2*maxTrades { // without a limit, eight times as many
		t.Errorf("costs were asked for %d times", r.calls)
	}
}

// counted counts how often a cost is asked for.
type counted struct {
	Cost
	calls int
}

func (c *counted) cost(v, color int32) float64 {
	c.calls++
	return c.Cost(v, color)
}
