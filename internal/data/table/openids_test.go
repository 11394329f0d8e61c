package table

import (
	"strings"
	"testing"
)

// A table about points that nobody knows yet is checked, and names them as it did.
func TestOpenIDs(t *testing.T) {
	ids := OpenIDs()
	pairs := func() *Table {
		made, err := New([]Column{
			{Name: "i", Type: Text, Texts: []string{"ann", "7", "ann"}},
			{Name: "j", Type: Text, Texts: []string{"bob", "ann", "ann"}},
			{Name: "kind", Type: Text, Texts: []string{"must", "cannot", "must"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	numbered := pairs()
	if err := (Naming{IDs: ids}).Resolve(numbered); err != nil {
		t.Fatal(err)
	}
	list, err := Constraints.Read(numbered, ids.Points(0))
	if err != nil || len(list) != 3 || list[0].I != list[1].J || ids.Points(0) != 3 {
		t.Fatalf("%v of %d points, %v", list, ids.Points(0), err)
	}
	if numbered.Named(ids).ID() != pairs().ID() {
		t.Error("the names are others")
	}
	if known := NewIDs([]string{"x", "y"}); known.Points(5) != 5 || numbered.Named(known) != numbered ||
		numbered.Named(nil) != numbered {
		t.Error("ids that are known change something")
	}
}

// Errors about points that have ids name these, and nothing else in the message changes.
func TestErrorsNamePoints(t *testing.T) {
	for _, ids := range []*IDs{OpenIDs(), NewIDs([]string{"ann", "7", "bob"})} {
		pairs, err := New([]Column{
			{Name: "i", Type: Text, Texts: []string{"ann", "7", "bob"}},
			{Name: "j", Type: Text, Texts: []string{"bob", "ann", "ann"}},
			{Name: "belief", Type: Number, Numbers: []float64{1, 1, 1}},
		})
		if err != nil {
			t.Fatal(err)
		}
		pairs.Locate("point 0.csv", []Jump{{Row: 0, Line: 2}})
		if err := (Naming{IDs: ids}).Resolve(pairs); err != nil {
			t.Fatal(err)
		}
		_, err = Beliefs.Read(pairs, ids.Points(3))
		if want := "point 0.csv, line 4, column \"j\": the pair bob, ann is listed a second time; the first is " +
			"on line 2"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
