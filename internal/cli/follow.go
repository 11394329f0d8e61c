package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// How long a watch tries to get back to a coordinator that went away, and how often.
const (
	patience       = time.Minute
	firstReconnect = 100 * time.Millisecond
	mostReconnect  = 2 * time.Second
)

// watcher hears what happens to a job.
type watcher interface {
	item(*cleavev1.WatchJobResponse)
	say(format string, args ...any)
}

// follow watches a job until it ends. When the connection breaks it comes back and asks for what
// follows the last number it saw, so that no event is missed or seen twice.
func (c *client) follow(ctx context.Context, jobID string, after uint64, w watcher) (*cleavev1.JobEnded, error) {
	wait, contact := firstReconnect, time.Now()
	for met := false; ; {
		heard := func() { met, wait, contact = true, firstReconnect, time.Now() }
		ended, err := c.watchOnce(ctx, jobID, &after, w, heard)
		if errors.Is(err, io.EOF) {
			ended, err = c.endOf(ctx, jobID)
		}
		switch {
		case ended != nil:
			return ended, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && status.Code(err) != codes.Unavailable:
			return nil, c.explain(err)
		case !met || time.Since(contact) > patience:
			return nil, c.explain(status.Error(codes.Unavailable, fmt.Sprintf("job %s goes on without being watched: %s", jobID, status.Convert(err).Message())))
		}
		if wait == firstReconnect {
			w.say("the connection to the coordinator broke; trying to get back")
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
		wait = min(2*wait, mostReconnect)
	}
}

// watchOnce follows one stream to its end; a stream that ends before its job is io.EOF.
func (c *client) watchOnce(ctx context.Context, jobID string, after *uint64, w watcher, heard func()) (*cleavev1.JobEnded, error) {
	stream, err := c.jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: jobID, AfterSequence: *after})
	if err != nil {
		return nil, err
	}
	for {
		item, err := stream.Recv()
		if err != nil {
			return nil, err
		}
		heard()
		if event := item.GetEvent(); event != nil {
			*after = event.GetSequence()
		}
		w.item(item)
		if ended := item.GetEvent().GetEnded(); ended != nil {
			return ended, nil
		}
	}
}

// endOf is how a job ended whose last event was seen before, nil when it has not ended.
func (c *client) endOf(ctx context.Context, jobID string) (*cleavev1.JobEnded, error) {
	response, err := c.jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobID})
	if err != nil {
		return nil, err
	}
	job := response.GetJob()
	switch job.GetState() {
	case cleavev1.JobState_JOB_STATE_SUCCEEDED, cleavev1.JobState_JOB_STATE_FAILED, cleavev1.JobState_JOB_STATE_CANCELLED:
		return &cleavev1.JobEnded{State: job.GetState(), StopReason: job.GetStopReason(), Message: job.GetStatusMessage(), Error: job.GetError()}, nil
	}
	return nil, nil
}

// failure is the error that a job's end amounts to, nil when it succeeded.
func failure(jobID string, ended *cleavev1.JobEnded) error {
	switch ended.GetState() {
	case cleavev1.JobState_JOB_STATE_SUCCEEDED:
		return nil
	case cleavev1.JobState_JOB_STATE_CANCELLED:
		return shell.Cancelled("job %s was cancelled", jobID)
	}
	if err := wire.FaultOf(ended.GetError()); err != nil {
		return err
	}
	return fmt.Errorf("job %s failed", jobID)
}
