package auto

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// Notices count one label, constraint or cannot-link as one.
func TestEnforceCountsOne(t *testing.T) {
	must := func(i, j int32) constraint.Constraint {
		return constraint.Constraint{I: i, J: j, Kind: constraint.MustLink}
	}
	cannot := func(i, j int32) constraint.Constraint {
		return constraint.Constraint{I: i, J: j, Kind: constraint.CannotLink}
	}
	for _, c := range []struct {
		constraints []constraint.Constraint
		want        []string
	}{
		{[]constraint.Constraint{must(0, 1), must(1, 2), cannot(0, 2)}, []string{"1 of 4 labels was changed",
			"1 constraint cannot hold because seeds or other constraints contradict it: "}},
		{[]constraint.Constraint{cannot(0, 1), cannot(1, 2), cannot(0, 2)}, []string{"satisfies 1 cannot-link: "}},
	} {
		set, err := constraint.NewSet(4, c.constraints, constraint.UnitWeight)
		if err != nil {
			t.Fatal(err)
		}
		p := testSpaces(4, 2).p
		p.given = set
		p.options.Enforce = EnforceAlways
		p.supervision = heldout.New(set, nil, 2, p.folds, clusteringtest.NewRand(1))
		j := &journal{o: clustering.NopObserver{}}
		if _, err := enforceIn(t.Context(), j, p, []int32{0, 0, 1, 1}, nil, ""); err != nil {
			t.Fatal(err)
		}
		wantNotices(t, j.notices, c.want...)
	}
}

// A row whose label is enforced is as far from its new class as its scores say, be that the second best or not, and
// whatever number the class has in the result.
func TestEnforcedRowsAreMeasuredByTheirScores(t *testing.T) {
	const n, k = 4, 3
	set, err := constraint.NewSet(n, []constraint.Constraint{{I: 0, J: 1, Kind: constraint.MustLink}},
		constraint.UnitWeight)
	if err != nil {
		t.Fatal(err)
	}
	seeds := []constraint.Seed{{Index: 1, Label: 0}, {Index: 2, Label: 1}, {Index: 3, Label: 2}}
	ss := testSpaces(n, k)
	p := ss.p
	p.given = set
	p.options.Enforce = EnforceAlways
	p.supervision = heldout.New(set, seeds, k, p.folds, clusteringtest.NewRand(1))
	// classes 2, 0 and 1 are called 0, 1 and 2
	scores := [][]float64{{0.6, 0.3, 0.1}, {0, 0.1, 0.9}, {0.9, 0, 0.1}, {0.1, 0.9, 0}}
	labels := []int32{0, 2, 0, 1}
	own := make([]float64, n)
	next := make([]float64, n)
	enforceable := p.enforceable()
	for i := range n {
		copy(enforceable[int32(i)], scores[i])
		own[i], next[i] = model.FromIdealScores(scores[i], int(labels[i]))
	}
	f := newFitter(ss, labels)
	found := ss.newAnswer(labels, &clustering.Result{}, f.byScores(labels, own, next, enforceable))
	d := decision{choice: clustering.Choice{Chosen: clustering.Method{Space: clustering.SpaceRows}}}
	result := report(p, clustering.NopObserver{}, found, d)
	if err := found.rate(t.Context(), result); err != nil {
		t.Fatal(err)
	}
	j := &journal{o: clustering.NopObserver{}}
	if err := respect(t.Context(), j, p, &baseline{}, d, found, result); err != nil {
		t.Fatal(err)
	}
	if want := []int32{0, 0, 1, 2}; !slices.Equal(result.Labels, want) {
		t.Fatalf("the labels are %v, want %v", result.Labels, want)
	}
	distance, other := model.FromIdealScores(scores[0], 2)
	if result.Rows.Distance[0] != distance || result.Rows.Margin[0] != other-distance {
		t.Errorf("distance %v and margin %v, want %v and %v", result.Rows.Distance[0], result.Rows.Margin[0], distance,
			other-distance)
	}
}

// A notice about trials says what was held out.
func TestNearChanceNamesSeeds(t *testing.T) {
	p := testSpaces(4, 2).p
	p.spec.Supervision.Seeds = []constraint.Seed{{Index: 0, Label: 0}, {Index: 3, Label: 1}}
	best := &outcome{}
	best.score.MustLinks, best.score.MustLinksRight = 2, 1 // as by chance
	best.score.CannotLinks, best.score.CannotLinksRight = 2, 1
	notices, _ := findSuspects(p, best, nil)
	wantNotices(t, notices, "with the held-out seeds, ")
}

// wantNotices checks that each text is in some notice.
func wantNotices(t *testing.T, notices []clustering.Notice, want ...string) {
	t.Helper()
	var all []string
	for _, n := range notices {
		all = append(all, n.Message)
	}
	for _, one := range want {
		if said := strings.Join(all, "\n"); !strings.Contains(said, one) {
			t.Errorf("%q is missing in:\n%s", one, said)
		}
	}
}
