package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/cleave-project/cleave/tools/measure"
)

// A page keeps the sections that are not measured again, to the letter, and new ones take their place.
func TestUpdate(t *testing.T) {
	all := &Report{Config: Config{Setup: measure.Setup{Version: "one"}}, Load: "0.5",
		Facts: []measure.Fact{{Name: "Cores", Value: "2"}}}
	for _, s := range stages() {
		if s.name == "auto" {
			break // a stage that is newer than the page
		}
		all.begin(s)
		all.add(Row{What: s.name + " | time", Ours: "1 s", Goal: ">= 2x", Verdict: Met})
		all.note("about %s", s.name)
	}
	update := func(old string, sections map[string]string) string {
		updated, err := page().Update(old, sections)
		if err != nil {
			t.Fatal(err)
		}
		return updated
	}
	first := update("", all.sections(time.Unix(0, 0)))
	if same := update(first, nil); same != first {
		t.Errorf("nothing was measured, and the page becomes\n%s", same)
	}
	some := &Report{
		Config: Config{Setup: measure.Setup{Version: "two", Parts: []string{"restarts", "auto"}, Out: "page"}},
		Load:   "9"}
	for _, s := range stages() {
		switch s.name {
		case "restarts":
			some.begin(s)
			some.add(Row{What: "again", Ours: "2 s", Goal: ">= 2x", Verdict: NotMet})
			some.note("slower")
		case "auto":
			some.begin(s)
			some.add(Row{What: "new", Ours: "3 s"})
		}
	}
	got := update(first, some.sections(time.Unix(1e9, 0)))
	for _, text := range []string{
		"## Restarts\n\nMeasured on 2001-09-09 at two, load 9.\n\n| what | ours | peer | ratio | goal | verdict " +
			"|\n|---|---|---|---|---|---|\n| again | 2 s |  |  | >= 2x | not met |\n\n- slower\n",
		"## The default\n\nMeasured on 2001-09-09 at two, load 9.\n", "| new | 3 s |  |  |  |  |\n<!-- end of auto -->",
		"## Matrix-free\n\nMeasured on 1970-01-01 at one, load 0.5.\n", "Goals: 12 met, 1 not met.",
		"- about matrixfree\n", "| sweep \\| time | 1 s |", "| Cores | 2 |",
	} {
		if !strings.Contains(got, text) {
			t.Errorf("%q is not in\n%s", text, got)
		}
	}
	if strings.Contains(got, "restarts \\| time") || strings.Contains(got, "about restarts") {
		t.Errorf("the old section is still there:\n%s", got)
	}
	if again := update(got, some.sections(time.Unix(1e9, 0))); again != got {
		t.Errorf("the same measurement twice changes the page:\n%s", again)
	}
	if _, err := page().Update("# Another page\n", all.sections(time.Unix(0, 0))); err == nil {
		t.Error("any page is updated")
	}
}
