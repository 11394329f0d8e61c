package clustertest

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Watch follows a job and collects its events. Their numbers must have no gap and no repetition.
type Watch struct {
	client *Client
	job    string
	stream cleavev1.JobService_WatchJobClient
	cancel context.CancelFunc

	Events []*cleavev1.Event
	// Resumes lets the watch continue after the coordinator was restarted. Otherwise a broken stream
	// fails the test.
	Resumes bool
	Breaks  int // how often the stream broke
}

// Watch starts to follow a job from its first event.
func (c *Client) Watch(job string) *Watch {
	c.t.Helper()
	w := &Watch{client: c, job: job}
	w.open()
	c.t.Cleanup(func() { w.cancel() })
	return w
}

func (w *Watch) open() {
	w.client.t.Helper()
	if w.cancel != nil {
		w.cancel()
	}
	ctx, cancel := context.WithTimeout(w.client.t.Context(), 2*Timeout)
	w.cancel = cancel
	stream, err := w.client.Jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: w.job,
		AfterSequence: uint32(len(w.Events))})
	if w.Resumes && status.Code(err) == codes.Unavailable {
		w.stream = brokenStream{err: err}
		return
	}
	w.stream = must(w.client.t, stream, err)
}

// brokenStream is a stream that could not be opened.
type brokenStream struct {
	cleavev1.JobService_WatchJobClient
	err error
}

func (s brokenStream) Recv() (*cleavev1.WatchJobResponse, error) { return nil, s.err }

// next waits for the next item. It returns nil at the end of the job.
func (w *Watch) next() *cleavev1.WatchJobResponse {
	t := w.client.t
	t.Helper()
	for {
		item, err := w.stream.Recv()
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			if !w.Ended() {
				t.Fatalf("the watch of job %s ended after event %d, before the job did", w.job, len(w.Events))
			}
			return nil
		case w.Resumes && status.Code(err) == codes.Unavailable:
			w.Breaks++
			<-time.After(pollEvery) // while there is no leader, every attempt fails at once
			w.open()
			continue
		default:
			t.Fatalf("the watch of job %s broke after event %d: %v", w.job, len(w.Events), err)
		}
		if e := item.GetEvent(); e != nil {
			if want := uint32(len(w.Events) + 1); e.GetSequence() != want {
				t.Fatalf("event %d came where %d should: %v", e.GetSequence(), want, e)
			}
			if w.Ended() {
				t.Fatalf("event %v came after the end", e)
			}
			w.Events = append(w.Events, e)
		}
		return item
	}
}

// Ended reports whether the event that ends the job has come.
func (w *Watch) Ended() bool {
	return len(w.Events) > 0 && w.Events[len(w.Events)-1].GetEnded() != nil
}

// UntilIterations waits until there are this many iteration events in total.
func (w *Watch) UntilIterations(count int) {
	w.client.t.Helper()
	w.Until("iterations", func(*cleavev1.WatchJobResponse) bool { return w.Iterations() >= count })
}

// Iterations returns how many iteration events have come so far.
func (w *Watch) Iterations() int {
	seen := 0
	for _, e := range w.Events {
		if e.GetIteration() != nil {
			seen++
		}
	}
	return seen
}

// UntilSolverSteps waits until there are this many steps of an eigensolver in total.
func (w *Watch) UntilSolverSteps(count int) {
	w.client.t.Helper()
	w.Until("steps of an eigensolver", func(*cleavev1.WatchJobResponse) bool { return w.SolverSteps() >= count })
}

// SolverSteps returns how many steps of an eigensolver have come so far.
func (w *Watch) SolverSteps() int {
	seen := 0
	for _, e := range w.Events {
		if e.GetSolver() != nil {
			seen++
		}
	}
	return seen
}

// UntilProgress waits until a progress message meets a condition.
func (w *Watch) UntilProgress(what string, condition func(*cleavev1.Progress) bool) {
	w.client.t.Helper()
	w.Until(what, func(item *cleavev1.WatchJobResponse) bool {
		return item.GetProgress() != nil && condition(item.GetProgress())
	})
}

// Until waits until an item meets a condition.
func (w *Watch) Until(what string, found func(*cleavev1.WatchJobResponse) bool) {
	w.client.t.Helper()
	for {
		item := w.next()
		if item == nil {
			w.client.t.Fatalf("job %s ended before its watch saw %s: %v", w.job, what, w.Events[len(w.Events)-1])
		}
		if found(item) {
			return
		}
	}
}

// End waits for the end of the job and returns its last event.
func (w *Watch) End() *cleavev1.JobEnded {
	w.client.t.Helper()
	for w.next() != nil {
	}
	return w.Events[len(w.Events)-1].GetEnded()
}

// StillRunning fails the test if the job is over, because a fault after its end would test nothing.
func (w *Watch) StillRunning() {
	w.client.t.Helper()
	if job := w.client.Job(w.job); job.GetState() != cleavev1.JobState_JOB_STATE_RUNNING {
		w.client.t.Fatalf("the job does not run any more, or not yet: %v", job)
	}
}
