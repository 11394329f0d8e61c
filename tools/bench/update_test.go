package bench

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// A page keeps the sections that are not measured again, to the letter, and new ones take their place.
func TestUpdate(t *testing.T) {
	all := &Report{Version: "one", Facts: []Fact{{loadFact, "0.5"}}}
	for _, s := range stages() {
		if s.name == "auto" {
			break // a stage that is newer than the page
		}
		all.begin(s.title)
		all.add(Row{What: s.name + " | time", Ours: "1 s", Goal: ">= 2x", Verdict: Met})
		all.note("about %s", s.name)
	}
	var page bytes.Buffer
	if err := all.WriteMarkdown(&page, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	update := func(r *Report, page string) string {
		var updated bytes.Buffer
		if err := r.Update(&updated, page, time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
		return updated.String()
	}
	if same := update(&Report{}, page.String()); same != strings.Replace(page.String(), "13 met.", "13 met, 0 not met.", 1) {
		t.Errorf("nothing was measured, and the page becomes\n%s", same)
	}
	some := &Report{Version: "two", Facts: []Fact{{loadFact, "9"}}}
	some.begin("Restarts")
	some.add(Row{What: "again", Ours: "2 s", Goal: ">= 2x", Verdict: NotMet})
	some.note("slower")
	some.begin("The default")
	some.add(Row{What: "new", Ours: "3 s"})
	got := update(some, page.String())
	for _, line := range []string{
		"| **Restarts**, measured on 2001-09-09 at two, load 9 | | | | | |\n| again | 2 s |  |  | >= 2x | not met |\n| **Matrix-free** |",
		"| **The default**, measured on 2001-09-09 at two, load 9 | | | | | |\n| new | 3 s |  |  |  |  |\n\n## Notes",
		"Measured on 1970-01-01 at one", "Goals: 12 met, 1 not met.", "- Restarts: slower\n- Matrix-free: about matrixfree\n", "| sweep \\| time | 1 s |", "| Load before the run | 0.5 |",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("%q is not in\n%s", line, got)
		}
	}
	if strings.Contains(got, "restarts \\| time") || strings.Contains(got, "about restarts") {
		t.Errorf("the old section is still there:\n%s", got)
	}
	if again := update(some, got); again != got {
		t.Errorf("the same measurement twice changes the page:\n%s", again)
	}
	if err := some.Update(&bytes.Buffer{}, "# Another page\n", time.Unix(0, 0)); err == nil {
		t.Error("any page is updated")
	}
}
