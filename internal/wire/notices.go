package wire

import (
	"slices"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

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

// NamesSuspects tells whether a notice names the first of the seeds or constraints that the data speak against. Result.suspects has
// them all.
func NamesSuspects(n *cleavev1.Notice) bool {
	return n.GetCode() == "CONSTRAINTS_AGAINST_DATA" || n.GetCode() == "SEEDS_AGAINST_DATA"
}

// WithoutSuspects leaves out the notices that say less than the suspects of a result do.
func WithoutSuspects(r *cleavev1.Result, notices []*cleavev1.Notice) []*cleavev1.Notice {
	if len(r.GetSuspects()) == 0 {
		return notices
	}
	return slices.DeleteFunc(slices.Clone(notices), NamesSuspects)
}
