// Package csv reads tables in text files as programs and people write them. It detects the cell separator, the header
// and the type of each column.
package csv

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cleave-project/cleave/internal/data/table"
)

// Options holds what the user specified about a table. Empty fields are detected.
type Options struct {
	Format    string   // such as "csv"; "" uses the suffix
	Delimiter byte     // between cells
	Header    string   // whether the first line is a header: "yes", "no", or "auto"
	Names     []string // known column names: a first line with all of them is a header, even if they are numbers
	Decimals  string   // the decimal separator, "." or ",", for tables that are ambiguous
	Texts     []string // columns to read as text, by name or by number from 1
	// columns that are not needed, by name or by number from 1: invalid cells in them are read as empty
	Ignore []string
	Only   []string  // if not empty, the only columns that are needed
	Stdin  io.Reader // read for the path "-"; a Spool is rewound first
	Name   string    // of Stdin in messages; "" means "standard input"
	Known  *Survey   // what reading the same text with the same options showed before; nil if it was not read
}

// Ignores reports which of the named columns need not be parsed. The result has one entry per name.
func (o *Options) Ignores(names []string) []bool {
	ignored := table.Listed(names, o.Ignore)
	needed := table.Listed(names, o.Only)
	for at := range ignored {
		ignored[at] = ignored[at] || len(o.Only) > 0 && !needed[at]
	}
	return ignored
}

// Survey is what the cells of a text showed that its first rows did not. Opened with it, the text is read without
// starting over.
type Survey struct {
	Latin bool     // the text is not UTF-8
	Seen  []uint32 // evidence about each column
}

// ErrRestarted is returned by Next when a later row shows that the beginning was misread, for example when a word turns
// a column of numbers into text. The caller must discard all rows read so far: Columns has changed, and Next continues
// with the first row.
var ErrRestarted = errors.New("the table is read again from its first row")

// Notices returns messages for the user about how ambiguous parts of the table were read.
func (r *Reader) Notices() []string {
	var unusual []string
	found := decimalsOf(r.layout.columns)
	decimals := cmp.Or(found, r.options.Decimals)
	if usual := r.options.Decimals; found != "" && usual != "" && found != usual {
		unusual = append(unusual, fmt.Sprintf("the decimal separator is %q, but in the model's data it was %q",
			found, usual))
	}
	for number := range r.layout.kinds {
		column, kind := &r.layout.columns[number], &r.layout.kinds[number]
		notice := kind.notice(column.name)
		switch {
		case notice != "":
			unusual = append(unusual, notice)
		case kind.Type == table.Integer && column.seen&sawZeros != 0:
			unusual = append(unusual,
				fmt.Sprintf("column %q is read as numbers, without leading zeros; if these are codes, use "+
					"--id-column, --categorical or --ignore", column.name))
		case r.layout.separator == ';' && decimals == "" && kind.point == '.' && column.seen&asPointGroups.bit() == 0 &&
			column.seen&asSpaceComma.bit() != 0:
			unusual = append(unusual,
				fmt.Sprintf("column %q: 1.234 is read as a decimal number; if it means 1234, remove the point",
					column.name))
		}
	}
	const most = 8
	if more := len(unusual) - most; more > 1 {
		unusual = append(unusual[:most], fmt.Sprintf("%d more columns have numbers in unusual notation", more))
	}
	return slices.Concat(r.notices, unusual)
}
