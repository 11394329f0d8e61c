package recipe

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
)

func integers(name string, cells ...int64) table.Column {
	return table.Column{Name: name, Type: table.Integer, Integers: cells}
}
func numbers(name string, cells ...float64) table.Column {
	return table.Column{Name: name, Type: table.Number, Numbers: cells}
}
func words(name string, cells ...string) table.Column {
	c := table.Column{Name: name, Type: table.Text, Texts: cells, Empty: make([]bool, len(cells))}
	for row, cell := range cells {
		c.Empty[row] = cell == ""
	}
	return c
}

// gaps marks cells as empty.
func gaps(c table.Column, rows ...int) table.Column {
	c.Empty = make([]bool, c.Len())
	for _, row := range rows {
		c.Empty[row] = true
	}
	return c
}

func made(t interface{ Fatal(...any) }, columns ...table.Column) *table.Table {
	made, err := table.New(columns)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func flowers(t *testing.T) *table.Table {
	return made(t,
		words("id", "a", "b", "c", "d", "e", "f"),
		gaps(numbers("height", 1.5, 2.5, 0, 8, 9, 10), 2),
		words("color", "red", "red", "", "blue", "blue", "red"),
		integers("petals", 3, 4, 3, 5, 5, 5),
		words("species", "setosa", "setosa", "", "virginica", "", ""),
	)
}

func TestTableOfFlowers(t *testing.T) {
	flowers := flowers(t)
	r, notices, err := Fit(t.Context(), flowers, Options{Label: "species"})
	if err != nil {
		t.Fatal(err)
	}
	want := &Recipe{ID: "id", Label: "species", Missing: Auto, Features: []Feature{
		{Column: "height", Fill: 8, Donors: []float64{1.5, 2.5, 0, 8, 9, 10}, DonorGaps: []uint32{2},
			Unit: deviation([]float64{1.5, 2.5, 8, 9, 10})},
		{Column: "color", Categories: []string{"blue", "red"}, FillCategory: "red", Donors: []float64{1, 1, 0, 0, 0, 1},
			DonorGaps: []uint32{2}, Unit: r.Features[1].Unit},
		{Column: "petals", Fill: 4.5, Donors: []float64{3, 4, 3, 5, 5, 5},
			Unit: deviation([]float64{3, 4, 3, 5, 5, 5})},
	}}
	if !reflect.DeepEqual(r, want) {
		t.Fatalf("got %+v", r)
	}
	said := strings.Join(notices, "\n")
	for _, part := range []string{
		`column "id" is the row id`, `column "color" has 2 categories: "blue", "red"`,
		`2 empty cells are filled from similar rows; --missing selects another method ("height" 1, "color" 1)`,
	} {
		if !strings.Contains(said, part) {
			t.Errorf("no notice has %q:\n%s", part, said)
		}
	}
	p, err := r.Apply(t.Context(), flowers)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Names, []string{"height", "color=blue", "color=red", "petals"}) {
		t.Errorf("got names %q", p.Names)
	}
	// as the first two have it
	if got := p.Points.Row(2); !(got[0] < 4 && got[1] < 0.01 && math.Abs(got[1]+got[2]-1) < 1e-12 && got[3] == 3) {
		t.Errorf("row 2 is %v", got)
	}
	if got := p.Points.Row(3); !slices.Equal(got, []float64{8, 1, 0, 5}) {
		t.Errorf("row 3 is %v", got)
	}
	if !slices.Equal(p.IDs, []string{"a", "b", "c", "d", "e", "f"}) ||
		!slices.Equal(p.Labels, []string{"setosa", "setosa", "", "virginica", "", ""}) || p.Kept != nil {
		t.Errorf("got %+v", p)
	}
}

func TestWaysToTreatMissingValues(t *testing.T) {
	flowers := flowers(t)
	for _, c := range []struct {
		way  Missing
		want Feature
		kept []int32
	}{
		{Mean, Feature{Column: "height", Fill: 6.2}, nil},
		{Median, Feature{Column: "height", Fill: 8}, nil},
		{Drop, Feature{Column: "height"}, []int32{0, 1, 3, 4, 5}},
	} {
		r, _, err := Fit(t.Context(), flowers, Options{Missing: c.way, Ignore: []string{"species"}})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(r.Features[0].Fill-c.want.Fill) > 1e-15 {
			t.Errorf("%s: got %+v", c.way, r.Features[0])
		}
		p, err := r.Apply(t.Context(), flowers)
		if err != nil || !slices.Equal(p.Kept, c.kept) {
			t.Errorf("%s: got %+v, %v", c.way, p, err)
		}
	}
	if _, _, err := Fit(t.Context(), flowers, Options{Missing: Error}); !fault.Is(err, "MISSING_VALUE") ||
		!strings.Contains(err.Error(), `row 2, column "height"`) {
		t.Errorf("got %v", err)
	}
	empty := made(t, integers("a", 1, 5, 3), gaps(numbers("b", 0, 0, 0), 0, 1, 2), gaps(numbers("c", 0, 0, 7), 0, 1))
	for way, columns := range map[Missing]int{Auto: 1, Median: 2, Mean: 2, Drop: 2} {
		r, _, err := Fit(t.Context(), empty, Options{Missing: way, Keep: map[bool][]string{true: {"c"}}[way != Auto]})
		if err != nil || len(r.Features) != columns {
			t.Errorf("%s: got %+v, %v", way, r, err)
		}
	}
}

// What a column is called and what it holds tell what it is.
func TestRolesOfColumns(t *testing.T) {
	x := numbers("x", 1, 2, 3, 5)
	for name, c := range map[string]struct {
		columns  []table.Column
		id       string
		features string
		says     string
	}{
		"customerId": {columns: []table.Column{integers("customerId", 7, 3, 9, 1), x}, id: "customerId",
			features: "x", says: "is the row id"},
		"patient_id": {columns: []table.Column{x, words("patient_id", "p", "q", "r", "s")}, id: "patient_id",
			features: "x"},
		"pandas": {columns: []table.Column{integers(table.Unnamed(0), 0, 1, 2, 3), x}, id: table.Unnamed(0),
			features: "x"},
		"no names": {columns: []table.Column{integers(table.Unnamed(0), 0, 1, 2, 3),
			integers(table.Unnamed(1), 9, 9, 8, 8)}, features: "column 1 column 2", says: "counts the rows from 0"},
		"counts": {columns: []table.Column{integers("n", 1, 2, 3, 4), x}, features: "n x",
			says: "--id-column n"},
		"repeated": {columns: []table.Column{integers("id", 1, 2, 1, 4), x}, features: "x",
			says: `has "1" in row 0 and in row 2`},
		"two ids": {columns: []table.Column{integers("id", 1, 2, 3, 4), integers("store_id", 1, 1, 2, 2), x},
			id: "id", features: "x", says: `"store_id" is left out`},
		"names": {columns: []table.Column{words("who", "ann", "bob", "cat", "dan"), x}, id: "who",
			features: "x", says: "all different"},
		"sentences": {columns: []table.Column{words("remark", "it was a fine day", "I do not know that",
			"nobody had told me so", "we came, saw and went"), x}, features: "x",
			says: `"remark" is left out: its texts are sentences`},
		"measured index": {columns: []table.Column{words("index", "1.5", "2.5", "1.5", "0.25"), x},
			features: "index x"},
		"id of numbers": {columns: []table.Column{numbers("index", 1.5, 2.5, 3, 4), x}, features: "index x"},
		"android":       {columns: []table.Column{integers("paid", 1, 2, 5, 4), x}, features: "paid x"},
		"classes": {columns: []table.Column{x, integers("Class", 1, 2, 1, 2)}, features: "x",
			says: "--label-column Class"},
		"coordinates": {columns: []table.Column{x, integers("y", 1, 2, 1, 2)}, features: "x y"},
		"answers": {columns: []table.Column{numbers("x1", 1, 2, 3, 5), integers("y", 1, 2, 1, 2)},
			features: "x1", says: "--label-column y"},
		"classes of one": {columns: []table.Column{x, words("label", "a", "b", "c", "d")}, features: "x",
			says: `--label-column label`},
	} {
		r, notices, err := Fit(t.Context(), made(t, c.columns...), Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(r.Names(), " "); r.ID != c.id || got != c.features {
			t.Errorf("%s: got the id %q and the features %s", name, r.ID, got)
		}
		if said := strings.Join(notices, "\n"); !strings.Contains(said, c.says) ||
			c.says == "" && c.id == "" && said != "" {
			t.Errorf("%s: the notices are %q", name, said)
		}
	}
}

func TestOptions(t *testing.T) {
	flowers := flowers(t)
	for _, c := range []struct {
		options  Options
		id       string
		features string
	}{
		{Options{Only: []string{"petals", "2"}}, "id", "height petals"},
		{Options{Ignore: []string{"1", "color", "5"}}, "", "height petals"},
		{Options{ID: "id", Ignore: []string{"species", "color"}, Categorical: []string{"petals"}}, "id",
			"height petals=3 petals=4 petals=5"},
		{Options{Only: []string{"species"}, Missing: Median}, "id", "species=setosa species=virginica"},
		{Options{Only: []string{"id"}, Categorical: []string{"id"}}, "", "id=a id=b id=c id=d id=e id=f"},
	} {
		r, _, err := Fit(t.Context(), flowers, c.options)
		if err != nil {
			t.Errorf("%+v: %v", c.options, err)
		} else if got := strings.Join(r.Names(), " "); got != c.features || r.ID != c.id {
			t.Errorf("%+v: got the id %q and %s", c.options, r.ID, got)
		}
	}
}

func TestFaults(t *testing.T) {
	flowers := flowers(t)
	free := words("remark", "so", "la", "so", "ti", "do", "re", "mi")
	for _, c := range []struct {
		table   *table.Table
		options Options
		reason  string
		says    string
	}{
		{flowers, Options{Decimals: ";"}, "BAD_DECIMALS", `";" is not a decimal separator`},
		{flowers, Options{ID: "weather"}, "UNKNOWN_COLUMN", `no column "weather"; it has "`},
		{flowers, Options{ID: "Heigth"}, "UNKNOWN_COLUMN", `no column "Heigth"; did you mean "height"?`},
		{flowers, Options{Ignore: []string{"6"}}, "UNKNOWN_COLUMN", "no column 6; it has 5 columns"},
		{flowers, Options{ID: "id", Ignore: []string{"1"}}, "COLUMN_USED_TWICE", `"id"`},
		{flowers, Options{Missing: "guess"}, "BAD_MISSING", `"guess"`},
		{made(t, free), Options{}, "NO_FEATURES",
			`column "remark" is left out: its 6 different values hardly repeat in 7 rows; --categorical remark`},
		{made(t, words("species", "a", "b")), Options{}, "NO_FEATURES", "--columns"},
		{made(t, words("who", "a", "b"), gaps(numbers("x", 0, 0), 0, 1)), Options{}, "NO_FEATURES",
			`left to cluster by (column "who" is the row id, column "x" is left out: it is empty); select the columns`},
		{made(t, words("a;b", "1;2", "3;4")), Options{}, "NO_FEATURES",
			"set --delimiter to the character between its cells"},
		{made(t, words("x", "1,5", "2.5", "3,5")), Options{}, "NOT_A_NUMBER",
			`row 1, column "x": "2.5" mixes decimal points and commas with the cells before`},
		{made(t, words("when", "2024-05-01", "2024-05-02"), integers("a", 1, 2)), Options{Only: []string{"when"}},
			"NOT_A_NUMBER", `column "when" holds dates`},
		{made(t, numbers("a")), Options{}, "EMPTY_DATA", "no rows"},
	} {
		if _, _, err := Fit(t.Context(), c.table, c.options); !fault.Is(err, c.reason) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("got %v, want %s with %q", err, c.reason, c.says)
		}
	}
	r, _, err := Fit(t.Context(), flowers, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		columns []table.Column
		reason  string
		says    string
	}{
		{[]table.Column{integers("height", 1), words("color", "red")}, "UNKNOWN_COLUMN",
			`the table has no column "petals", which the model needs; add it; its cells may be empty`},
		{[]table.Column{integers("height", 1), words("color", "red"), integers("petal", 1)}, "UNKNOWN_COLUMN",
			`which the model needs; if it is "petal", rename that`},
		{[]table.Column{words("height", "tall", "2", "short"), words("color", "red", "red", "red"),
			integers("petals", 1, 2, 3)}, "NOT_A_NUMBER", `"tall" is not a number`},
		{[]table.Column{words("height", "tall"), words("color", "red"), integers("petals", 1)}, "NOT_A_NUMBER",
			`row 0, column "height": "tall" is not a number; correct it`},
		{[]table.Column{words("height", "false"), words("color", "red"), integers("petals", 1)}, "NOT_A_NUMBER",
			`"false" is not a number; correct it`},
		{[]table.Column{words("height", "2024-05-01"), words("color", "red"), integers("petals", 1)}, "NOT_A_NUMBER",
			`"2024-05-01" is not a number; correct it`},
		{[]table.Column{integers("height", 1, 2), words("color", "red", "red"), integers("petals", 1, 1),
			words("id", "a", "a")}, "DUPLICATE_ID",
			`row 1, column "id": the id "a" is used a second time; the first is in row 0`},
		{[]table.Column{integers("height", 1), words("color", "red"), integers("petals", 1), words("id", "")},
			"EMPTY_CELL", `row 0, column "id"`},
	} {
		if _, err := r.Apply(t.Context(), made(t, c.columns...)); !fault.Is(err, c.reason) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("got %v, want %s with %q", err, c.reason, c.says)
		}
	}
}

// New rows need no ids and no classes, and may have categories that nobody knew.
func TestNewRows(t *testing.T) {
	r, _, err := Fit(t.Context(), flowers(t), Options{Label: "species", Missing: Median})
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Apply(t.Context(), made(t, words("color", "green", "", "blue"), numbers("petals", 3.5, 4, 5),
		words("height", "", "", "")))
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{8, 0, 0, 3.5, 8, 0, 1, 4, 8, 1, 0, 5}; !slices.Equal(p.Points.Values, want) {
		t.Errorf("got %v", p.Points.Values)
	}
	if p.IDs != nil || p.Labels != nil || len(p.Notices) != 1 ||
		!strings.Contains(p.Notices[0], `1 row has a value that was not in the training data, such as "green"`) {
		t.Errorf("got %+v", p)
	}
	// Names may differ in case and spaces, and a few cells need not be numbers.
	p, err = r.Apply(t.Context(), made(t, words("Color", "red", "blue"), words("PETALS", "7", "many"),
		numbers(" height", 1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{1, 0, 1, 7, 2, 1, 0, r.Features[2].Fill}; !slices.Equal(p.Points.Values, want) {
		t.Errorf("got %v, want %v", p.Points.Values, want)
	}
	if want := []string{`column "Color" is read as "color"`, `column "PETALS" is read as "petals"`,
		`column " height" is read as "height"`,
		`column "petals": a cell is not a number and is read as missing: "many" in row 1`}; !slices.Equal(p.Notices,
		want) {
		t.Errorf("got %q", p.Notices)
	}
}

// Of several columns whose names differ alike from the wanted one, the first is read, and the others are named.
func TestSeveralNamesForOneColumn(t *testing.T) {
	r, _, err := Fit(t.Context(), made(t, numbers("height", 1, 2, 4), numbers("petals", 3, 5, 4)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Apply(t.Context(), made(t, numbers("Height", 1, 2), numbers("HEIGHT", 7, 8), numbers("petals", 3, 4)))
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{1, 3, 2, 4}; !slices.Equal(p.Points.Values, want) {
		t.Errorf("got %v, want %v", p.Points.Values, want)
	}
	if want := []string{`column "Height" is read as "height"`,
		`column "HEIGHT" is not used: "Height" is read as "height" already`}; !slices.Equal(p.Notices, want) {
		t.Errorf("got %q", p.Notices)
	}
}

// Numbers that are all there become points bit for bit, and say nothing.
func TestNumbersStayAsTheyAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 700).Draw(t, "rows")
		columns := make([]table.Column, rapid.IntRange(1, 4).Draw(t, "columns"))
		for at := range columns {
			c := table.Column{Name: "f" + string(rune('a'+at)),
				Type: rapid.SampledFrom([]table.Type{table.Integer, table.Number}).Draw(t, "type")}
			if c.Type == table.Integer {
				c.Integers = rapid.SliceOfN(rapid.Int64(), rows, rows).Draw(t, "integers")
			} else {
				c.Numbers = rapid.SliceOfN(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64), rows, rows).Draw(t,
					"numbers")
			}
			columns[at] = c
		}
		all := made(t, columns...)
		var keep []string
		for at := range columns {
			keep = append(keep, columns[at].Name)
		}
		r, _, err := Fit(t.Context(), all,
			Options{Missing: rapid.SampledFrom([]Missing{Auto, Error, Drop, Mean, Median}).Draw(t, "missing"),
				Keep: keep, KeepLastRow: true})
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.Apply(t.Context(), all)
		if err != nil || p.Kept != nil || p.Points.N != rows || p.Points.D != len(columns) {
			t.Fatal(p, err)
		}
		for at := range columns {
			for row := range rows {
				if math.Float64bits(p.Points.Row(row)[at]) != math.Float64bits(columns[at].Number(row)) {
					t.Fatal("changed", row, at)
				}
			}
		}
	})
}
