package clustertest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// TestTheCoordinatorIsKilled kills the coordinator twice during a run. Everything that it acknowledged must
// be there afterwards, and the outcome must be the same.
func TestTheCoordinatorIsKilled(t *testing.T) {
	t.Parallel()
	for name, load := range pointsAndGraph() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			load := load()
			c, workers := StartCluster(t, 2)
			spec := load.on(c)

			short := proto.CloneOf(spec)
			short.Restarts = 1
			done := c.Create(short)
			c.Watch(done).End()
			before := c.Outcome(done)

			request := &cleavev1.CreateJobRequest{Spec: spec, RequestId: uuid.NewString()}
			created, err := c.Jobs.CreateJob(t.Context(), request)
			job := must(t, created, err).GetJob().GetJobId()
			w := c.Watch(job)
			w.Resumes = true
			for kills := 1; kills <= 2; kills++ {
				w.UntilIterations(w.Iterations() + 20)
				// the events may have been there before it was killed
				Eventually(t, "the job runs", func() (bool, string) {
					job := c.Job(job)
					return job.GetState() == cleavev1.JobState_JOB_STATE_RUNNING, job.String()
				})
				c.Kill()
				c.Restart()
				// The watch first gets the events that were sent before the kill, and then the break.
				w.Until("the watch resumes", func(*cleavev1.WatchJobResponse) bool { return w.Breaks >= kills })

				again, err := c.Jobs.CreateJob(t.Context(), request)
				if must(t, again, err).GetJob().GetJobId() != job {
					t.Errorf("the request was repeated and made another job, %v", again.GetJob())
				}
				other := proto.CloneOf(request)
				other.Spec.Clusters = &cleavev1.JobSpec_K{K: other.GetSpec().GetK() + 1}
				_, err = c.Jobs.CreateJob(t.Context(), other)
				wantError(t, "the request id with another spec", err, codes.AlreadyExists, "REQUEST_ID_REUSED")
				kept, err := c.Datasets.GetDataset(t.Context(),
					&cleavev1.GetDatasetRequest{DatasetId: spec.GetDatasetId()})
				if must(t, kept, err).GetDataset().GetRows() != uint32(load.data.Rows()) {
					t.Errorf("the data set is now %v", kept.GetDataset())
				}
				SameOutcome(t, "the job that had ended before", c.Outcome(done), before)
				c.AwaitWorkers(2)
			}
			load.finish(t, "with the coordinator killed", w)
			if w.Breaks < 2 {
				t.Errorf("the watch noticed %d of 2 breaks", w.Breaks)
			}
			for _, each := range workers {
				if !each.Running() {
					t.Errorf("worker %s did not survive", each.Name)
				}
			}
			sameEvents(t, c, job, w.Events)
		})
	}
}

// sameEvents watches an ended job from its beginning: the events must be those that were seen before.
func sameEvents(t testing.TB, c *Coordinator, job string, want []*cleavev1.Event) {
	t.Helper()
	w := c.Watch(job)
	w.End()
	if len(w.Events) != len(want) {
		t.Fatalf("%d events are replayed, %d were seen", len(w.Events), len(want))
	}
	for i, e := range w.Events {
		if !proto.Equal(e, want[i]) {
			t.Errorf("event %d was %v and is now %v", i+1, want[i], e)
		}
	}
}

// TestTheCoordinatorIsTerminated terminates the coordinator while a job runs and is watched.
func TestTheCoordinatorIsTerminated(t *testing.T) {
	t.Parallel()
	c, workers := StartCluster(t, 2)
	load := longPoints()
	job, w := load.run(c)
	w.Resumes = true
	w.UntilIterations(3)
	w.StillRunning()

	ended := make(chan error, 1)
	stream, err := c.Jobs.WatchJob(t.Context(), &cleavev1.WatchJobRequest{JobId: job})
	must(t, stream, err)
	_, err = stream.Recv() // the stream is open
	must(t, stream, err)
	go func() {
		for {
			if _, err := stream.Recv(); err != nil {
				ended <- err
				return
			}
		}
	}()

	const drain = 5 * time.Second // the coordinator's shutdown timeout
	began := time.Now()
	if code := c.Terminate(); code != 0 {
		t.Errorf("the coordinator ended with exit code %d", code)
	}
	if took := time.Since(began); took > drain+5*time.Second {
		t.Errorf("the coordinator took %v to end", took)
	}
	wantError(t, "the open watch", <-ended, codes.Unavailable, "SHUTTING_DOWN")

	c.Restart()
	load.finish(t, "with the coordinator terminated", w)
	c.AwaitWorkers(2)
	for _, each := range workers {
		if !each.Running() {
			t.Errorf("worker %s did not survive", each.Name)
		}
	}
	sameEvents(t, c, job, w.Events)
}

// TestTwoCoordinatorsCannotShareADataDirectory: the second ends immediately and says why.
func TestTwoCoordinatorsCannotShareADataDirectory(t *testing.T) {
	t.Parallel()
	c := StartCoordinator(t, Options{})
	ran := Command(t, Build(t).Coordinator, "--listen", "127.0.0.1:0", "--data-dir", c.DataDir)
	wantSentence(t, ran, 2, "in use by another coordinator")
	if workers := c.Workers(); len(workers) != 0 {
		t.Errorf("the first coordinator has workers %v", workers)
	}
}
