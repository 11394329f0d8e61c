package resultpage

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// withSuspects returns a report of six named points in two clusters, with suspects.
func withSuspects(suspects ...*cleavev1.Suspect) *report.Report {
	result := &cleavev1.Result{K: 2, Rows: 6, ClusterSizes: []uint32{3, 3}, Suspects: suspects,
		Warnings: []*cleavev1.Notice{
			{Reason: "CONSTRAINTS_AGAINST_DATA", Message: "constraints that no good method has right"},
		}}
	r := report.New(&client.Outcome{Result: result, Labels: []int32{0, 0, 0, 1, 1, 1}}, jobflags.Rows{})
	r.RowIDs = []string{"ann", "bob", "<cy>", "di", "ed", "flo"}
	r.Classes = []string{"good", "bad"}
	return r
}

// The page has all suspects, says what holds and what to do, and scrolls where they are many.
func TestSuspectsOnPage(t *testing.T) {
	r := withSuspects(
		&cleavev1.Suspect{Row: 0, Other: new(uint32(3)), MustLink: true, Strength: 0.9},
		&cleavev1.Suspect{Row: 3, Other: new(uint32(4)), MustLink: true, Strength: 0.5})
	r.Result.Constraints = &cleavev1.ConstraintReport{Total: 40, Satisfied: 39, MustLinkViolated: 1}
	page := pageOf(t, r, report.Scene{})
	if !slices.Contains(sections(page), "suspects") || strings.Contains(page, "no good method") ||
		strings.Contains(page, `class="scroll tall"`) {
		t.Errorf("the sections are %v", sections(page))
	}
	for _, says := range []string{"What the data contradicts",
		"The best methods get 2 of 40 constraints wrong when they are held out",
		"The answer agrees with 1 of these 2. 39 of 40 constraints are satisfied; 1 must-link is violated.",
		"Remove or correct what is wrong.", "use <code>--enforce</code> never", "must-link", "ann", ">0.90<",
		"The strength of a constraint is the share of all rows that are less clearly inside their cluster."} {
		if !strings.Contains(page, says) {
			t.Errorf("%q is missing", says)
		}
	}
	page = pageOf(t, withSuspects(&cleavev1.Suspect{Row: 0, Label: new(uint32(1)), Strength: 0.9}), report.Scene{})
	if !strings.Contains(page, "The strength of a seed is how often it is separated from the others of its class "+
		"when it is held out.") || strings.Contains(page, "less clearly") {
		t.Error("the strength of a seed is described as that of a pair")
	}
	if !strings.Contains(page, "get 1 seed wrong when it is held out: either it is wrong") {
		t.Error("a single seed is described as if there were several")
	}
	page = pageOf(t, withSuspects(&cleavev1.Suspect{Row: 0, Label: new(uint32(1)), Strength: 0.9},
		&cleavev1.Suspect{Row: 3, Other: new(uint32(4)), MustLink: true, Strength: 0.5}), report.Scene{})
	if !strings.Contains(page, "The strength of a seed is") ||
		!strings.Contains(page, "The strength of a constraint is") {
		t.Error("the page does not say what the strengths of seeds and of constraints are")
	}
	var many []*cleavev1.Suspect
	for i := range uint32(30) {
		many = append(many, &cleavev1.Suspect{Row: i % 6, Label: new(uint32(1)), Strength: float64(i) / 1000})
	}
	r = withSuspects(many...)
	page = pageOf(t, r,
		report.Scene{
			Spec: &cleavev1.JobSpec{
				Algorithm: &cleavev1.JobSpec_Auto{
					Auto: &cleavev1.Auto{Enforce: cleavev1.Enforcement_ENFORCEMENT_NEVER}}}})
	if strings.Count(page, "&lt;cy&gt;") != 5 || !strings.Contains(page, `class="scroll tall"`) ||
		!strings.Contains(page, "In this run, the data could overrule what you gave") ||
		strings.Contains(page, "are satisfied") {
		t.Errorf("the page of seeds has %d of 5 rows", strings.Count(page, "&lt;cy&gt;"))
	}
}
