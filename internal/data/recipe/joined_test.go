package recipe

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/table"
)

// What a run has added to a table is no feature of the next run, however often that is done.
func TestColumnsOfEarlierRuns(t *testing.T) {
	column := func(name string) table.Column { return numbers(name, 1, 2, 4, 8) }
	columns := func(names string) (all []table.Column) {
		for _, name := range strings.Fields(names) {
			all = append(all, column(name))
		}
		return all
	}
	for names, want := range map[string]string{
		"x label distance margin confidence": "x",
		"x label class distance margin":      "x",
		"x label distance margin confidence " +
			"cleave_label cleave_distance cleave_margin cleave_confidence": "x",
		"x label y cleave_label distance margin": "x y",
		"x distance margin":                      "x distance margin",
		"x label distance":                       "x distance",
	} {
		r, notices, err := Fit(t.Context(), made(t, columns(names)...), Options{})
		if err != nil {
			t.Fatalf("%s: %v", names, err)
		}
		var features []string
		for _, f := range r.Features {
			features = append(features, f.Column)
		}
		if got := strings.Join(features, " "); got != want {
			t.Errorf("%s: features %s, want %s (%s)", names, got, want, notices)
		}
	}
	r, _, err := Fit(t.Context(), made(t, columns("x label distance margin")...),
		Options{Only: []string{"x", "margin"}})
	if err != nil || len(r.Features) != 2 {
		t.Errorf("features that are named: %v, %v", r, err)
	}
}
