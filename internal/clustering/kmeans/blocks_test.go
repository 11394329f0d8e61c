package kmeans

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// looseConstraints are some constraints of all kinds, also contradictory ones, with weights.
func looseConstraints(rng *rand.Rand, n, m int) []constraint.Constraint {
	var cs []constraint.Constraint
	for range m {
		c := constraint.Constraint{I: int32(rng.IntN(n)), J: int32(rng.IntN(n)), Kind: constraint.MustLink,
			Weight: 0.5 + 4*rng.Float64(), Weighted: true}
		if c.I != c.J && rng.IntN(2) == 0 {
			c.Kind = constraint.CannotLink
		}
		cs = append(cs, c)
	}
	return cs
}

// blockCosts are, for each two components, what it costs to put them together: their pairs of points times the mean
// weight of the cannot-links between them.
func blockCosts(set *constraint.Set) map[[2]int32]float64 {
	total, count := map[[2]int32]float64{}, map[[2]int32]float64{}
	components := set.Components()
	for _, pair := range set.Pairs() {
		a := components.Of(pair.I)
		b := components.Of(pair.J)
		if pair.Kind == constraint.CannotLink && a != b {
			total[[2]int32{min(a, b), max(a, b)}] += pair.Weight
			count[[2]int32{min(a, b), max(a, b)}]++
		}
	}
	for key := range total {
		total[key] *= float64(len(components.Members(key[0]))*len(components.Members(key[1]))) / count[key]
	}
	return total
}

// contractedEnergy is the objective of labels, with the centroids given; infinite where a must-link is violated.
func contractedEnergy(points *dataset.Points, set *constraint.Set, labels []int32, centroids []float64) float64 {
	total := 0.0
	components := set.Components()
	for i, c := range labels {
		for f, v := range points.Row(i) {
			total += (v - centroids[int(c)*points.D+f]) * (v - centroids[int(c)*points.D+f])
		}
		if labels[components.Members(components.Of(int32(i)))[0]] != c {
			return math.Inf(1)
		}
	}
	for key, cost := range blockCosts(set) {
		if labels[components.Members(key[0])[0]] == labels[components.Members(key[1])[0]] {
			total += cost
		}
	}
	return total
}

func meansOf(points *dataset.Points, labels []int32, k int) []float64 {
	means := make([]float64, k*points.D)
	counts := make([]float64, k)
	for i, c := range labels {
		counts[c]++
		for f, v := range points.Row(i) {
			means[int(c)*points.D+f] += v
		}
	}
	for at := range means {
		means[at] /= counts[at/points.D]
	}
	return means
}

// everyCluster are labels that leave no cluster empty.
func everyCluster(rng *rand.Rand, n, k int) []int32 {
	labels := clusteringtest.RandomLabels(rng, n, k)
	for c, i := range rng.Perm(n)[:k] {
		labels[i] = int32(c)
	}
	return labels
}

// The first assignment from given labels has the least energy of all labelings that do not split a block.
func TestContractedAssignmentAgainstAllLabelings(t *testing.T) {
	for seed := range uint64(60) {
		rng := clusteringtest.NewRand(seed)
		n := 6 + rng.IntN(2)
		k := 2 + rng.IntN(2)
		points := clusteringtest.Blobs(t, rng, n, 2, k)
		spec := clustering.Spec{
			K: k, MaxIterations: 1,
			Supervision: clustering.Supervision{Constraints: looseConstraints(rng, n, rng.IntN(9))},
			Initialization: clustering.Initialization{
				Start: clustering.StartLabels, Labels: everyCluster(rng, n, k),
			},
			Algorithm: &Options{Algorithm: PCKmeans, Contract: true, Inference: inference.Exact},
		}
		set, err := constraint.NewSet(n, spec.Supervision.Constraints, constraint.UnitWeight)
		if err != nil {
			t.Fatal(err)
		}
		means := meansOf(points, spec.Initialization.Labels, k)
		least := math.Inf(1)
		for code := range int(math.Pow(float64(k), float64(n))) {
			labels := make([]int32, n)
			for i := range labels {
				labels[i] = int32(code % k)
				code /= k
			}
			least = min(least, contractedEnergy(points, set, labels, means))
		}
		result := solve(t, points, spec)
		if got := contractedEnergy(points, set, result.Labels, means); got > least+1e-9*math.Abs(least) {
			t.Errorf("seed %d: %v has the energy %g, and the least is %g", seed, result.Labels, got, least)
		}
		if got := *result.History[0].AssignmentObjective; math.Abs(got-least) > 1e-9*math.Abs(least) {
			t.Errorf("seed %d: the assignment has the objective %g, want %g", seed, got, least)
		}
	}
}

// Contracting is PC-KMeans with everything that follows from the constraints, must-links being beyond price.
func TestContractingIsEntailingEverything(t *testing.T) {
	for seed := range uint64(40) {
		rng := clusteringtest.NewRand(seed)
		n := 20
		k := 2 + rng.IntN(2)
		points := clusteringtest.Blobs(t, rng, n, 2, k)
		spec := clustering.Spec{
			K: k, MaxIterations: 30, Initialization: clustering.Initialization{Start: clustering.StartLabels},
			Algorithm: &Options{Algorithm: PCKmeans, Contract: true, Inference: inference.Exact},
		}
		// correct ones: they do not contradict each other
		for _, c := range clusteringtest.RandomConstraints(rng, n, k, 12) {
			c.Weight, c.Weighted = 2, true
			spec.Supervision.Constraints = append(spec.Supervision.Constraints, c)
		}
		set, err := constraint.NewSet(n, spec.Supervision.Constraints, func(int) float64 { return 2 })
		if err != nil {
			t.Fatal(err)
		}
		spec.Initialization.Labels = everyCluster(rng, n, k)
		// no start splits a block: from one that does, the two may go different ways
		for i := range spec.Initialization.Labels {
			spec.Initialization.Labels[i] =
				spec.Initialization.Labels[set.Components().Members(set.Components().Of(int32(i)))[0]]
		}
		contracted := solve(t, points, spec)
		entailed, err := set.Entail(func(int) float64 { return 2 })
		if err != nil {
			t.Fatal(err)
		}
		other := spec
		other.Algorithm = &Options{Algorithm: PCKmeans, Inference: inference.Exact}
		other.Supervision.Constraints = nil
		for _, p := range entailed.Pairs() {
			c := constraint.Constraint{I: p.I, J: p.J, Kind: p.Kind, Weight: 2, Weighted: true}
			if p.Kind == constraint.MustLink {
				c.Weight = 1e7
			}
			other.Supervision.Constraints = append(other.Supervision.Constraints, c)
		}
		listed := solve(t, points, other)
		if !slices.Equal(contracted.Labels, listed.Labels) ||
			math.Abs(contracted.Objective-listed.Objective) > 1e-9*listed.Objective {
			t.Errorf("seed %d: contracted %v (%g), with everything listed %v (%g)", seed, contracted.Labels,
				contracted.Objective, listed.Labels, listed.Objective)
		}
	}
}

// From every start, blocks are never split, the objective is that of the labels, and it does not rise.
func TestBlocksStayTogether(t *testing.T) {
	for seed := range uint64(60) {
		rng := clusteringtest.NewRand(seed)
		n := 5 + rng.IntN(60)
		k := 1 + rng.IntN(5)
		points := clusteringtest.Blobs(t, rng, n, 1+rng.IntN(3), k)
		spec := clustering.Spec{
			K: k, Seed: seed, MaxIterations: 50, Restarts: 2,
			Supervision: clustering.Supervision{Constraints: looseConstraints(rng, n, rng.IntN(2*n))},
			Algorithm:   &Options{Algorithm: PCKmeans, Contract: true},
		}
		set, err := constraint.NewSet(n, spec.Supervision.Constraints, constraint.UnitWeight)
		if err != nil {
			t.Fatal(err)
		}
		for _, start := range []clustering.Start{clustering.StartKmeansPlusPlus, clustering.StartNeighborhoods,
			clustering.StartLabels, clustering.StartRandom} {
			spec.Initialization.Start, spec.Initialization.Labels = start, nil
			if start == clustering.StartLabels {
				spec.Initialization.Labels = clusteringtest.RandomLabels(rng, n, k) // blocks are split
			}
			what := fmt.Sprintf("seed %d from %v", seed, start)
			result := solve(t, points, spec)
			if got := contractedEnergy(points, set, result.Labels,
				result.Model.Centroids); math.Abs(got-result.Objective) > 1e-9*math.Abs(got)+1e-9 {
				t.Errorf("%s: labels %v have the objective %g, not %g", what, result.Labels, got, result.Objective)
			}
			for at, entry := range result.History[1:] {
				if before := result.History[at].Objective; entry.Objective > before+1e-9*before {
					t.Errorf("%s: the objective rises from %g to %g", what, before, entry.Objective)
				}
			}
		}
	}
}
