package clustertest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/wire"
)

// TestTheLeaderIsKilled kills the leader of three coordinators during a run. Another one goes on with the tiles that
// the workers have; nothing that was acknowledged is lost, and whoever watches sees every event once.
func TestTheLeaderIsKilled(t *testing.T) {
	t.Parallel()
	c := StartCoordinators(t, 3, Options{})
	workers := c.StartWorkers(2)
	load := longPoints()
	first := c.Leader()
	spec := proto.CloneOf(load.spec)
	spec.Data = &cleavev1.JobSpec_DatasetId{DatasetId: c.Upload(load.data)}
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
	watching := StartCleave(t, "watch", job, "--json", "--server", c.Addresses())
	w.UntilIterations(20)
	w.StillRunning()
	first.Kill()
	again, err := c.Jobs.CreateJob(t.Context(), request) // waits for the next leader
	if must(t, again, err).GetJob().GetJobId() != job {
		t.Errorf("the request was repeated and made another job, %v", again.GetJob())
	}
	next := c.Leader(c.Others(first)...)
	SameOutcome(t, "the job that had ended before", c.Outcome(done), before)
	load.finish(t, "with the leader killed", w)
	if w.Breaks == 0 {
		t.Error("the watch did not break")
	}
	if code := watching.ExitCode(); code != 0 {
		t.Errorf("cleave watch ended with exit code %d", code)
	}
	wantSequence(t, string(watching.stdout.bytes()), len(w.Events))
	for _, each := range workers {
		if !each.Running() {
			t.Errorf("worker %s did not survive", each.Name)
		}
	}
	if adopted := strings.Count(next.Stderr(), "adopted tiles"); adopted != len(workers) {
		t.Errorf("the tiles of %d of %d workers were adopted", adopted, len(workers))
	}

	first.Restart()
	standsBy(t, first, next)
}

// standsBy waits until a coordinator refuses calls and names the leader.
func standsBy(t testing.TB, c, leader *Coordinator) {
	t.Helper()
	Eventually(t, "a coordinator is a standby", func() (bool, string) {
		_, err := c.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{})
		named, _ := wire.LeaderOf(err)
		return named == leader.Addr && status.Code(err) == codes.Unavailable && !c.Serves(), fmt.Sprint(err)
	})
}

// wantSequence checks that the lines of cleave watch --json are all events of a job, each once.
func wantSequence(t testing.TB, lines string, count int) {
	t.Helper()
	var seen int
	for line := range strings.Lines(lines) {
		var event struct{ Sequence int }
		if err := json.Unmarshal([]byte(line), &event); err != nil || event.Sequence != seen+1 {
			t.Fatalf("line %d is %q", seen+1, line)
		}
		seen++
	}
	if seen != count {
		t.Errorf("cleave watch saw %d of %d events", seen, count)
	}
}

// TestTheLeaderIsPaused stops the leader for longer than its lease. When it wakes up it must not lead: another one
// does, and finishes the job.
func TestTheLeaderIsPaused(t *testing.T) {
	t.Parallel()
	c := StartCoordinators(t, 2, Options{Members: 1})
	c.StartWorkers(2)
	load := longPoints()
	first := c.Leader()
	spec := proto.CloneOf(load.spec)
	spec.Data = &cleavev1.JobSpec_DatasetId{DatasetId: c.Upload(load.data)}
	job := c.Create(spec)
	w := c.Watch(job)
	w.UntilIterations(5)
	w.StillRunning()
	first.Pause()
	next := c.Leader(c.Others(first)...)
	next.AwaitWorkers(2)
	w = next.Watch(job)
	w.UntilIterations(10) // more than before
	first.Resume()
	_, err := first.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: spec})
	if code := status.Code(err); code != codes.Unavailable {
		t.Errorf("the old leader answers %v", err)
	}
	standsBy(t, first, next)
	load.finish(t, "with the leader paused", w)
	next.AwaitWorkers(2)
	sameEvents(t, next, job, w.Events)
	jobs, err := next.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{})
	if must(t, jobs, err); len(jobs.GetJobs()) != 1 {
		t.Errorf("the old leader created a job: %v", jobs.GetJobs())
	}
}

// TestWebhooksSurviveAFailover kills a leader that has tried to notify a receiver without success. The next leader does
// it.
func TestWebhooksSurviveAFailover(t *testing.T) {
	t.Parallel()
	var accepts atomic.Bool
	refused := make(chan string, 1000)
	accepted := make(chan string, 1000)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := r.Header.Get("webhook-id"); accepts.Load() {
			accepted <- id
		} else {
			w.WriteHeader(http.StatusServiceUnavailable)
			refused <- id
		}
	}))
	defer receiver.Close()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("whsec_"+base64.StdEncoding.EncodeToString(make([]byte, 32))+"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	c := StartCoordinators(t, 2,
		Options{Members: 1, Args: []string{"--webhook-allow", receiver.URL, "--webhook-secret-file", secret}})
	c.StartWorkers(1)
	first := c.Leader()
	load := longPoints()
	spec := proto.CloneOf(load.spec)
	spec.Data = &cleavev1.JobSpec_DatasetId{DatasetId: c.Upload(load.data)}
	spec.Restarts = 1
	created, err := c.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: spec,
		Scheduling: &cleavev1.Scheduling{WebhookUrl: receiver.URL}})
	job := must(t, created, err).GetJob().GetJobId()
	receive := func(what string, from <-chan string) string {
		t.Helper()
		select {
		case id := <-from:
			return id
		case <-time.After(Timeout):
			t.Fatalf("no notification is %s", what)
			return ""
		}
	}
	before := receive("refused", refused)
	first.Kill()
	accepts.Store(true)
	if after := receive("accepted", accepted); before != job+".ended" || after != before {
		t.Errorf("the notification of %s was %s at first and then %s", job, before, after)
	}
}
