package page

import (
	"math"
	"slices"
	"strconv"
)

// Table is a table with a caption. Every row has a cell for each column; the first is the heading of the row.
type Table struct {
	Caption string // also names the table for a screen reader
	Columns []Column
	Rows    [][]Cell
	Note    string // below the table: what is not shown, what the columns mean
	Wide    bool   // has many columns, and small cells
	Tall    bool   // has many rows, and scrolls
}

// NewTable returns a table with columns of text. Words and Numbers add columns, and Add adds rows.
func NewTable(caption string, columns ...string) *Table {
	return (&Table{Caption: caption}).Words(columns...)
}

// Words adds columns of text, and returns the table.
func (t *Table) Words(names ...string) *Table { return t.head(names, false) }

// Numbers adds columns of numbers, and returns the table.
func (t *Table) Numbers(names ...string) *Table { return t.head(names, true) }

func (t *Table) head(names []string, numbers bool) *Table {
	for _, name := range names {
		t.Columns = append(t.Columns, Column{Name: name, Numbers: numbers})
	}
	return t
}

// Add adds a row, with a cell for each column.
func (t *Table) Add(cells ...Cell) { t.Rows = append(t.Rows, cells) }

// Drop removes columns, given their names.
func (t *Table) Drop(names ...string) {
	for at := len(t.Columns) - 1; at >= 0; at-- {
		if slices.Contains(names, t.Columns[at].Name) {
			t.Columns = slices.Delete(t.Columns, at, at+1)
			for row := range t.Rows {
				t.Rows[row] = slices.Delete(t.Rows[row], at, at+1)
			}
		}
	}
}

// Column describes a column.
type Column struct {
	Name    string
	Numbers bool   // aligned to the right
	Mark    *int   // the cluster that it is about
	Class   string // the class of that cluster; "" if it has none
}

// Cell is a cell of a table. If Missing is set, it shows that there is no value, and nothing else.
type Cell struct {
	Text  string
	Below string   // a second line, in small letters
	Mark  *int     // the cluster that it names, shown by its marker
	Class string   // the class of that cluster; "" if it has none
	Heat  string   // class of its background
	Bar   *float64 // -1..1: a bar to the left or right of the middle; 0..1 with Whole
	// Whole bars begin at the left.
	Whole    bool
	Strong   bool // stands out in its row
	FromData bool // text from the data, such as an id or a category, possibly in another script
	Missing  bool
}

// Text returns a cell with text that Cleave wrote, as opposed to text from the data.
func Text(text string) Cell { return Cell{Text: text} }

// Named returns a cell with a text from the data, such as an id.
func Named(text string) Cell {
	if text == "" {
		return Cell{Missing: true}
	}
	return Cell{Text: text, FromData: true}
}

// OfCluster returns a cell with the number of a cluster, and its class if it has one.
func OfCluster(cluster int, class string) Cell {
	return Cell{Text: strconv.Itoa(cluster), Mark: &cluster, Class: class}
}

// ShareBar returns a cell with a bar that fills a share of its width.
func ShareBar(text string, share float64) Cell {
	return Cell{Text: text, Bar: &share, Whole: true}
}

// DifferenceBar returns a cell with a bar from the middle to either side.
func DifferenceBar(text string, difference float64) Cell { return Cell{Text: text, Bar: &difference} }

// Shaded gives a cell a background by a share from 0 to 1.
func (c Cell) Shaded(share float64) Cell {
	if step := int(math.Round(8 * min(1, max(0, share)))); step > 0 {
		c.Heat = "h" + strconv.Itoa(step)
	}
	return c
}

// Tinted gives a cell a background by a difference from -1 to 1.
func (c Cell) Tinted(difference float64) Cell {
	switch step := int(math.Round(6 * min(1, max(-1, difference)))); {
	case step > 0:
		c.Heat = "more" + strconv.Itoa(step)
	case step < 0:
		c.Heat = "less" + strconv.Itoa(-step)
	}
	return c
}

// The bar of a cell is drawn in a box of this width.
const barWidth = 100

// BarX returns where the bar begins.
func (c Cell) BarX() string {
	if c.Whole {
		return "0"
	}
	return Fixed(barWidth/2+min(0, c.length()), 1)
}

// BarWidth returns the length of the bar.
func (c Cell) BarWidth() string { return Fixed(math.Abs(c.length()), 1) }

// BarClass returns the CSS class of the bar, by its side.
func (c Cell) BarClass() string {
	switch {
	case c.Whole:
		return "bar"
	case *c.Bar < 0:
		return "bar less"
	}
	return "bar more"
}

func (c Cell) length() float64 {
	if c.Whole {
		return barWidth * min(1, max(0, *c.Bar))
	}
	return barWidth / 2 * min(1, max(-1, *c.Bar))
}
