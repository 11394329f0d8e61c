package clustertest

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/test/testscale"
)

// longRange is a job that compares numbers of clusters for a second or more.
var longRange = sync.OnceValue(func() *workload {
	return newWorkload(gaussians(500, 3, 4, 1), &cleavev1.JobSpec{
		Clusters: &cleavev1.JobSpec_KRange{KRange: &cleavev1.KRange{Min: 2, Max: 6}}, Seed: 3,
		Algorithm: &cleavev1.JobSpec_Auto{Auto: &cleavev1.Auto{}},
	})
})

// ranges are jobs that compare numbers of clusters by what points and graphs are scored by: silhouettes, or
// modularities.
var ranges = sync.OnceValue(func() map[string]*workload {
	numbers := func(algorithm *cleavev1.JobSpec) *cleavev1.JobSpec {
		algorithm.Clusters = &cleavev1.JobSpec_KRange{KRange: &cleavev1.KRange{Min: 2, Max: 4}}
		algorithm.Seed = 3
		return algorithm
	}
	graph := groupedGraph(100, 3, 8, 2).data
	return map[string]*workload{
		"points": newWorkload(gaussians(100, 3, 4, 1),
			numbers(&cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_Auto{Auto: &cleavev1.Auto{}}})),
		"a graph": newWorkload(graph,
			numbers(&cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_Auto{Auto: &cleavev1.Auto{}}})),
		"a graph's eigenvectors": newWorkload(graph,
			numbers(&cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_Spectral{Spectral: &cleavev1.Spectral{}}})),
	}
})

// TestRangesOfKHaveTheSameBitsOnAnyNumberOfWorkers compares numbers of clusters on clusters of 1 and 3 worker
// processes, and in a long run of 2 and 5 too: the scores, what is proposed and its labels must be the same.
func TestRangesOfKHaveTheSameBitsOnAnyNumberOfWorkers(t *testing.T) {
	testscale.LongOnly(t, "TestTheSameBitsOnAnyNumberOfWorkers has the jobs that a range consists of")
	t.Parallel()
	for name, load := range ranges() {
		scores := load.want(t).Result.GetKSelection().GetScores()
		if len(scores) != 3 {
			t.Errorf("%s: %d numbers of clusters have scores", name, len(scores))
		}
		for _, score := range scores {
			if isGraph := name != "points"; isGraph != (score.Modularity != nil) {
				t.Errorf("%s: the scores of %d clusters are %v", name, score.GetK(), score)
			}
		}
	}
	for c, workers := range growingCluster(t, 1, 2, 3, 5) {
		watches := map[string]*Watch{}
		for name, load := range ranges() {
			_, watches[name] = load.run(c)
		}
		for name, load := range ranges() {
			load.finish(t, fmt.Sprintf("%s, %d workers", name, workers), watches[name])
		}
	}
}

// TestARangeOfKFromTheCommandLine asks for numbers of clusters with the command line: it prints a table, and writes the
// labels for each.
func TestARangeOfKFromTheCommandLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if ran := Cleave(t, "generate", "gaussians", "--n", "200", "--k", "3", "--seed", "7", "--out",
		dir); ran.ExitCode != 0 {
		t.Fatal(ran.Stderr)
	}
	data := filepath.Join(dir, "data.csv")
	out := filepath.Join(dir, "out")
	ran := Cleave(t, "run", "--data", data, "--k", "2..5", "--out", out)
	if ran.ExitCode != 0 {
		t.Fatal(ran.Stderr)
	}
	for _, says := range []string{"k = 3 (clear): 3 clusters reappear in half of the data", "\n*   3 ", "labels-k2.csv",
		"labels-k5.csv", "k.svg"} {
		if !strings.Contains(ran.Stdout, says) {
			t.Errorf("it does not say %q:\n%s", says, ran.Stdout)
		}
	}
	for args, says := range map[string]string{
		"--k 1..5": "the range of k starts at 1", "--k 5..2": "the last number must be larger than the first",
		"--k 2..300":   "299 numbers of clusters",
		"--k 190..220": "only 200 rows", "--k 2..": "2..",
		"--k 2..5 --init labels:x.csv --algorithm kmeans": "cannot be combined with a range of --k",
	} {
		ran := Cleave(t, append([]string{"run", "--data", data}, strings.Fields(args)...)...)
		if ran.ExitCode != 2 || !strings.Contains(ran.Stderr, says) {
			t.Errorf("%s: exit code %d: %s", args, ran.ExitCode, ran.Stderr)
		}
	}
	if plan := Cleave(t, "plan", "--data", data, "--k", "2..5"); plan.ExitCode != 0 ||
		!strings.Contains(plan.Stdout, "repeated for 4 values of k") {
		t.Errorf("the plan is %s%s", plan.Stdout, plan.Stderr)
	}
}
