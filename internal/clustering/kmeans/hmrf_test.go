package kmeans

import (
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/text"
)

// The warning about groups that an engine gave up on refers to a row, whose name the reader of the table knows.
func TestFallbackNamesARow(t *testing.T) {
	m := &hmrf{}
	m.members = [][]int32{{2, 4}, {7, 9}}
	m.warnFallback([]inference.Fallback{{Engine: inference.LP, To: inference.BP, Point: 1, Points: 40, Cause: inference.OverWorkLimit}})
	m.warnFallback([]inference.Fallback{{Point: 0}})
	const want = "lp gave up on 1 group of linked points, which bp assigned instead; the first has 40 points, around row 7 (over the work limit)"
	if len(m.notices) != 1 || m.notices[0].Message != want || !slices.Contains(m.notices[0].Parts, text.Row(7)) {
		t.Errorf("%+v", m.notices)
	}
}
