package multilevel

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/test/testscale"
)

func source(seed uint64) rand.PCG { return *rand.NewPCG(seed, 5) }

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 5)) }

// degrees are the row sums, the weights of a normalized cut.
func degrees(g *dataset.Graph) []float64 {
	d := make([]float64, g.N)
	for i := range d {
		_, weights := g.Row(i)
		for _, w := range weights {
			d[i] += w
		}
	}
	return d
}

func normalizedCutOf(t *testing.T, n int, edges []dataset.Edge) *Graph {
	t.Helper()
	data, err := dataset.NewGraph(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	g, kept := Matrix{Graph: data, Mass: degrees(data)}.Build()
	if kept != nil {
		t.Fatal("all vertices take part")
	}
	return g
}

func blocks(t *testing.T, n, k int, inside, outside float64, seed uint64) (*Graph, []int32) {
	t.Helper()
	edges, truth, err := synth.Blocks(n, k, inside, outside, seeded(seed))
	if err != nil {
		t.Fatal(err)
	}
	return normalizedCutOf(t, n, edges), truth
}

// randomGraph has weights of all signs, a diagonal, weights of vertices, pairs apart and penalties.
func randomGraph(n int, rng *rand.Rand) *Graph {
	var edges []dataset.Edge
	for range 3 * n {
		if i, j := rng.IntN(n), rng.IntN(n); i != j {
			edges = append(edges, dataset.Edge{Source: int32(i), Target: int32(j), Weight: float64(rng.IntN(9) - 1)})
		}
	}
	data, err := dataset.NewGraph(n, edges)
	if err != nil {
		panic(err)
	}
	m := Matrix{Graph: data, Diagonal: make([]float64, n), Mass: make([]float64, n)}
	for i := range n {
		m.Diagonal[i], m.Mass[i] = float64(rng.IntN(4)), 1+float64(rng.IntN(5))
	}
	for range n / 4 {
		if i, j := int32(rng.IntN(n)), int32(rng.IntN(n)); i != j {
			m.Entries = append(m.Entries, dataset.Edge{Source: i, Target: j, Weight: float64(rng.IntN(7) - 3)})
			m.Penalties = append(m.Penalties, Penalty{i, j, float64(rng.IntN(7)-3) / 4})
			m.Apart = append(m.Apart, [2]int32{i, j})
		}
	}
	g, _ := m.Build()
	return g
}

func randomLabels(n, k int, rng *rand.Rand) []int32 {
	labels := make([]int32, n)
	for v := range labels {
		labels[v] = int32(v % k)
	}
	rng.Shuffle(n, func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
	return labels
}

// naiveValue computes the value from its definition, on the dense matrix.
func naiveValue(g *Graph, k int, labels []int32, balance float64) float64 {
	within := make([]float64, k)
	mass := make([]float64, k)
	for v, c := range labels {
		mass[c] += g.Mass[v]
		within[c] += g.diagonal(int32(v))
		for at := g.Start[v]; at < g.Start[v+1]; at++ {
			if u := g.Column[at]; int(u) != v && labels[u] == c {
				within[c] += g.Weight[at]
			}
		}
	}
	value := 0.0
	for c := range k {
		if mass[c] == 0 {
			continue
		}
		share := within[c] / mass[c]
		if within[c] > 0 {
			share *= 1 - balance*g.mass()/float64(k)/mass[c]
		}
		value += share
	}
	for _, p := range g.Penalties.all {
		if together := labels[p.A] == labels[p.B]; together != (p.Weight > 0) {
			value -= math.Abs(p.Weight)
		}
	}
	return value
}

func TestGainsOfMovesAreDifferencesOfTheValue(t *testing.T) {
	for seed := range uint64(30) {
		rng := seeded(seed)
		k := 2 + rng.IntN(4)
		g := randomGraph(20+rng.IntN(20), rng)
		l := newLabeling(g, k, randomLabels(g.Rows(), k, rng), 0.2)
		s := newLinks(k)
		for range 100 {
			v := int32(rng.IntN(g.Rows()))
			s.sumUp(l, v)
			to, gain := l.best(v, s)
			if to < 0 {
				continue
			}
			before := naiveValue(g, k, l.labels, 0.2)
			if math.Abs(before-l.value()) > 1e-9 {
				t.Fatalf("seed %d: the value is %v, by its definition %v", seed, l.value(), before)
			}
			for _, c := range s.touched { // none of the other moves is better
				if c == l.labels[v] {
					continue
				}
				other := slices.Clone(l.labels)
				other[v] = c
				if d := naiveValue(g, k, other, 0.2) - before; d > gain+1e-9 {
					t.Fatalf("seed %d: moving %d to %d gains %v, the best move to %d %v", seed, v, c, d, to, gain)
				}
			}
			l.move(v, to, s)
			if after := naiveValue(g, k, l.labels, 0.2); math.Abs(after-before-gain) > 1e-9 {
				t.Fatalf("seed %d: a move gained %v instead of %v", seed, after-before, gain)
			}
		}
	}
}

// Merged vertices add up (Dhillon2007 4.1), so that labels have the same value on every level.
func TestLabelsHaveTheSameValueOnACoarserGraph(t *testing.T) {
	for seed := range uint64(20) {
		rng := seeded(seed)
		g := randomGraph(60, rng)
		into, count := match(g, nil, int32(2+rng.IntN(4)), g.mass()/6, rng)
		coarse, err := contract(context.Background(), g, into, count, parallel.NewPool(2))
		if err != nil {
			t.Fatal(err)
		}
		labels := randomLabels(count, 3, rng)
		inside := 0.0 // penalties within merged vertices, which do not depend on labels
		for _, p := range g.Penalties.all {
			if into[p.A] == into[p.B] && p.Weight < 0 {
				inside -= p.Weight
			}
		}
		fine := naiveValue(g, 3, choose.At(labels, into), 0)
		if got := naiveValue(coarse, 3, labels, 0) - inside; math.Abs(got-fine) > 1e-9 {
			t.Fatalf("seed %d: %v on the coarse graph, %v on the fine one", seed, got, fine)
		}
	}
}

func TestMatchingKeepsItsLimits(t *testing.T) {
	for seed := range uint64(20) {
		rng := seeded(seed)
		g := randomGraph(80, rng)
		labels := randomLabels(g.Rows(), 4, rng)
		heaviest, largest := 12.0, int32(2+seed%3)
		into, count := match(g, labels, largest, heaviest, rng)
		members, start := group(into, count)
		for v := range count {
			own := members[start[v]:start[v+1]]
			mass := 0.0
			for _, i := range own {
				mass += g.Mass[i]
				if labels[i] != labels[own[0]] {
					t.Fatalf("seed %d: vertices of labels %d and %d were merged", seed, labels[i], labels[own[0]])
				}
			}
			if len(own) > int(largest) || len(own) > 1 && mass > heaviest {
				t.Fatalf("seed %d: %d vertices of weight %v were merged", seed, len(own), mass)
			}
			if v > 0 && members[start[v]] < members[start[v-1]] {
				t.Fatalf("seed %d: merged vertex %d begins before the one before it", seed, v)
			}
		}
		for _, pair := range g.Apart {
			if into[pair[0]] == into[pair[1]] {
				t.Fatalf("seed %d: %d and %d were merged, which must not be", seed, pair[0], pair[1])
			}
		}
	}
}

func TestAStarIsMatched(t *testing.T) {
	var edges []dataset.Edge
	for leaf := int32(1); leaf <= 100; leaf++ {
		edges = append(edges, dataset.Edge{Source: 0, Target: leaf, Weight: 1})
	}
	g := normalizedCutOf(t, 101, edges)
	if _, count := match(g, nil, 2, math.Inf(1), seeded(1)); count > 52 {
		t.Errorf("%d vertices are left of a star of 101: its leaves were not merged with each other", count)
	}
}

func TestRefinementAndChainsNeverLowerTheValue(t *testing.T) {
	r := newRefiner(4, 2)
	for seed := range uint64(20) {
		g := randomGraph(50, seeded(seed))
		l := newLabeling(g, 4, randomLabels(50, 4, seeded(seed)), 0)
		start := l.value()
		if err := r.refine(context.Background(), l); err != nil {
			t.Fatal(err)
		}
		refined := l.value()
		if err := r.chains(context.Background(), l); err != nil {
			t.Fatal(err)
		}
		if end := l.value(); refined < start-1e-9 || end < refined-1e-9 ||
			math.Abs(end-naiveValue(g, 4, l.labels, 0)) > 1e-9 {
			t.Fatalf("seed %d: %v, refined %v, after chains %v (%v)", seed, start, refined, end,
				naiveValue(g, 4, l.labels, 0))
		}
		if slices.Contains(l.count, 0) {
			t.Fatalf("seed %d: a cluster is empty", seed)
		}
	}
}

// counted counts how often it is asked whether it has ended: once in every pass of the chains over a small graph.
type counted struct {
	context.Context
	asked int
}

func (c *counted) Err() error { c.asked++; return c.Context.Err() }

// Penalties of very different sizes make chains say that they raise the value, which rounding hides, again and again.
func TestChainsEndIfRoundingHidesWhatTheyDo(t *testing.T) {
	var edges []dataset.Edge
	for leaf := range int32(10) {
		edges = append(edges, dataset.Edge{Source: leaf + 1, Weight: 1})
	}
	g := normalizedCutOf(t, 11, edges)
	g.Penalties = newPenalties(11, []Penalty{{1, 3, -0.01}, {1, 4, -0.05}, {2, 4, -0.01}, {2, 6, -0.05}, {2, 10, -0.01},
		{4, 10, -0.05}, {5, 7, -1e48}, {5, 1, -0.05}, {7, 1, -1e48}, {9, 10, -0.01}})
	l := newLabeling(g, 2, []int32{1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1}, balance)
	ctx := &counted{Context: t.Context()}
	if err := newRefiner(2, 1).chains(ctx, l); err != nil || ctx.asked > 20 {
		t.Errorf("%v after %d passes", err, ctx.asked)
	}
}

// Two triangles of cliques: every single move out of the wrong labels lowers the value.
func TestChainsLeaveALocalOptimum(t *testing.T) {
	found := false
	for seed := range uint64(40) {
		edges, _, err := synth.Blocks(40, 2, 6, 2, seeded(seed))
		if err != nil {
			t.Fatal(err)
		}
		g := normalizedCutOf(t, 40, edges)
		if slices.Contains(g.Mass, 0) {
			continue
		}
		r := newRefiner(2, 1)
		l := newLabeling(g, 2, randomLabels(40, 2, seeded(seed)), 0)
		if err := r.refine(context.Background(), l); err != nil {
			t.Fatal(err)
		}
		before := l.value()
		if err := r.chains(context.Background(), l); err != nil {
			t.Fatal(err)
		}
		found = found || l.value() > before+0.01
	}
	if !found {
		t.Error("chains never left an optimum of single moves")
	}
}

func TestBlocksAreFound(t *testing.T) {
	for _, size := range []struct{ n, k int }{{60, 2}, {300, 5}, {3000, 10}, {5000, 50}} {
		g, truth := blocks(t, size.n, size.k, 12, 3, 3)
		found, err := Cluster(context.Background(), g, Options{K: size.k, Threads: 2}, source(1))
		if err != nil {
			t.Fatal(err)
		}
		scores, err := evaluate.Compare(found.Labels, truth, nil)
		if err != nil {
			t.Fatal(err)
		}
		if scores.NMI < 0.97 {
			t.Errorf("%d blocks of %d vertices: NMI %.3f", size.k, size.n, scores.NMI)
		}
	}
}

func TestLabelsDoNotDependOnTheThreads(t *testing.T) {
	g, _ := blocks(t, 4000, 8, 8, 6, 9)
	var first []int32
	for _, threads := range testscale.Some([]int{1, 2, 3, 7}, 2) {
		var levels []Level
		found, err := Cluster(context.Background(), g, Options{K: 8, Threads: threads, Level: func(l Level) {
			levels = append(levels, l)
		}}, source(2))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = found.Labels
		}
		if !slices.Equal(found.Labels, first) {
			t.Fatalf("other labels on %d threads", threads)
		}
		if len(levels) < 3 || levels[0].Level != len(levels)-1 ||
			levels[len(levels)-1] != (Level{0, len(levels), 4000}) {
			t.Fatalf("levels %v", levels)
		}
	}
}

// A chain of vertices that dangles from each of two dense parts is cheaper to cut off than the parts are to separate.
func TestDanglingVerticesAreNoClusters(t *testing.T) {
	edges, truth, err := synth.Blocks(400, 2, 12, 2, seeded(4))
	if err != nil {
		t.Fatal(err)
	}
	for chain := range int32(20) { // a path of 20 vertices after the blocks
		from := int32(400) + chain - 1
		if chain == 0 {
			from = 0
		}
		edges = append(edges, dataset.Edge{Source: from, Target: 400 + chain, Weight: 1})
		truth = append(truth, truth[0])
	}
	g := normalizedCutOf(t, 420, edges)
	found, err := Cluster(context.Background(), g, Options{K: 2, Threads: 1}, source(1))
	if err != nil {
		t.Fatal(err)
	}
	cutOff := make([]int32, 420)
	for v := 401; v < 420; v++ {
		cutOff[v] = 1
	}
	if Value(g, 2, cutOff) <= Value(g, 2, truth) {
		t.Fatal("the path is not worth cutting off: the test shows nothing")
	}
	if scores, err := evaluate.Compare(found.Labels, truth, nil); err != nil || scores.NMI < 0.9 {
		t.Errorf("NMI %.3f, %v", scores.NMI, err)
	}
}

func TestPenaltiesDecideBetweenEqualCuts(t *testing.T) {
	// A ring of four cliques can be cut in two ways that cost the same.
	var edges []dataset.Edge
	clique := func(c int32) (first int32) { return 6 * c }
	for c := range int32(4) {
		for i := range int32(6) {
			for j := range i {
				edges = append(edges, dataset.Edge{Source: clique(c) + i, Target: clique(c) + j, Weight: 1})
			}
		}
		edges = append(edges, dataset.Edge{Source: clique(c), Target: clique((c + 1) % 4), Weight: 2})
	}
	data, err := dataset.NewGraph(24, edges)
	if err != nil {
		t.Fatal(err)
	}
	for partner := range int32(2) { // clique 0 with clique 1, or with clique 3
		other := 1 + 2*partner
		m := Matrix{Graph: data, Mass: degrees(data), Penalties: []Penalty{{clique(0) + 3, clique(other) + 3, 0.2}}}
		g, _ := m.Build()
		found, err := Cluster(context.Background(), g, Options{K: 2, Threads: 1}, source(3))
		if err != nil {
			t.Fatal(err)
		}
		labels := found.Labels
		if labels[clique(0)+1] != labels[clique(other)+1] || labels[clique(0)] == labels[clique(2)] {
			t.Errorf("clique 0 is not with clique %d: %v", other, labels)
		}
	}
}

func TestGivenLabelsAreImprovedOn(t *testing.T) {
	g, truth := blocks(t, 600, 3, 9, 3, 8)
	labels := slices.Clone(truth)
	rng := seeded(2)
	for v := range labels {
		if rng.IntN(4) == 0 {
			labels[v] = int32(rng.IntN(3))
		}
	}
	found, err := Cluster(context.Background(), g, Options{K: 3, Threads: 1, Labels: labels}, source(1))
	if err != nil {
		t.Fatal(err)
	}
	if Value(g, 3, found.Labels) <= Value(g, 3, labels) {
		t.Error("the labels did not become better")
	}
	for c := range int32(3) { // and keep their numbers
		if same, all := countSame(found.Labels, truth, c); 2*same < all {
			t.Errorf("cluster %d is another one now", c)
		}
	}
}

func countSame(a, b []int32, c int32) (same, all int) {
	for v := range a {
		if b[v] == c {
			if all++; a[v] == c {
				same++
			}
		}
	}
	return same, all
}

func TestVerticesThatBelongTogetherBeginTogether(t *testing.T) {
	g, truth := blocks(t, 500, 2, 6, 4, 5)
	for _, k := range []int{2, 40} { // also more clusters than groups
		numbers, groups := choose.Numbers(nil, 500, func(i int32) int32 {
			if i < 480 {
				return truth[i]
			}
			return 2 + i
		})
		found, err := Cluster(context.Background(), g, Options{K: k, Threads: 1, Together: numbers, Groups: groups},
			source(1))
		if err != nil {
			t.Fatal(err)
		}
		used := map[int32]bool{}
		for _, c := range found.Labels {
			used[c] = true
		}
		if len(used) != k {
			t.Fatalf("%d clusters instead of %d", len(used), k)
		}
	}
}

func TestFewVertices(t *testing.T) {
	for n := 1; n < 8; n++ {
		var edges []dataset.Edge
		for i := range int32(n) {
			edges = append(edges, dataset.Edge{Source: i, Target: (i + 1) % int32(n), Weight: 1})
		}
		g := normalizedCutOf(t, n, edges)
		for k := 1; k <= n; k++ {
			found, err := Cluster(context.Background(), g, Options{K: k}, source(1))
			if err != nil {
				t.Fatal(err)
			}
			used := map[int32]bool{}
			for _, c := range found.Labels {
				used[c] = true
			}
			if len(used) != k {
				t.Errorf("%d vertices in %d clusters instead of %d", n, len(used), k)
			}
		}
	}
}

func TestACanceledRunEnds(t *testing.T) {
	g, _ := blocks(t, 2000, 4, 8, 6, 1)
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Cluster(ctx, g, Options{K: 4, Level: func(Level) { cancel() }}, source(1))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the run ended with %v", err)
	}
}

// Filling many empty clusters reads the whole graph for each, so it ends between them.
func TestOccupyEndsIfCanceled(t *testing.T) {
	g, _ := blocks(t, 200, 4, 8, 6, 1)
	l := newLabeling(g, 100, make([]int32, 200), balance)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.occupy(ctx, newRefiner(100, 1).links); !errors.Is(err, context.Canceled) || l.count[1] > 0 {
		t.Errorf("error %v, sizes %v", err, l.count[:2])
	}
}

func agglomerated(t *testing.T, g *Graph, k int) []int32 {
	t.Helper()
	labels, err := agglomerate(t.Context(), g, k)
	if err != nil {
		t.Fatal(err)
	}
	return labels
}

// naiveLightest merges the two lightest clusters by looking at all of them each time.
func naiveLightest(mass []float64, k int) []int32 {
	into := make([]int32, len(mass))
	for v := range into {
		into[v] = int32(v)
	}
	mass = slices.Clone(mass)
	for range len(mass) - k {
		var left []int32
		for v := range into {
			if into[v] == int32(v) {
				left = append(left, int32(v))
			}
		}
		slices.SortStableFunc(left, func(a, b int32) int { return cmp.Compare(mass[a], mass[b]) })
		into[left[0]] = left[1]
		mass[left[1]] += mass[left[0]]
	}
	return (&agglomeration{into: into}).labels()
}

// Vertices that nothing connects are merged by their weights, the lightest first and of equals the first.
func TestSeparateVerticesAreMergedByWeight(t *testing.T) {
	rng := seeded(7)
	for n := 2; n < 40; n++ {
		g := &Graph{Start: make([]int64, n+1), Mass: make([]float64, n)}
		for v := range g.Mass {
			g.Mass[v] = float64(1 + rng.IntN(4))
		}
		k := 1 + rng.IntN(n)
		if got, want := agglomerated(t, g, k), naiveLightest(g.Mass, k); !slices.Equal(got, want) {
			t.Fatalf("%d of %v: %v, want %v", k, g.Mass, got, want)
		}
	}
}

// Half a million separate vertices would take minutes if each merger looked at all of them.
func TestManySeparateVertices(t *testing.T) {
	n := 1 << 19
	g := &Graph{Start: make([]int64, n+1), Mass: slices.Repeat([]float64{1}, n)}
	sizes := make([]int, 4)
	for _, c := range agglomerated(t, g, len(sizes)) {
		sizes[c]++
	}
	if want := n / len(sizes); slices.Min(sizes) != want {
		t.Errorf("the clusters have %v vertices instead of %d each", sizes, want)
	}
}

// star is a graph of one vertex, the last, that is connected with all others.
func star(t *testing.T, n int) *Graph {
	t.Helper()
	rng := seeded(3)
	edges := make([]dataset.Edge, n-1)
	for v := range edges {
		edges[v] = dataset.Edge{Source: int32(v), Target: int32(n - 1), Weight: 1 + rng.Float64()}
	}
	return normalizedCutOf(t, n, edges)
}

// Every merger of the center changes the losses of all others. What they were before does not stay in memory.
func TestMergersOfAHubAreNotKept(t *testing.T) {
	const n = 1000
	a := newAgglomeration(star(t, n))
	for left := n; left > 2; left-- {
		m, found := a.cheapest()
		if !found {
			t.Fatalf("no merger of %d clusters", left)
		}
		a.merge(m.a, m.b)
		if len(a.queue) > 2*n {
			t.Fatalf("%d clusters have %d mergers", left, len(a.queue))
		}
	}
}

// naiveMergers is agglomerate by looking at all pairs of clusters each time.
func naiveMergers(g *Graph, k int) []int32 {
	a := newAgglomeration(g)
	for left := g.Rows(); left > k; left-- {
		var all mergers
		for c, others := range a.between {
			for d, weight := range others {
				if int32(c) < d {
					all = append(all, a.merger(int32(c), d, weight))
				}
			}
		}
		if len(all) == 0 {
			a.queue = nil
			a.mergeLightest(left - k)
			break
		}
		least := 0
		for at := range all {
			if all.Less(at, least) {
				least = at
			}
		}
		a.merge(all[least].a, all[least].b)
	}
	return a.labels()
}

func TestTheCheapestMergersAreMade(t *testing.T) {
	rng := seeded(8)
	for range 30 {
		g := randomGraph(10+rng.IntN(40), rng)
		k := 1 + rng.IntN(9)
		if got, want := agglomerated(t, g, k), naiveMergers(g, k); !slices.Equal(got, want) {
			t.Fatalf("%v instead of %v", got, want)
		}
	}
	g := star(t, 100)
	if got, want := agglomerated(t, g, 5), naiveMergers(g, 5); !slices.Equal(got, want) {
		t.Errorf("a star: %v instead of %v", got, want)
	}
}

func TestAgglomerateEndsIfCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := agglomerate(ctx, star(t, 100), 5); !errors.Is(err, context.Canceled) {
		t.Errorf("the run ended with %v", err)
	}
}
