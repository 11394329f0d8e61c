package table

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/fault"
)

func intColumn(name string, cells ...int64) Column {
	return Column{Name: name, Type: Integer, Integers: cells}
}
func numColumn(name string, cells ...float64) Column {
	return Column{Name: name, Type: Number, Numbers: cells}
}
func textColumn(name string, cells ...string) Column {
	return Column{Name: name, Type: Text, Texts: cells}
}

// erased is a column with one cell empty.
func erased(c Column, row int) Column {
	c.Integers, c.Numbers, c.Empty = slices.Clone(c.Integers), slices.Clone(c.Numbers), make([]bool, c.Len())
	c.Empty[row] = true
	return c
}

// Faults name the row and the column.
func TestFaultsOfRows(t *testing.T) {
	const points = 6
	index := intColumn("index", 0, 1)
	label := intColumn("label", 0, 1)
	kind := textColumn("kind", "must", "cannot")
	i := intColumn("i", 0, 1)
	j := intColumn("j", 2, 3)
	read := map[string]func(*Table) error{
		"constraints": func(t *Table) error { _, err := Constraints.Read(t, points); return err },
		"seeds":       func(t *Table) error { _, err := Seeds.Read(t, points); return err },
		"weights":     func(t *Table) error { _, err := Weights.Read(t, points); return err },
		"labels":      func(t *Table) error { _, err := Labels.Read(t, t.Rows()); return err },
		"too few":     func(t *Table) error { _, err := Labels.Read(t, points); return err },
		"beliefs":     func(t *Table) error { _, err := Beliefs.Read(t, points); return err },
		"indices":     func(t *Table) error { _, err := Indices.Read(t, points); return err },
	}
	for _, c := range []struct {
		what    string
		columns []Column
		reason  string
		says    string
	}{
		{"constraints", []Column{i, j}, "MISSING_COLUMN", `no column "kind"; the columns are i,j,kind[,weight]`},
		{"constraints", []Column{i, j, kind, numColumn("cost", 1, 2)}, "UNKNOWN_COLUMN", `"cost"`},
		{"constraints", []Column{i, j, intColumn("kind", 1, 2)}, "BAD_COLUMN_TYPE",
			`"kind" holds integers; it must hold texts`},
		{"constraints", []Column{numColumn("i", 0, 1), j, kind}, "BAD_COLUMN_TYPE",
			`"i" holds numbers; it must hold integers`},
		{"constraints", []Column{erased(i, 1), j, kind}, "EMPTY_CELL", `row 1, column "i"`},
		{"constraints", []Column{i, intColumn("j", 2, 6), kind}, "INDEX_OUT_OF_RANGE",
			`row 1, column "j": point 6 is outside 0..5`},
		{"constraints", []Column{intColumn("i", -1, 0), j, kind}, "INDEX_OUT_OF_RANGE", `row 0, column "i": point -1`},
		{"constraints", []Column{i, j, textColumn("kind", "must", "maybe")}, "UNKNOWN_CONSTRAINT_KIND",
			`row 1, column "kind": the kind is "maybe"`},
		{"constraints", []Column{i, intColumn("j", 0, 1), kind}, "SELF_CANNOT_LINK", `row 1, column "j": point 1`},
		{"constraints", []Column{i, j, kind, numColumn("weight", 1, -1)}, "BAD_WEIGHT",
			`row 1, column "weight": the weight is -1`},
		{"constraints", []Column{i, j, kind, intColumn("weight", 0, 1)}, "BAD_WEIGHT", `row 0, column "weight"`},
		{"seeds", []Column{index, intColumn("label", 0, -1)}, "BAD_SEED_LABEL", `row 1, column "label"`},
		{"seeds", []Column{index, intColumn("label", 1<<31, 0)}, "BAD_SEED_LABEL", `row 0, column "label"`},
		{"seeds", []Column{index, label, numColumn("probability", 1, 0)}, "BAD_PROBABILITY",
			`row 1, column "probability"`},
		{"seeds", []Column{index, label, numColumn("probability", 1.5, 1)}, "BAD_PROBABILITY",
			`row 0, column "probability"`},
		{"weights", []Column{intColumn("index", 3, 3), numColumn("weight", 1, 2)}, "DUPLICATE_INDEX",
			`row 1, column "index": point 3 is listed a second time; the first is in row 0`},
		{"weights", []Column{index, erased(numColumn("weight", 1, 2), 0)}, "EMPTY_CELL", `row 0, column "weight"`},
		{"labels", []Column{intColumn("index", 1, 1), label}, "DUPLICATE_INDEX", `row 1`},
		{"labels", []Column{intColumn("index", 0, 2), label}, "INDEX_OUT_OF_RANGE",
			`row 1, column "index": point 2 is outside 0..1`},
		{"labels", []Column{erased(index, 0), label}, "EMPTY_CELL", `"index"`},
		{"too few", []Column{index, label}, "SIZE_MISMATCH", "2 labels for 6 points"},
		{"beliefs", []Column{i, intColumn("j", 2, 9), numColumn("belief", 1, 2)}, "INDEX_OUT_OF_RANGE",
			`row 1, column "j"`},
		{"beliefs", []Column{i, intColumn("j", 1, 0), numColumn("belief", 1, 2)}, "DUPLICATE_PAIR",
			`row 1, column "j": the pair 1, 0 is listed a second time; the first is in row 0`},
		{"indices", []Column{intColumn("index", 5, 5)}, "DUPLICATE_INDEX", `row 1`},
		{"seeds", []Column{intColumn("index", 1, 1), intColumn("label", 1, 1)}, "DUPLICATE_INDEX",
			`row 1, column "index": point 1 has the label 1 a second time; the first is in row 0`},
		{"seeds", []Column{intColumn("index", 1, 1), label}, "CONTRADICTORY_SEEDS",
			`row 1, column "label": point 1 has the label 1 here and the label 0 in row 0`},
	} {
		table, err := New(slices.Clone(c.columns))
		if err != nil {
			t.Fatal(err)
		}
		if err := read[c.what](table); !fault.Is(err, c.reason) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %s with %q", c.what, err, c.reason, c.says)
		}
	}
}

// Columns stand in any order, integers pass for numbers, and what may be left out is left out.
func TestLenientReading(t *testing.T) {
	table, err := New([]Column{intColumn("weight", 3, 0), textColumn("kind", "Must-Link", "cannot"),
		intColumn("j", 1, 2), intColumn("i", 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	table.Columns[0] = erased(table.Columns[0], 1)
	got, err := Constraints.Read(table, 3)
	want := []constraint.Constraint{{I: 0, J: 1, Kind: constraint.MustLink, Weight: 3, Weighted: true},
		{I: 1, J: 2, Kind: constraint.CannotLink}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	few, err := New([]Column{intColumn("index", 2), numColumn("weight", 0.5)})
	if err != nil {
		t.Fatal(err)
	}
	if weights, err := Weights.Read(few, 4); err != nil || !slices.Equal(weights, []float64{1, 1, 0.5, 1}) {
		t.Errorf("got %v, %v", weights, err)
	}
}
