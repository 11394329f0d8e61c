package wire

import (
	"testing"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/text"
)

// Every space and every use has its value in the API, which has no others.
func TestWays(t *testing.T) {
	for s := clustering.SpaceRows; s <= clustering.SpaceMixture; s++ {
		if got := methodProto(clustering.Method{Space: s,
			ConstraintUse: clustering.UseHard}); EnumWord(got.GetSpace()) != s.String() || SpaceOf(got) != s {
			t.Errorf("%v becomes %v", s, got)
		}
	}
	for u := clustering.UseNone; u <= clustering.UseWhitened; u++ {
		if got := methodProto(clustering.Method{Space: clustering.SpaceRows, ConstraintUse: u}).
			GetConstraintUse(); EnumWord(got) != u.String() {
			t.Errorf("%v becomes %v", u, got)
		}
	}
	if spaces, uses := len(cleavev1.Space_name)-1,
		len(cleavev1.ConstraintUse_name)-1; spaces != int(clustering.SpaceMixture) ||
		uses != int(clustering.UseWhitened) {
		t.Errorf("the API has %d spaces and %d uses", spaces, uses)
	}
}

func TestMethodTriedProto(t *testing.T) {
	trial := clustering.Trial{
		Method: clustering.Method{Space: clustering.SpaceStandardizedNeighbors, ConstraintUse: clustering.UseSoft},
		Fold:   2, Folds: 3, MustLinks: 4, MustLinksRight: 3, CannotLinks: 10, CannotLinksRight: 5,
	}
	way := &cleavev1.Method{Space: cleavev1.Space_SPACE_STANDARDIZED_NEIGHBORS,
		ConstraintUse: cleavev1.ConstraintUse_CONSTRAINT_USE_SOFT}
	want := &cleavev1.MethodTried{Method: way, Fold: 2, Folds: 3, MustLinks: 4, MustLinksRight: 3, CannotLinks: 10,
		CannotLinksRight: 5}
	if got := MethodTriedProto(trial); !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	choice := &clustering.Choice{Chosen: trial.Method, Reason: text.Message{text.Plain("so")},
		Tried: []clustering.MethodScore{{Trial: trial, Advantage: -1.5}}}
	tried := &cleavev1.MethodScore{Method: way, MustLinks: 4, MustLinksRight: 3, CannotLinks: 10, CannotLinksRight: 5,
		Agreement: 5.0 / 26, Advantage: -1.5}
	if got, want := choiceProto(choice),
		(&cleavev1.Choice{Chosen: way, Reason: "so", Tried: []*cleavev1.MethodScore{tried}}); !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	choice.Reason = append(choice.Reason, text.Column(3))
	if got := choiceProto(choice); got.GetReason() != "so3" || len(got.GetReasonParts()) != 2 ||
		got.GetReasonParts()[1].GetColumn() != 3 {
		t.Errorf("a reason that refers to a column is %v", got)
	}
	if choiceProto(nil) != nil {
		t.Error("there is a choice without one")
	}
}
