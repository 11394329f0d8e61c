package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// exampleChoice has eight ways; the fifth is the one without constraints, and the best is not taken.
func exampleChoice() *cleavev1.Choice {
	c := &cleavev1.Choice{Reason: "it has more right"}
	for _, t := range []struct {
		space                cleavev1.Space
		use                  cleavev1.ConstraintUse
		agreement, advantage float64
	}{
		{cleavev1.Space_SPACE_ROWS, cleavev1.ConstraintUse_CONSTRAINT_USE_NONE, 0.3, -2},
		{cleavev1.Space_SPACE_ROWS, cleavev1.ConstraintUse_CONSTRAINT_USE_SOFT, 0.7, 1},
		{cleavev1.Space_SPACE_ROWS, cleavev1.ConstraintUse_CONSTRAINT_USE_HARD, 0.8, 2},
		{cleavev1.Space_SPACE_ROWS, cleavev1.ConstraintUse_CONSTRAINT_USE_METRIC, 0.95, 3},
		{cleavev1.Space_SPACE_STANDARDIZED, cleavev1.ConstraintUse_CONSTRAINT_USE_NONE, 0.25, 0},
		{cleavev1.Space_SPACE_NEIGHBORS, cleavev1.ConstraintUse_CONSTRAINT_USE_NONE, 0.6, 0.5},
		{cleavev1.Space_SPACE_NEIGHBORS, cleavev1.ConstraintUse_CONSTRAINT_USE_SOFT, 0.65, 0.6},
		{cleavev1.Space_SPACE_NEIGHBORS, cleavev1.ConstraintUse_CONSTRAINT_USE_HARD, 0.9, 3},
	} {
		c.Tried = append(c.Tried, &cleavev1.MethodScore{Method: &cleavev1.Method{Space: t.space, ConstraintUse: t.use}, Agreement: t.agreement, Advantage: t.advantage})
	}
	c.Chosen = c.Tried[7].Method
	return c
}

func TestSummaryOfAChoice(t *testing.T) {
	var out strings.Builder
	choice := exampleChoice()
	choice.Reason += " (0.9; ignoring them 0.2); k-means continues from there"
	if err := (&Report{Outcome: &client.Outcome{Result: &cleavev1.Result{ObjectiveName: "auto", Choice: choice}}}).Summarize(&out, nil, nil); err != nil {
		t.Fatal(err)
	}
	const want = `method      spectral clustering of the nearest-neighbor graph with hard constraints
why         it has more right (0.9; ignoring them 0.2)
            k-means continues from there
held-out    0.95 rows, metric
            0.90 neighbors, hard (chosen)
            0.25 standardized, no constraints
objective   auto 0
`
	if !strings.HasPrefix(out.String(), want) {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestProgressOfTrials(t *testing.T) {
	var plain, terminal bytes.Buffer
	lines, live := &Progress{w: &plain, now: time.Now, all: true}, &Progress{w: &terminal, width: 120, now: time.Now}
	tried := &cleavev1.MethodTried{
		Method: &cleavev1.Method{Space: cleavev1.Space_SPACE_STANDARDIZED_NEIGHBORS, ConstraintUse: cleavev1.ConstraintUse_CONSTRAINT_USE_HARD},
		Fold:   2, Folds: 3, MustLinks: 4, MustLinksRight: 3, CannotLinks: 5,
	}
	alone := &cleavev1.MethodTried{Method: &cleavev1.Method{Space: cleavev1.Space_SPACE_ROWS, ConstraintUse: cleavev1.ConstraintUse_CONSTRAINT_USE_NONE}, CannotLinks: 7, CannotLinksRight: 7}
	for _, p := range []*Progress{lines, live} {
		for _, way := range []*cleavev1.MethodTried{tried, alone} {
			p.Item(clitest.EventItem(&cleavev1.Event{What: &cleavev1.Event_MethodTried{MethodTried: way}}))
			p.Item(clitest.ProgressItem(&cleavev1.Progress{Phase: cleavev1.Phase_PHASE_INITIALIZING, MethodTried: way, Workers: 2}))
		}
	}
	const want = "tried standardized-neighbors, hard: fold 2 of 3, 3 of 4 must-links right, 0 of 5 cannot-links right\n" +
		"start  tried standardized-neighbors, hard: fold 2 of 3  2 workers\n" +
		"tried rows, no constraints, 7 of 7 cannot-links right\n"
	if plain.String() != want {
		t.Errorf("got\n%s\nwant\n%s", plain.String(), want)
	}
	for _, want := range []string{"start  tried standardized-neighbors, hard: fold 2 of 3  2 workers", "start  tried rows, no constraints  2 workers"} {
		if !strings.Contains(terminal.String(), want) {
			t.Errorf("the terminal shows %q, without %q", terminal.String(), want)
		}
	}
}

// methods.svg is drawn if and only if methods were compared.
func TestPictureOfMethods(t *testing.T) {
	result := clitest.ExampleResult()
	result.Choice = exampleChoice()
	drawn := func() string {
		for _, f := range New(&client.Outcome{Result: result}, nil).Files(Scene{Title: "iris"}, func(string, ...any) {}) {
			if f.Name == methodsFile {
				var text strings.Builder
				if err := f.Write(&text); err != nil {
					t.Error(err)
				}
				return text.String()
			}
		}
		return ""
	}
	if text := drawn(); strings.Count(text, "no constraints") != 3 || !strings.Contains(text, "It has more right") {
		t.Error(text)
	}
	result.Choice.Tried = nil
	if text := drawn(); text != "" {
		t.Error("methods are drawn though none were compared")
	}
}
