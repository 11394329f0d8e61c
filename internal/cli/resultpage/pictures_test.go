package resultpage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// drawn returns a picture of a result, "" if there is none.
func drawn(t *testing.T, result *cleavev1.Result, name string) string {
	t.Helper()
	for _, f := range Files(report.New(&client.Outcome{Result: result}, jobflags.Rows{}), report.Scene{Title: "iris"},
		func(string, ...any) {}) {
		if f.Name == name {
			var text strings.Builder
			if err := f.Write(&text); err != nil {
				t.Error(err)
			}
			return text.String()
		}
	}
	return ""
}

// methods.svg is drawn if and only if methods were compared.
func TestPictureOfMethods(t *testing.T) {
	result := clitest.ExampleResult()
	result.Choice = clitest.ExampleChoice()
	if text := drawn(t, result, methodsFile); strings.Count(text, "with hard constraints") != 2 ||
		!strings.Contains(text, "It has more right") {
		t.Error(text)
	}
	result.Choice.Tried = nil
	if text := drawn(t, result, methodsFile); text != "" {
		t.Error("methods are drawn though none were compared")
	}
}

// A constraint on a point that the report lacks leaves the page out, and the warning says why in words for users.
func TestPageWithAForeignConstraint(t *testing.T) {
	scene := report.Scene{Title: "iris",
		Constraints: []constraint.Constraint{{I: 0, J: 999, Kind: constraint.MustLink}}}
	var warning string
	outcome := &client.Outcome{Result: clitest.ExampleResult(), Labels: []int32{0, 1, 0}}
	Files(report.New(outcome, jobflags.Rows{}), scene,
		func(format string, args ...any) { warning = fmt.Sprintf(format, args...) })
	if want := clustersFile + " and " + PageFile +
		" could not be drawn: constraint 0 (0,999) has a point outside 0..2"; warning != want {
		t.Errorf("%q, want %q", warning, want)
	}
}

func TestPictureOfARange(t *testing.T) {
	result := clitest.ExampleResult()
	result.KSelection = clitest.ExampleKSelection()
	text := drawn(t, result, kFile)
	for _, says := range []string{"iris: how many clusters", "k = 3 is proposed (unsure: 2, 3 or 4)",
		"silhouette (rows)", "silhouette (standardized-neighbors)", "stability"} {
		if !strings.Contains(text, says) {
			t.Errorf("the picture does not say %q", says)
		}
	}
}
