package synth

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

func counts(truth []int32) map[int32]int {
	sizes := map[int32]int{}
	for _, label := range truth {
		sizes[label]++
	}
	return sizes
}

func TestTwoCirclesLieOnTheirCircles(t *testing.T) {
	points, truth, err := TwoCircles(200, CirclesNoise, seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	if sizes := counts(truth); sizes[0] != 100 || sizes[1] != 100 || points.N != 200 || points.D != 2 {
		t.Fatalf("sizes %v of %d x %d", sizes, points.N, points.D)
	}
	quadrants := map[[3]bool]bool{}
	for i := range points.N {
		x, y := points.Row(i)[0], points.Row(i)[1]
		radius := []float64{InnerRadius, OuterRadius}[truth[i]]
		if off := math.Abs(math.Hypot(x, y) - radius); off > 6*CirclesNoise {
			t.Errorf("point %d is %v off its circle", i, off)
		}
		quadrants[[3]bool{x > 0, y > 0, truth[i] == 1}] = true
	}
	if len(quadrants) != 8 {
		t.Errorf("both circles should have points in all quadrants, got %v", quadrants)
	}
}

func TestTwoMoonsWithoutNoiseLieOnHalfCircles(t *testing.T) {
	points, truth, err := TwoMoons(101, 0, seeded(2))
	if err != nil {
		t.Fatal(err)
	}
	if sizes := counts(truth); sizes[0] != 51 || sizes[1] != 50 {
		t.Fatalf("sizes %v", sizes)
	}
	for i := range points.N {
		x, y := points.Row(i)[0], points.Row(i)[1]
		if truth[i] == 1 {
			x, y = 1-x, 0.5-y
		}
		if math.Abs(math.Hypot(x, y)-1) > 1e-12 || y < 0 {
			t.Errorf("point %d is not on its moon", i)
		}
	}
}

// The background fills a box around the points and does not change them.
func TestBackgroundFillsTheBox(t *testing.T) {
	points, truth, err := TwoMoons(50, MoonsNoise, seeded(3))
	if err != nil {
		t.Fatal(err)
	}
	all, classes, err := WithBackground(points, truth, 400, seeded(4))
	if err != nil {
		t.Fatal(err)
	}
	if all.N != 450 || !reflect.DeepEqual(classes[:50], truth) || counts(classes)[2] != 400 {
		t.Fatalf("%d points, classes %v", all.N, counts(classes))
	}
	low := slices.Clone(points.Row(0))
	high := slices.Clone(points.Row(0))
	for i := range points.N {
		if !reflect.DeepEqual(all.Row(i), points.Row(i)) {
			t.Fatalf("point %d moved", i)
		}
		for f, v := range points.Row(i) {
			low[f], high[f] = min(low[f], v), max(high[f], v)
		}
	}
	for f := range 2 {
		size := high[f] - low[f]
		sum := 0.0
		for i := 50; i < all.N; i++ {
			v := all.Row(i)[f]
			if v < low[f]-0.1*size || v > high[f]+0.1*size {
				t.Errorf("background point %d is at %v", i, all.Row(i))
			}
			sum += (v - low[f]) / size / 400
		}
		if math.Abs(sum-0.5) > 0.1 { // 5 standard errors
			t.Errorf("feature %d: the background's mean lies at %.2f of the range", f, sum)
		}
	}
}

func TestGaussiansSpreadAboutTheirCenters(t *testing.T) {
	const n, d, k, spread = 6000, 3, 4, 0.5
	points, truth, err := Gaussians(n, d, k, spread, seeded(3))
	if err != nil {
		t.Fatal(err)
	}
	mean := make([]float64, k*d)
	for i := range n {
		for f, v := range points.Row(i) {
			mean[int(truth[i])*d+f] += v / (n / k)
		}
	}
	variance := 0.0
	for i := range n {
		for f, v := range points.Row(i) {
			off := v - mean[int(truth[i])*d+f]
			variance += off * off / (n * d)
		}
	}
	if got := math.Sqrt(variance); math.Abs(got-spread) > 0.02 {
		t.Errorf("spread %v, want about %v", got, spread)
	}
	for _, m := range mean {
		if math.Abs(m) > centerBox+0.1 {
			t.Errorf("a center at %v lies outside the box", m)
		}
	}
}

func TestSameSeedSameData(t *testing.T) {
	type made struct {
		points *dataset.Points
		edges  []dataset.Edge
		truth  []int32
		links  []constraint.Constraint
	}
	makers := map[string]func(rng *rand.Rand) made{
		"circles": func(rng *rand.Rand) made { p, l, _ := TwoCircles(50, 0.1, rng); return made{points: p, truth: l} },
		"moons":   func(rng *rand.Rand) made { p, l, _ := TwoMoons(50, 0.1, rng); return made{points: p, truth: l} },
		"gauss": func(rng *rand.Rand) made {
			p, l, _ := Gaussians(50, 4, 3, 1, rng)
			return made{points: p, truth: l}
		},
		"blocks": func(rng *rand.Rand) made { e, l, _ := Blocks(50, 3, 5, 2, rng); return made{edges: e, truth: l} },
		"links":  func(rng *rand.Rand) made { c, _ := Constraints(roundRobin(50, 3), 40, rng); return made{links: c} },
	}
	for name, make := range makers {
		a := make(seeded(5))
		again := make(seeded(5))
		other := make(seeded(6))
		if !reflect.DeepEqual(a, again) {
			t.Errorf("%s: the same seed made different data", name)
		}
		if reflect.DeepEqual(a, other) {
			t.Errorf("%s: another seed made the same data", name)
		}
	}
}

func TestBlocksHaveTheDegreesAskedFor(t *testing.T) {
	const n, k, inside, outside = 20_000, 7, 12.0, 3.0
	edges, truth, err := Blocks(n, k, inside, outside, seeded(4))
	if err != nil {
		t.Fatal(err)
	}
	within, across := 0, 0
	seen := map[[2]int32]bool{}
	for _, e := range edges {
		if e.Source >= e.Target || e.Source < 0 || int(e.Target) >= n || e.Weight != 1 {
			t.Fatalf("edge %+v", e)
		}
		if pair := [2]int32{e.Source, e.Target}; seen[pair] {
			t.Fatalf("edge %v twice", pair)
		} else {
			seen[pair] = true
		}
		if truth[e.Source] == truth[e.Target] {
			within++
		} else {
			across++
		}
	}
	if got := 2 * float64(within) / n; math.Abs(got-inside) > 0.2 {
		t.Errorf("mean degree inside %v, want about %v", got, inside)
	}
	if got := 2 * float64(across) / n; math.Abs(got-outside) > 0.1 {
		t.Errorf("mean degree outside %v, want about %v", got, outside)
	}
}

func TestBlocksAtTheExtremes(t *testing.T) {
	for _, c := range []struct {
		name            string
		n, k            int
		inside, outside float64
		within, across  int // -1: any
	}{
		{"complete", 10, 1, 9, 0, 45, 0},
		{"complete blocks", 12, 3, 3, 0, 18, 0},
		{"complete across", 12, 3, 3, 8, 18, 48},
		{"bipartite only", 8, 2, 0, 4, 0, 16},
		{"every vertex its own block", 5, 5, 0, 4, 0, 10},
		{"no edges asked for", 9, 3, 0, 0, -1, 0},
		{"lonely vertices", 4, 4, 0, 0, 0, -1},
	} {
		edges, truth, err := Blocks(c.n, c.k, c.inside, c.outside, seeded(8))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		within, across := 0, 0
		degree := make([]int, c.n)
		for _, e := range edges {
			degree[e.Source]++
			degree[e.Target]++
			if truth[e.Source] == truth[e.Target] {
				within++
			} else {
				across++
			}
		}
		if c.within >= 0 && within != c.within || c.across >= 0 && across != c.across {
			t.Errorf("%s: %d edges within and %d across, want %d and %d", c.name, within, across, c.within, c.across)
		}
		for i, d := range degree {
			if d == 0 {
				t.Errorf("%s: vertex %d has no edge", c.name, i)
			}
		}
	}
}

func TestBlocksOfTwoMillionEdges(t *testing.T) {
	edges, truth, err := Blocks(200_000, 20, 16, 4, seeded(9))
	if err != nil {
		t.Fatal(err)
	}
	if len(truth) != 200_000 || math.Abs(float64(len(edges))-2e6) > 2e4 {
		t.Errorf("%d vertices and %d edges", len(truth), len(edges))
	}
}

func TestConstraintsFollowTheTruth(t *testing.T) {
	truth := roundRobin(30, 3)
	for _, count := range []int{0, 1, 50, 30 * 29 / 2} {
		links, err := Constraints(truth, count, seeded(10))
		if err != nil {
			t.Fatal(err)
		}
		checkLinks(t, truth, links, count)
	}
}

func checkLinks(t *testing.T, truth []int32, links []constraint.Constraint, count int) {
	t.Helper()
	seen := map[[2]int32]bool{}
	for _, c := range links {
		if c.I == c.J || c.Weighted || (c.Kind == constraint.MustLink) != (truth[c.I] == truth[c.J]) {
			t.Fatalf("constraint %+v", c)
		}
		seen[[2]int32{min(c.I, c.J), max(c.I, c.J)}] = true
	}
	if len(links) != count || len(seen) != count {
		t.Fatalf("%d constraints, %d distinct, want %d", len(links), len(seen), count)
	}
}

func TestEveryPairIsEquallyLikely(t *testing.T) {
	const rounds = 6000
	rng := seeded(12)
	drawn := map[[2]int32]int{}
	for range rounds {
		links, _ := Constraints(roundRobin(5, 2), 4, rng)
		for _, c := range links {
			drawn[[2]int32{c.I, c.J}]++
		}
	}
	for pair, times := range drawn { // 4 of 10 pairs each round
		if math.Abs(float64(times)-0.4*rounds) > 200 {
			t.Errorf("pair %v was drawn %d times in %d rounds", pair, times, rounds)
		}
	}
	if len(drawn) != 10 {
		t.Errorf("%d of 10 pairs were ever drawn", len(drawn))
	}
}

func TestPairOfInvertsTheNumbering(t *testing.T) {
	number := int64(0)
	for j := 1; j < 60; j++ {
		for i := range j {
			if gotI, gotJ := pairOf(number); gotI != i || gotJ != j {
				t.Fatalf("pair %d is (%d,%d), want (%d,%d)", number, gotI, gotJ, i, j)
			}
			number++
		}
	}
	for _, j := range []int64{1 << 20, 94906267, math.MaxInt32} {
		for _, i := range []int64{0, 1, j / 2, j - 1} {
			if gotI, gotJ := pairOf(pairCount(j) + i); int64(gotI) != i || int64(gotJ) != j {
				t.Errorf("pair (%d,%d) came back as (%d,%d)", i, j, gotI, gotJ)
			}
		}
	}
}

func TestImpossibleRequestsAreFaults(t *testing.T) {
	rng := seeded(13)
	truth := roundRobin(4, 2)
	for name, try := range map[string]func() error{
		"BAD_SIZE":           func() error { _, _, err := TwoCircles(1, 0.1, rng); return err },
		"BAD_SIZE (moons)":   func() error { _, _, err := TwoMoons(-3, 0.1, rng); return err },
		"BAD_NUMBER":         func() error { _, _, err := TwoMoons(10, math.NaN(), rng); return err },
		"BAD_NUMBER (minus)": func() error { _, _, err := TwoCircles(10, -1, rng); return err },
		"BAD_SIZE (background)": func() error {
			points, truth, _ := TwoMoons(10, 0.1, rng)
			_, _, err := WithBackground(points, truth, -1, rng)
			return err
		},
		"BAD_CLUSTER_COUNT":   func() error { _, _, err := Gaussians(3, 2, 4, 1, rng); return err },
		"BAD_CLUSTER_COUNT 0": func() error { _, _, err := Gaussians(3, 2, 0, 1, rng); return err },
		"BAD_DIMENSION":       func() error { _, _, err := Gaussians(3, 0, 2, 1, rng); return err },
		"BAD_SIZE (values)":   func() error { _, _, err := Gaussians(dataset.MaxRows, 1<<20, 2, 1, rng); return err },
		"BAD_SIZE (background values)": func() error {
			points, truth, _ := Gaussians(2, 1<<20, 2, 1, rng)
			_, _, err := WithBackground(points, truth, dataset.MaxRows-2, rng)
			return err
		},
		"BAD_NUMBER (spread)":  func() error { _, _, err := Gaussians(3, 1, 2, math.Inf(1), rng); return err },
		"BAD_DEGREE":           func() error { _, _, err := Blocks(10, 2, 5, 1, rng); return err },
		"BAD_DEGREE (outside)": func() error { _, _, err := Blocks(10, 1, 5, 1, rng); return err },
		"BAD_NUMBER (degree)":  func() error { _, _, err := Blocks(10, 2, math.NaN(), 1, rng); return err },
		"TOO_MANY_CONSTRAINTS": func() error { _, err := Constraints(truth, 7, rng); return err },
		"TOO_MANY_CONSTRAINTS (minus)": func() error {
			_, err := Constraints(truth, -1, rng)
			return err
		},
	} {
		reason := name
		for at, c := range name {
			if c == ' ' {
				reason = name[:at]
				break
			}
		}
		if err := try(); !fault.Is(err, reason) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
