// Package recipe makes points of ordinary tables: which column names the rows, which says their class, which ones are
// features, how texts become numbers, and what stands in for a missing value.
//
// Fit decides all of that from a table and from what its owner wishes, and says what it decided. The Recipe that it
// returns treats any other table of the same columns alike.
package recipe

import (
	"strings"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// Missing is what is done about cells that are empty.
type Missing string

// What can be done about them.
const (
	Auto   Missing = "auto"   // similar rows fill them, and columns that are mostly empty are left out
	Error  Missing = "error"  // they are refused
	Drop   Missing = "drop"   // their rows are left out
	Mean   Missing = "mean"   // the mean of the column stands in, or its most frequent category
	Median Missing = "median" // the median of the column stands in, or its most frequent category
)

// Ways are all ways to treat missing values.
func Ways() []string {
	return []string{string(Auto), string(Error), string(Drop), string(Mean), string(Median)}
}

// Wishes are what the owner of a table says about it; what is left empty is found from the table. Columns go by their
// names, or by their numbers from 1.
type Wishes struct {
	ID, Label   string   // the column that names the rows, and the one that says their classes
	Ignore      []string // columns that are not used
	Only        []string // if there are any, no other columns are features
	Categorical []string // columns whose values are categories, also where they are numbers
	Missing     Missing  // "": Auto
	Keep        []string // columns that are used as they are, although something speaks against them
	Dates       bool     // dates become numbers
	KeepLastRow bool     // the last row is a point, also where it looks like totals
	Decimals    string   // what stands before decimals in the file of the table, which has the numbers themselves: "." or ","; "": unknown
}

// Recipe makes points of the rows of a table.
type Recipe struct {
	ID       string    `json:"id,omitempty"`    // the column that names the rows, "" for none
	Label    string    `json:"label,omitempty"` // the column of classes, "" for none
	Missing  Missing   `json:"missing"`
	Features []Feature `json:"features"`
	// Decimals is what stands before decimals in a text that the table was read from, "." or ",": other texts are read alike.
	Decimals string `json:"decimals,omitempty"`
	// The last row of a table is left out if TotalColumn calls it a total, or if it has the sums or means of the others and TotalSums
	// says so.
	TotalColumn string `json:"total_column,omitempty"`
	TotalSums   bool   `json:"total_sums,omitempty"`
}

// Feature is a column that points are made of.
type Feature struct {
	Column string `json:"column"`
	// Categories are the values of a column that is not one of numbers. Each becomes a column of the points, which is 1
	// in the rows with this value and 0 in all others; no and yes become a single column, which is 1 for yes.
	Categories []string `json:"categories,omitempty"`
	// Fill and FillCategory stand in for a missing value.
	Fill         float64 `json:"fill,omitempty"`
	FillCategory string  `json:"fill_category,omitempty"`
	// Donors are the values of some rows of the table, of a category its number, from which gaps are filled in rows that are like
	// them; all features have as many, or none has any. DonorGaps are the donors that have no value here. Unit is what is far in this
	// column: the standard deviation, or what takes its place.
	Donors    []float64 `json:"donors,omitempty"`
	DonorGaps []uint32  `json:"donor_gaps,omitempty"`
	Unit      float64   `json:"unit,omitempty"`
	// Absent lists numbers that mean a missing value. AbsentTexts says that cells which are not numbers do, too.
	Absent      []float64 `json:"absent,omitempty"`
	AbsentTexts bool      `json:"absent_texts,omitempty"`
	// Other is the category of all values that are none of the others; "": they have none.
	Other string `json:"other,omitempty"`
	// Dates says that the column holds dates, which become days since 1970: "ymd", "dmy" or "mdy", as they are written.
	Dates string `json:"dates,omitempty"`
}

// columns is how many columns of the points a feature becomes.
func (f *Feature) columns() int {
	if f.isSwitch() {
		return 1
	}
	return max(1, len(f.Categories))
}

// words are the columns of the points that columns of words become.
func (r *Recipe) words() []dataset.Words {
	var all []dataset.Words
	from := 0
	for at := range r.Features {
		f := &r.Features[at]
		to := from + f.columns()
		if f.Categories != nil {
			all = append(all, dataset.Words{From: from, To: to})
		}
		from = to
	}
	return all
}

// Prepared is what a recipe makes of a table.
type Prepared struct {
	Points *dataset.Points
	Names  []string // of the columns of the points: "height", "color=red"
	Kept   []int32  // the rows of the table that became points, in order; nil: all
	IDs    []string // of each row of the table; nil: rows go by their numbers
	Labels []string // of each row of the table, "" where unknown; nil: there is no column of classes
	// Notices are about what is new in this table: categories that the recipe does not know.
	Notices []string
	// Total says that the last row of the table became no point because it sums up the others.
	Total bool

	rows int // of the table
}

// Names are the names of the columns of the points.
func (r *Recipe) Names() []string {
	var names []string
	for at := range r.Features {
		f := &r.Features[at]
		if f.Categories == nil {
			names = append(names, f.Column)
		}
		for at, category := range f.Categories {
			if at == 0 && f.isSwitch() {
				continue
			}
			names = append(names, f.Column+"="+category)
		}
	}
	return names
}

// opposites are the words of columns that say yes or no.
var opposites = map[string]string{"false": "true", "no": "yes", "n": "y", "f": "t"}

// isSwitch tells whether the categories are yes and no, in this order: then one column of 0 and 1 says it all.
func (f *Feature) isSwitch() bool {
	return len(f.Categories) == 2 && strings.ToLower(f.Categories[1]) == opposites[strings.ToLower(f.Categories[0])]
}
