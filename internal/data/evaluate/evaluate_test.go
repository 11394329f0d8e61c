package evaluate

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
)

func compare(t *testing.T, predicted, truth []int32) Scores {
	t.Helper()
	scores, err := Compare(predicted, truth, nil)
	if err != nil {
		t.Fatal(err)
	}
	return scores
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12 }

func sameScores(a, b Scores) bool {
	return near(a.NMI, b.NMI) && near(a.MutualInformation, b.MutualInformation) && near(a.ARI, b.ARI) &&
		near(a.PairwisePrecision, b.PairwisePrecision) && near(a.PairwiseRecall, b.PairwiseRecall) &&
		near(a.PairwiseF, b.PairwiseF) && near(a.Purity, b.Purity)
}

func TestWorkedByHand(t *testing.T) {
	ln2 := math.Ln2
	for _, c := range []struct {
		name             string
		predicted, truth []int32
		want             Scores
	}{
		{
			// Classes {0,1},{2,3}; the second is split. I = H(truth) = ln 2, H(predicted) = 3/2 ln 2.
			// Pairs: 1 together in both, 1 in the prediction, 2 in the truth, 6 in all:
			// ARI = (1 - 1*2/6) / (3/2 - 1/3) = 4/7.
			"one class split", []int32{0, 0, 1, 2}, []int32{0, 0, 1, 1},
			Scores{NMI: 0.8, MutualInformation: ln2, ARI: 4.0 / 7, PairwisePrecision: 1, PairwiseRecall: 0.5,
				PairwiseF: 2.0 / 3, Purity: 1},
		},
		{
			// Independent labelings. Pairs: 0 in both, 2 in each of 6: ARI = -(2/3) / (2 - 2/3) = -1/2.
			"independent", []int32{0, 1, 0, 1}, []int32{0, 0, 1, 1},
			Scores{NMI: 0, MutualInformation: 0, ARI: -0.5, PairwisePrecision: 0, PairwiseRecall: 0, PairwiseF: 0,
				Purity: 0.5},
		},
		{
			// 17 points in three clusters of 5 x, 1 o | 1 x, 4 o, 1 d | 2 x, 3 d, a standard example:
			// 20 pairs in both, 40 predicted, 44 true, 136 in all; purity 12/17.
			"x, o and diamonds",
			[]int32{1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3},
			[]int32{7, 7, 7, 7, 7, 8, 7, 8, 8, 8, 8, 9, 7, 7, 9, 9, 9},
			Scores{NMI: thirdExampleNMI(), MutualInformation: thirdExampleMI(),
				ARI:               (20 - 40*44/136.0) / (42 - 40*44/136.0),
				PairwisePrecision: 0.5, PairwiseRecall: 20.0 / 44, PairwiseF: 40.0 / 84, Purity: 12.0 / 17},
		},
		{
			"one cluster against classes", []int32{3, 3, 3, 3}, []int32{0, 0, 1, 1},
			Scores{NMI: 0, MutualInformation: 0, ARI: 0, PairwisePrecision: 1.0 / 3, PairwiseRecall: 1, PairwiseF: 0.5,
				Purity: 0.5},
		},
		{
			"singletons against classes", []int32{3, 2, 1, 0}, []int32{0, 0, 1, 1},
			Scores{NMI: 2.0 / 3, MutualInformation: ln2, ARI: 0, PairwisePrecision: 1, PairwiseRecall: 0,
				PairwiseF: 0, Purity: 1},
		},
	} {
		if got := compare(t, c.predicted, c.truth); !sameScores(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

// thirdExampleMI and thirdExampleNMI compute the third example by hand: row sums 6, 6, 5 and column sums 8, 5, 4.
func thirdExampleMI() float64 {
	term := func(n, a, b float64) float64 { return n / 17 * math.Log(17*n/(a*b)) }
	return term(5, 6, 8) + term(1, 6, 5) + term(1, 6, 8) + term(4, 6, 5) + term(1, 6, 4) + term(2, 5, 8) + term(3, 5, 4)
}

func thirdExampleNMI() float64 {
	h := func(n float64) float64 { return -n / 17 * math.Log(n/17) }
	return thirdExampleMI() / ((h(6) + h(6) + h(5) + h(8) + h(5) + h(4)) / 2)
}

func TestPerfectIsExactlyOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	cases := [][]int32{{5}, {4, 4, 4}, {0, 1, 2, 3}} // one point, one cluster, all alone: all 0/0 somewhere
	for range 50 {
		cases = append(cases, randomLabels(rng, 1+rng.IntN(40), 1+rng.IntN(6)))
	}
	for _, truth := range cases {
		got := compare(t, renamed(truth), truth)
		if got.NMI != 1 || got.ARI != 1 || got.PairwisePrecision != 1 || got.PairwiseRecall != 1 ||
			got.PairwiseF != 1 || got.Purity != 1 {
			t.Errorf("labels %v against themselves: %+v", truth, got)
		}
	}
}

func TestPropertiesOnRandomLabels(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for range 300 {
		n := 1 + rng.IntN(40)
		predicted := randomLabels(rng, n, 1+rng.IntN(6))
		truth := randomLabels(rng, n, 1+rng.IntN(6))
		got := compare(t, predicted, truth)
		if again := compare(t, predicted, truth); got != again {
			t.Fatalf("not the same bits twice: %+v and %+v", got, again)
		}
		if other := compare(t, renamed(predicted), truth); !sameScores(got, other) {
			t.Fatalf("renaming labels changed %+v to %+v", got, other)
		}
		mirror := compare(t, truth, predicted)
		if !near(got.NMI, mirror.NMI) || !near(got.ARI, mirror.ARI) ||
			!near(got.MutualInformation, mirror.MutualInformation) ||
			got.PairwisePrecision != mirror.PairwiseRecall || got.PairwiseF != mirror.PairwiseF {
			t.Fatalf("not symmetric: %+v and %+v", got, mirror)
		}
		if got.NMI < 0 || got.NMI > 1 || got.ARI > 1 || got.ARI < -1 || got.Purity <= 0 || got.Purity > 1 {
			t.Fatalf("out of range: %+v", got)
		}
		checkAgainstPairCounting(t, predicted, truth, got)
	}
}

// checkAgainstPairCounting looks at every pair of points.
func checkAgainstPairCounting(t *testing.T, predicted, truth []int32, got Scores) {
	t.Helper()
	var both, inPredicted, inTruth, all float64
	for i := range truth {
		for j := range i {
			all++
			if predicted[i] == predicted[j] {
				inPredicted++
			}
			if truth[i] == truth[j] {
				inTruth++
			}
			if predicted[i] == predicted[j] && truth[i] == truth[j] {
				both++
			}
		}
	}
	ratioOrOne := func(a, b float64) float64 {
		if b == 0 {
			return 1
		}
		return a / b
	}
	precision := ratioOrOne(both, inPredicted)
	recall := ratioOrOne(both, inTruth)
	f := 0.0
	if precision+recall > 0 {
		f = 2 * precision * recall / (precision + recall)
	}
	expected := ratioOrOne(inPredicted*inTruth, all)
	ari := ratioOrOne(both-expected, (inPredicted+inTruth)/2-expected)
	if all == 0 {
		ari = 1
	}
	if !near(got.PairwisePrecision, precision) || !near(got.PairwiseRecall, recall) || !near(got.PairwiseF, f) ||
		!near(got.ARI, ari) {
		t.Fatalf("%v against %v: got %+v, pair counting says precision %v recall %v F %v ARI %v", predicted, truth, got,
			precision, recall, f, ari)
	}
}

func TestOnASubset(t *testing.T) {
	predicted := []int32{0, 0, 1, 1, 5, 6}
	truth := []int64{-9, -9, math.MaxInt64, math.MaxInt64, -9, -9}
	got, err := Compare(predicted, truth, []int32{3, 0, 2, 1})
	if err != nil || got.NMI != 1 || got.ARI != 1 {
		t.Errorf("the first four agree, got %+v, %v", got, err)
	}
	whole, err := Compare(predicted, truth, []int32{0, 1, 2, 3, 4, 5})
	all, _ := Compare(predicted, truth, nil)
	if err != nil || whole != all || all.NMI == 1 {
		t.Errorf("listing all points is the same as not listing them: %+v and %+v, %v", whole, all, err)
	}
}

func TestFaults(t *testing.T) {
	labels := []int32{0, 1, 1}
	for _, c := range []struct {
		reason           string
		predicted, truth []int32
		on               []int32
	}{
		{"SIZE_MISMATCH", labels, labels[:2], nil},
		{"EMPTY_DATA", nil, nil, nil},
		{"EMPTY_DATA", labels, labels, []int32{}},
		{"INDEX_OUT_OF_RANGE", labels, labels, []int32{0, 3}},
		{"INDEX_OUT_OF_RANGE", labels, labels, []int32{-1}},
		{"DUPLICATE_INDEX", labels, labels, []int32{1, 1}},
	} {
		if _, err := Compare(c.predicted, c.truth, c.on); !fault.Is(err, c.reason) {
			t.Errorf("want %s, got %v", c.reason, err)
		}
	}
}

func TestJSONNames(t *testing.T) {
	text, err := json.Marshal(Scores{1, 2, 3, 4, 5, 6, 7})
	const want = `{"nmi":1,"mutualInformation":2,"ari":3,` +
		`"pairwisePrecision":4,"pairwiseRecall":5,"pairwiseF":6,"purity":7}`
	if err != nil || string(text) != want {
		t.Errorf("got %s, %v", text, err)
	}
}

func TestManyPoints(t *testing.T) {
	// The counts of pairs pass 2^32 here; half of each class is mislabeled into the other.
	const n = 200_000
	predicted := make([]int32, n)
	truth := make([]int32, n)
	for i := range n {
		predicted[i], truth[i] = int32(i%2), int32(i/2%2)
	}
	got := compare(t, predicted, truth)
	if math.Abs(got.ARI) > 1e-5 || !near(got.PairwiseF, float64(n/4-1)/float64(n/2-1)) || got.Purity != 0.5 {
		t.Errorf("independent halves: %+v", got)
	}
}

func randomLabels(rng *rand.Rand, n, k int) []int32 {
	labels := make([]int32, n)
	for i := range labels {
		labels[i] = int32(rng.IntN(k))
	}
	return labels
}

// renamed gives every label another, order-reversing, partly negative name.
func renamed(labels []int32) []int32 {
	other := make([]int32, len(labels))
	for i, label := range labels {
		other[i] = 17 - 13*label
	}
	return other
}
