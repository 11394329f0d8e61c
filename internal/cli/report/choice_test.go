package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func TestSummaryOfAChoice(t *testing.T) {
	var out strings.Builder
	choice := clitest.ExampleChoice()
	choice.Reason += " (0.9; ignoring them 0.2); k-means continues from there"
	if err :=
		(&Report{Outcome: &client.Outcome{Result: &cleavev1.Result{ObjectiveName: "auto", Choice: choice}}}).Summarize(
			&out, nil, nil); err != nil {
		t.Fatal(err)
	}
	const want = `method      spectral clustering of the nearest-neighbor graph with hard constraints
why         it has more right (0.9; ignoring them 0.2)
            k-means continues from there
held-out    0.95 k-means of the rows with a learned metric
            0.90 spectral clustering of the nearest-neighbor graph with hard constraints (chosen)
            0.25 k-means of standardized columns
objective   auto 0
`
	if !strings.HasPrefix(out.String(), want) {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestProgressOfTrials(t *testing.T) {
	var plain, terminal bytes.Buffer
	lines := &Progress{display: display{w: &plain, now: time.Now, all: true}}
	live := &Progress{display: display{w: &terminal, width: 120, now: time.Now}}
	tried := &cleavev1.MethodTried{
		Method: &cleavev1.Method{Space: cleavev1.Space_SPACE_STANDARDIZED_NEIGHBORS,
			ConstraintUse: cleavev1.ConstraintUse_CONSTRAINT_USE_HARD},
		Fold: 2, Folds: 3, MustLinks: 4, MustLinksRight: 3, CannotLinks: 5,
	}
	alone := &cleavev1.MethodTried{Method: &cleavev1.Method{Space: cleavev1.Space_SPACE_ROWS,
		ConstraintUse: cleavev1.ConstraintUse_CONSTRAINT_USE_NONE}, CannotLinks: 7, CannotLinksRight: 7}
	for _, p := range []*Progress{lines, live} {
		for _, way := range []*cleavev1.MethodTried{tried, alone} {
			p.Item(clitest.EventItem(&cleavev1.Event{What: &cleavev1.Event_MethodTried{MethodTried: way}}))
			p.Item(clitest.ProgressItem(&cleavev1.Progress{Phase: cleavev1.Phase_PHASE_INITIALIZING, MethodTried: way,
				Workers: 2}))
		}
	}
	const hard = "spectral clustering of the nearest-neighbor graph of standardized columns with hard constraints"
	const want = "tried " + hard + ": fold 2 of 3, 3 of 4 must-links right, 0 of 5 cannot-links right\n" +
		"start  tried " + hard + ": fold 2 of 3  2 workers\n" +
		"tried k-means of the rows, 7 of 7 cannot-links right\n"
	if plain.String() != want {
		t.Errorf("got\n%s\nwant\n%s", plain.String(), want)
	}
	for _, want := range []string{"start  tried " + hard, "start  tried k-means of the rows  2 workers"} {
		if !strings.Contains(terminal.String(), want) {
			t.Errorf("the terminal shows %q, without %q", terminal.String(), want)
		}
	}
}
