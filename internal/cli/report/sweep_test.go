package report

import (
	"strconv"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
)

// The printed table is complete unless results.csv has the rest.
func TestSweepPrintsWhatNoFileHas(t *testing.T) {
	var s Sweep
	const jobs = maxSweepLines + 9
	for at := range jobs {
		s.Add(at, SweepRow{Options: jobflags.Combination{{Option: "k", Value: strconv.Itoa(at)}}})
	}
	for saved, want := range map[bool]int{false: 1 + jobs, true: 1 + maxSweepLines + 1} {
		var out strings.Builder
		if err := s.Print(&out, saved); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "\n"); got != want || strings.Contains(out.String(), "and 9 more in results.csv") != saved {
			t.Errorf("saved %v: %d lines, want %d:\n%s", saved, got, want, out.String())
		}
	}
}

// Combinations whose jobs all failed come last, also after those with a score below 0.
func TestSweepPrintsTheBestFirst(t *testing.T) {
	var s Sweep
	for at, row := range []SweepRow{{Error: "no"}, {ARI: new(-0.5)}, {ARI: new(0.5)}} {
		row.Options = jobflags.Combination{{Option: "k", Value: strconv.Itoa(at)}}
		s.Add(at, row)
	}
	var out strings.Builder
	if err := s.Print(&out, false); err != nil {
		t.Fatal(err)
	}
	order := ""
	for line := range strings.Lines(out.String()) {
		order += line[:1]
	}
	if order != "K210" {
		t.Errorf("the order is %s:\n%s", order, out.String())
	}
}

// The mean of equal scores is that score, so that a chart with nine perfect ones is drawn.
func TestSweepDrawsPerfectScores(t *testing.T) {
	var s Sweep
	for seed := range 9 {
		s.Add(seed, SweepRow{Options: jobflags.Combination{{Option: "algorithm", Value: "kmeans"}, {Option: "seed", Value: strconv.Itoa(seed)}}, ARI: new(1.0)})
	}
	if _, err := s.Chart(); err != nil {
		t.Error(err)
	}
}
