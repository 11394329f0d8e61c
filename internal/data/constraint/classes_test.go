package constraint

import (
	"testing"

	"pgregory.net/rapid"
)

// The constraints of classes imply a must-link between all points of a class, and a cannot-link between all of two.
func TestConstraintsOfClassesTellThemAll(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		classes := rapid.SliceOfN(rapid.Int32Range(0, 3), 0, 20).Draw(rt, "classes")
		points := make([]int32, len(classes))
		for at := range points {
			points[at] = int32(2 * at)
		}
		pairs := OfClasses(points, classes)
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
