package clustertest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/test/testscale"
)

// step is a step of a pipeline: one command that may be killed and repeated.
type step struct {
	args []string
	out  string
}

// newStep returns a step that clusters points, with its own request id and output folder.
func newStep(t testing.TB, c *Coordinator, data, requestID string, args ...string) step {
	s := step{out: filepath.Join(t.TempDir(), "out")}
	s.args = append([]string{"run", "--server", c.Addr, "--data", data, "--k", "3", "--algorithm", "kernel-kmeans",
		"--init", "random",
		"--request-id", requestID, "--out", s.out}, args...)
	return s
}

// pipelineData generates the table that the steps of a test cluster.
func pipelineData(t testing.TB, rows int) string {
	t.Helper()
	dir := t.TempDir()
	if ran := Cleave(t, "generate", "gaussians", "--n", fmt.Sprint(rows), "--d", "4", "--k", "3", "--noise", "4",
		"--seed", "1", "--out", dir); ran.ExitCode != 0 {
		t.Fatal(ran.Stderr)
	}
	return filepath.Join(dir, "data.csv")
}

// succeed runs the step to its end.
func (s step) succeed(t testing.TB) {
	t.Helper()
	if ran := Cleave(t, s.args...); ran.ExitCode != 0 {
		t.Fatalf("exit code %d: %s", ran.ExitCode, ran.Stderr)
	}
}

// names returns the names in the output folder, in alphabetical order.
func (s step) names(t testing.TB) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(s.out)
	for _, entry := range must(t, entries, err) {
		names = append(names, entry.Name())
	}
	return names
}

// jobsOf returns the jobs of a request.
func (c *Client) jobsOf(requestID string) (jobs []*cleavev1.Job) {
	c.t.Helper()
	all, err := c.Jobs.ListJobs(c.t.Context(), &cleavev1.ListJobsRequest{PageSize: 1000})
	for _, job := range must(c.t, all, err).GetJobs() {
		if job.GetRequestId() == requestID {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// TestAStepIsKilledAtAnyMoment: a step that is killed at random moments and repeated makes one job, uploads its data
// once, and leaves the files of an undisturbed run and nothing else.
func TestAStepIsKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	c, _ := StartCluster(t, 1)
	data := pipelineData(t, 2000)
	undisturbed := newStep(t, c, data, "undisturbed", "--restarts", "20")
	began := time.Now()
	undisturbed.succeed(t)
	took := time.Since(began)
	names := undisturbed.names(t)
	labels := readFiles(t, undisturbed.out).labels
	if !slices.Contains(names, "_SUCCESS") {
		t.Fatalf("the folder has %v", names)
	}
	rng := rand.New(rand.NewPCG(20, 1))
	for kills, round := testscale.Count(3, 20), 0; kills > 0; round++ {
		id := fmt.Sprintf("round %d/of: the test", round)
		s := newStep(t, c, data, id, "--restarts", "20")
		for range min(kills, 1+rng.IntN(3)) {
			kills--
			moment := time.Duration(rng.Float64() * float64(took))
			run := StartCleave(t, s.args...)
			select {
			case <-time.After(moment):
				run.Kill()
			case <-run.exited: // the machine is faster now
			}
			if _, err := os.Stat(filepath.Join(s.out, "_SUCCESS")); err == nil {
				if got := s.names(t); !slices.Equal(got, names) {
					t.Errorf("killed after %v: the step succeeded with the files %v; want %v", moment, got, names)
				}
			}
		}
		s.succeed(t)
		if got := s.names(t); !slices.Equal(got, names) {
			t.Errorf("%s: the files are %v; want %v", id, got, names)
		}
		if !slices.Equal(readFiles(t, s.out).labels, labels) {
			t.Errorf("%s: labels.csv differs from that of an undisturbed run", id)
		}
		if jobs := c.jobsOf(id); len(jobs) != 1 {
			t.Errorf("%s: there are %d jobs", id, len(jobs))
		}
	}
	tables, err := c.Tables.ListTables(t.Context(), &cleavev1.ListTablesRequest{})
	if got := must(t, tables, err).GetTables(); len(got) != 1 {
		t.Errorf("there are %d tables; want one", len(got))
	}
}

// startStep starts a step whose job takes minutes, and waits until the job runs.
func startStep(t testing.TB, c *Coordinator, requestID string, args ...string) (s step, run *Process, job string) {
	t.Helper()
	s = newStep(t, c, pipelineData(t, 1000), requestID, append(args, "--restarts", "10000")...)
	run = StartCleave(t, s.args...)
	Eventually(t, "the job iterates", func() (bool, string) {
		jobs := c.jobsOf(requestID)
		if len(jobs) == 0 || jobs[0].GetLastSequence() < 3 {
			return false, fmt.Sprint(jobs)
		}
		job = jobs[0].GetJobId()
		return true, ""
	})
	return s, run, job
}

// TestSignalsOfAStep: SIGTERM lets the job go on, unless --on-term says otherwise, and SIGINT cancels it. The request
// id of a job that was canceled makes no other.
func TestSignalsOfAStep(t *testing.T) {
	t.Parallel()
	c, _ := StartCluster(t, 1)
	canceled := func(s step, run *Process, job, id string, end func() int) {
		t.Helper()
		if code := end(); code != 130 {
			t.Errorf("%s: exit code %d: %s", id, code, run.Stderr())
		}
		wantCanceled(t, c, c.Watch(job))
		if again := Cleave(t, s.args...); again.ExitCode != 130 ||
			!strings.Contains(again.Stderr, "job "+job+" was canceled") {
			t.Errorf("%s: once more: exit code %d: %s", id, again.ExitCode, again.Stderr)
		}
		if jobs := c.jobsOf(id); len(jobs) != 1 {
			t.Errorf("%s: there are %d jobs", id, len(jobs))
		}
		if _, err := os.Stat(s.out); !os.IsNotExist(err) {
			t.Errorf("%s: a canceled step left a folder: %v", id, err)
		}
	}
	s, run, job := startStep(t, c, "interrupted")
	canceled(s, run, job, "interrupted", run.Interrupt)
	if testscale.Long {
		s, run, job = startStep(t, c, "terminated", "--on-term", "cancel")
		canceled(s, run, job, "terminated", run.Terminate)
	}

	s, run, job = startStep(t, c, "detached")
	if code := run.Terminate(); code != 75 ||
		!strings.Contains(run.Stderr(),
			"cleave: terminated; job "+job+" continues. Run the same command again to wait for it") {
		t.Errorf("exit code %d: %s", code, run.Stderr())
	}
	if state := c.Job(job).GetState(); state != cleavev1.JobState_JOB_STATE_RUNNING {
		t.Errorf("the job is %v", state)
	}
	again := StartCleave(t, s.args...)
	Eventually(t, "the second attempt follows the job", func() (bool, string) {
		// the notice of a long job
		return strings.Contains(again.Stderr(), "landmarks 1000 would take about"), again.Stderr()
	})
	canceled(s, again, job, "detached", again.Interrupt)
}

// TestExitCodesOfAStep: the exit code tells what to do next, and only success leaves the marker.
func TestExitCodesOfAStep(t *testing.T) {
	t.Parallel()
	c, _ := StartCluster(t, 1)
	data := pipelineData(t, 1000)
	late := newStep(t, c, data, "late", "--restarts", "10000", "--timeout", "1s")
	for range 2 { // the second finds the job of the first
		if ran := Cleave(t, late.args...); ran.ExitCode != 3 {
			t.Errorf("exit code %d: %s", ran.ExitCode, ran.Stderr)
		}
		if names := late.names(t); !slices.Contains(names, "labels.csv") || slices.Contains(names, "_SUCCESS") {
			t.Errorf("the files are %v", names)
		}
	}
	if jobs := c.jobsOf("late"); len(jobs) != 1 {
		t.Errorf("there are %d jobs", len(jobs))
	}
	other := newStep(t, c, data, "late", "--k", "2")
	wantSentence(t, Cleave(t, other.args...), 2, "other data or options; give a new --request-id for a new job")
	c.Kill()
	down := newStep(t, c, data, "down")
	wantSentence(t, Cleave(t, down.args...), 75, "does not answer")
	if _, err := os.Stat(down.out); !os.IsNotExist(err) {
		t.Errorf("a step without a job left a folder: %v", err)
	}
}
