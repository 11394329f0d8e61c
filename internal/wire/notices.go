package wire

import cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"

// MissingRows is the code of the notice about rows that were left out.
const MissingRows = "MISSING_ROWS"

// SplitNotices separates what there is to say about an answer from how its table was read.
func SplitNotices(all []*cleavev1.Notice) (answer, table []*cleavev1.Notice) {
	for _, n := range all {
		switch n.GetCode() {
		case TableNotice, MissingRows:
			table = append(table, n)
		default:
			answer = append(answer, n)
		}
	}
	return answer, table
}
