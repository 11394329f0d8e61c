package recipe

import (
	"fmt"

	"github.com/cleave-project/cleave/internal/text"
)

// notice is a message to the user and its kind.
type notice struct {
	kind kind
	text string
}

// kind is the subject of a notice. Notices are listed in the order of their kinds.
type kind uint8

// The kinds of notices.
const (
	listed kind = iota // always listed in full: ids, classes, totals
	emptyColumn
	mostlyEmpty
	hardlyRepeats
	dates
	rowIDs
	rareValues
	codes
	categories
	switches
	absent
	filled
)

// maxAlike limits how many columns a kind of notice names, and maxLeftOut how many columns that are left out for one
// reason.
const maxAlike, maxLeftOut = 8, 3

// noticeLimits limits how many notices of a kind are printed; more is the sentence that counts the rest.
var noticeLimits = [...]struct {
	most int
	more string
}{
	emptyColumn:   {maxLeftOut, "%d more columns are left out because they are empty"},
	mostlyEmpty:   {maxLeftOut, "%d more columns are left out because they are mostly empty"},
	hardlyRepeats: {maxLeftOut, "%d more columns are left out because their values hardly repeat"},
	dates:         {maxLeftOut, "%d more columns are left out because they hold dates"},
	rowIDs:        {maxLeftOut, "%d more columns are left out because they look like row ids"},
	rareValues:    {maxAlike, "%d more columns have rare values that become one category"},
	codes:         {maxAlike, "%d more columns are named like codes, whose numbers are categories"},
	categories:    {maxAlike, "%d more columns have categories, each of which becomes a column of 0 and 1"},
	switches:      {maxAlike, "%d more columns of yes or no are read as 1 or 0"},
	absent:        {maxAlike, "%d more columns have cells that are read as missing"},
	filled:        {maxAlike, "%d more columns have empty cells that are filled"},
}

// arranged sorts notices by their kinds. Of many notices of one kind, it keeps the first few and counts the others.
func arranged(notices []notice) []string {
	var list [len(noticeLimits)][]string
	for _, n := range notices {
		list[n.kind] = append(list[n.kind], n.text)
	}
	all := list[listed]
	for k, texts := range list[listed+1:] {
		rule := noticeLimits[int(listed)+1+k]
		if more := len(texts) - rule.most; more > 1 {
			texts = append(texts[:rule.most], fmt.Sprintf(rule.more, more))
		}
		all = append(all, texts...)
	}
	return all
}

// notice adds a notice of a kind.
func (f *fitting) notice(k kind, format string, args ...any) {
	f.notices = append(f.notices, notice{k, fmt.Sprintf(format, args...)})
}

// leaveOut reports why a column is not a feature. If the user named the features, it reports nothing about others.
func (f *fitting) leaveOut(k kind, at int, format string, args ...any) {
	why := fmt.Sprintf("column %q is left out: "+format, append([]any{f.Columns[at].Name}, args...)...)
	f.reasons = append(f.reasons, why)
	if len(f.options.Only) == 0 || f.roles[at] != unused {
		f.notices = append(f.notices, notice{k, why})
	}
}

// quoted lists the first six names, quoted.
func quoted(names []string) string {
	shown := make([]string, len(names))
	for at, name := range names {
		shown[at] = fmt.Sprintf("%.40q", name)
	}
	return text.First(shown, 6)
}
