package recipe

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
)

// Yes and no are one column, whatever they are called, and so they are in new rows.
func TestYesAndNo(t *testing.T) {
	x := numbers("x", 1, 2, 3, 5)
	for name, c := range map[string]struct {
		cells []string
		names string
		want  []float64
	}{
		"yes":  {[]string{"yes", "no", "no", "yes"}, "a=yes x", []float64{1, 0, 0, 1}},
		"TRUE": {[]string{"FALSE", "TRUE", "FALSE", "FALSE"}, "a=TRUE x", []float64{0, 1, 0, 0}},
		"Y":    {[]string{"Y", "N", "N", "N"}, "a=Y x", []float64{1, 0, 0, 0}},
	} {
		r, notices, err := Fit(t.Context(), made(t, words("a", c.cells...), x), Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p, err := r.Apply(t.Context(), made(t, words("a", c.cells...), x))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []float64
		for row := range p.Points.N {
			got = append(got, p.Points.Row(row)[0])
		}
		if strings.Join(p.Names, " ") != c.names || !slices.Equal(got, c.want) || p.Points.D != 2 {
			t.Errorf("%s: got %v with %v", name, p.Names, got)
		}
		if said := strings.Join(notices, "\n"); name == "yes" &&
			!strings.Contains(said, `column "a" says "yes" or "no": read as 1 or 0`) {
			t.Errorf("%s: %s", name, said)
		}
	}
	r, _, err := Fit(t.Context(), made(t, words("a", "yes", "no", "no", "yes"), x), Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Apply(t.Context(), made(t, words("a", "perhaps", "yes"), numbers("x", 1, 2)))
	if err != nil || p.Points.Row(0)[0] != 0 || p.Points.Row(1)[0] != 1 || len(p.Notices) != 1 {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestDates(t *testing.T) {
	for _, c := range []struct {
		cells []string
		dates bool
	}{
		{[]string{"2024-05-01", "", "2024-12-31"}, true},
		{[]string{"2024-05-01 10:30", "2024-05-01T10:30:15.5Z", "2024-05-01 10:30:15+02:00"}, true},
		{[]string{"1.5.2024", "31.12.24"}, true},
		{[]string{"5/1/2024 3:04 PM"}, true},
		{[]string{"1-Jan-2024", "31 December 2023", "Mar 5, 2024", "March 5th 2024 10:30", "5. Okt. 23", "May 2024"},
			true},
		{[]string{"2024-05", "5/2024"}, true},
		{[]string{"20240501", "19991231"}, true},
		{[]string{"20240501", "20241301"}, false},
		{[]string{"Marketing 2024"}, false},
		{[]string{"Jan 24"}, false},
		{[]string{"3024-05"}, false},
		{[]string{"2024-05-01", "soon"}, false},
		{[]string{"1.5", "192.168.1.10"}, false},
		{[]string{"", ""}, false},
	} {
		column := words("when", c.cells...)
		if got := holdsDates(&column); got != c.dates {
			t.Errorf("%v: got %v", c.cells, got)
		}
	}
	sizes := words("size", "1 kg", "2.5 kg", "12 kg", "7 kg")
	if r, notices, err := Fit(t.Context(), made(t, sizes, numbers("x", 1, 2, 3, 5)), Options{}); err != nil ||
		r.ID != "" || !strings.Contains(strings.Join(notices, "\n"), `such as "1 kg"`) {
		t.Errorf("got %+v, %v, %v", r, notices, err)
	}
	// They are not features, except as categories; if no other column can be the row id, they are.
	x := numbers("x", 1, 2, 3, 5)
	id := words("id", "a", "b", "c", "d")
	when := words("when", "2024-05-01", "2024-05-02", "2024-05-02", "2024-05-01")
	r, notices, err := Fit(t.Context(), made(t, id, when, x), Options{})
	if err != nil || strings.Join(r.Names(), " ") != "x" ||
		!strings.Contains(strings.Join(notices, "\n"), `column "when" is left out: it holds dates`) {
		t.Errorf("got %+v, %v, %v", r, notices, err)
	}
	if r, _, err = Fit(t.Context(), made(t, id, when, x), Options{Categorical: []string{"when"}}); err != nil ||
		len(r.Names()) != 3 {
		t.Errorf("got %+v, %v", r, err)
	}
	if r, _, err = Fit(t.Context(), made(t, words("day", "2024-05-01", "2024-05-02", "2024-05-03", "2024-05-04"), x),
		Options{}); err != nil || r.ID != "day" {
		t.Errorf("got %+v, %v", r, err)
	}
}

// A check mark is yes and an empty cell no, not a missing value; so it is in new rows.
func TestCheckMarks(t *testing.T) {
	x := numbers("x", 1, 2, 3, 5)
	for _, missing := range []Missing{Auto, Drop, Median} {
		r, notices, err := Fit(t.Context(), made(t, words("member", "", "x", "", ""), x), Options{Missing: missing})
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(notices, "\n"); said != `column "member" has "x" or is empty: read as 1 or 0` {
			t.Errorf("%s: %s", missing, said)
		}
		p, err := r.Apply(t.Context(), made(t, words("member", "X", ""), numbers("x", 1, 2)))
		if err != nil || p.Points.N != 2 || p.Points.D != 2 || p.Points.Row(0)[0] != 1 || p.Points.Row(1)[0] != 0 {
			t.Errorf("%s: got %+v, %v", missing, p, err)
		}
	}
	for _, other := range [][]string{{"", "x", "o", ""}, {"", "yes", "", "yes"}, {"x", "x", "x", "x"}} {
		if r, _, err := Fit(t.Context(), made(t, words("member", other...), x), Options{}); err != nil ||
			len(r.Features) > 1 && r.Features[0].isCheck() {
			t.Errorf("%q: got %+v, %v", other, r, err)
		}
	}
}

// Times are hours. They are features, unlike dates.
func TestTimes(t *testing.T) {
	of := made(t, words("start", "0:30", "12:00", "", "1:30:36"), numbers("x", 1, 2, 3, 5))
	r, notices, err := Fit(t.Context(), of, Options{})
	if err != nil || strings.Join(r.Names(), " ") != "start x" ||
		!strings.Contains(strings.Join(notices, "\n"), `column "start" holds times, read as hours`) {
		t.Fatalf("got %+v, %q, %v", r, notices, err)
	}
	p, err := r.Apply(t.Context(), of)
	if err != nil || p.Points.Row(0)[0] != 0.5 || p.Points.Row(1)[0] != 12 || p.Points.Row(3)[0] != 1.51 {
		t.Errorf("got %+v, %v", p, err)
	}
	if r, _, err := Fit(t.Context(), made(t, words("ratio", "0:30", "12:75", "1:2", "1:1"), numbers("x", 1, 2, 3, 5)),
		Options{}); err != nil || strings.Join(r.Names(), " ") != "x" {
		t.Errorf("got %+v, %v", r, err)
	}
}

// A row without any value has no cluster; one with an id or another value has.
func TestRowsWithoutValues(t *testing.T) {
	id := words("id", "a", "", "c", "d", "e")
	x := numbers("x", 1, 0, 3, 0, 2)
	color := words("color", "red", "", "", "red", "blue")
	x.Empty = []bool{false, true, false, true, false}
	of := made(t, id, x, color)
	r, notices, err := Fit(t.Context(), of, Options{Ignore: []string{"id"}})
	if err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(notices, "\n"); !strings.Contains(said,
		`2 empty cells are filled from similar rows; --missing selects another method ("x" 1, "color" 1)`) {
		t.Errorf("the cells of the row without values are counted: %s", said)
	}
	p, err := r.Apply(t.Context(), of)
	if err != nil || !slices.Equal(p.Kept, []int32{0, 2, 3, 4}) || p.Blank != 1 || p.Points.N != 4 ||
		!slices.Equal(p.Notices, []string{"1 row has no values, so it gets no cluster (label -1)"}) {
		t.Errorf("got %+v, %v", p, err)
	}
	r.Missing = Median
	if p, err := r.Apply(t.Context(), of); err != nil || p.Kept != nil || p.Blank != 0 {
		t.Errorf("got %+v, %v", p, err)
	}
}

// A row without any value has no cluster and needs no id, unless it is filled; a row with a value needs one.
func TestRowsWithoutValuesNeedNoID(t *testing.T) {
	id := words("id", "a", "", "c", "", "blank 1")
	x := gaps(numbers("x", 1, 0, 3, 0, 2), 1, 3)
	y := gaps(numbers("y", 5, 0, 9, 0, 8), 1, 3)
	for _, o := range []Options{{}, {ID: "id"}, {Missing: Drop}} {
		r, notices, err := Fit(t.Context(), made(t, id, x, y), o)
		if err != nil || r.ID != "id" {
			t.Fatalf("%+v: %v, %v", o, notices, err)
		}
		p, err := r.Apply(t.Context(), made(t, id, x, y))
		if err != nil || !slices.Equal(p.IDs, []string{"a", "blank 1'", "c", "blank 2", "blank 1"}) ||
			!slices.Equal(p.Kept, []int32{0, 2, 4}) {
			t.Errorf("%+v: got %+v, %v", o, p, err)
		}
		if _, err := r.Apply(t.Context(), made(t, id, gaps(x, 3), gaps(y, 1, 3))); err == nil ||
			!strings.Contains(err.Error(), "row 1") {
			t.Errorf("%+v: a row with values has no id: %v", o, err)
		}
	}
	if r, _, err := Fit(t.Context(), made(t, id, x, y), Options{Missing: Median}); err != nil || r.ID != "" {
		t.Errorf("a row that is filled needs no id: %+v, %v", r, err)
	}
}

// Classes that are said to be unknown are none.
func TestUnknownClasses(t *testing.T) {
	of := made(t, words("kind", "a", "Unknown", "", "(unlabeled)"), numbers("x", 1, 2, 3, 5))
	r, _, err := Fit(t.Context(), of, Options{Label: "kind"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Apply(t.Context(), of)
	if err != nil || !slices.Equal(p.Labels, []string{"a", "", "", ""}) ||
		!slices.Equal(p.Notices, []string{`column "kind": in 2 cells, such as "Unknown", the class is unknown`}) {
		t.Errorf("got %q, %q, %v", p.Labels, p.Notices, err)
	}
}

// A column of numbers with different units says so.
func TestTwoUnits(t *testing.T) {
	of := made(t, words("way", "10 km", "200 m", "3.5 km", "20 m", "", "10 km"), numbers("x", 1, 2, 3, 5, 6, 7))
	if _, notices, err := Fit(t.Context(), of, Options{}); err != nil ||
		!slices.Equal(notices,
			[]string{`column "way" is left out: its numbers have different units, such as "10 km" and "200 m"; ` +
				`convert them to one unit to use the column`}) {
		t.Errorf("got %q, %v", notices, err)
	}
}

// Categories that differ only in case are one, also in new rows; single letters are not.
func TestCategoriesInUpperAndLowerCase(t *testing.T) {
	of := made(t, words("color", "Red", "blue", "RED", "red", "Blue", ""), words("size", "a", "A", "a", "b", "A", "b"),
		numbers("x", 1, 2, 3, 5, 7, 9))
	r, notices, err := Fit(t.Context(), of, Options{Missing: Median})
	if err != nil || strings.Join(r.Names(), " ") != "color=Red color=blue size=A size=a size=b x" ||
		r.Features[0].FillCategory != "Red" {
		t.Fatalf("got %+v, %v", r, err)
	}
	if said := strings.Join(notices, "\n"); !strings.Contains(said,
		`column "color" has 2 categories: "Red", "blue", in upper or lower case; each`) {
		t.Error(said)
	}
	p, err := r.Apply(t.Context(), made(t, words("color", "BLUE"), words("size", "B"), numbers("x", 1)))
	if err != nil || !slices.Equal(p.Points.Row(0), []float64{0, 1, 0, 0, 0, 1}) || len(p.Notices) != 1 {
		t.Errorf("got %v, %q, %v", p.Points.Row(0), p.Notices, err)
	}
	if r, _, err := Fit(t.Context(), of, Options{Categorical: []string{"color"}}); err != nil ||
		len(r.Features[0].Categories) != 5 {
		t.Errorf("categories that the user asked for: %+v, %v", r, err)
	}
}

// Columns are shown to people as they are compared.
func TestColumnsAsRead(t *testing.T) {
	codes := numbers("x", 1, -999, 3, 5, 7, -999)
	of := made(t, words("color", "Red", "blue", "RED", "red", "Blue", ""), words("done", "x", "", "", "x", "", ""),
		words("start", "1:30", "", "2:00", "3:00", "4:00", "5:00"), codes,
		words("when", "2024-05-01", "2024-05-02", "2024-05-01", "2024-05-02", "2024-05-03", "2024-05-03"),
		words("other", "a", "b", "A", "b", "b", "B"))
	r, _, err := Fit(t.Context(), of, Options{Dates: true, Ignore: []string{"other"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for at := range of.Columns {
		c := r.AsRead(&of.Columns[at])
		got = append(got, c.CellText(0)+" "+c.CellText(1)+" "+c.CellText(2))
	}
	if want := []string{"Red blue Red", "x no no", "1.5  2", "1  3", "2024-05-01 2024-05-02 2024-05-01",
		"a b A"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if of.Columns[0].Texts[2] != "RED" {
		t.Error("the table was changed")
	}
}

// Columns are found in any case, unless several differ in nothing else.
func TestColumnsInAnyCase(t *testing.T) {
	of := made(t, numbers("Height", 1, 2, 3), numbers("x", 1, 2, 4), numbers("X", 3, 1, 2))
	for name, want := range map[string]int{"Height": 0, "height": 0, " HEIGHT ": 0, "x": 1, "X": 2, "3": 2} {
		if at, err := Find(of, name); err != nil || at != want {
			t.Errorf("%q: got %d, %v", name, at, err)
		}
	}
	if at, err := Find(of, " x"); !fault.Is(err, "UNKNOWN_COLUMN") {
		t.Errorf("got %d, %v", at, err)
	}
}
