package recipe

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/table"
)

// A screen is enough for what there is to say about any table.
func TestNoticesFitAScreen(t *testing.T) {
	const rows = 30
	columns := []table.Column{measured("x", rows)}
	add := func(name string, cell func(row int) string) {
		for at := range 40 {
			c := table.Column{Name: fmt.Sprintf("%s %d", name, at), Type: table.Text, Texts: make([]string, rows)}
			for row := range rows {
				c.Texts[row] = cell((row*7 + at) % rows)
			}
			columns = append(columns, c)
		}
	}
	add("empty", func(int) string { return "" })
	add("mostly", func(row int) string { return []string{"", "", "", "a", "b"}[row%5] })
	add("constant", func(int) string { return "a" })
	add("remark", func(row int) string { return fmt.Sprint("word ", row*2/3) })
	add("date", func(row int) string { return fmt.Sprintf("2024-01-%02d", row%9+1) })
	add("color", func(row int) string { return []string{"red", "blue", "green"}[row*row%3] })
	made, err := table.New(columns)
	if err != nil {
		t.Fatal(err)
	}
	_, notices, err := Fit(t.Context(), made, Options{})
	if err != nil || len(notices) > 26 {
		t.Errorf("%d notices, %v:\n%s", len(notices), err, strings.Join(notices, "\n"))
	}
}

// What columns are comes before what was filled in, and many columns alike are counted.
func TestNoticesAreArranged(t *testing.T) {
	names := table.Column{Name: "name filled in", Type: table.Text} // words of a name do not count
	for row := range 20 {
		names.Texts = append(names.Texts, fmt.Sprintf("n%d", row))
	}
	var columns []table.Column
	for at := range 30 {
		c := table.Column{Name: fmt.Sprintf("c%d", at), Type: table.Number, Numbers: make([]float64, 20),
			Empty: make([]bool, 20)}
		for row := range c.Numbers {
			c.Numbers[row] = float64(row*(at+1)%7 + at*row%5 + row%2)
		}
		c.Numbers[at%20], c.Empty[at%20] = 0, true
		columns = append(columns, c)
	}
	color := table.Column{Name: "color", Type: table.Text, Texts: slices.Repeat([]string{"red", "blue"}, 10)}
	for row := range color.Texts {
		if row%3 == 0 {
			color.Texts[row] = "green"
		}
	}
	columns = append(columns, color, names)
	made, err := table.New(columns)
	if err != nil {
		t.Fatal(err)
	}
	_, notices, err := Fit(t.Context(), made, Options{Missing: Median})
	if err != nil {
		t.Fatal(err)
	}
	if len(notices) != 2+maxAlike+1 ||
		notices[0] != `column "name filled in" is the row id: its values are all different` ||
		notices[2] != `column "c0": 1 empty cell is filled with its median, 4` ||
		notices[len(notices)-1] != "22 more columns have empty cells that are filled" {
		t.Errorf("%q", notices)
	}
}

// A column that the user named, by its number or in other letters too, is not left out without a word.
func TestNamedColumnsAreReported(t *testing.T) {
	columns := []table.Column{measured("x", 4), {Name: "y", Type: table.Text, Texts: make([]string, 4)}}
	made, err := table.New(columns)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"y", "Y", "2"} {
		_, notices, err := Fit(t.Context(), made, Options{Only: []string{"x", name}})
		if err != nil || !slices.Contains(notices, `column "y" is left out: it is empty`) {
			t.Errorf("%s: %v, %q", name, err, notices)
		}
	}
}

// Cells that stand for missing values are counted as they are read, by the decimal separator of the file.
func TestCountOfAbsentCells(t *testing.T) {
	// the third is not a number
	x := table.Column{Name: "x", Type: table.Text, Texts: []string{"-999", "-999", "-999.0", "pending"}}
	for row := range 60 {
		x.Texts = append(x.Texts, fmt.Sprint(100+row%20))
	}
	made, err := table.New([]table.Column{x})
	if err != nil {
		t.Fatal(err)
	}
	_, notices, err := Fit(t.Context(), made, Options{Decimals: ","})
	if all := strings.Join(notices, "\n"); err != nil || !strings.Contains(all, `column "x": 2 cells `) ||
		!strings.Contains(all, "-999") || strings.Contains(all, "3 cells") {
		t.Errorf("%v, %q", err, notices)
	}
}
