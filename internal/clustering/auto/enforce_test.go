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
		{[]constraint.Constraint{must(0, 1), must(1, 2), cannot(0, 2)}, []string{"1 of 4 labels was changed", "1 constraint cannot hold because seeds or other constraints contradict it: "}},
		{[]constraint.Constraint{cannot(0, 1), cannot(1, 2), cannot(0, 2)}, []string{"satisfies 1 cannot-link: "}},
	} {
		set, err := constraint.NewSet(4, c.constraints, constraint.UnitWeight)
		if err != nil {
			t.Fatal(err)
		}
		r := eigenRun(4, 2)
		r.o, r.given, r.options.Enforce = clustering.NopObserver{}, set, EnforceAlways
		r.supervision = heldout.New(set, nil, 2, r.folds, clusteringtest.NewRand(1))
		if _, err := r.enforce(t.Context(), []int32{0, 0, 1, 1}, nil, nil); err != nil {
			t.Fatal(err)
		}
		wantNotices(t, r, c.want...)
	}
}

// A row whose label is enforced is as far from its new class as its scores say, be that the second best or not, and
// whatever number the class has in the result.
func TestEnforcedRowsAreMeasuredByTheirScores(t *testing.T) {
	const n, k = 4, 3
	set, err := constraint.NewSet(n, []constraint.Constraint{{I: 0, J: 1, Kind: constraint.MustLink}}, constraint.UnitWeight)
	if err != nil {
		t.Fatal(err)
	}
	seeds := []constraint.Seed{{Index: 1, Label: 0}, {Index: 2, Label: 1}, {Index: 3, Label: 2}}
	r := eigenRun(n, k)
	r.o, r.given, r.options.Enforce = clustering.NopObserver{}, set, EnforceAlways
	r.supervision = heldout.New(set, seeds, k, r.folds, clusteringtest.NewRand(1))
	r.opened = map[clustering.Space]*space{clustering.SpaceRows: {name: clustering.SpaceRows}}
	scores := [][]float64{{0.6, 0.3, 0.1}, {0, 0.1, 0.9}, {0.9, 0, 0.1}, {0.1, 0.9, 0}} // classes 2, 0 and 1 are called 0, 1 and 2
	labels, own, next, enforceable := []int32{0, 2, 0, 1}, make([]float64, n), make([]float64, n), r.enforceable()
	for i := range n {
		copy(enforceable[int32(i)], scores[i])
		own[i], next[i] = model.FromIdealScores(scores[i], int(labels[i]))
	}
	found := r.newAnswer(labels, &clustering.Result{}, r.byScores(labels, own, next, enforceable))
	result := r.report(found, &clustering.Choice{Chosen: clustering.Method{Space: clustering.SpaceRows}})
	if err := found.rate(t.Context(), result); err != nil {
		t.Fatal(err)
	}
	if err := r.respect(t.Context(), found, result); err != nil {
		t.Fatal(err)
	}
	if want := []int32{0, 0, 1, 2}; !slices.Equal(result.Labels, want) {
		t.Fatalf("the labels are %v, want %v", result.Labels, want)
	}
	distance, other := model.FromIdealScores(scores[0], 2)
	if result.Rows.Distance[0] != distance || result.Rows.Margin[0] != other-distance {
		t.Errorf("distance %v and margin %v, want %v and %v", result.Rows.Distance[0], result.Rows.Margin[0], distance, other-distance)
	}
}

// A notice about trials says what was held out.
func TestNearChanceNamesSeeds(t *testing.T) {
	r := eigenRun(4, 2)
	r.o, r.spec.Supervision.Seeds = clustering.NopObserver{}, []constraint.Seed{
		{Index: 0, Label: 0}, {Index: 3, Label: 1},
	}
	r.noticeTrials(&clustering.MethodScore{Trial: clustering.Trial{MustLinks: 4, MustLinksRight: 2, CannotLinks: 4, CannotLinksRight: 2}}, nil)
	wantNotices(t, r, "with the held-out seeds, ")
}

// wantNotices checks that each text is in some notice.
func wantNotices(t *testing.T, r *run, want ...string) {
	t.Helper()
	var all []string
	for _, n := range r.notices {
		all = append(all, n.Message)
	}
	for _, one := range want {
		if said := strings.Join(all, "\n"); !strings.Contains(said, one) {
			t.Errorf("%q is missing in:\n%s", one, said)
		}
	}
}
