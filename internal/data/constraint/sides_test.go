package constraint

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// drawConstraints draws up to 12 constraints of both kinds with weights; a must-link may be of a point with itself.
func drawConstraints(t *rapid.T, n int) []Constraint {
	var cs []Constraint
	for range rapid.IntRange(0, 12).Draw(t, "m") {
		c := Constraint{
			I: rapid.Int32Range(0, int32(n-1)).Draw(t, "i"), J: rapid.Int32Range(0, int32(n-1)).Draw(t, "j"),
			Kind: CannotLink, Weight: float64(rapid.IntRange(1, 9).Draw(t, "weight")), Weighted: true,
		}
		if c.I == c.J || rapid.Bool().Draw(t, "must") {
			c.Kind = MustLink
		}
		cs = append(cs, c)
	}
	return cs
}

// labelings visits all labelings of n points with labels 0 to k-1.
func labelings(n, k int, visit func(labels []int32)) {
	labels := make([]int32, n)
	for {
		visit(labels)
		at := 0
		for ; at < n; at++ {
			if labels[at]++; int(labels[at]) < k {
				break
			}
			labels[at] = 0
		}
		if at == n {
			return
		}
	}
}

func holds(c Constraint, labels []int32) bool {
	return (labels[c.I] == labels[c.J]) == (c.Kind == MustLink)
}

func allHold(cs []Constraint, labels []int32) bool {
	for _, c := range cs {
		if !holds(c, labels) {
			return false
		}
	}
	return true
}

// verdict tells whether a constraint holds in all labelings that satisfy others, and whether it holds in none.
func verdict(n, k int, others []Constraint, c Constraint) (always, never bool) {
	always, never = true, true
	labelings(n, k, func(labels []int32) {
		if allHold(others, labels) {
			if holds(c, labels) {
				never = false
			} else {
				always = false
			}
		}
	})
	return always, never
}

// What two clusters imply is satisfied by the labelings that satisfy what was given, without what contradicts those
// before it, and by no others; it is as few constraints as possible, and as heavy as those that connect the points.
func TestTwoClustersAgainstAllLabelings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "n")
		given := drawConstraints(t, n)
		var kept []Constraint
		for _, c := range given {
			if _, never := verdict(n, 2, kept, c); !never {
				kept = append(kept, c)
			}
		}
		implied := TwoClusters(n, given)
		labelings(n, 2, func(labels []int32) {
			if allHold(kept, labels) != allHold(implied, labels) {
				t.Fatalf("%v: of %v, implied are %v, which disagree about %v", labels, given, implied, kept)
			}
		})
		connected := newSides(n)
		for _, c := range given {
			connected.join(c)
		}
		set := connected.components()
		if want := n - set.Count(); len(implied) != want {
			t.Errorf("%d constraints are implied, %d suffice", len(implied), want)
		}
		for _, c := range implied {
			total, count := 0.0, 0
			for _, g := range given {
				if set.Of(g.I) == set.Of(c.I) {
					total, count = total+g.Weight, count+1
				}
			}
			if !c.Weighted || math.Abs(c.Weight-total/float64(count)) > 1e-12*c.Weight {
				t.Errorf("%v has another weight than the mean of %g over %d", c, total, count)
			}
		}
		if _, err := NewSet(n, implied, UnitWeight); err != nil {
			t.Error(err)
		}
	})
}

func TestChecksAgainstAllLabelings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "n")
		k := rapid.SampledFrom([]int{2, 5}).Draw(t, "k")
		given := drawConstraints(t, n)
		order := given
		if k > 2 { // must-links count before cannot-links
			order = nil
			for _, kind := range []Kind{MustLink, CannotLink} {
				for _, c := range given {
					if c.Kind == kind {
						order = append(order, c)
					}
				}
			}
		}
		wantChecked, wantContradictions := 0, 0
		var kept []Constraint
		for _, c := range order {
			if c.I == c.J {
				continue
			}
			// Five labels are enough for five points, so that their number implies nothing.
			always, never := verdict(n, k, kept, c)
			if always || never {
				wantChecked++
			}
			if never {
				wantContradictions++
			} else {
				kept = append(kept, c)
			}
		}
		if checked, contradictions := Checks(n, k, given); checked != wantChecked ||
			contradictions != wantContradictions {
			t.Errorf("k = %d, %v: %d checked and %d contradict; want %d and %d", k, given, checked, contradictions,
				wantChecked, wantContradictions)
		}
	})
}

// A long chain in any order must not take the square of its length.
func TestTwoClustersOfALongChain(t *testing.T) {
	const n = 300_000
	var given []Constraint
	for i := int32(n - 1); i > 0; i-- {
		given = append(given, cannot(i-1, i))
	}
	implied := TwoClusters(n, given)
	if len(implied) != n-1 || implied[0].Kind != CannotLink ||
		implied[1] != (Constraint{I: 0, J: 2, Kind: MustLink, Weighted: true}) {
		t.Errorf("%d are implied, first %v", len(implied), implied[:2])
	}
	if checked, contradictions := Checks(n, 2, append(given, must(0, n-1))); checked != 1 || contradictions != 1 {
		t.Errorf("%d checked, %d contradict; want 1 and 1: the ends are apart", checked, contradictions)
	}
}

func TestEntailedCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		s, err := NewSet(n, drawConstraints(t, n), UnitWeight)
		if err != nil {
			t.Fatal(err)
		}
		count := int64(0)
		s.eachEntailedPair(func(int32, int32, Kind) {
			count++
		})
		if got := s.EntailedCount(); got != count {
			t.Errorf("%d pairs of %v, want %d", got, s.Pairs(), count)
		}
	})
}
