package auto

import (
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// Whether neighbors are tried decides answers, so the largest data sets for which they are do not change.
func TestTheLargestSearchesForNeighbors(t *testing.T) {
	rows := func(columns int) func(n int) dataset.Dataset {
		return func(n int) dataset.Dataset { return &dataset.Points{N: n, D: columns} }
	}
	for name, c := range map[string]struct {
		data func(size int) dataset.Dataset
		most int
	}{
		"rows of 1 column":      {rows(1), 47_045_908},
		"rows of 4 columns":     {rows(4), 12_243_089},
		"rows of 8 columns":     {rows(8), 932_351},
		"rows of 16 columns":    {rows(16), 207_493},
		"rows of 1,000 columns": {rows(1000), 38_362},
		"a kernel matrix":       {func(n int) dataset.Dataset { return &dataset.Kernel{N: n} }, 82_807},
		"empty sparse rows":     {func(n int) dataset.Dataset { return &dataset.SparsePoints{N: n, D: 1} }, 489_897},
		"entries of one column": {func(entries int) dataset.Dataset {
			return &dataset.SparsePoints{N: 100_000, D: 1, Column: make([]int32, entries)}
		}, 239_791},
	} {
		if least, more := searchSeconds(c.data(c.most)), searchSeconds(c.data(c.most+1)); least > longSearch ||
			more <= longSearch {
			t.Errorf("%s: a search of size %d takes %g s, one more %g s", name, c.most, least, more)
		}
	}
}
