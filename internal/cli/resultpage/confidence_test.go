package resultpage

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/clustering"
)

// How sure rows are is in a section, in what markers are called, and in how they look; clusters go by their classes.
func TestPageShowsConfidencesAndClasses(t *testing.T) {
	r, points := example(40, 3, 2)
	r.Rows = &clustering.RowScores{Runs: 5, Confidence: make([]float64, 40), Margin: make([]float64, 40)}
	for i := range r.Rows.Confidence {
		r.Rows.Confidence[i] = 1
	}
	r.Rows.Confidence[7], r.Rows.Confidence[8], r.Rows.Confidence[9] = 0.4, 0.6, 0.8
	r.Classes = []string{"good <b>", ""}
	page := pageOf(t, r, report.Scene{Data: points})
	for _, want := range []string{
		"compared with 4 other restarts", "the runs disagree about 3 of 40 rows", "Least confident rows",
		"<title>row 7, cluster 1, confidence 0.40</title>",
		"<title>row 8, cluster 0 (\u2068good &lt;b&gt;\u2069), confidence 0.60</title>", " fade3\"", " fade2\"",
		" fade1\"", "confidence 0.5\u20130.8",
		`Cluster 0 <bdi class="class">good &lt;b&gt;</bdi>`, `cluster 0 <bdi class="class">good &lt;b&gt;</bdi>`,
		`0 <bdi class="class">good &lt;b&gt;</bdi></th>`,
		">0 \u2068good &lt;b&gt;\u2069</text>", "<dt>mean confidence</dt><dd>0.97</dd>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	for i := range r.Rows.Confidence {
		r.Rows.Confidence[i] = 1
	}
	page = pageOf(t, r, report.Scene{Data: points})
	if !strings.Contains(page, "All of them put every row into the same cluster.") ||
		strings.Contains(page, "least confidence") || strings.Contains(page, " fade") {
		t.Error("rows that all runs agree on are shown as unsure")
	}
	r.Rows.Runs, r.Rows.Posterior, r.Rows.Confidence[5], r.Rows.Confidence[6] = 0, true, 0.96, 0.999
	page = pageOf(t, r, report.Scene{Data: points})
	if !strings.Contains(page, "given the row alone. It is at least 0.95 for every row.") ||
		strings.Contains(page, "least confidence") || strings.Contains(page, "other run") {
		t.Error("rows that a mixture is sure about are shown as unsure")
	}
	r.Rows.Confidence[7] = 0.4
	page = pageOf(t, r, report.Scene{Data: points})
	for _, want := range []string{"it is below 0.95 for 1 of 40 rows", "Least confident rows",
		"<title>row 7, cluster 1, confidence 0.40</title>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of a mixture does not have %q", want)
		}
	}
	r.Rows.Confidence = nil
	if strings.Contains(pageOf(t, r, report.Scene{Data: points}), "confidence") {
		t.Error("one run has confidences")
	}
}

// A page about a sample of the rows calls them by their own numbers, and counts confidences over all.
func TestPageOfASample(t *testing.T) {
	r, points := example(40, 3, 2)
	r.Rows = &clustering.RowScores{Runs: 5, Confidence: make([]float64, 40)}
	few := *points
	sample := []int32(nil)
	few.N, few.Values = 10, nil
	for i := range int32(10) {
		sample = append(sample, 4*i+i%2)
		few.Values = append(few.Values, points.Row(int(4*i+i%2))...)
	}
	page := pageOf(t, r, report.Scene{Data: &few, Sample: sample})
	for _, want := range []string{"<title>row 37, cluster 1, confidence 0.00</title>",
		"the runs disagree about 40 of 40 rows", "Chosen from a sample of 10 rows."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}
