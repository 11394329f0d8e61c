package clustertest

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// TestALostLeaseIsNoCrash stops etcd for longer than the lease while a job runs and gets no further, because its worker
// is stopped too. The coordinator leads again and knows that it did not crash.
func TestALostLeaseIsNoCrash(t *testing.T) {
	t.Parallel()
	etcd := StartEtcd(t, 1)
	c := StartCoordinator(t,
		Options{Args: []string{"--store", etcd.Store(), "--lease", testLease, "--blobs", t.TempDir(),
			"--lost-after", "5m"}})
	Eventually(t, "the coordinator leads", func() (bool, string) { return c.Serves(), "it does not" })
	worker := StartWorker(t, c, "w")
	c.AwaitWorkers(1)
	load := longPoints()
	spec := proto.CloneOf(load.spec)
	spec.Data = &cleavev1.JobSpec_DatasetId{DatasetId: c.Upload(load.data)}
	worker.Pause()
	job := c.Create(spec)
	Eventually(t, "the job runs", func() (bool, string) {
		got, err := c.Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: job})
		return got.GetJob().GetState() == cleavev1.JobState_JOB_STATE_RUNNING, fmt.Sprint(got, err)
	})
	etcd.Members[0].Pause()
	Eventually(t, "the lease is lost", func() (bool, string) {
		return strings.Contains(c.Stderr(), "becoming a standby"), "it leads"
	})
	etcd.Members[0].Resume()
	Eventually(t, "the coordinator leads again", func() (bool, string) { return c.Serves(), "it does not" })
	Eventually(t, "the job is resumed", func() (bool, string) { // its log may arrive later than its answers
		return strings.Contains(c.Stderr(), "job is resumed"), "it is not"
	})
	if !strings.Contains(c.Stderr(), "events=0 crashes=0") {
		t.Error("the lost lease counts as a crash")
	}
	worker.Resume()
	load.finish(t, "after a lost lease", c.Watch(job))
}
