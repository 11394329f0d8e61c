package format

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/data/table"
)

// notices say what the table was taken for, and how unusual numbers are read.
func (r *csvReader) notices() []string {
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
