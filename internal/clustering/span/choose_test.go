package span

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// twoSplits has eigenvectors in which points split in two ways: the second vector has the split that the graph
// suggests, the third one another, `hidden`, with noise.
func twoSplits(rng *rand.Rand, n int) (vectors [][]float64, costs []float64, seen, hidden []int32) {
	vectors = make([][]float64, 8)
	seen = clusteringtest.RandomLabels(rng, n, 2)
	hidden = clusteringtest.RandomLabels(rng, n, 2)
	for a := range vectors {
		vectors[a] = make([]float64, n)
		for i := range n {
			switch a {
			case 0:
				vectors[a][i] = 1
			case 1:
				vectors[a][i] = float64(2*seen[i]-1) + 0.2*rng.NormFloat64()
			case 2:
				vectors[a][i] = float64(2*hidden[i]-1) + 0.2*rng.NormFloat64()
			default:
				vectors[a][i] = rng.NormFloat64()
			}
		}
		costs = append(costs, 0.1*float64(a))
	}
	return eigen.Orthonormalize(n, vectors), costs, seen, hidden
}

func chosen(t *testing.T, p *Problem) *Answer {
	t.Helper()
	p.Random = rand.New(rand.NewPCG(9, 9))
	answer, err := Choose(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// agreement is the share of points that two labelings into two clusters agree on, under the better naming.
func agreement(a, b []int32) float64 {
	same := 0
	for i := range a {
		if a[i] == b[i] {
			same++
		}
	}
	return float64(max(same, len(a)-same)) / float64(len(a))
}

// Pairs that contradict the cheapest cut choose the other one; few pairs and pairs that say nothing leave the
// eigenvectors as they are.
func TestPairsChoose(t *testing.T) {
	const n = 300
	rng := clusteringtest.NewRand(10)
	vectors, costs, seen, hidden := twoSplits(rng, n)
	for name, c := range map[string]struct {
		pairs []constraint.Pair
		truth []int32
		plain bool
	}{
		"hidden":      {truePairs(rng, hidden, 100), hidden, false},
		"two pairs":   {truePairs(rng, hidden, 2), seen, true},
		"one pair":    {truePairs(rng, hidden, 1), seen, true},
		"at random":   {truePairs(rng, clusteringtest.RandomLabels(rng, n, 2), 30), seen, true},
		"must-links":  {only(constraint.MustLink, truePairs(rng, hidden, 200)), seen, true},
		"cannot-link": {only(constraint.CannotLink, truePairs(rng, hidden, 200)), hidden, false},
	} {
		answer := chosen(t, &Problem{K: 2, Vectors: vectors, Costs: costs, Pairs: c.pairs})
		if plain := answer.Chosen.Rule == clustering.CutUnconstrained; plain != c.plain ||
			agreement(answer.Labels, c.truth) < 0.95 {
			t.Errorf("%s: %v of %v, the labels agree on %.2f", name, answer.Chosen.Rule, answer.Candidates,
				agreement(answer.Labels, c.truth))
		}
		if !c.plain {
			continue
		}
		for i := range n {
			length := math.Hypot(vectors[0][i], vectors[1][i])
			for a := range 2 {
				near(t, "a coordinate", answer.Embedding.Values[2*i+a], vectors[a][i]/length, 1e-12)
			}
		}
	}
}

// Pairs that agree with the cheapest cut keep it.
func TestPairsAgree(t *testing.T) {
	rng := clusteringtest.NewRand(10)
	vectors, costs, seen, _ := twoSplits(rng, 300)
	if answer := chosen(t, &Problem{K: 2, Vectors: vectors, Costs: costs, Pairs: truePairs(rng, seen, 100)}); agreement(
		answer.Labels, seen) < 0.99 {
		t.Errorf("%v, the labels agree on %.3f", answer.Chosen, agreement(answer.Labels, seen))
	}
}

func only(kind constraint.Kind, pairs []constraint.Pair) []constraint.Pair {
	return slices.DeleteFunc(pairs, func(p constraint.Pair) bool { return p.Kind != kind })
}

// One pair in ten is wrong, and the other split is found all the same.
func TestWrongPairs(t *testing.T) {
	rng := clusteringtest.NewRand(11)
	vectors, costs, _, hidden := twoSplits(rng, 300)
	pairs := truePairs(rng, hidden, 200)
	for at := 0; at < len(pairs); at += 10 {
		pairs[at].Kind = 3 - pairs[at].Kind
	}
	answer := chosen(t, &Problem{K: 2, Vectors: vectors, Costs: costs, Pairs: pairs})
	if answer.Chosen.Rule == clustering.CutUnconstrained || agreement(answer.Labels, hidden) < 0.9 {
		t.Errorf("%v of %v, the labels agree on %.2f", answer.Chosen.Rule, answer.Candidates,
			agreement(answer.Labels, hidden))
	}
}

// The answer does not depend on the number of threads, nor on a common factor of the weights up to rounding, and other
// names of the points only change the order of the labels.
func TestWhatTheAnswerDependsOn(t *testing.T) {
	const n = 200
	rng := clusteringtest.NewRand(12)
	vectors, costs, _, hidden := twoSplits(rng, n)
	pairs := truePairs(rng, hidden, 80)
	first := chosen(t, &Problem{K: 2, Vectors: vectors, Costs: costs, Pairs: pairs})
	before := runtime.GOMAXPROCS(3)
	again := chosen(t, &Problem{K: 2, Vectors: vectors, Costs: costs, Pairs: pairs})
	runtime.GOMAXPROCS(1)
	alone := chosen(t, &Problem{K: 2, Vectors: vectors, Costs: costs, Pairs: pairs})
	runtime.GOMAXPROCS(before)
	for _, other := range []*Answer{again, alone} {
		if !slices.Equal(first.Labels, other.Labels) || !slices.Equal(first.Embedding.Values, other.Embedding.Values) ||
			first.Chosen.Loss != other.Chosen.Loss {
			t.Error("the answer depends on the number of threads")
		}
	}
	order := rng.Perm(n) // the new number of every point
	moved := make([][]float64, len(vectors))
	for a, v := range vectors {
		moved[a] = make([]float64, n)
		for i := range n {
			moved[a][order[i]] = v[i]
		}
	}
	renamed := slices.Clone(pairs)
	for at, p := range pairs {
		i, j := int32(order[p.I]), int32(order[p.J])
		renamed[at].I, renamed[at].J = min(i, j), max(i, j)
	}
	other := chosen(t, &Problem{K: 2, Vectors: moved, Costs: costs, Pairs: renamed})
	back := make([]int32, n)
	for i := range n {
		back[i] = other.Labels[order[i]]
	}
	if other.Chosen.Rule != first.Chosen.Rule || agreement(first.Labels, back) < 1 {
		t.Errorf("%v instead of %v, the labels agree on %.3f", other.Chosen, first.Chosen,
			agreement(first.Labels, back))
	}
	near(t, "the loss", other.Chosen.Loss, first.Chosen.Loss, 1e-6)
	heavy := slices.Clone(pairs)
	for at := range heavy {
		heavy[at].Weight = 3
	}
	if other = chosen(t, &Problem{K: 2, Vectors: vectors, Costs: costs, Pairs: heavy}); other.Chosen.Rule !=
		first.Chosen.Rule {
		t.Errorf("%v instead of %v", other.Chosen, first.Chosen)
	}
	near(t, "the loss", other.Chosen.Loss, first.Chosen.Loss, 1e-9)
}

// The rules of the paper win where they are right and nothing in the span is; where they allow no cut they lose.
func TestPaperTakesPart(t *testing.T) {
	const n = 200
	rng := clusteringtest.NewRand(13)
	vectors, costs, _, _ := twoSplits(rng, n)
	truth := clusteringtest.RandomLabels(rng, n, 2) // in none of the vectors
	pairs := truePairs(rng, truth, 60)
	for _, knows := range []clustering.CutRule{clustering.CutPaper, clustering.CutStrict} {
		asked := 0
		answer := chosen(t, &Problem{K: 2, Vectors: vectors, Costs: costs, Pairs: pairs,
			Paper: func(_ context.Context, rule clustering.CutRule, known []constraint.Pair) ([]int32, error) {
				if asked = len(known); rule == knows {
					return truth, nil
				}
				return nil, nil
			}})
		if answer.Chosen.Rule != knows || !slices.Equal(answer.Labels, truth) || answer.Embedding != nil ||
			*answer.Chosen.Violated != 0 || asked != len(pairs) {
			t.Errorf("%v of %v, with %d pairs in the end", answer.Chosen.Rule, answer.Candidates, asked)
		}
		for _, c := range answer.Candidates {
			if c.Rule >= clustering.CutPaper && c.Rule != knows && c.Loss != 1 {
				t.Errorf("%v has no answer and a loss of %g", c.Rule, c.Loss)
			}
		}
	}
}

// A rule that cannot win any more is not asked again.
func TestPaperIsAskedWhileItCanWin(t *testing.T) {
	rng := clusteringtest.NewRand(16)
	vectors, costs, seen, _ := twoSplits(rng, 200)
	pairs := truePairs(rng, seen, 60)
	calls := 0 // as the cheapest cut has them
	answer := chosen(t, &Problem{K: 2, Vectors: vectors, Costs: costs, Pairs: pairs,
		Paper: func(context.Context, clustering.CutRule, []constraint.Pair) ([]int32, error) {
			calls++
			return make([]int32, 200), nil // violates all cannot-links
		}})
	if calls != 2 || agreement(answer.Labels, seen) < 0.99 {
		t.Errorf("%d calls, %v of %v", calls, answer.Chosen, answer.Candidates)
	}
}

// A rule that is given up before a link was held out has the loss of one without an answer.
func TestPaperWithoutHeldOutLinks(t *testing.T) {
	rng := clusteringtest.NewRand(16)
	vectors, costs, seen, _ := twoSplits(rng, 200)
	p := &Problem{K: 2, Vectors: vectors, Costs: costs, Pairs: truePairs(rng, seen, 60),
		Paper: func(context.Context, clustering.CutRule, []constraint.Pair) ([]int32, error) { return nil, nil }}
	c := &chooser{Problem: p, basis: newBasis(vectors, costs, p.K), folds: []fold{{}}}
	c.links = c.newLinks(p.Pairs)
	found, err := c.paperTrial(t.Context(), clustering.CutPaper, newTrial(clustering.CutUnconstrained, 2,
		make([]float64, 60), c.links))
	if err != nil || found.Loss != 1 {
		t.Errorf("the loss is %v, %v", found.Loss, err)
	}
}

// A rule that allows no cut with all pairs leaves the coordinates as they are.
func TestPaperMayFailInTheEnd(t *testing.T) {
	rng := clusteringtest.NewRand(13)
	vectors, costs, _, _ := twoSplits(rng, 200)
	truth := clusteringtest.RandomLabels(rng, 200, 2)
	pairs := truePairs(rng, truth, 60)
	answer := chosen(t, &Problem{K: 2, Vectors: vectors, Costs: costs, Pairs: pairs,
		Paper: func(_ context.Context, _ clustering.CutRule, known []constraint.Pair) ([]int32, error) {
			if len(known) < len(pairs) {
				return truth, nil
			}
			return nil, nil
		}})
	if answer.Chosen.Rule != clustering.CutUnconstrained || answer.Embedding == nil || len(answer.Labels) != 200 {
		t.Errorf("%v of %v", answer.Chosen.Rule, answer.Candidates)
	}
}

// Two standard errors are asked for.
func TestBeats(t *testing.T) {
	l := &links{all: []link{{weight: 1}, {weight: 1}, {weight: 1}, {weight: 1}}}
	plain := newTrial(clustering.CutUnconstrained, 2, []float64{1, 1, 1, 1}, l)
	for _, c := range []struct {
		losses []float64
		beats  bool
	}{
		{[]float64{1, 1, 1, 1}, false},
		{[]float64{0.9, 0.9, 0.9, 0.9}, true},    // no doubt at all
		{[]float64{0, 0, 0, 1}, true},            // a sum of 3, and 2 sqrt(4) sqrt(3)/4 = 1.73
		{[]float64{0, 1, 1, 1}, false},           // a sum of 1, and 1.73
		{[]float64{0.5, 1.5, 0.5, 1.5}, false},   // no advantage
		{[]float64{1.1, 1.1, 1.1, 1.1}, false},   // worse for certain
		{[]float64{0.2, 0.4, 0.2, 1.01}, true},   // 2.19 and 1.28
		{[]float64{-1, 1.01, 1.01, 1.01}, false}, // 1.97 and 3.48
	} {
		if got := newTrial(clustering.CutPencil, 3, c.losses, l).beats(plain, l); got != c.beats {
			t.Errorf("losses of %g instead of 1: %t", c.losses, got)
		}
	}
}

// Among more points than are rounded, all constrained ones are.
func TestSampleHasTheConstrainedPoints(t *testing.T) {
	const n = maxSample + 5000
	rng := clusteringtest.NewRand(14)
	vectors, costs, _, hidden := twoSplits(rng, n)
	pairs := truePairs(rng, hidden, 100)
	answer := chosen(t, &Problem{K: 2, Vectors: vectors, Costs: costs, Pairs: pairs})
	if len(answer.Labels) != n || answer.Chosen.Rule == clustering.CutUnconstrained ||
		agreement(answer.Labels, hidden) < 0.95 {
		t.Errorf("%v, the labels agree on %.3f", answer.Chosen, agreement(answer.Labels, hidden))
	}
	b := newBasis(vectors, costs, 2)
	c := &chooser{Problem: &Problem{}, basis: b, links: b.newLinks(pairs)}
	c.takeSample(rng)
	if len(c.sample) != maxSample || !slices.IsSorted(c.sample) {
		t.Fatalf("%d points are taken", len(c.sample))
	}
	for _, point := range c.links.points {
		if at := c.place(point); c.sample[at] != point || c.columns[3][at] != vectors[3][point] {
			t.Errorf("point %d is at %d", point, at)
		}
	}
}
