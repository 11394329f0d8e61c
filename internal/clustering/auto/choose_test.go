package auto

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// If every method is dropped after its first fold, the baseline is the answer, and no method is judged.
func TestAllMethodsDropped(t *testing.T) {
	var all []constraint.Constraint
	for i := range int32(30) {
		all = append(all, constraint.Constraint{I: i, J: i + 2, Kind: constraint.MustLink}, constraint.Constraint{I: i, J: i + 1, Kind: constraint.CannotLink})
	}
	set, err := constraint.NewSet(32, all, constraint.UnitWeight)
	if err != nil {
		t.Fatal(err)
	}
	r := eigenRun(32, 2)
	r.given = set
	r.supervision = heldout.New(set, nil, 2, r.folds, clusteringtest.NewRand(1))
	base := make([]bool, len(r.supervision.Pairs))
	for at := range base {
		base[at] = at%10 != 0
	}
	dropped := outcome{method: clustering.Method{Space: clustering.SpaceRows, ConstraintUse: clustering.UseHard}, right: make([]bool, len(base)), folds: 1}
	kept := clustering.Method{Space: clustering.SpaceRows, ConstraintUse: clustering.UseNone}
	choice := &clustering.Choice{Chosen: kept}
	r.chooseFrom([]outcome{dropped}, base, choice)
	if choice.Chosen != kept || len(choice.Tried) != 1 || len(r.notices) > 0 || len(r.suspects) > 0 {
		t.Errorf("%+v, notices %v, suspects %v", choice, r.notices, r.suspects)
	}
	if why := choice.Reason.String(); !strings.Contains(why, "every method that uses the constraints did clearly worse") {
		t.Errorf("the reason is %q", why)
	}
}
