package clustertest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// line is a data set of so many points, which its size tells apart from others.
func line(t *testing.T, n int) dataset.Dataset {
	t.Helper()
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i * i)
	}
	points, err := dataset.NewPoints(n, 1, values)
	return must(t, points, err)
}

// TestATimeLimitOutlivesTheCoordinator: a job waits for workers that never come, and no coordinator lives for as long
// as the job may. It ends all the same, because each one goes on counting where the last one was killed.
func TestATimeLimitOutlivesTheCoordinator(t *testing.T) {
	t.Parallel()
	c := StartCoordinator(t, Options{})
	spec := &cleavev1.JobSpec{Data: &cleavev1.JobSpec_DatasetId{DatasetId: c.Upload(line(t, 10))},
		Clusters: &cleavev1.JobSpec_K{K: 2}}
	job := c.Submit(&cleavev1.CreateJobRequest{Spec: spec,
		Scheduling: &cleavev1.Scheduling{TimeLimit: durationpb.New(3 * time.Second)}})
	for lives := 1; ; lives++ {
		// a life, in which the time used is stored about twice: none is as long as the limit
		time.Sleep(1200 * time.Millisecond)
		if state := c.Job(job).GetState(); state != cleavev1.JobState_JOB_STATE_PENDING {
			break
		}
		if lives == 20 {
			t.Fatalf("after %d coordinators the job is still %v", lives, c.Job(job))
		}
		c.Kill()
		c.Restart()
	}
	ended := c.Job(job)
	if ended.GetState() != cleavev1.JobState_JOB_STATE_CANCELLED ||
		ended.GetStopReason() != cleavev1.StopReason_STOP_REASON_TIME_LIMIT {
		t.Errorf("the job is %v", ended)
	}
}

// TestRetentionSparesWhatIsInUse: jobs that have ended and unused data are deleted soon, also by coordinators that come
// later. A job that has its turn and one that waits keep theirs, however long it takes.
func TestRetentionSparesWhatIsInUse(t *testing.T) {
	t.Parallel()
	c := StartCoordinator(t,
		Options{Args: []string{"--keep-jobs", "1s", "--keep-datasets", "1s", "--max-running", "1"}})
	var data, jobs []string
	for at := range 3 {
		data = append(data, c.Upload(line(t, 10+at)))
		jobs = append(jobs, c.Create(&cleavev1.JobSpec{Data: &cleavev1.JobSpec_DatasetId{DatasetId: data[at]},
			Clusters: &cleavev1.JobSpec_K{K: 2}}))
	}
	_, err := c.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: jobs[2]})
	must(t, jobs, err)
	Eventually(t, "the job that has ended and its data set are deleted", func() (bool, string) {
		listed, err := c.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{})
		kept, err2 := c.Datasets.ListDatasets(t.Context(), &cleavev1.ListDatasetsRequest{})
		return len(must(t, listed, err).GetJobs()) == 2 && len(must(t, kept, err2).GetDatasets()) == 2,
			fmt.Sprint(listed, kept)
	})
	c.Kill()
	c.Restart()
	unused := c.Upload(line(t, 20))
	Eventually(t, "the coordinator that came later deletes what nobody uses", func() (bool, string) {
		listed, err := c.Datasets.ListDatasets(t.Context(), &cleavev1.ListDatasetsRequest{})
		left := must(t, listed, err).GetDatasets()
		return !slices.ContainsFunc(left, func(d *cleavev1.Dataset) bool { return d.GetDatasetId() == unused }),
			fmt.Sprint(left)
	})
	first := c.Watch(jobs[0])
	second := c.Watch(jobs[1])
	StartWorker(t, c, "late")
	for _, w := range []*Watch{first, second} {
		if ended := w.End(); ended.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
			t.Errorf("a job ended as %v", ended)
		}
	}
}
