package spectral

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/test/clusteringtest"
	"github.com/cleave-project/cleave/test/testscale"
)

// grid is a graph whose vertices are in blocks of rows and of columns, `rows` x `columns` of `each` vertices. Edges
// inside of a row are more than those inside of a column, so that the rows are the cheapest cut.
func grid(t *testing.T, seed uint64, rows, columns, each int) (g *dataset.Graph, row, column []int32) {
	t.Helper()
	n := rows * columns * each
	rng := clusteringtest.NewRand(seed)
	row = make([]int32, n)
	column = make([]int32, n)
	var edges []dataset.Edge
	for i := range n {
		row[i], column[i] = int32(i%rows), int32(i/rows%columns)
		for j := range i {
			chance := 0.02
			if row[i] == row[j] {
				chance += 0.3
			}
			if column[i] == column[j] {
				chance += 0.2
			}
			if rng.Float64() < chance {
				edges = append(edges, dataset.Edge{Source: int32(i), Target: int32(j), Weight: 1})
			}
		}
	}
	g, err := dataset.NewGraph(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	return g, row, column
}

// told are random constraints from a truth.
func told(seed uint64, truth []int32, m int) []constraint.Constraint {
	rng := clusteringtest.NewRand(seed)
	var list []constraint.Constraint
	for len(list) < m {
		i := int32(rng.IntN(len(truth)))
		j := int32(rng.IntN(len(truth)))
		switch {
		case i == j:
		case truth[i] == truth[j]:
			list = append(list, clusteringtest.MustLink(i, j))
		default:
			list = append(list, clusteringtest.CannotLink(i, j))
		}
	}
	return list
}

func solve(t *testing.T, data dataset.Dataset, spec clustering.Spec) *clustering.Result {
	t.Helper()
	result, err := trySolve(data, spec)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func ari(t *testing.T, labels, truth []int32) float64 {
	t.Helper()
	scores, err := evaluate.Compare(labels, truth, nil)
	if err != nil {
		t.Fatal(err)
	}
	return scores.ARI
}

// Constraints about the columns find the columns, which are not the cheapest cut; those about the rows keep the rows.
func TestConstraintsChooseTheCut(t *testing.T) {
	g, row, column := grid(t, 1, 3, 3, 30)
	plain := solve(t, g, clustering.Spec{K: 3, Algorithm: &Options{Algorithm: Spectral}})
	if ari(t, plain.Labels, row) < 0.9 {
		t.Fatalf("without constraints the rows are found to %.2f", ari(t, plain.Labels, row))
	}
	for name, truth := range map[string][]int32{"rows": row, "columns": column} {
		for _, wrong := range testscale.Some([]int{10, 0}, 1) {
			links := told(2, truth, 150)
			for at := 0; wrong > 0 && at < len(links); at += wrong {
				links[at].Kind = 3 - links[at].Kind
			}
			result := solve(t, g, clustering.Spec{
				K: 3, Supervision: clustering.Supervision{Constraints: links},
				Algorithm: &Options{Algorithm: Constrained},
			})
			if got := ari(t, result.Labels, truth); got < 0.9 {
				t.Errorf("%s, one of %d wrong: ARI %.2f by %v of %+v", name, wrong, got, result.Spectral.Eigen.Chosen,
					result.Spectral.Eigen.Candidates)
			}
			if result.Spectral.Eigen.Beta != nil ||
				result.Spectral.Eigen.Width == 0 && result.Spectral.Eigen.Chosen < clustering.CutPaper {
				t.Errorf("%s: the report is %+v", name, result.Spectral.Eigen)
			}
		}
	}
	var seeds []constraint.Seed
	for i := range int32(60) {
		seeds = append(seeds, constraint.Seed{Index: 4 * i, Label: column[4*i]})
	}
	if got := solve(t, g, clustering.Spec{
		K: 3, Supervision: clustering.Supervision{Seeds: seeds}, Algorithm: &Options{Algorithm: Constrained},
	}); ari(t, got.Labels, column) < 0.9 {
		t.Errorf("seeds: ARI %.2f by %v of %+v", ari(t, got.Labels, column), got.Spectral.Eigen.Chosen,
			got.Spectral.Eigen.Candidates)
	}
}

// Where constraints do not help, coordinates are those of spectral, up to a rotation.
func TestFallbackIsSpectral(t *testing.T) {
	const k = 4
	g := clusteringtest.RandomGraph(t, clusteringtest.NewRand(7), 160, k)
	plain := solve(t, g,
		clustering.Spec{K: k, Algorithm: &Options{Algorithm: Spectral, Eigenvectors: Eigenvectors{Tolerance: 1e-11}}})
	result := solve(t, g,
		clustering.Spec{K: k,
			Supervision: clustering.Supervision{
				Constraints: told(3, clusteringtest.RandomLabels(clusteringtest.NewRand(8), 160, k), 30)},
			Algorithm: &Options{Algorithm: Constrained, Eigenvectors: Eigenvectors{Tolerance: 1e-11}}})
	if result.Spectral.Eigen.Chosen != clustering.CutUnconstrained || result.Spectral.Eigen.Width != k ||
		len(result.Spectral.Eigen.Eigenvalues) != k {
		t.Fatalf("random constraints chose %+v", result.Spectral.Eigen)
	}
	inner := func(e *clustering.Embedding, i, j int) (sum float64) {
		for c := range k {
			sum += e.Values[i*k+c] * e.Values[j*k+c]
		}
		return sum
	}
	for i := range 160 {
		for j := range i {
			if got, want := inner(result.Spectral.Embedding, i, j), inner(plain.Spectral.Embedding, i,
				j); math.Abs(got-want) > 1e-6 {
				t.Fatalf("the coordinates of %d and %d have the inner product %g, those of spectral %g",
					i, j, got, want)
			}
		}
	}
	for c := range k {
		if math.Abs(result.Spectral.Eigen.Eigenvalues[c]-plain.Spectral.Eigen.Eigenvalues[c]) > 1e-9 {
			t.Errorf("eigenvalue %d is %g, that of spectral %g", c, result.Spectral.Eigen.Eigenvalues[c],
				plain.Spectral.Eigen.Eigenvalues[c])
		}
	}
}

// Other numbers of the vertices change nothing but the order of the labels.
func TestVerticesMayBeRenumbered(t *testing.T) {
	g, _, column := grid(t, 4, 2, 2, 40)
	links := told(5, column, 100)
	order := clusteringtest.NewRand(6).Perm(g.N)
	var edges []dataset.Edge
	for i := range g.N {
		neighbors, weights := g.Row(i)
		for at, j := range neighbors {
			if int(j) > i {
				edges = append(edges, dataset.Edge{Source: int32(order[i]), Target: int32(order[j]),
					Weight: weights[at]})
			}
		}
	}
	moved, err := dataset.NewGraph(g.N, edges)
	if err != nil {
		t.Fatal(err)
	}
	renumbered := slices.Clone(links)
	for at, link := range links {
		renumbered[at].I, renumbered[at].J = int32(order[link.I]), int32(order[link.J])
	}
	one := solve(t, g, clustering.Spec{
		K: 2, Supervision: clustering.Supervision{Constraints: links}, Algorithm: &Options{Algorithm: Constrained},
	})
	two := solve(t, moved, clustering.Spec{
		K: 2, Supervision: clustering.Supervision{Constraints: renumbered}, Algorithm: &Options{Algorithm: Constrained},
	})
	back := make([]int32, g.N)
	for i := range back {
		back[i] = two.Labels[order[i]]
	}
	if got := ari(t, one.Labels, back); got < 0.95 || ari(t, one.Labels, column) < 0.9 {
		t.Errorf("the two answers agree to %.3f, the truth to %.3f", got, ari(t, one.Labels, column))
	}
}

// Whatever the constraints are, there is an answer.
func TestOddConstraints(t *testing.T) {
	g, row, _ := grid(t, 9, 2, 2, 10)
	var musts, cannots []constraint.Constraint
	for _, c := range told(1, row, 60) {
		if c.Kind == constraint.MustLink {
			musts = append(musts, c)
		} else {
			cannots = append(cannots, c)
		}
	}
	pair := clusteringtest.MustLink(0, 2)
	contradicted := append(told(1, row, 30), pair, clusteringtest.CannotLink(0, 2))
	for name, c := range map[string]struct {
		links  []constraint.Constraint
		notice string
	}{
		"one must-link":   {[]constraint.Constraint{pair}, "NOTHING_HELD_OUT"},
		"one cannot-link": {cannots[:1], "NOTHING_HELD_OUT"},
		"must-links":      {musts, "NOTHING_HELD_OUT"}, "cannot-links": {cannots, ""}, "two": {told(1, row, 2), ""},
		"four":           {told(1, row, 4), ""},
		"contradictions": {contradicted, "CONFLICTING_CONSTRAINTS"},
		"weights": {[]constraint.Constraint{{I: 0, J: 1, Kind: constraint.MustLink, Weight: 1e150,
			Weighted: true}, {I: 0, J: 3, Kind: constraint.CannotLink, Weight: 1e-150, Weighted: true}}, ""},
	} {
		for _, k := range []int{2, 3, 20, 38, 39, 40} {
			result := solve(t, g, clustering.Spec{
				K: k, Supervision: clustering.Supervision{Constraints: c.links},
				Algorithm: &Options{Algorithm: Constrained},
			})
			if len(result.Labels) != 40 || slices.Min(result.Labels) < 0 || int(slices.Max(result.Labels)) >= k {
				t.Errorf("%s, k = %d: labels %d", name, k, result.Labels)
			}
			if told := slices.ContainsFunc(result.Warnings, func(n clustering.Notice) bool {
				return n.Code == c.notice
			}); told != (c.notice != "") {
				t.Errorf("%s, k = %d: notices %v", name, k, result.Warnings)
			}
		}
	}
	_, err := trySolve(g, clustering.Spec{
		K: 2, Supervision: clustering.Supervision{Constraints: []constraint.Constraint{clusteringtest.MustLink(1, 1)}},
		Algorithm: &Options{Algorithm: Constrained},
	})
	clusteringtest.WantFault(t, err, "NO_BELIEFS", "no two points are constrained")
}

// A graph in pieces is answered, with fewer and with more pieces than clusters.
func TestGraphInPieces(t *testing.T) {
	const pieces, each = 6, 15
	rng := clusteringtest.NewRand(12)
	var edges []dataset.Edge
	piece := make([]int32, pieces*each)
	for i := range piece {
		piece[i] = int32(i / each)
		for j := range i {
			if i/each == j/each && (j == i-1 || rng.Float64() < 0.3) {
				edges = append(edges, dataset.Edge{Source: int32(i), Target: int32(j), Weight: 1})
			}
		}
	}
	g, err := dataset.NewGraph(len(piece), edges)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []int{2, 6, 8} {
		truth := slices.Clone(piece)
		for i := range truth {
			truth[i] %= int32(k)
		}
		result := solve(t, g, clustering.Spec{
			K: k, Supervision: clustering.Supervision{Constraints: told(2, truth, 120)},
			Algorithm: &Options{Algorithm: Constrained},
		})
		if got := ari(t, result.Labels, truth); k <= pieces && got < 0.9 || len(result.Labels) != len(piece) {
			t.Errorf("k = %d: ARI %.2f by %v of %+v", k, got, result.Spectral.Eigen.Chosen,
				result.Spectral.Eigen.Candidates)
		}
	}
}

// Vertices without edges, small pieces and constraints on them do not keep a graph from being answered: here the grid
// with three vertices alone and a pair beside it, by which the columns are told as well.
func TestVerticesThatAreLeftOut(t *testing.T) {
	whole, _, column := grid(t, 1, 3, 3, 30)
	var edges []dataset.Edge
	for i := range whole.N {
		neighbors, weights := whole.Row(i)
		for at, j := range neighbors {
			if int(j) > i {
				edges = append(edges, dataset.Edge{Source: int32(i) + 2, Target: j + 2, Weight: weights[at]})
			}
		}
	}
	n := int32(whole.N)
	edges = append(edges, dataset.Edge{Source: n + 3, Target: n + 4, Weight: 1})
	g, err := dataset.NewGraph(whole.N+5, edges) // 0, 1 and n+2 are alone
	if err != nil {
		t.Fatal(err)
	}
	links := told(2, column, 150)
	for at := range links {
		links[at].I, links[at].J = links[at].I+2, links[at].J+2
	}
	links = append(links, clusteringtest.MustLink(0, 2), clusteringtest.CannotLink(1, 3),
		clusteringtest.MustLink(n+3, n+2))
	result := solve(t, g, clustering.Spec{
		K: 3, Supervision: clustering.Supervision{Constraints: links}, Algorithm: &Options{Algorithm: Constrained},
	})
	if got := ari(t, result.Labels[2:n+2], column); got < 0.9 || result.Labels[0] != result.Labels[2] ||
		result.Labels[n+3] != result.Labels[n+2] {
		t.Errorf("ARI %.2f by %v of %+v, labels %d", got, result.Spectral.Eigen.Chosen,
			result.Spectral.Eigen.Candidates, result.Labels)
	}
	if result.Spectral.Embedding.Rows != g.N || slices.Max(result.Labels) > 2 || slices.Min(result.Labels) < 0 {
		t.Errorf("%d rows, labels %d", result.Spectral.Embedding.Rows, result.Labels)
	}
	// Nothing takes part, or less than there are clusters; all constraints are about what does not.
	for _, c := range []struct {
		vertices int
		edges    []dataset.Edge
	}{{6, nil}, {6, []dataset.Edge{{Source: 4, Target: 5, Weight: 1}}},
		{9, []dataset.Edge{{Source: 4, Target: 5, Weight: 1}, {Source: 5, Target: 6, Weight: 1},
			{Source: 6, Target: 7, Weight: 1}}}} {
		g, err := dataset.NewGraph(c.vertices, c.edges)
		if err != nil {
			t.Fatal(err)
		}
		few := []constraint.Constraint{clusteringtest.MustLink(0, 1), clusteringtest.CannotLink(2, 3)}
		result := solve(t, g, clustering.Spec{
			K: 3, Supervision: clustering.Supervision{Constraints: few}, Algorithm: &Options{Algorithm: Constrained},
		})
		if len(result.Labels) != c.vertices || slices.Min(result.Labels) < 0 || slices.Max(result.Labels) > 2 {
			t.Errorf("%d edges: labels %d", len(c.edges), result.Labels)
		}
		for _, candidate := range result.Spectral.Eigen.Candidates {
			if math.IsNaN(candidate.Loss) {
				t.Errorf("%d edges: the loss is %g", len(c.edges), candidate.Loss)
			}
		}
	}
}

// A star has the eigenvalues 1, -1 and 0: what is searched for beside the first is 0, and is found at once.
func TestStar(t *testing.T) {
	const n = 3000
	var edges []dataset.Edge
	for i := range int32(n - 1) {
		edges = append(edges, dataset.Edge{Source: 0, Target: i + 1, Weight: 1})
	}
	g, err := dataset.NewGraph(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	result := solve(t, g, clustering.Spec{
		K: 2,
		Supervision: clustering.Supervision{
			Constraints: told(1, clusteringtest.RandomLabels(clusteringtest.NewRand(1), n, 2), 50)},
		Algorithm: &Options{Algorithm: Constrained},
	})
	if len(result.Labels) != n || result.Spectral.Eigen.Products > 100 {
		t.Errorf("%d products", result.Spectral.Eigen.Products)
	}
}

// What has no pairs to hold out, and what is about the cuts of the paper, is done by the paper's rule.
func TestAutoIsThePaperWhereQIsWhole(t *testing.T) {
	for name, o := range map[string]Options{
		"beliefs": {Beliefs: wangBeliefs(false)}, "another graph": {Beliefs: wangBeliefs(false), Transfer: true},
		"signs": {Discretization: DiscretizeSign},
	} {
		o.Algorithm = Constrained
		spec := clustering.Spec{K: 2, Algorithm: &o}
		if len(o.Beliefs) == 0 {
			spec.Supervision.Constraints = []constraint.Constraint{
				clusteringtest.MustLink(0, 1), clusteringtest.MustLink(2, 3), clusteringtest.CannotLink(1, 4),
			}
		}
		auto := solve(t, wangGraph(t), spec)
		o.BetaRule = BetaPaper
		if paper := solve(t, wangGraph(t), spec); auto.Spectral.Eigen.Beta == nil ||
			*auto.Spectral.Eigen.Beta != *paper.Spectral.Eigen.Beta || auto.Spectral.Eigen.Chosen != 0 {
			t.Errorf("%s: %+v", name, auto.Spectral.Eigen)
		}
	}
}

// A rule of the paper that takes part has the bits that it has alone.
func TestPaperTakesPartAsItIs(t *testing.T) {
	g, _, column := grid(t, 1, 2, 2, 15)
	links := told(2, column, 40)
	problem, err := Prepare(g, clustering.Spec{
		K: 2, Supervision: clustering.Supervision{Constraints: links}, Algorithm: &Options{Algorithm: Constrained},
	})
	if err != nil {
		t.Fatal(err)
	}
	x, err := kernelkmeans.NewLocal(t.Context(), problem.Problem, g, 2)
	if err != nil {
		t.Fatal(err)
	}
	m, err := problem.begin(t.Context(), x, clustering.NopObserver{})
	if err != nil {
		t.Fatal(err)
	}
	for rule, beta := range map[clustering.CutRule]BetaRule{clustering.CutPaper: BetaPaper,
		clustering.CutStrict: BetaStrict} {
		got, err := m.byPaper(t.Context(), rule, problem.pairs)
		if err != nil {
			t.Fatal(err)
		}
		want := solve(t, g, clustering.Spec{
			K: 2, Supervision: clustering.Supervision{Constraints: links},
			Algorithm: &Options{Algorithm: Constrained, BetaRule: beta},
		})
		if !slices.Equal(got.Labels, want.Labels) || *got.Spectral.Eigen.Beta != *want.Spectral.Eigen.Beta ||
			!slices.Equal(got.Spectral.Embedding.Values, want.Spectral.Embedding.Values) {
			t.Errorf("%v: beta %g, alone %g", rule, *got.Spectral.Eigen.Beta, *want.Spectral.Eigen.Beta)
		}
	}
}

// Seeds are pairs: each pair once, and of many seeds as many of each as there is room for.
func TestSeedPairs(t *testing.T) {
	for _, s := range []int{1, 2, 3, 4, 9, 10, 150, 1000, 30_000} {
		p := &Problem{spec: clustering.Spec{K: 3, Seed: 1}}
		var seeds []constraint.SeededPoint
		for i := range s {
			seeds = append(seeds, constraint.SeededPoint{Point: int32(2 * i), Labels: []int32{int32(i % 3)},
				Chances: []float64{1}})
		}
		pairs := p.seedPairs(seedBeliefs{seeds, p.spec.K})
		seen := map[string]bool{}
		links := map[int32]int{}
		for _, pair := range pairs {
			seen[fmt.Sprint(pair.I, pair.J)] = true
			links[pair.I]++
			links[pair.J]++
			if pair.I >= pair.J || pair.Weight != 1 ||
				(pair.Kind == constraint.MustLink) != (pair.I/2%3 == pair.J/2%3) {
				t.Fatalf("%d seeds: the pair %+v", s, pair)
			}
		}
		all := s * (s - 1) / 2
		if len(seen) != len(pairs) || all <= maxSeedPairs && len(pairs) != all || len(pairs) > max(s, maxSeedPairs) ||
			all > maxSeedPairs && len(pairs) < maxSeedPairs*3/4 {
			t.Errorf("%d seeds make %d pairs, %d of them different", s, len(pairs), len(seen))
		}
		for point, count := range links {
			if count != links[0] {
				t.Errorf("%d seeds: point %d has %d pairs, another %d", s, point, count, links[0])
			}
		}
	}
	p := &Problem{spec: clustering.Spec{K: 2}}
	pairs := p.seedPairs(seedBeliefs{k: 2, points: []constraint.SeededPoint{
		{Point: 1, Labels: []int32{0, 1}, Chances: []float64{0.9, 0.1}},
		{Point: 4, Labels: []int32{1}, Chances: []float64{1}},
	}})
	if len(pairs) != 1 || pairs[0].Kind != constraint.CannotLink || math.Abs(pairs[0].Weight-0.8) > 1e-12 {
		t.Errorf("a seed that is 0.9 likely of another label makes %+v", pairs)
	}
}
