package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/test/clitest"
)

// The table of a range of k fits 60 columns.
func TestSummaryOfARange(t *testing.T) {
	var got bytes.Buffer
	if err := summarizeKSelection(&got, clitest.ExampleKSelection()); err != nil {
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

// A range has the labels for the numbers that are not proposed.
func TestFilesOfARange(t *testing.T) {
	result := clitest.ExampleResult()
	result.KSelection = clitest.ExampleKSelection()
	labels := map[int][]int32{2: {0, 1, 0, 1}, 3: {0, 1, 2, 1}, 4: {0, 1, 2, 3}}
	files := map[string]string{}
	r := New(&client.Outcome{Result: result, Labels: labels[3], KLabels: labels}, jobflags.Rows{})
	r.RowIDs = []string{"ann", "bob", "cy", "di"}
	r.ClassesFor = func(labels []int32) []string { return []string{"good", "", "bad"} }
	for _, f := range r.Files(Scene{}, nil, func(string, ...any) {}) {
		var text strings.Builder
		if err := f.Write(&text); err != nil {
			t.Fatal(err)
		}
		files[f.Name] = text.String()
	}
	if files["labels-k4.csv"] != "id,label,class\nann,0,good\nbob,1,\ncy,2,bad\ndi,3,\n" ||
		files["labels-k2.csv"] == "" || files["labels-k3.csv"] != "" {
		t.Errorf("%v", files)
	}
}
