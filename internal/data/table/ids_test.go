package table

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
)

func TestNamesInTables(t *testing.T) {
	naming := Naming{IDs: NewIDs([]string{"ann", "bob", "cat"}), Classes: &Classes{}}
	seeds := made(t, textColumn("index", "cat", "ann"), textColumn("label", "red", "blue"))
	if err := naming.Resolve(seeds); err != nil {
		t.Fatal(err)
	}
	list, err := Seeds.Read(seeds, 3)
	if err != nil || len(list) != 2 || list[0].Index != 2 || list[0].Label != 1 || list[1].Index != 0 ||
		list[1].Label != 0 {
		t.Errorf("got %+v, %v", list, err)
	}
	if err := naming.Resolve(made(t, textColumn("i", "ann"), textColumn("j", "bop"))); !fault.Is(err, "UNKNOWN_ID") ||
		!strings.Contains(err.Error(),
			`row 0, column "j": the data has no row with the id "bop"; did you mean "bob"?`) {
		t.Error(err)
	}
	if err := naming.Resolve(made(t, textColumn("i", "ann"), textColumn("j", "customer 17"))); !fault.Is(err,
		"UNKNOWN_ID") || !strings.Contains(err.Error(), `no row with the id "customer 17"; the first is "ann"`) {
		t.Error(err)
	}
	// Labels that are integers are no names.
	numbers := made(t, textColumn("label", "7", "-1", "2.0"))
	if err := naming.Resolve(numbers); err != nil || !slices.Equal(numbers.Columns[0].Integers, []int64{7, -1, 2}) ||
		len(naming.Classes.Names) != 2 {
		t.Error(numbers, err)
	}
	ordered := made(t, textColumn("index", "x", "y"), intColumn("label", 3, 4))
	if err := (Naming{InOrder: true}).Resolve(ordered); err != nil ||
		!slices.Equal(ordered.Columns[0].Integers, []int64{0, 1}) {
		t.Error(ordered, err)
	}
	if NewIDs([]string{"0", "1", "2"}) != nil || NewIDs(nil) != nil || NewIDs([]string{"1", "2"}) == nil {
		t.Error("only ids that are no numbers of points are ids")
	}
}

func TestClasses(t *testing.T) {
	c := &Classes{}
	c.Add([]string{"b", "", "10", "a", "9", "b"})
	c.Add([]string{"Z", "a"})
	if want := []string{"9", "10", "a", "b", "Z"}; !slices.Equal(c.Names, want) || c.Number("b") != 3 ||
		c.Number("Z") != 4 {
		t.Errorf("got %q", c.Names)
	}
	same := &Classes{}
	same.Add([]string{"Ann", "x", "bob", "ANN", "X"})
	if want := []string{"Ann", "X", "bob", "x"}; !slices.Equal(same.Names, want) ||
		same.Number("ANN") != same.Number("Ann") || same.Merged() != `"ANN" is read as "Ann"` {
		t.Errorf("got %q, %s", same.Names, same.Merged())
	}
	if err := c.Check(4); !fault.Is(err, "TOO_MANY_CLASSES") {
		t.Error(err)
	}
}

// Tables of people without the names that are expected.
func TestGuesses(t *testing.T) {
	naming := Naming{IDs: NewIDs([]string{"ann", "bob", "cat"}), Classes: &Classes{}, Clusters: 2}
	for cells, want := range map[string]bool{"ann,bob,must": true, "ann,bob,-1": true, "ann,bob,must,0.5": true,
		"ann,dan,must": false, "ann,bob,perhaps": false, "i,j,kind": false, "ann,bob": false} {
		if got := naming.IsRow(strings.Split(cells, ","), naming.FileColumns(Constraints.Columns)); got != want {
			t.Errorf("%s: got %v", cells, got)
		}
	}
	for cells, want := range map[string]bool{"ann,red": true, "name,red": false, "red": false} {
		if got := naming.IsRow(strings.Split(cells, ","), naming.FileColumns(Seeds.Columns)); got != want {
			t.Errorf("%s: got %v", cells, got)
		}
	}
	if n := (Naming{}); !n.IsRow([]string{"7"}, Labels.Columns) ||
		n.IsRow([]string{"0", "1", "2", "3", "4"}, Labels.Columns) {
		t.Error("rows of labels are not recognized")
	}
	// Numbers of rows stand for ids if no id is a number, and labels that number no cluster are names.
	seeds := made(t, textColumn("index", "0", "2"), textColumn("label", "1", "2"))
	if err := naming.Resolve(seeds); err != nil || !slices.Equal(seeds.Columns[0].Integers, []int64{0, 2}) ||
		!slices.Equal(seeds.Columns[1].Integers, []int64{0, 1}) {
		t.Errorf("got %+v, %v", seeds, err)
	}
	const want = "its numbers are read as row numbers from 0, because none of them is an id, its labels are read as " +
		"names of classes, because clusters are numbered 0..1"
	if seeds.Guessed() != want || !slices.Equal(naming.Classes.Names, []string{"1", "2"}) {
		t.Errorf("got %s, %q", seeds.Guessed(), naming.Classes.Names)
	}
	for _, mixed := range []string{"ann", "3", "-1"} {
		if err := naming.Resolve(made(t, textColumn("index", "0", mixed))); !fault.Is(err, "UNKNOWN_ID") {
			t.Errorf("%s: got %v", mixed, err)
		}
	}
	if _, err := FromHeader("f.csv", []string{"i", "j", "weight"}, Beliefs.Columns); !fault.Is(err, "UNKNOWN_COLUMN") {
		t.Errorf("got %v", err)
	}
	pairs, err := FromHeader("f.csv", []string{"a", "kind", "b"}, Constraints.Columns)
	if err != nil || pairs.Guessed() != `column "a" is read as i, column "b" is read as j` {
		t.Errorf("got %+v, %v", pairs, err)
	}
}

// Numbers of rows may be written as floats, as in a file of integers.
func TestRowNumbersWrittenAsFloats(t *testing.T) {
	numbered, err := made(t, textColumn("i", "3.0", "4"), textColumn("j", "7.0", "1e3")).ResolveIDs(nil)
	if err != nil || !slices.Equal(numbered.Columns[0].Integers, []int64{3, 4}) ||
		!slices.Equal(numbered.Columns[1].Integers, []int64{7, 1000}) {
		t.Errorf("got %+v, %v", numbered, err)
	}
	if _, err := made(t, textColumn("i", "3.5")).ResolveIDs(nil); !fault.Is(err, "UNKNOWN_ID") {
		t.Errorf("got %v", err)
	}
	seeds := made(t, textColumn("index", "0.0", "2.0"))
	if err := (Naming{IDs: NewIDs([]string{"ann", "bob", "cat"})}).Resolve(seeds); err != nil ||
		!slices.Equal(seeds.Columns[0].Integers, []int64{0, 2}) {
		t.Errorf("got %+v, %v", seeds, err)
	}
	// 1.0 is not the number of a row if 1 is the id of another, nor is 1 if 1.0 is.
	for id, name := range map[string]string{"1": "1.0", "1.0": "1"} {
		err = (Naming{IDs: NewIDs([]string{id, "bob", "cat"})}).Resolve(made(t, textColumn("index", name)))
		if !fault.Is(err, "UNKNOWN_ID") {
			t.Errorf("%s beside the id %s: got %v", name, id, err)
		}
	}
}

func TestOtherNamesOfColumns(t *testing.T) {
	for header, want := range map[string]string{"id,class": "index,label", "ID,label,class": "index,label,class",
		"index,label": "index,label", "name,Group": "index,label", "Group": "label"} {
		read, err := FromHeader("f.csv", strings.Split(header, ","), Naming{InOrder: true}.FileColumns(Labels.Columns))
		if err != nil {
			t.Error(err)
			continue
		}
		var names []string
		for at := range read.Columns {
			names = append(names, read.Columns[at].Name)
		}
		if got := strings.Join(names, ","); got != want {
			t.Errorf("%s: got %s", header, got)
		}
	}
}

func TestJoin(t *testing.T) {
	one := made(t, intColumn("a", 1, 2), textColumn("b", "x", "y"))
	two := made(t, erased(intColumn("a", 3, 4), 1), textColumn("b", "z", "w"))
	one.Locate("f.csv", []Jump{{Row: 0, Line: 2}})
	two.Locate("f.csv", []Jump{{Row: 0, Line: 4}, {Row: 1, Line: 9}})
	all, err := Join([]*Table{one, two})
	if err != nil || all.Rows() != 4 || !slices.Equal(all.Columns[0].Empty, []bool{false, false, false, true}) ||
		!slices.Equal(all.Columns[1].Texts, []string{"x", "y", "z", "w"}) {
		t.Fatal(all, err)
	}
	if all.Place(1) != "on line 3" || all.Place(2) != "on line 4" || all.Place(3) != "on line 9" {
		t.Error(all.Place(1), all.Place(2), all.Place(3))
	}
	two.Locate("g.csv", []Jump{{Row: 0, Line: 2}})
	if all, err = Join([]*Table{one, two}); err != nil || all.Place(0) != "on line 2 of f.csv" ||
		all.Place(3) != "on line 3 of g.csv" {
		t.Error(all, err)
	}
	if err := all.Fault(&all.Columns[0], 2, "BAD", "bad"); err.Message != `g.csv, line 2, column "a": bad` {
		t.Error(err)
	}
	if _, err := Join([]*Table{one, made(t, intColumn("a", 1))}); !fault.Is(err, "COLUMNS_DIFFER") {
		t.Error(err)
	}
	if _, err := Join([]*Table{one, made(t, numColumn("a", 1), textColumn("b", "x"))}); !fault.Is(err,
		"COLUMNS_DIFFER") {
		t.Error(err)
	}
}
