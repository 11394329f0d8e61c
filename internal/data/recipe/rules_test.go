package recipe

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
)

// measured is a column of so many numbers that nothing speaks against.
func measured(name string, rows int) table.Column {
	random := rand.New(rand.NewPCG(uint64(len(name)), uint64(name[0])))
	c := table.Column{Name: name, Type: table.Number}
	for range rows {
		c.Numbers = append(c.Numbers, random.NormFloat64()+20)
	}
	return c
}

// A rule acts, says so in one line, and does not act where it is told not to.
func TestRules(t *testing.T) {
	const rows = 40
	x := measured("x", rows)
	cells := func(name string, cell func(row int) string) table.Column {
		list := make([]string, rows)
		for row := range list {
			list[row] = cell(row)
		}
		return words(name, list...)
	}
	fahrenheit := measured("fahrenheit", rows)
	rounded := measured("rounded", rows)
	sizes := integers("size")
	sentinels := measured("s", rows)
	zeros := measured("z", rows)
	for row, v := range x.Numbers {
		fahrenheit.Numbers[row] = 1.8*v + 32
		rounded.Numbers[row] = math.Round(10*x.Numbers[row]*3) / 10
		sizes.Integers = append(sizes.Integers, int64(row*row%7)*3)
	}
	tenths := measured("tenths", rows)
	for row := range tenths.Numbers {
		tenths.Numbers[row] = math.Round(100*tenths.Numbers[row]) / 10
		rounded.Numbers[row] = math.Round(18*tenths.Numbers[row]+320) / 10
	}
	sentinels.Numbers[3], sentinels.Numbers[9] = -999, -999
	zeros.Numbers[3], zeros.Numbers[9] = 0, 0
	often := cells("city", func(row int) string {
		if row%4 == 0 {
			return fmt.Sprint("village ", row)
		}
		return []string{"Rome", "Oslo", "Bern"}[row%3]
	})
	rare := cells("remark", func(row int) string { return fmt.Sprint("word ", row/2*2) })
	stray := cells("weight", func(row int) string {
		if row == 7 {
			return "ca. 5"
		}
		return fmt.Sprint(row*row%23, ",5")
	})
	for name, c := range map[string]struct {
		columns []table.Column
		does    string // the names of the columns of the points
		says    string
		instead Options
		then    string
	}{
		"constant": {[]table.Column{x, integers("one", slices.Repeat([]int64{1}, rows)...)}, "x",
			`column "one" is left out: it is the same in all rows; --keep one`, Options{Keep: []string{"one"}},
			"x one"},
		"copy": {[]table.Column{x, fahrenheit}, "x",
			`column "fahrenheit" (of "x") is left out: a copy, perhaps in another unit; --keep fahrenheit`,
			Options{Keep: []string{"fahrenheit"}}, "x fahrenheit"},
		"rounded": {[]table.Column{tenths, rounded}, "tenths", `"rounded" (of "tenths") is left out`,
			Options{Only: []string{"tenths", "rounded"}}, "tenths rounded"},
		"sentinel": {[]table.Column{x, sentinels}, "x s",
			`column "s": 2 cells with -999 are read as missing; --keep s uses them as numbers`,
			Options{Keep: []string{"s"}}, "x s"},
		"zeros": {[]table.Column{x, zeros}, "x z",
			`column "z": 2 cells with 0 are read as missing; --keep z uses them as numbers`,
			Options{Keep: []string{"z"}}, "x z"},
		"often": {[]table.Column{x, often}, "x city=Bern city=Oslo city=Rome city=other",
			`column "city" has 13 different values: those in fewer than 10 rows become one category, "other" (10 ` +
				`rows); --categorical city`, Options{Ignore: []string{"city"}}, "x"},
		"rare": {[]table.Column{x, rare}, "x",
			`column "remark" is left out: its 20 different values hardly repeat in 40 rows; --categorical remark`,
			Options{Ignore: []string{"remark"}}, "x"},
		"code": {[]table.Column{x, renamed(sizes, "countryCode")},
			"x countryCode=0 countryCode=3 countryCode=6 countryCode=12",
			`column "countryCode" is named like a code: its 4 numbers are categories; --keep countryCode`,
			Options{Keep: []string{"countryCode"}}, "x countryCode"},
		"size": {[]table.Column{x, sizes}, "x size", "", Options{Categorical: []string{"size"}},
			"x size=0 size=3 size=6 size=12"},
		"stray": {[]table.Column{x, stray}, "x weight",
			`column "weight": a cell is not a number and is read as missing: "ca. 5" in row 7; --categorical weight`,
			Options{Ignore: []string{"weight"}}, "x"},
	} {
		of := made(t, c.columns...)
		r, notices, err := Fit(t.Context(), of, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if said := strings.Join(notices, "\n"); strings.Join(r.Names(), " ") != c.does ||
			!strings.Contains(said, c.says) || c.says == "" && said != "" {
			t.Errorf("%s: got %q with %s", name, r.Names(), said)
		}
		if _, err := r.Apply(t.Context(), of); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		r, notices, err = Fit(t.Context(), of, c.instead)
		if err != nil || strings.Join(r.Names(), " ") != c.then ||
			c.says != "" && strings.Contains(strings.Join(notices, "\n"), c.says) {
			t.Errorf("%s, otherwise: got %q with %q, %v", name, r.Names(), notices, err)
		}
	}
	one := words("one", slices.Repeat([]string{"a"}, rows)...)
	if _, notices, err := Fit(t.Context(), made(t, x, one), Options{Categorical: []string{"one"},
		Keep: []string{"one"}}); err == nil && strings.Contains(strings.Join(notices, "\n"), "becomes") {
		t.Errorf("a constant column that is kept: %q", notices)
	}
	if _, notices, err := Fit(t.Context(), made(t, one), Options{}); err != nil ||
		!strings.Contains(strings.Join(notices, "\n"), `column "one" is always "a"`) {
		t.Errorf("a constant column alone: %q, %v", notices, err)
	}
	if _, _, err := Fit(t.Context(), made(t, x, stray), Options{Keep: []string{"weight"}}); !fault.Is(err,
		"NOT_A_NUMBER") {
		t.Errorf("a stray word that is kept: got %v", err)
	}
	lists := made(t, x, cells("sizes", func(row int) string { return []string{"1,5", "2,5", "x;y"}[row%3] }))
	if r, _, err := Fit(t.Context(), lists, Options{}); err != nil ||
		!slices.Equal(r.Features[1].Categories, []string{"1,5", "2,5", "x;y"}) {
		t.Errorf("texts that may be lists: %v", err)
	}
	for _, o := range []Options{{Keep: []string{"sizes"}}, {Decimals: ","}} {
		if _, _, err := Fit(t.Context(), lists, o); !fault.Is(err, "NOT_A_NUMBER") {
			t.Errorf("numbers with decimal commas: got %v", err)
		}
	}
	if _, _, err := Fit(t.Context(), made(t, x, sentinels), Options{Missing: Error}); !fault.Is(err, "MISSING_VALUE") ||
		!strings.Contains(err.Error(), `"-999" stands for a missing value; use --keep s`) {
		t.Errorf("got %v", err)
	}
}

func renamed(c table.Column, name string) table.Column {
	c.Name = name
	return c
}

// New rows are read as those of the table were: what stands for a missing value there does so here, and values that
// are rare are other ones.
func TestNewRowsAreReadAlike(t *testing.T) {
	const rows = 60
	x := measured("x", rows)
	weight := words("weight", make([]string, rows)...)
	city := words("city", make([]string, rows)...)
	for row := range rows {
		weight.Texts[row] = fmt.Sprint(row * row % 23)
		weight.Empty[row] = false
		city.Texts[row] = []string{"Rome", "Oslo"}[row%2]
		city.Empty[row] = false
		if row >= 48 {
			city.Texts[row] = fmt.Sprint("village ", row)
		}
	}
	for row := 20; row < 48; row++ {
		city.Texts[row] = fmt.Sprint("town ", row/4)
	}
	weight.Texts[5], x.Numbers[8], x.Numbers[9] = "unknown", 9999, 9999
	of := made(t, x, weight, city)
	r, notices, err := Fit(t.Context(), of, Options{Missing: Median})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.Features[0].Absent, []float64{9999}) || !r.Features[1].AbsentTexts ||
		r.Features[2].Other != "other" {
		t.Fatalf("got %+v, %q", r, notices)
	}
	p, err := r.Apply(t.Context(), made(t, numbers("x", 9999, 5), words("weight", "unknown", "7"),
		words("city", "Paris", "Rome")))
	if err != nil {
		t.Fatal(err)
	}
	other := slices.Index(p.Names, "city=other")
	rome := slices.Index(p.Names, "city=Rome")
	first := p.Points.Row(0)
	second := p.Points.Row(1)
	if first[0] != r.Features[0].Fill || first[1] != r.Features[1].Fill || second[0] != 5 || second[1] != 7 ||
		first[other] != 1 || second[rome] != 1 || len(p.Notices) > 0 {
		t.Errorf("got %v of %v, %q", p.Points.Values, p.Names, p.Notices)
	}
}

// A value Other of the table and the category of rare values are one category, and other values still may differ in
// case.
func TestRareValuesBesideOther(t *testing.T) {
	var cells []string
	for range 20 {
		cells = append(cells, "Red", "red", "Other", "other")
	}
	for rare := range 10 {
		cells = append(cells, fmt.Sprint("village ", rare))
	}
	city := words("city", append(cells, "")...)
	for _, missing := range []Missing{Auto, Mean} {
		of := made(t, measured("x", len(cells)+1), city)
		r, notices, err := Fit(t.Context(), of, Options{Missing: missing})
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(notices, "\n"); strings.Join(r.Names(), " ") != "x city=Other city=Red" ||
			!strings.Contains(said, `one category, "Other" (10 rows)`) {
			t.Fatalf("got %q with %s", r.Names(), said)
		}
		if f := r.Features[1]; f.Other != "Other" || missing == Mean && f.FillCategory != "Other" {
			t.Errorf("%s: rare values become %q, missing ones %q", missing, f.Other, f.FillCategory)
		}
		p, err := r.Apply(t.Context(), of)
		if err != nil {
			t.Fatal(err)
		}
		for row, cell := range cells {
			isRed := strings.EqualFold(cell, "red")
			if point := p.Points.Row(row); (point[2] == 1) != isRed || (point[1] == 1) == isRed {
				t.Fatalf("%s: %q becomes %v", missing, cell, point)
			}
		}
	}
}

// A last row of totals becomes no point, whatever tells that it is one.
func TestTotals(t *testing.T) {
	a := integers("a", 1, 2, 4, 9, 3, 7, 26)
	b := numbers("b", 1.5, 2, 0.25, 9, 3, 4, 19.75)
	who := words("who", "ann", "bob", "cat", "dan", "eve", "flo", "Total:")
	means := numbers("c", 10.5, 20.25, 30.125, 40.5, 50.75, 60.5, 35.4375)
	for name, c := range map[string]struct {
		columns []table.Column
		total   bool
	}{
		"called so":      {[]table.Column{who, means}, true},
		"sums":           {[]table.Column{a, b}, true},
		"sums and means": {[]table.Column{a, b, means}, true},
		"among numbers": {[]table.Column{words("case", "1", "2", "3", "4", "5", "6", "Total"),
			words("w", "1.5", "3.5", "2", "9", "4", "5", "Sum"), means}, true},
		"one sum": {[]table.Column{a, numbers("d", 1, 2, 3, 5, 8, 13, 21)}, false},
		"an average": {[]table.Column{words("level", "low", "low", "high", "high", "low", "high", "average"),
			numbers("d", 1, 2, 3, 5, 8, 13, 21)}, false},
		"an id that is none": {[]table.Column{
			words("id", "1", "2", "3", "4", "5", "6", ""), a, b}, true},
	} {
		of := made(t, c.columns...)
		r, notices, err := Fit(t.Context(), of, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p, err := r.Apply(t.Context(), of)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if p.Total != c.total ||
			c.total &&
				(p.Points.N != 6 || len(p.Kept) != 6 || !strings.HasPrefix(notices[0], "the last row is left out: ")) ||
			!c.total && p.Kept != nil {
			t.Errorf("%s: got %+v with %q", name, p, notices)
		}
		if p.IDs != nil && len(p.IDs) != 7 || p.Rows().Count != 7 {
			t.Errorf("%s: got the ids %q of %d rows", name, p.IDs, p.Rows().Count)
		}
		if name == "among numbers" {
			if got := strings.Join(r.Names(), " "); got != "case w c" || r.ID != "" || p.Points.Row(1)[1] != 3.5 {
				t.Errorf("got %s of %v", got, p.Points.Values)
			}
			continue
		}
		if r, _, err = Fit(t.Context(), of, Options{KeepLastRow: true, ID: r.ID}); err != nil {
			t.Fatal(err)
		}
		if name == "an id that is none" {
			if p, err = r.Apply(t.Context(), of); !fault.Is(err, "EMPTY_CELL") {
				t.Errorf("%s, kept: got %+v, %v", name, p, err)
			}
		} else if p, err = r.Apply(t.Context(), of); err != nil || p.Total || p.Points.N != 7 {
			t.Errorf("%s, kept: got %+v, %v", name, p, err)
		}
	}
}

// Dates are days, however they are written.
func TestDays(t *testing.T) {
	for _, c := range []struct {
		cells []string
		order string
		first float64
	}{
		{[]string{"1970-01-02", "2024-02-29"}, "ymd", 1},
		{[]string{"2000/03/01 12:00"}, "ymd", 11017.5},
		{[]string{"1970-01-02T00:00:33.75"}, "ymd", 1 + 33.75/86400},
		{[]string{"1970-01-01 00:00:00,5"}, "ymd", 0.5 / 86400},
		{[]string{"01.03.2000", "1.5.24"}, "dmy", 11017},
		{[]string{"3/1/2000", "3/14/2000"}, "mdy", 11017},
		{[]string{"3/1/2000"}, "mdy", 11017},
		{[]string{"1/3/2000", "14/3/2000"}, "dmy", 11017},
		{[]string{"14/3/2000", "3/14/2000"}, "", 0},
		{[]string{"1970-01-02T01:00:00+01:00"}, "ymd", 1},
		{[]string{"1/2/1970 12:00 AM"}, "mdy", 1},
		{[]string{"31.12.69"}, "dmy", -1},
		{[]string{"2-Jan-1970", "Dec 31 1969"}, "ymd", 1},
		{[]string{"Jan 2nd, 1970 12:00 PM"}, "ymd", 1.5},
		{[]string{"February 1970"}, "ymd", 31},
		{[]string{"1970-02"}, "ymd", 31},
		{[]string{"19700102"}, "ymd", 1},
	} {
		column := words("when", c.cells...)
		order := orderOf(&column)
		if order != c.order {
			t.Errorf("%v: got %q", c.cells, order)
		}
		if got, ok := days(c.cells[0], order); order != "" && (!ok || got != c.first) {
			t.Errorf("%v: got %v, %v", c.cells, got, ok)
		}
	}
	for _, s := range []string{"2023-02-29", "2024-13-01", "2024-00-01", "99999-01-01", "2024-01-01 77:00", ""} {
		if got, ok := days(s, yearFirst); ok {
			t.Errorf("%q is %v", s, got)
		}
	}
	when := words("when", "2024-05-01", "2024-05-03", "2024-05-02", "2024-06-01")
	r, notices, err := Fit(t.Context(), made(t, when, numbers("x", 1, 2, 3, 5)), Options{Dates: true})
	if err != nil || strings.Join(r.Names(), " ") != "when x" ||
		!strings.Contains(strings.Join(notices, "\n"), `column "when" holds dates, read as days since 1970`) {
		t.Fatalf("got %+v, %q, %v", r, notices, err)
	}
	for first, says := range map[string]string{
		"2024-03-04": "read as days since 1970",
		"3/4/2024":   "with the month first: 3/4/2024 is March 4",
		"13/4/2024":  "with the day first: 3/4/2024 is April 3",
		"3.4.2024":   "with the day first: 3/4/2024 is April 3",
	} {
		second := strings.Replace(first, "4", "5", 1)
		if first == "2024-03-04" {
			second = "2024-03-05"
		}
		_, notices, err := Fit(t.Context(), made(t, words("when", first, second, first, second),
			numbers("x", 1, 2, 3, 5)), Options{Dates: true})
		if err != nil || !slices.ContainsFunc(notices, func(notice string) bool {
			return strings.HasSuffix(notice, says)
		}) {
			t.Errorf("%s: got %q, %v; want %q", first, notices, err, says)
		}
	}
	p, err := r.Apply(t.Context(), made(t, words("when", "1970-01-11", ""), numbers("x", 1, 2)))
	if err != nil || p.Points.Row(0)[0] != 10 || p.Points.Row(1)[0] != r.Features[0].Fill {
		t.Errorf("got %+v, %v", p, err)
	}
	compact := made(t, integers("when", 19700102, 19700103, 19700111, 19700102), numbers("x", 1, 2, 3, 5))
	if r, notices, err := Fit(t.Context(), compact, Options{}); err != nil || strings.Join(r.Names(), " ") != "x" ||
		!strings.Contains(strings.Join(notices, "\n"), `column "when" is left out: it holds dates`) {
		t.Errorf("got %+v, %q, %v", r, notices, err)
	}
	if r, _, err := Fit(t.Context(), compact, Options{Only: []string{"when"}}); err != nil ||
		r.Features[0].Dates != "" {
		t.Errorf("numbers that the user asked for: %+v, %v", r, err)
	}
	compacted, _, err := Fit(t.Context(), compact, Options{Dates: true})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := compacted.Apply(t.Context(), compact); err != nil || p.Points.Row(2)[0] != 10 {
		t.Errorf("got %+v, %v", p, err)
	}
	// New dates may be stored as numbers. Any other number is an error, because the dates beside it would not be days.
	if p, err := compacted.Apply(t.Context(), made(t, numbers("when", 19700111, 19700102),
		numbers("x", 1, 2))); err != nil || p.Points.Row(0)[0] != 10 {
		t.Errorf("got %+v, %v", p, err)
	}
	for cell, column := range map[string]table.Column{
		`"99999999"`: integers("when", 19700102, 99999999), `"0"`: integers("when", 0, 19700102),
		`"19700230"`: integers("when", 19700230, 19700102), `"1.5"`: numbers("when", 19700102, 1.5),
	} {
		if _, err := compacted.Apply(t.Context(), made(t, column, numbers("x", 1, 2))); !fault.Is(err,
			"NOT_A_NUMBER") || !strings.Contains(err.Error(), cell+" is not a date") {
			t.Errorf("%s: got %v", cell, err)
		}
	}
	if _, err := r.Apply(t.Context(), made(t, words("when", "soon"), numbers("x", 1))); !fault.Is(err,
		"NOT_A_NUMBER") || !strings.Contains(err.Error(), `"soon" is not a date`) {
		t.Errorf("got %v", err)
	}
}

// twoKinds are rows of two kinds, far apart in all columns, of which some cells are missing.
func twoKinds(t *testing.T, rows int, missing float64) (*table.Table, []int) {
	random := rand.New(rand.NewPCG(1, 1))
	kinds := make([]int, rows)
	columns := []table.Column{{Name: "a", Type: table.Number}, {Name: "b", Type: table.Number},
		{Name: "c", Type: table.Number}, {Name: "color", Type: table.Text}}
	for row := range kinds {
		kinds[row] = row % 2
		for at := range columns {
			c := &columns[at]
			c.Empty = append(c.Empty, random.Float64() < missing)
			if c.Type == table.Text {
				c.Texts = append(c.Texts, []string{"red", "blue"}[kinds[row]])
			} else {
				c.Numbers = append(c.Numbers, (random.NormFloat64()+10*float64(kinds[row]))*math.Pow(10, float64(at)))
			}
		}
	}
	for at := range columns { // what is in an empty cell is nothing
		for row, empty := range columns[at].Empty {
			if empty && columns[at].Type == table.Text {
				columns[at].Texts[row] = ""
			} else if empty {
				columns[at].Numbers[row] = 0
			}
		}
	}
	return made(t, columns...), kinds
}

// What is filled in is what rows of the same kind have.
func TestGapsAreFilledFromSimilarRows(t *testing.T) {
	of, kinds := twoKinds(t, 3000, 0.3)
	r, _, err := Fit(t.Context(), of, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Apply(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Features[0].Donors) != maxDonors {
		t.Errorf("got %d donors", len(r.Features[0].Donors))
	}
	if p.Blank == 0 || len(p.Kept) != of.Rows()-p.Blank {
		t.Fatalf("%d rows without values, %d kept of %d", p.Blank, len(p.Kept), of.Rows())
	}
	wrong, filled := 0, 0
	blue := slices.Index(p.Names, "color=blue")
	for point, row := range p.Kept {
		gaps, kind := 0, kinds[row]
		for at := range of.Columns {
			if of.Columns[at].IsEmpty(int(row)) {
				gaps++
			}
		}
		if gaps == 4 {
			t.Errorf("row %d has no values, but is a point", row)
		}
		if gaps == 0 {
			continue
		}
		for at := range 3 {
			filled++
			if (p.Points.Row(point)[at] > 5*math.Pow(10, float64(at))) != (kind == 1) {
				wrong++
			}
		}
		if (p.Points.Row(point)[blue] > 0.5) != (kind == 1) {
			wrong++
		}
	}
	if wrong > filled/100 {
		t.Errorf("%d of %d are of the other kind", wrong, filled)
	}
	// A single new row is filled as it was among all.
	for row := range 50 {
		alone, err := r.Apply(t.Context(), of.Take([]int{row}))
		if err != nil || !slices.Equal(alone.Points.Row(0), p.Points.Row(row)) {
			t.Fatalf("row %d alone is %v, not %v: %v", row, alone.Points.Row(0), p.Points.Row(row), err)
		}
	}
}

// The fast way to the nearest donors agrees with sorting them.
func TestChoose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 300).Draw(t, "donors")
		distances := rapid.SliceOfN(rapid.Float64Range(0, 4), count, count).Draw(t, "distances")
		values := rapid.SliceOfN(rapid.SampledFrom([]float64{1, 2, math.NaN()}), count, count).Draw(t, "values")
		for at := range distances {
			distances[at] = math.Round(distances[at] * 4) // many are equal
		}
		var want []int
		for donor, v := range values {
			if v == v {
				want = append(want, donor)
			}
		}
		few := min(nearest, max(3, len(want)/5))
		slices.SortStableFunc(want, func(a, b int) int { return int(distances[a] - distances[b]) })
		want = want[:min(few, len(want))]
		if got := nearestDonors(distances, values, few, nil); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// A donor of another category adds 1/unit², one of the same nothing, and one without a value as much as the mean.
func TestDistanceOfCategories(t *testing.T) {
	sources := []source{{Feature: &Feature{Categories: []string{"a", "b", "c"}, Donors: []float64{0, 1, 2, 0, 1},
		DonorGaps: []uint32{3}, Unit: 0.3}}}
	s, err := newSimilarity(sources)
	if err != nil {
		t.Fatal(err)
	}
	scale := 1 / 0.3
	differ := float64(scale * scale)
	for value, want := range map[float64][]float64{0: {7, 7 + differ, 7 + differ, 9, 7 + differ},
		1: {7 + differ, 7, 7 + differ, 9, 7}, -1: {7 + differ, 7 + differ, 7 + differ, 9, 7 + differ}} {
		got := []float64{7, 7, 7, 7, 7}
		if s.add(got, 0, value); !slices.Equal(got, want) {
			t.Errorf("category %v: %v, want %v", value, got, want)
		}
	}
}

// Donors that a file has mixed up are refused.
func TestDonorsThatDoNotFit(t *testing.T) {
	of, _ := twoKinds(t, 50, 0.2)
	for name, spoil := range map[string]func(*Feature){
		"fewer":    func(f *Feature) { f.Donors = f.Donors[1:] },
		"gap":      func(f *Feature) { f.DonorGaps = []uint32{1000} },
		"category": func(f *Feature) { f.Donors[3] = 7 },
		"infinite": func(f *Feature) { f.Donors[3] = math.Inf(1) },
		"unit":     func(f *Feature) { f.Unit = math.NaN() },
	} {
		r, _, err := Fit(t.Context(), of, Options{})
		if err != nil {
			t.Fatal(err)
		}
		spoil(&r.Features[3])
		if _, err := r.Apply(t.Context(), of); !fault.Is(err, "BAD_RECIPE") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Rows are drawn without order, and always the same ones.
func TestDonorRows(t *testing.T) {
	if got := donorRows(7, 3); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6}) {
		t.Errorf("got %v", got)
	}
	rows := donorRows(100_000, 8)
	if len(rows) != maxDonors || !slices.IsSorted(rows) || !reflect.DeepEqual(rows, donorRows(100_000, 8)) ||
		rows[0] < 0 || rows[maxDonors-1] >= 100_000 {
		t.Errorf("got %v", rows)
	}
	odd := 0
	for _, row := range rows {
		odd += row % 2
	}
	if odd < 400 || odd > 600 {
		t.Errorf("%d of %d rows are odd", odd, len(rows))
	}
	if got := len(donorRows(1000, 100)) * 100; got > maxDonorCells {
		t.Errorf("%d cells", got)
	}
	if got := donorRows(1000, 10_000); got != nil {
		t.Errorf("got %v", got)
	}
}

// A table in which nothing tells rows apart still becomes points.
func TestHardlyAnything(t *testing.T) {
	for name, columns := range map[string][]table.Column{
		"one row":       {numbers("x", 5), words("color", "red")},
		"alike":         {numbers("x", 5, 5, 5, 5), words("color", "red", "red", "red", "red")},
		"words only":    {words("color", "red", "blue", "red", "blue"), words("size", "s", "s", "l", "l")},
		"only counting": {integers("n", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)},
	} {
		of := made(t, columns...)
		r, notices, err := Fit(t.Context(), of, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if said := strings.Join(notices, "\n"); strings.Contains(said, "left out") ||
			name == "alike" && !strings.Contains(said, "all rows are equal") ||
			name == "only counting" && !strings.Contains(said, "counts the rows from 1, but is used") {
			t.Errorf("%s: %s", name, said)
		}
		if p, err := r.Apply(t.Context(), of); err != nil || p.Points.N != of.Rows() {
			t.Errorf("%s: got %+v, %v", name, p, err)
		}
	}
}

func BenchmarkFillFromSimilarRows(b *testing.B) {
	for _, kind := range []string{"numbers", "words"} {
		b.Run(kind, func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 1))
			columns := make([]table.Column, 8)
			for at := range columns {
				c := table.Column{Name: string(rune('a' + at)), Type: table.Number, Empty: make([]bool, 20_000)}
				if kind == "words" {
					c.Type = table.Text
				}
				for row := range c.Empty {
					c.Empty[row] = random.IntN(10) == 0
					if kind == "words" {
						c.Texts = append(c.Texts, []string{"red", "green", "blue", "black", "white"}[random.IntN(5)])
					} else {
						c.Numbers = append(c.Numbers, random.NormFloat64())
					}
				}
				columns[at] = c
			}
			of := made(b, columns...)
			r, _, err := Fit(context.Background(), of, Options{})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := r.Apply(context.Background(), of); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
