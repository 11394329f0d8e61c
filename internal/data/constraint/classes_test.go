package constraint

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/refusal"
)

func anyNumber(int64) error { return nil }

// Classes that would become too many constraints are rejected before they become any.
func TestTooManyConstraintsOfClasses(t *testing.T) {
	points := make([]int32, 100_000)
	for at := range points {
		points[at] = int32(at)
	}
	refused := fault.Invalid("REFUSED", "too many")
	if _, err := OfClasses(points, points, func(int64) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("a number that is not allowed: %v", err)
	}
	_, err := OfClasses(points, points, anyNumber)
	f, is := refusal.Of(err).(*fault.Error)
	if !is || f.Reason != "TOO_MANY_CONSTRAINTS" || f.Field != "" || f.Message != "100000 labels would become "+
		"4999950000 constraints, more than 20000000; use them as seeds, or give fewer of them" {
		t.Errorf("a class for each point: %+v", f)
	}
}

// The constraints of classes imply a must-link between all points of a class, and a cannot-link between all of two.
func TestConstraintsOfClassesTellThemAll(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		classes := rapid.SliceOfN(rapid.Int32Range(0, 3), 0, 20).Draw(rt, "classes")
		points := make([]int32, len(classes))
		for at := range points {
			points[at] = int32(2 * at)
		}
		pairs, err := OfClasses(points, classes, anyNumber)
		if err != nil || int64(len(pairs)) != countOfClasses(classes) {
			rt.Fatalf("%d constraints, %v; want %d", len(pairs), err, countOfClasses(classes))
		}
		n := 2*len(points) + 1
		set, err := NewSet(n, pairs, UnitWeight)
		if err != nil {
			rt.Fatal(err)
		}
		entailed, err := set.Entail(UnitWeight)
		if err != nil {
			rt.Fatal(err)
		}
		told := map[[2]int32]Kind{}
		for _, c := range entailed.Pairs() {
			told[[2]int32{min(c.I, c.J), max(c.I, c.J)}] = c.Kind
		}
		for i := range points {
			for j := range i {
				want := CannotLink
				if classes[i] == classes[j] {
					want = MustLink
				}
				if got, known := told[[2]int32{points[j], points[i]}]; !known || got != want {
					rt.Fatalf("points %d and %d: %v (%v), want %v", points[j], points[i], got, known, want)
				}
			}
		}
	})
}
