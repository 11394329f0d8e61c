package auto

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/clusteringtest"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/data/constraint"
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

// A notice about trials says what was held out.
func TestNearChanceNamesSeeds(t *testing.T) {
	r := eigenRun(4, 2)
	r.o, r.spec.Seeds = clustering.NopObserver{}, []constraint.Seed{{Index: 0, Label: 0}, {Index: 3, Label: 1}}
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
