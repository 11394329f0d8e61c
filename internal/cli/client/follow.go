package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/dial/backoff"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// reconnects paces the attempts to reconnect a watch.
var reconnects = backoff.Policy{First: 100 * time.Millisecond, Max: time.Second}

const (
	reconnectTimeout = time.Minute      // how long to try to reconnect to a coordinator that has answered before
	firstTimeout     = 3 * time.Second  // the same if none has answered yet
	silenceTimeout   = 10 * time.Second // how long a watch may be silent; progress comes every two seconds
)

// Watcher receives the progress of a job.
type Watcher interface {
	// Uploading is called before data are uploaded.
	Uploading(rows int, bytes uint64)
	// Item is called with every event of the job, and with live progress between them.
	Item(*cleavev1.WatchJobResponse)
	// Warn is called when the connection breaks.
	Warn(format string, args ...any)
}

// Follow passes the events of a job with sequence numbers above after to w until the job ends. If the connection breaks, it
// reconnects and continues after the last event, so that w gets every event exactly once.
func (c *Client) Follow(ctx context.Context, jobID string, after uint32, w Watcher) (*cleavev1.JobEnded, error) {
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
		case refused && refusals < maxRefusals: // even if the last contact was long ago
			refusals++
		case err != nil && status.Code(err) != codes.Unavailable:
			return nil, c.Explain(err)
		case time.Since(lastContact) > timeout:
			return nil, c.Explain(status.Error(codes.Unavailable, fmt.Sprintf("job %s continues without being watched: %s", jobID, status.Convert(err).Message())))
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

// reasonSlowReader is the reason of the error by which a coordinator ends a stream that is not read.
const reasonSlowReader = "SLOW_READER"

// whyAgain says why a watch is restarted.
func whyAgain(err error, refused bool) string {
	switch {
	case wire.Reason(err) == reasonSlowReader:
		return "the coordinator ended the watch because it was not read for a while; continuing after the last event"
	case refused:
		return status.Convert(err).Message() + "; trying again"
	}
	return "the connection to the coordinator broke; reconnecting"
}

// watchOnce follows one stream until the job ends, and calls heard after every message. It returns io.EOF if the stream ends
// before the job.
func (c *Client) watchOnce(ctx context.Context, jobID string, after *uint32, w Watcher, heard func()) (*cleavev1.JobEnded, error) {
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

// endOf returns how a job ended, or nil if it has not ended. A stream that begins after the last event ends without one.
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
			return shell.Canceled("job %s was canceled", jobID)
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

// Submit uploads the data and tables of a job and creates the job. Without a request id, the request gets one, so that its
// retries create only one job.
func (c *Client) Submit(ctx context.Context, request *cleavev1.CreateJobRequest, data dataset.Dataset, w Watcher) (*cleavev1.Job, error) {
	if err := c.UploadInputs(ctx, request.GetDisplayName(), request.GetSpec(), data, w); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// An interrupt must not leave behind a job whose id nobody knows, so wait for the response.
	ctx, cancel := withGrace(ctx)
	defer cancel()
	if request.GetRequestId() == "" {
		request.RequestId = uuid.NewString()
	}
	response, err := c.Jobs.CreateJob(ctx, request)
	if err != nil {
		return nil, c.Explain(err)
	}
	return response.GetJob(), nil
}

// graceTime is how long calls may still take after an interrupt.
const graceTime = 5 * time.Second

// withGrace returns a copy of ctx that ends graceTime later.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(graceTime, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() {
		stop()
		cancel()
	}
}

// OnInterrupt is what becomes of a job if the context of Complete ends first.
type OnInterrupt int

// What becomes of the job.
const (
	CancelJob    OnInterrupt = iota // it is canceled
	DetachOnTerm                    // it goes on if SIGTERM ended the context, and is canceled otherwise
)

// Detaches reports whether a job goes on although its context has ended.
func (o OnInterrupt) Detaches(ctx context.Context) bool {
	return o == DetachOnTerm && errors.Is(context.Cause(ctx), shell.Terminated)
}

// Complete submits a job, waits until it ends, and returns its id. The error is that of JobError, so the id is set even if
// the job reached its time limit. If ctx ends first, the job is canceled or goes on, as o says; if it goes on, Complete returns
// its id and the error of ctx.
func (c *Client) Complete(ctx context.Context, request *cleavev1.CreateJobRequest, data dataset.Dataset, w Watcher, o OnInterrupt) (string, error) {
	created, err := c.Submit(ctx, request, data, w)
	if err != nil {
		return "", err
	}
	id := created.GetJobId()
	ended, err := c.Follow(ctx, id, 0, w)
	switch {
	case o.Detaches(ctx):
		return id, ctx.Err()
	case ctx.Err() != nil:
		return "", c.abort(ctx, id)
	case err != nil:
		return "", err
	}
	return id, c.JobError(ctx, id, ended)
}

// abort cancels a job after an interrupt.
func (c *Client) abort(ctx context.Context, jobID string) error {
	ctx, cancel := withGrace(ctx)
	defer cancel()
	if _, err := c.Jobs.CancelJob(ctx, &cleavev1.CancelJobRequest{JobId: jobID}); err != nil {
		return shell.Canceled("interrupted; job %s could not be canceled and may continue: %v", jobID, c.Explain(err))
	}
	if c.embedded != nil {
		return shell.Canceled("canceled; the job ran in this process and is gone. --timeout ends a run with the labels so far")
	}
	return shell.Canceled("canceled job %s. Its labels so far, if it had any: cleave result %s --server %s", jobID, jobID, c.address)
}

// Cause returns why a part of an embedded cluster failed, which ended ctx and made everything else fail, or else err.
func Cause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}
