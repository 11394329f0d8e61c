package clustertest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// resumedJobs are a long job of each family.
func resumedJobs() map[string]*workload {
	return map[string]*workload{
		"kernel k-means": longerPoints(), "metrics": longMetrics(), "landmarks": longLandmarks(),
		"constrained spectral": longEigenvectors()["constrained-spectral"], "auto": longAuto(),
		"neighbors":    longNeighbors(),
		"a range of k": longRange(),
	}
}

// aSnapshot is the name of a snapshot's file: its term and number.
var aSnapshot = regexp.MustCompile(`^\d+\.\d+\.\w+$`)

// snapshots are the snapshots of a job.
func (c *Coordinator) snapshots(job string) (names []string) {
	c.Process.t.Helper()
	files, err := os.ReadDir(filepath.Join(c.DataDir, "blobs", "jobs", job, "snapshots"))
	if err != nil && !os.IsNotExist(err) {
		c.Process.t.Fatal(err)
	}
	for _, file := range files {
		if aSnapshot.MatchString(file.Name()) {
			names = append(names, file.Name())
		}
	}
	return names
}

// TestJobsGoOnAfterAKill kills the coordinator in a long job of each family, once it has stored a snapshot. The job
// goes on from there: with the outcome of an undisturbed run, and with the same events, without a gap.
func TestJobsGoOnAfterAKill(t *testing.T) {
	t.Parallel()
	for name, load := range someOf(resumedJobs(), 1) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := StartCoordinator(t, Options{Args: []string{"--snapshot-interval", "50ms"}})
			for _, worker := range []string{"w0", "w1"} {
				StartWorker(t, c, worker)
			}
			c.AwaitWorkers(2)
			job, w := load.run(c)
			w.Resumes = true
			Eventually(t, "a snapshot is stored", func() (bool, string) {
				return len(c.snapshots(job)) > 0, "there is none"
			})
			w.StillRunning()
			c.Kill()
			c.Restart()
			load.finish(t, "with the coordinator killed", w)
			sameEvents(t, c, job, w.Events)
			if !strings.Contains(c.Stderr(), "the job resumes from a snapshot") {
				t.Error("the job started over")
			}
			Eventually(t, "no snapshot is left", func() (bool, string) {
				return len(c.snapshots(job)) == 0, "there are some"
			})
		})
	}
}
