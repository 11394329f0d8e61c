package report

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/cleave-project/cleave/internal/cli/clitest"
	"github.com/cleave-project/cleave/internal/evaluate"
)

func TestResultJSON(t *testing.T) {
	document := newDocument(clitest.ExampleResult(), true)
	document.Evaluation = &evaluate.Scores{NMI: 1, MutualInformation: math.Ln2, ARI: 1, PairwisePrecision: 1, PairwiseRecall: 0.5, PairwiseF: 2.0 / 3, Purity: 1}
	var got bytes.Buffer
	if err := PrintJSON(&got, document); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/result.json")
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("result.json has changed; programs read it. Got\n%s\nwant\n%s", got.String(), want)
	}
}

func TestResultJSONLeavesOutWhatThereIsNot(t *testing.T) {
	result := clitest.ExampleResult()
	result.Constraints, result.Kernel, result.Shifts, result.Warnings, result.History = nil, nil, nil, nil, nil
	fields := func(constrained bool) map[string]json.RawMessage {
		text, err := json.Marshal(newDocument(result, constrained))
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		return fields
	}
	without := fields(false)
	for _, name := range []string{"constraints", "rho", "shifts", "evaluation"} {
		if value, there := without[name]; there {
			t.Errorf("%s is there: %s", name, value)
		}
	}
	for _, name := range []string{"history", "warnings"} {
		if string(without[name]) != "[]" {
			t.Errorf("%s is %s, want an empty list", name, without[name])
		}
	}
	if got := string(fields(true)["constraints"]); got != `{"total":0,"satisfied":0,"mustLinkViolated":0,"cannotLinkViolated":0}` {
		t.Errorf("an empty constraint file gives %s", got)
	}
}

func TestObjectiveKeepsItsBits(t *testing.T) {
	for _, value := range []float64{0, math.Copysign(0, -1), 0.30000000000000004, math.Pi * 1e300, math.SmallestNonzeroFloat64, math.MaxFloat64, -1.0 / 3, 1e21, 123456789.123456789} {
		text, err := json.Marshal(&ResultDocument{Objective: value})
		if err != nil {
			t.Fatal(err)
		}
		var back ResultDocument
		if err := json.Unmarshal(text, &back); err != nil || math.Float64bits(back.Objective) != math.Float64bits(value) {
			t.Errorf("%g came back as %g (%v)", value, back.Objective, err)
		}
	}
}

func TestSummary(t *testing.T) {
	document := newDocument(clitest.ExampleResult(), true)
	document.Evaluation = &evaluate.Scores{NMI: 0.5}
	var got bytes.Buffer
	if err := document.Summarize(&got, []string{"o/labels.csv", "o/result.json"}); err != nil {
		t.Fatal(err)
	}
	want := `objective    kernel-kmeans 0.30000000000000004
iterations   2 (CONVERGED)
clusters     2 of 4 points: 3, 1
rho          0.7
sigma        1.5
constraints  1 of 3 satisfied (violated: 1 must-links, 1 cannot-links)
NMI          0.5000
ARI          0.0000
pairwise F   0.0000 (precision 0.0000, recall 0.0000)
purity       0.0000
time         1.5 s
warning      0-1 is <both> must & cannot
files        o/labels.csv o/result.json
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}
