package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func exampleHowMany() *cleavev1.KSelection {
	return &cleavev1.KSelection{
		Proposed: 3, Confidence: cleavev1.Confidence_CONFIDENCE_UNSURE, Plausible: []uint32{2, 3, 4}, Reason: "3 come out again",
		Scores: []*cleavev1.KScore{
			{K: 2, Space: cleavev1.Space_SPACE_STANDARDIZED_NEIGHBORS, Stability: new(0.891), Silhouette: new(1.0)},
			{K: 3, Space: cleavev1.Space_SPACE_STANDARDIZED_NEIGHBORS, Stability: new(0.885), Silhouette: new(0.844)},
			{K: 4, Space: cleavev1.Space_SPACE_ROWS, Silhouette: new(-0.05)},
		},
	}
}

// The table of a range of k fits 60 columns.
func TestSummaryOfARange(t *testing.T) {
	var got bytes.Buffer
	if err := summarizeKSelection(&got, exampleHowMany()); err != nil {
		t.Fatal(err)
	}
	const want = `    k   stability  silhouette  space
    2        0.89        1.00  standardized-neighbors
*   3        0.89        0.84  standardized-neighbors
    4           -       -0.05  rows
k = 3 (unsure: 2, 3 or 4): 3 come out again

`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	for line := range strings.Lines(got.String()) {
		if len(line) > 60 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

// A range has a picture, and the labels for the numbers that are not proposed.
func TestFilesOfARange(t *testing.T) {
	result := clitest.ExampleResult()
	result.KSelection = exampleHowMany()
	labels := map[int][]int32{2: {0, 1, 0, 1}, 3: {0, 1, 2, 1}, 4: {0, 1, 2, 3}}
	files := map[string]string{}
	r := New(&client.Outcome{Result: result, Labels: labels[3], KLabels: labels}, nil)
	r.RowIDs = []string{"ann", "bob", "cy", "di"}
	r.ClassesFor = func(labels []int32) []string { return []string{"good", "", "bad"} }
	for _, f := range r.Files(Scene{Title: "iris"}, func(string, ...any) {}) {
		var text strings.Builder
		if err := f.Write(&text); err != nil {
			t.Fatal(err)
		}
		files[f.Name] = text.String()
	}
	if files["labels-k4.csv"] != "id,label,class\nann,0,good\nbob,1,\ncy,2,bad\ndi,3,\n" || files["labels-k2.csv"] == "" || files["labels-k3.csv"] != "" {
		t.Errorf("%v", files)
	}
	for _, says := range []string{"How many clusters: iris", "k = 3 is proposed (unsure: 2, 3 or 4)", "silhouette (rows)", "silhouette (standardized-neighbors)", "stability"} {
		if !strings.Contains(files[kFile], says) {
			t.Errorf("the picture does not say %q", says)
		}
	}
}
