package clustertest

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/format"
)

// startRun starts `cleave run` of longPoints on a cluster and waits until the job iterates.
func startRun(t testing.TB, c *Coordinator, args ...string) (run *Process, job string) {
	t.Helper()
	load := longPoints()
	data := filepath.Join(t.TempDir(), "data.csv")
	file, err := os.Create(data)
	must(t, file, err)
	if err := format.WritePoints(file, nil, load.data.(*dataset.Points)); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	run = StartCleave(t, append([]string{"run", "--server", c.Addr, "--data", data, "--k",
		strconv.Itoa(int(load.spec.GetK())),
		"--seed", strconv.FormatUint(load.spec.GetSeed(), 10), "--algorithm", "kernel-kmeans", "--init", "random"},
		args...)...)
	Eventually(t, "the job iterates", func() (bool, string) {
		jobs, err := c.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{})
		for _, each := range must(t, jobs, err).GetJobs() {
			if each.GetLastSequence() > 3 {
				job = each.GetJobId()
				return true, ""
			}
		}
		return false, jobs.String()
	})
	return run, job
}

// TestAnInterruptedRunCancelsItsJob: an interrupt of `cleave run` cancels the job that it created.
func TestAnInterruptedRunCancelsItsJob(t *testing.T) {
	t.Parallel()
	c, _ := StartCluster(t, 1)
	run, job := startRun(t, c, "--restarts", "1000")
	if code := run.Interrupt(); code != 130 ||
		!strings.Contains(run.Stderr(),
			"cleave: canceled job "+job+". Its labels so far, if it had any: cleave result "+job+" --server ") {
		t.Errorf("exit code %d and %q; want 130 and a message that it is canceled", code, tail([]byte(run.Stderr())))
	}
	wantCanceled(t, c, c.Watch(job))
}

// TestARunSurvivesARestartOfTheCoordinator: `cleave run` waits until the coordinator is back.
func TestARunSurvivesARestartOfTheCoordinator(t *testing.T) {
	t.Parallel()
	c, _ := StartCluster(t, 2)
	out := filepath.Join(t.TempDir(), "out")
	run, job := startRun(t, c, "--restarts", strconv.Itoa(int(longPoints().spec.GetRestarts())), "--out", out)
	c.Kill()
	c.Restart()
	if code := run.ExitCode(); code != 0 {
		t.Fatalf("exit code %d: %s", code, run.Stderr())
	}
	want := longPoints().want(t)
	SameOutcome(t, "a run whose coordinator was killed", c.Outcome(job), want)
	var labels strings.Builder
	labels.WriteString("index,label")
	for i, label := range want.Labels {
		labels.WriteString("\n" + strconv.Itoa(i) + "," + strconv.Itoa(int(label)))
	}
	scores := regexp.MustCompile(`(?m),[^,\n]*,[^,\n]*,[^,\n]*$`) // distance, margin, confidence
	if got := readFiles(t,
		out); strings.TrimSpace(scores.ReplaceAllString(string(got.labels), "")) != labels.String() ||
		got.result.Objective != want.Result.GetObjective() {
		t.Error("labels.csv or the objective in result.json differs")
	}
}
