package heldout

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/evaluate"
)

// The jackknife by its definition: leave out every pair by itself.
func naiveAdvantage(held []Pair, right, other []bool) float64 {
	difference := func(without int) float64 {
		var a, b counts
		for at, pair := range held {
			if at != without {
				a.add(pair.Must, right[at], 1)
				b.add(pair.Must, other[at], 1)
			}
		}
		return a.agreement() - b.agreement()
	}
	n, mean := float64(len(held)), 0.0
	for at := range held {
		mean += difference(at) / n
	}
	squares := 0.0
	for at := range held {
		squares += math.Pow(difference(at)-mean, 2)
	}
	deviation := math.Sqrt((n - 1) / n * squares)
	if deviation <= 1e-12 {
		deviation = 1 / n
	}
	return difference(-1) / deviation
}

func TestAdvantageIsAJackknife(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		held := make([]Pair, rapid.IntRange(2, 60).Draw(t, "pairs"))
		right := make([]bool, len(held))
		other := make([]bool, len(held))
		for at := range held {
			held[at].Must = rapid.Bool().Draw(t, "must")
			right[at], other[at] = rapid.Bool().Draw(t, "right"), rapid.Bool().Draw(t, "other")
		}
		s := &Supervision{Pairs: held}
		got := s.Advantage(right, other)
		want := naiveAdvantage(held, right, other)
		if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
			t.Fatalf("%v, not %v", got, want)
		}
		if s.Advantage(right, right) != 0 || math.Abs(got+s.Advantage(other, right)) > 1e-6*max(1, math.Abs(got)) {
			t.Fatal("a way has an advantage over itself, or two ways over each other")
		}
	})
}

// Over all pairs of points the agreement of labels with classes is their adjusted Rand index.
func TestAgreementIsAnARI(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 20).Draw(t, "points")
		labels := make([]int32, n)
		classes := make([]int32, n)
		for i := range n {
			labels[i], classes[i] = rapid.Int32Range(0, 3).Draw(t, "label"), rapid.Int32Range(0, 3).Draw(t, "class")
		}
		var trial clustering.Trial
		for i := range n {
			for j := range i {
				same := labels[i] == labels[j]
				if classes[i] == classes[j] {
					trial.MustLinks++
					if same {
						trial.MustLinksRight++
					}
				} else {
					trial.CannotLinks++
					if !same {
						trial.CannotLinksRight++
					}
				}
			}
		}
		scores, err := evaluate.Compare(labels, classes, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := trial.Agreement(); math.Abs(got-scores.ARI) > 1e-9 {
			t.Fatalf("%v, not %v", got, scores.ARI)
		}
	})
}
