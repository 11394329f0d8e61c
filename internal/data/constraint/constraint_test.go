package constraint

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/refusal"
)

func must(i, j int32) Constraint   { return Constraint{I: i, J: j, Kind: MustLink} }
func cannot(i, j int32) Constraint { return Constraint{I: i, J: j, Kind: CannotLink} }

func newSet(t testing.TB, n int, cs ...Constraint) *Set {
	t.Helper()
	s, err := NewSet(n, cs, KulisWeight(n, 2))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDuplicatesMergeAndSelfMustLinksAreDropped(t *testing.T) {
	weighted := Constraint{I: 4, J: 1, Kind: MustLink, Weight: 2, Weighted: true}
	s := newSet(t, 10, weighted, must(1, 4), must(3, 3), cannot(1, 4), cannot(0, 9))
	// Three distinct constraints: the default is 10 / (2 * 3) (Kulis2009 5.2).
	w := 10.0 / 6
	want := []Pair{{0, 9, CannotLink, w}, {1, 4, MustLink, 2 + w}, {1, 4, CannotLink, w}}
	if !slices.Equal(s.Pairs(), want) {
		t.Errorf("got %v, want %v", s.Pairs(), want)
	}
}

func TestBadConstraints(t *testing.T) {
	weighted := func(weight float64) Constraint {
		return Constraint{I: 1, J: 2, Kind: MustLink, Weight: weight, Weighted: true}
	}
	for name, c := range map[string]struct {
		given        []Constraint
		reason, says string
	}{
		"range": {[]Constraint{must(0, 1), must(0, 5)}, "INDEX_OUT_OF_RANGE",
			"constraint 1 (0,5) has a point outside 0..4"},
		"negative index": {[]Constraint{must(-1, 2)}, "INDEX_OUT_OF_RANGE",
			"constraint 0 (-1,2) has a point outside 0..4"},
		"self cannot-link": {[]Constraint{cannot(2, 2)}, "SELF_CANNOT_LINK",
			"constraint 0 is a cannot-link of point 2 with itself; remove it"},
		"no kind": {[]Constraint{{I: 1, J: 2}}, "UNKNOWN_CONSTRAINT_KIND",
			"constraint 0 (1,2) has an unknown kind; use must or cannot"},
		"negative weight": {[]Constraint{weighted(-1)}, "BAD_WEIGHT",
			"constraint 0 (1,2) has weight -1; weights must be positive and finite"},
		"zero weight": {[]Constraint{weighted(0)}, "BAD_WEIGHT",
			"constraint 0 (1,2) has weight 0; weights must be positive and finite"},
		"nan weight": {[]Constraint{weighted(math.NaN())}, "BAD_WEIGHT",
			"constraint 0 (1,2) has weight NaN; weights must be positive and finite"},
		"sum of weights": {[]Constraint{weighted(1e308), weighted(1e308)}, "BAD_WEIGHT",
			"the weights of the must-links 1-2 add up to infinity; use smaller weights"},
	} {
		_, err := NewSet(5, c.given, UnitWeight)
		f, is := refusal.Of(err).(*fault.Error)
		if !is || f.Kind != fault.InvalidArgument || f.Reason != c.reason || f.Message != c.says ||
			f.Field != "spec.supervision.constraints" {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// A set that would imply too many pairs is refused before they are made.
func TestTooManyEntailed(t *testing.T) {
	chain := make([]Constraint, 7000)
	for i := range chain {
		chain[i] = must(int32(i), int32(i+1))
	}
	_, err := newSet(t, len(chain)+1, chain...).Entail(UnitWeight)
	f, is := refusal.Of(err).(*fault.Error)
	if !is || f.Reason != "TOO_MANY_ENTAILED" || f.Field != "spec.supervision.constraints" ||
		f.Message != "the constraints imply more than 20000000 pairs; leave entail off (the closure is used "+
			"implicitly anyway)" {
		t.Errorf("%+v", f)
	}
}

// A chain of must-links through 100,000 points whose ends are cannot-linked is one component, and the
// path of the conflict is the whole chain.
func TestLongChain(t *testing.T) {
	const n = 100_000
	cs := make([]Constraint, 0, n)
	for i := range int32(n - 1) {
		cs = append(cs, must(i, i+1))
	}
	s := newSet(t, n, append(cs, cannot(n-1, 0))...)
	if s.Components().Count() != 1 {
		t.Fatalf("%d components", s.Components().Count())
	}
	conflicts := s.Conflicts(0)
	if len(conflicts) != 1 || len(conflicts[0].Path) != n {
		t.Fatalf("%d conflicts", len(conflicts))
	}
	if text := conflicts[0].String(); len(text) > 300 || !strings.Contains(text, "0 = 1 = 2") {
		t.Errorf("the conflict reads %q", text)
	}
}

func TestConflictPathIsShortest(t *testing.T) {
	s := newSet(t, 6, must(0, 1), must(1, 2), must(2, 3), must(0, 4), must(4, 3), cannot(3, 0), cannot(0, 5))
	conflicts := s.Conflicts(0)
	if len(conflicts) != 1 || !slices.Equal(conflicts[0].Path, []int32{0, 4, 3}) || s.CountConflicts() != 1 {
		t.Errorf("got %v", conflicts)
	}
}

// The components are the transitive closure of the must-links, and eachEntailedPair visits the closure
// of both kinds: checked against Warshall's algorithm.
func TestClosureAgainstWarshall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 14).Draw(t, "n")
		var cs []Constraint
		var together, apart [14][14]bool
		for i := range n {
			together[i][i] = true
		}
		for range rapid.IntRange(0, 14).Draw(t, "m") {
			i := rapid.IntRange(0, n-1).Draw(t, "i")
			j := rapid.IntRange(0, n-1).Draw(t, "j")
			if i != j && rapid.Bool().Draw(t, "must") {
				cs = append(cs, must(int32(i), int32(j)))
				together[i][j], together[j][i] = true, true
			} else if i != j {
				cs = append(cs, cannot(int32(i), int32(j)))
				apart[i][j], apart[j][i] = true, true
			}
		}
		for m := range n {
			for i := range n {
				for j := range n {
					together[i][j] = together[i][j] || together[i][m] && together[m][j]
				}
			}
		}
		s, err := NewSet(n, cs, UnitWeight)
		if err != nil {
			t.Fatal(err)
		}
		entailed := map[Pair]bool{}
		s.eachEntailedPair(func(i, j int32, kind Kind) {
			entailed[Pair{I: i, J: j, Kind: kind}] = true
		})
		for i := range int32(n) {
			for j := i + 1; int(j) < n; j++ {
				a := s.Components().Of(i)
				b := s.Components().Of(j)
				if together[i][j] != (a == b) || together[i][j] != entailed[Pair{I: i, J: j, Kind: MustLink}] {
					t.Fatalf("%d and %d: together %v", i, j, together[i][j])
				}
				crossing := false
				for p := range n {
					for q := range n {
						crossing = crossing || apart[p][q] && together[p][i] && together[q][j]
					}
				}
				if a != b && (crossing != s.Apart(a, b) || crossing != entailed[Pair{I: i, J: j, Kind: CannotLink}]) {
					t.Fatalf("%d and %d: apart %v", i, j, crossing)
				}
			}
		}
	})
}

func TestEntailKeepsGivenWeights(t *testing.T) {
	given := Constraint{I: 0, J: 1, Kind: MustLink, Weight: 7, Weighted: true}
	s, err := newSet(t, 5, given, must(1, 2), cannot(2, 3)).Entail(func(distinct int) float64 {
		return float64(distinct)
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.Len() != 6 { // 0-1, 0-2, 1-2 together; 0-3, 1-3, 2-3 apart
		t.Fatalf("%d pairs: %v", s.Len(), s.Pairs())
	}
	if p := s.Pairs()[0]; p.Weight != 7 {
		t.Errorf("the given weight became %g", p.Weight)
	}
	if p := s.Pairs()[1]; p.I != 0 || p.J != 2 || p.Weight != 6 {
		t.Errorf("the entailed pair is %v", p)
	}
}

func TestSatisfaction(t *testing.T) {
	s := newSet(t, 4, must(0, 1), must(2, 3), cannot(0, 2), cannot(0, 1))
	got := s.Satisfaction([]int32{0, 0, 0, 1})
	if want := (Satisfaction{Total: 4, MustLinks: 2, MustLinkViolated: 1, CannotLinkViolated: 2}); got != want ||
		got.Satisfied() != 1 {
		t.Errorf("got %+v", got)
	}
}
