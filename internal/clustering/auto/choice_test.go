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
		all = append(all, constraint.Constraint{I: i, J: i + 2, Kind: constraint.MustLink},
			constraint.Constraint{I: i, J: i + 1, Kind: constraint.CannotLink})
	}
	set, err := constraint.NewSet(32, all, constraint.UnitWeight)
	if err != nil {
		t.Fatal(err)
	}
	p := testSpaces(32, 2).p
	p.given = set
	p.supervision = heldout.New(set, nil, 2, p.folds, clusteringtest.NewRand(1))
	right := make([]bool, len(p.supervision.Pairs))
	for at := range right {
		right[at] = at%10 != 0
	}
	dropped := outcome{right: make([]bool, len(right)), folds: 1}
	dropped.method = clustering.Method{Space: clustering.SpaceRows, ConstraintUse: clustering.UseHard}
	base := &baseline{space: &space{name: clustering.SpaceRows}}
	d := chooseByFolds(p, base, right, outcomes{dropped})
	if d.choice.Chosen != base.method() || len(d.choice.Tried) != 1 || len(d.notices) > 0 || len(d.suspects) > 0 {
		t.Errorf("%+v", d)
	}
	if why := d.choice.Reason.String(); !strings.Contains(why,
		"every method that uses the constraints did clearly worse") {
		t.Errorf("the reason is %q", why)
	}
}
