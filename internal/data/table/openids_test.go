package table

import (
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
)

// A table about points that nobody knows yet is checked, and names them as it did.
func TestOpenIDs(t *testing.T) {
	ids := OpenIDs()
	pairs := func() *Table {
		made, err := New([]Column{
			{Name: "i", Type: Text, Texts: []string{"ann", "7", "ann"}}, {Name: "j", Type: Text, Texts: []string{"bob", "ann", "ann"}},
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
	if known := NewIDs([]string{"x", "y"}); known.Points(5) != 5 || numbered.Named(known) != numbered || numbered.Named(nil) != numbered {
		t.Error("ids that are known change something")
	}
	bad := ids.NamePoints(fault.Invalid("DUPLICATE_PAIR", "the pair 0, 2 stands here again; point 1 has label 2 in 3 rows"))
	if bad.Error() != "the pair "+ids.Of(0)+", "+ids.Of(2)+" stands here again; point "+ids.Of(1)+" has label 2 in 3 rows" {
		t.Error(bad)
	}
}
