package kernelkmeans

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// association is sum_c Q_c/s_c of the current labels.
func (r *reference) association() float64 {
	s, _, q := r.sums()
	sum := 0.0
	for c := range r.k {
		if s[c] != 0 {
			sum += q[c] / s[c]
		}
	}
	return sum
}

// bestMove is the move that raises the association most, of the points that may move, and by how much; it is found by
// trying all.
func (r *reference) bestMove(moved []bool) (point int, to int32, gain float64) {
	counts := make([]int, r.k)
	for _, c := range r.labels {
		counts[c]++
	}
	before := r.association()
	point = -1
	gain = math.Inf(-1)
	for i, from := range r.labels {
		for c := range int32(r.k) {
			if c == from || counts[from] < 2 || counts[c] == 0 || moved != nil && moved[i] {
				continue
			}
			r.labels[i] = c
			if g := r.association() - before; g > gain {
				point, to, gain = i, c, g
			}
		}
		r.labels[i] = from
	}
	return point, to, gain
}

// chain follows a chain and goes back to its best point. It returns how much that gains.
func (r *reference) chain(length int) (best float64) {
	moved := make([]bool, r.n)
	total := 0.0
	kept := slices.Clone(r.labels)
	for range length {
		point, to, gain := r.bestMove(moved)
		if point < 0 {
			break
		}
		r.labels[point], moved[point] = to, true
		if total += gain; total > best+1e-9 {
			best = total
			kept = slices.Clone(r.labels)
		}
	}
	r.labels = kept
	return best
}

// A chain is the one that trying all moves finds, for every objective, kernel and kind of data.
func TestChainsEqualNaiveReference(t *testing.T) {
	const length = 15 // all 60 points are candidates
	kept := 0
	for seed := range uint64(2) {
		for name, c := range cases(t, seed) {
			optionsOf(c.spec).OnRise, optionsOf(c.spec).LocalSearch = RiseStop, 0
			c.spec.Initialization.Labels = solve(t, c.data, c.spec).Labels
			if solve(t, c.data, c.spec).Iterations > 0 {
				continue // it ended in a cycle, which it does not know when it begins there
			}
			optionsOf(c.spec).LocalSearch, c.spec.MaxIterations = length, 1
			got := solve(t, c.data, c.spec)
			r := newReference(c.data, c.spec, optionsOf(c.spec).Rho)
			r.labels = slices.Clone(c.spec.Initialization.Labels)
			gain := r.chain(length)
			if !slices.Equal(got.Labels, r.labels) {
				t.Errorf("%s, seed %d: %v, the reference has %v and gains %g", name, seed, got.Labels, r.labels, gain)
			}
			if want := r.objective(); math.Abs(got.Objective-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("%s, seed %d: objective %.12g, reference %.12g", name, seed, got.Objective, want)
			}
			if gain > 0 {
				kept++
			}
		}
	}
	if kept < 10 {
		t.Errorf("only %d chains gain: the cases are too easy", kept)
	}
}

// Local search never ends above where steps of all points end, its iterations fall, and no single move is left that
// would lower the objective.
func TestLocalSearchEndsWhereNoMoveHelps(t *testing.T) {
	for seed := range uint64(4) {
		for name, c := range cases(t, seed) {
			o := optionsOf(c.spec)
			o.OnRise, o.KeepBest, o.LocalSearch = RiseIgnore, true, 0
			sign := 1.0
			if o.Objective == ObjectiveRatioAssociation {
				sign = -1
			}
			before := solve(t, c.data, c.spec)
			o.LocalSearch, c.spec.MaxIterations = 20, 500
			after := solve(t, c.data, c.spec)
			if sign*after.Objective > sign*before.Objective+1e-9*(1+math.Abs(before.Objective)) {
				t.Errorf("%s, seed %d: %g, without local search %g", name, seed, after.Objective, before.Objective)
			}
			for at := before.Iterations + 1; at < len(after.History); at++ {
				from := after.History[at-1].Objective
				if at == before.Iterations+1 {
					from = before.Objective // the best so far
				}
				if sign*after.History[at].Objective >= sign*from {
					t.Errorf("%s, seed %d: iteration %d of local search leads from %g to %g", name, seed, at, from,
						after.History[at].Objective)
				}
			}
			if after.Iterations > before.Iterations && after.StopReason != clustering.StopConverged {
				t.Errorf("%s, seed %d: stopped by %v", name, seed, after.StopReason)
			}
			r := newReference(c.data, c.spec, o.Rho)
			r.labels = after.Labels
			if point, to, gain := r.bestMove(nil); gain > 1e-6 {
				t.Errorf("%s, seed %d: moving %d to %d would gain %g", name, seed, point, to, gain)
			}
		}
	}
}

// cliques are two cliques of the same size, joined by two edges for each of their vertices but one.
func cliques(t *testing.T, size int) *dataset.Graph {
	t.Helper()
	var edges []dataset.Edge
	for i := range int32(size) {
		for j := range i {
			edges = append(edges, dataset.Edge{Source: i, Target: j, Weight: 1}, dataset.Edge{Source: i + int32(size),
				Target: j + int32(size), Weight: 1})
		}
		if i > 0 {
			edges = append(edges, dataset.Edge{Source: i, Target: i + int32(size), Weight: 1},
				dataset.Edge{Source: i, Target: i + int32(size) - 1, Weight: 1})
		}
	}
	g, err := dataset.NewGraph(2*size, edges)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// From random labels steps of all points get stuck; chains find the two cliques from each of them.
func TestChainsFindWhatStepsOfAllPointsMiss(t *testing.T) {
	graph := cliques(t, 10)
	stuck := 0
	for seed := range uint64(40) {
		o := &Options{OnRise: RiseIgnore, KeepBest: true}
		spec := clustering.Spec{
			K: 2, MaxIterations: 100, Initialization: clustering.Initialization{Start: clustering.StartRandom},
			Seed: seed, Algorithm: o,
		}
		isCut := func(labels []int32) bool {
			for i, c := range labels {
				if c != labels[i/10*10] {
					return false
				}
			}
			return labels[0] != labels[10]
		}
		if !isCut(solve(t, graph, spec).Labels) {
			stuck++
		}
		o.LocalSearch = 20
		if got := solve(t, graph, spec); !isCut(got.Labels) {
			t.Errorf("seed %d: %v", seed, got.Labels)
		}
	}
	if stuck < 5 {
		t.Errorf("steps of all points miss the cut from %d of 40 starts only: the case is too easy", stuck)
	}
}

// Candidates are the points whose moves gain most, the first of equal ones, without those that have no cluster.
func TestCandidates(t *testing.T) {
	for _, c := range []struct {
		gains  []float64
		labels []int32
		most   int
		want   []int32
	}{
		{[]float64{-3, 9, 5, -1}, []int32{0, -1, 0, 1}, 9, []int32{0, 2, 3}},
		{[]float64{-3, 9, 5, -1}, []int32{0, -1, 0, 1}, 2, []int32{2, 3}},
		{[]float64{1, 2, 1, 2, 1}, []int32{0, 0, 0, 0, 0}, 3, []int32{0, 1, 3}},
		{[]float64{math.Inf(-1), -7}, []int32{0, 1}, 1, []int32{1}},
		{[]float64{1, 2}, []int32{-1, -1}, 3, nil},
	} {
		if got := candidates(c.gains, c.labels, c.most); !slices.Equal(got, c.want) {
			t.Errorf("of %v the best %d are %v, not %v", c.gains, c.most, got, c.want)
		}
	}
	rng := clusteringtest.NewRand(1)
	gains := make([]float64, 500)
	labels := make([]int32, 500)
	all := make([]int32, 500)
	for i := range gains {
		gains[i] = math.Floor(20 * rng.Float64())
		all[i] = int32(i) // many are equal
	}
	slices.SortStableFunc(all, func(i, j int32) int { return cmp.Compare(gains[j], gains[i]) })
	for most := 1; most < 500; most += 7 {
		want := slices.Clone(all[:most])
		slices.Sort(want)
		if got := candidates(gains, labels, most); !slices.Equal(got, want) {
			t.Errorf("the best %d of 500 are %v, not %v", most, got, want)
		}
	}
}

// Where steps of all points go on without finding anything better, local search does not wait for them to repeat.
func TestLocalSearchDoesNotWaitForACycle(t *testing.T) {
	longest := func(history []clustering.HistoryEntry) (longest int) {
		best := math.Inf(1)
		at := 0
		for i, e := range history {
			if e.Objective < best {
				best, at = e.Objective, i
			}
			longest = max(longest, i-at)
		}
		return longest
	}
	waits := 0
	for seed := range uint64(20) {
		rng := clusteringtest.NewRand(seed)
		var edges []dataset.Edge
		for range 2500 {
			edges = append(edges, dataset.Edge{Source: int32(rng.IntN(300)), Target: int32(rng.IntN(300)),
				Weight: rng.Float64()})
		}
		graph, err := dataset.NewGraph(300, edges)
		if err != nil {
			t.Fatal(err)
		}
		o := &Options{OnRise: RiseIgnore, KeepBest: true}
		spec := clustering.Spec{
			K: 12, MaxIterations: 1000, Initialization: clustering.Initialization{Start: clustering.StartRandom},
			Seed: seed, Algorithm: o,
		}
		waits = max(waits, longest(solve(t, graph, spec).History))
		o.LocalSearch = 20
		if got := longest(solve(t, graph, spec).History); got > stepsWithoutGain {
			t.Errorf("seed %d: %d iterations found nothing better", seed, got)
		}
	}
	if waits <= stepsWithoutGain {
		t.Errorf("at most %d steps find nothing better: the cases are too easy", waits)
	}
}

// A chain of few candidates still lowers the objective, keeps no cluster empty, and never moves isolated points.
func TestLocalSearchOfMoreThanTheCandidates(t *testing.T) {
	rng := clusteringtest.NewRand(4)
	edges := []dataset.Edge{}
	for range 3000 {
		i := rng.IntN(400)
		j := i/40*40 + rng.IntN(40)
		if rng.IntN(3) > 0 {
			j = rng.IntN(400)
		}
		if i != j && i%50 != 7 && j%50 != 7 { // eight vertices are isolated
			edges = append(edges, dataset.Edge{Source: int32(i), Target: int32(j), Weight: 1})
		}
	}
	graph, err := dataset.NewGraph(400, edges)
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{1, 3, 20} {
		o := &Options{OnRise: RiseIgnore, KeepBest: true}
		spec := clustering.Spec{
			K: 10, MaxIterations: 1000, Initialization: clustering.Initialization{Start: clustering.StartRandom},
			Algorithm: o,
		}
		before := solve(t, graph, spec)
		o.LocalSearch = length
		after := solve(t, graph, spec)
		if !(after.Objective < before.Objective-0.01) || after.StopReason != clustering.StopConverged {
			t.Errorf("chains of %d: %g after %g, stopped by %v", length, after.Objective, before.Objective,
				after.StopReason)
		}
		if slices.Contains(after.ClusterSizes, 0) {
			t.Errorf("chains of %d: sizes %v", length, after.ClusterSizes)
		}
	}
}

// A cluster that is kept empty stays so.
func TestLocalSearchFillsNoEmptyCluster(t *testing.T) {
	points := clusteringtest.Blobs(t, clusteringtest.NewRand(2), 30, 2, 3)
	labels := make([]int32, 30)
	for i := range labels {
		labels[i] = 2 * int32(i%2)
	}
	got := solve(t, points, clustering.Spec{K: 3, MaxIterations: 100, Initialization: clustering.Initialization{
		Start: clustering.StartLabels, Labels: labels,
	},
		Algorithm: &Options{Rho: 3, KeepEmpty: true, LocalSearch: 20}})
	if got.ClusterSizes[1] != 0 || got.ClusterSizes[0] == 0 || got.ClusterSizes[2] == 0 {
		t.Errorf("sizes %v", got.ClusterSizes)
	}
}

// Where nobody says anything, local search is on for problems that are not too large; not with the paper's settings.
func TestWhereLocalSearchIsOn(t *testing.T) {
	for _, c := range []struct {
		values map[string]string
		matrix kernel.Function
		n, k   int
		want   int
	}{
		{nil, kernel.Gaussian, 100_000, 10, catalog.SearchLength},
		{nil, kernel.Given, 10_000_000, 10, 0},
		{nil, kernel.Adjacency, 2_000, 10, catalog.SearchLength},
		{nil, kernel.Adjacency, 100_000, 10, 0},
		{map[string]string{"local-search": "7"}, kernel.Adjacency, 1_000_000, 10, 7},
		{map[string]string{"local-search": "0"}, kernel.Gaussian, 100, 2, 0},
		{map[string]string{"paper": "true"}, kernel.Gaussian, 100, 2, 0},
		{map[string]string{"paper": "true", "local-search": "7"}, kernel.Gaussian, 100, 2, 7},
	} {
		o := NewOptions(catalog.Request{Algorithm: "kernel-kmeans", Values: c.values})
		p := &Problem{n: c.n, spec: clustering.Spec{K: c.k}, options: *o, Matrix: kernel.MatrixSpec{Function: c.matrix}}
		if got := p.chainLength(); got != c.want {
			t.Errorf("%v with %d points and %d clusters: chains of %d, want %d", c.values, c.n, c.k, got, c.want)
		}
	}
}
