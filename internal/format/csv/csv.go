// Package csv reads ordinary tables that are texts, as programs and people write them: it finds out what separates the
// cells, whether there is a header, and of what type each column is.
package csv

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cleave-project/cleave/internal/data/table"
)

// Options tell the reader of a table about it; what is left empty it finds out.
type Options struct {
	Format    string    // such as "csv"; "": as the suffix says
	Delimiter byte      // between the cells of a text
	Header    string    // whether the first line names the columns: "yes", "no", or "auto"
	Names     []string  // of columns that are known: a first line with all of them is the header, also if they are numbers
	Decimals  string    // the character before decimals, "." or ",", where a table does not tell
	Texts     []string  // columns to be read as texts, by name or by number from 1
	Ignore    []string  // columns that nobody needs, by name or by number from 1: what no table can hold is empty there
	Only      []string  // if any, nobody needs the others, either
	Stdin     io.Reader // what the path "-" stands for; a Spool is read from its beginning
}

// ErrRestarted is returned by Next when something late in a file shows that its beginning was misread: a word in a
// column of numbers makes it one of texts. The rows read so far are void; Columns has changed, and Next goes on with the
// first row.
var ErrRestarted = errors.New("the table is read again from its first row")

// Notices returns what the table was taken for, and how unusual numbers are read.
func (r *Reader) Notices() []string {
	var unusual []string
	own := decimalsOf(r.layout.columns)
	decimals := cmp.Or(own, r.options.Decimals)
	if usual := r.options.Decimals; own != "" && usual != "" && own != usual {
		unusual = append(unusual, fmt.Sprintf("numbers have %q before decimals, where the rows of the model had %q", own, usual))
	}
	for at, k := range r.layout.kinds {
		c := &r.layout.columns[at]
		notice := k.notice(c.name)
		switch {
		case notice != "":
			unusual = append(unusual, notice)
		case k.Type == table.Integer && c.seen&sawZeros != 0:
			unusual = append(unusual, fmt.Sprintf("column %q is read as numbers, without the zeros in front; if these are codes: --id-column, --categorical or --ignore", c.name))
		case r.layout.separator == ';' && decimals == "" && k == plainNumbers('.') && c.seen&evidence(asPointGroups) == 0 && c.seen&evidence(asSpaceComma) != 0:
			unusual = append(unusual, fmt.Sprintf("column %q: 1.234 is read as a number with decimals; if it is a thousand here, write it without the point", c.name))
		}
	}
	const most = 8
	if more := len(unusual) - most; more > 1 {
		unusual = append(unusual[:most], fmt.Sprintf("%d more columns are read as numbers in such ways", more))
	}
	return slices.Concat(r.said, unusual)
}
