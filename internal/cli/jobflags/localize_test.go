package jobflags

import (
	"testing"

	"github.com/cleave-project/cleave/internal/data/table"
)

// Messages of the service have the names of rows and columns, also where rows were dropped.
func TestMessagesHaveNames(t *testing.T) {
	rows := &Rows{IDs: table.NewIDs([]string{"anna", "ben", "carl", "dora"})}
	j := &Job{Table: rows, Header: []string{"age", "income"}}
	dropped := &Job{Table: rows, Filter: &RowFilter{Kept: []int32{0, 2, 3}}}
	for _, c := range []struct {
		job           *Job
		message, want string
	}{
		{j, "constraints: 0-3 (must), 1-2 (cannot), and 38 more (40 of 99)", "constraints: anna and dora (must), ben and carl (cannot), and 38 more (40 of 99)"},
		{j, "points 0 and 2 cannot be together, but must-links join them: 0 = 1 = 2", "points anna and carl cannot be together, but must-links join them: anna = ben = carl"},
		{j, "seeds that no good method puts with their label when it is not shown it: 1, 3, and 2 more (4 of 9); more", "seeds that no good method puts with their label when it is not shown it: ben, dora, and 2 more (4 of 9); more"},
		{j, "column 1 has 99% of the variance", `column "income" has 99% of the variance`},
		{j, "column 1 has 900 times the span of column 0, so all", `column "income" has 900 times the span of column "age", so all`},
		{j, "k-means, because nearest neighbors nearly always have the same value in column 0, which has few", `k-means, because nearest neighbors nearly always have the same value in column "age", which has few`},
		{j, "column 7 has 99% of the variance", "column 7 has 99% of the variance"},
		{dropped, "constraints: 0-1 (must)", "constraints: anna and carl (must)"},
		{&Job{Filter: dropped.Filter}, "2 constraints cannot hold: 0-1 (must), 1-2 (cannot)", "2 constraints cannot hold: 0-2 (must), 2-3 (cannot)"},
		{&Job{}, "constraints: 0-1 (must)", "constraints: 0-1 (must)"},
	} {
		if got := c.job.Localize(c.message); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
