package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/dial/backoff"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// reconnects paces the attempts to get back to a coordinator that went away; reconnectTimeout is how long
// they go on, and firstTimeout if none has answered yet.
var reconnects = backoff.Policy{First: 100 * time.Millisecond, Max: time.Second}

const (
	reconnectTimeout = time.Minute
	firstTimeout     = 3 * time.Second
	// silenceTimeout is how long a watch may be silent until another coordinator is asked: one sends its progress every
	// two seconds.
	silenceTimeout = 10 * time.Second
)

// Watcher is told what happens to a job.
type Watcher interface {
	// Uploading is called before the data are sent.
	Uploading(rows int, bytes uint64)
	// Item is called with every event of the job, and with the live progress in between.
	Item(*cleavev1.WatchJobResponse)
	// Warn is called when the connection breaks.
	Warn(format string, args ...any)
}

// Follow watches a job until it ends. When the connection breaks it connects again and asks for the events
// after the last one it has seen, so that no event is missed or seen twice.
func (c *Client) Follow(ctx context.Context, jobID string, after uint64, w Watcher) (*cleavev1.JobEnded, error) {
	pause := backoff.New(reconnects)
	lastContact, timeout := time.Now(), firstTimeout
	if c.leader.several() {
		timeout = electionTimeout
	}
	refusals := 0 // since the last contact
	for {
		ended, err := c.watchOnce(ctx, jobID, &after, w, func() {
			pause.Reset()
			lastContact, timeout, refusals = time.Now(), reconnectTimeout, 0
		})
		if errors.Is(err, io.EOF) {
			ended, err = c.endOf(ctx, jobID)
		}
		delay, refused := wire.RetryDelay(err)
		switch {
		case ended != nil:
			return ended, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case refused && refusals < maxRefusals: // or it was not read, for however long
			refusals++
		case err != nil && status.Code(err) != codes.Unavailable:
			return nil, c.Explain(err)
		case time.Since(lastContact) > timeout:
			return nil, c.Explain(status.Error(codes.Unavailable, fmt.Sprintf("job %s goes on without being watched: %s", jobID, status.Convert(err).Message())))
		}
		if pause.Waits() == 0 {
			w.Warn("%s", whyAgain(err, refused))
		}
		if err := backoff.Sleep(ctx, delay); err != nil {
			return nil, err
		}
		if err := pause.Wait(ctx); err != nil {
			return nil, err
		}
	}
}

// reasonSlowReader is why a coordinator ends a stream that nobody reads.
const reasonSlowReader = "SLOW_READER"

// whyAgain says why a watch is begun again.
func whyAgain(err error, refused bool) string {
	switch {
	case wire.Reason(err) == reasonSlowReader:
		return "the coordinator ended the watch because it was not read for a while; going on from the last event"
	case refused:
		return status.Convert(err).Message() + "; trying again"
	}
	return "the connection to the coordinator broke; trying to get back"
}

// watchOnce follows one stream to its end and calls heard with every message. A stream that ends before its
// job gives io.EOF.
func (c *Client) watchOnce(ctx context.Context, jobID string, after *uint64, w Watcher, heard func()) (*cleavev1.JobEnded, error) {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(silenceTimeout, cancel)
	defer silence.Stop()
	stream, err := c.Jobs.WatchJob(watching, &cleavev1.WatchJobRequest{JobId: jobID, AfterSequence: *after})
	if err != nil {
		return nil, err
	}
	for {
		item, err := stream.Recv()
		if watching.Err() != nil && ctx.Err() == nil {
			return nil, c.leader.leave("the coordinator is silent")
		}
		if err != nil {
			return nil, err
		}
		silence.Reset(silenceTimeout)
		heard()
		if event := item.GetEvent(); event != nil {
			*after = event.GetSequence()
		}
		w.Item(item)
		if ended := item.GetEvent().GetEnded(); ended != nil {
			return ended, nil
		}
	}
}

// endOf is how a job ended, nil when it has not ended. The stream of a job whose last event was seen before
// ends without it.
func (c *Client) endOf(ctx context.Context, jobID string) (*cleavev1.JobEnded, error) {
	response, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobID})
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

// JobError returns nil if a job succeeded, and otherwise an error that says how it ended. If the job reached its time
// limit, the reason of the error is shell.LabelsSoFar if the job has labels, and TIME_LIMIT if it has none.
func (c *Client) JobError(ctx context.Context, jobID string, ended *cleavev1.JobEnded) error {
	switch ended.GetState() {
	case cleavev1.JobState_JOB_STATE_SUCCEEDED:
		return nil
	case cleavev1.JobState_JOB_STATE_CANCELLED:
		if ended.GetStopReason() != cleavev1.StopReason_STOP_REASON_TIME_LIMIT {
			return shell.Canceled("job %s was cancelled", jobID)
		}
		reason := "TIME_LIMIT"
		response, err := c.Jobs.GetResult(ctx, &cleavev1.GetResultRequest{JobId: jobID})
		if err == nil && response.GetResult().GetRows() > 0 {
			reason = shell.LabelsSoFar
		}
		return fault.New(fault.DeadlineExceeded, reason, "job %s was %s", jobID, ended.GetMessage()).With("job_id", jobID)
	}
	if err := wire.FaultOf(ended.GetError()); err != nil {
		return err
	}
	return fmt.Errorf("job %s failed", jobID)
}
