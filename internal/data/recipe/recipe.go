// Package recipe makes points from ordinary tables. It decides which column holds the row ids, which one the classes,
// which ones are features, how texts become numbers, and what replaces a missing value.
//
// Fit makes these decisions from a table and the user's options, and reports them as notices. The Recipe that it
// returns applies the same decisions to any table with the same columns.
package recipe

import "github.com/cleave-project/cleave/internal/data/dataset"

// Missing selects how missing values are treated.
type Missing string

// The methods to treat missing values.
const (
	Auto   Missing = "auto"   // fill them from similar rows, and leave out columns that are mostly empty
	Error  Missing = "error"  // refuse the table
	Drop   Missing = "drop"   // leave out their rows
	Mean   Missing = "mean"   // fill in the mean of the column, or its most frequent category
	Median Missing = "median" // fill in the median of the column, or its most frequent category
)

// MissingMethods lists the methods to treat missing values.
func MissingMethods() []string {
	return []string{string(Auto), string(Error), string(Drop), string(Mean), string(Median)}
}

// Options holds what the user specified about a table; Fit decides whatever is left empty. Columns are given by name,
// or by number from 1.
type Options struct {
	ID, Label   string   // the columns of row ids and of classes
	Ignore      []string // columns to leave out
	Only        []string // if not empty, the only features
	Categorical []string // columns whose values are categories, even if they are numbers
	Missing     Missing  // "" means Auto
	Keep        []string // columns to use unchanged, even if Fit would leave them out
	Dates       bool     // convert dates to numbers
	KeepLastRow bool     // use the last row even if it looks like totals
	Decimals    string   // the decimal separator in the file of the table, "." or ","; "" if unknown
}

// Recipe makes points from the rows of a table.
type Recipe struct {
	ID       string    `json:"id,omitempty"`    // the column of row ids, "" for none
	Label    string    `json:"label,omitempty"` // the column of classes, "" for none
	Missing  Missing   `json:"missing"`
	Features []Feature `json:"features"`
	// Decimals is the decimal separator of the text file that the table was read from, "." or ",". It applies to later
	// files.
	Decimals string `json:"decimals,omitempty"`
	// The last row of a table is left out if its cell in TotalColumn says "total" or the like, or if TotalSums is set
	// and it has the sums or means of the other rows.
	TotalColumn string `json:"total_column,omitempty"`
	TotalSums   bool   `json:"total_sums,omitempty"`
}

// Feature is a column that points are made from.
type Feature struct {
	Column string `json:"column"`
	// Categories lists the values of a categorical column. Each becomes a column of the points, which is 1 in the rows
	// with this value and 0 elsewhere; no and yes become a single column, which is 1 for yes.
	Categories []string `json:"categories,omitempty"`
	// Fill or FillCategory replaces a missing value.
	Fill         float64 `json:"fill,omitempty"`
	FillCategory string  `json:"fill_category,omitempty"`
	// Donors holds the values of some rows, or the numbers of their categories, to fill gaps in similar rows; all
	// features have equally many. DonorGaps lists the donors without a value here. Unit is the distance that counts as
	// 1 in this column: the standard deviation, or its equivalent for categories.
	Donors    []float64 `json:"donors,omitempty"`
	DonorGaps []uint32  `json:"donor_gaps,omitempty"`
	Unit      float64   `json:"unit,omitempty"`
	// Absent lists numbers that stand for a missing value. With AbsentTexts, cells that are not numbers do, too.
	Absent      []float64 `json:"absent,omitempty"`
	AbsentTexts bool      `json:"absent_texts,omitempty"`
	// Other is the category of all values that are not listed; "" if they have none.
	Other string `json:"other,omitempty"`
	// Dates is the order of "ymd", "dmy" or "mdy" in a column of dates, which become days since 1970, and "hm" in a
	// column of times, which become hours; "" for other columns.
	Dates string `json:"dates,omitempty"`
}

// columns returns how many columns of the points a feature becomes.
func (f *Feature) columns() int {
	if f.isSwitch() {
		return 1
	}
	return max(1, len(f.Categories))
}

// categorical returns the columns of the points that encode categories, in ascending order.
func (r *Recipe) categorical() []dataset.Categorical {
	var all []dataset.Categorical
	from := 0
	for at := range r.Features {
		f := &r.Features[at]
		to := from + f.columns()
		if f.Categories != nil {
			all = append(all, dataset.Categorical{From: from, To: to})
		}
		from = to
	}
	return all
}

// Prepared holds the points that Apply made from a table.
type Prepared struct {
	Points *dataset.Points
	Names  []string // of the columns of the points: "height", "color=red"
	Kept   []int32  // the rows of the table that became points, in order; nil means all
	IDs    []string // of each row of the table; nil means that rows have only numbers
	Labels []string // the class of each row of the table, "" if unknown; nil without a column of classes
	// Notices reports values that the recipe does not know.
	Notices []string
	// Total reports that the last row was left out because it holds totals.
	Total bool
	// Blank counts the rows that were left out because they have no values.
	Blank int

	rows int // of the table
}

// Names returns the names of the columns of the points.
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
