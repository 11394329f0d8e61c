package client

import (
	"context"
	"errors"
	"time"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/dataset"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Submit uploads what a job needs and creates the job.
func (c *Client) Submit(ctx context.Context, request *cleavev1.CreateJobRequest, data dataset.Dataset, w Watcher) (*cleavev1.Job, error) {
	if err := c.UploadInputs(ctx, request.GetDisplayName(), request.GetSpec(), data, w); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// An interrupt must not leave a job behind whose id nobody knows: wait for the answer.
	ctx, cancel := withGrace(ctx)
	defer cancel()
	return c.createJob(ctx, request)
}

// graceTime is how long the last calls may take after an interrupt.
const graceTime = 5 * time.Second

// withGrace is a context that outlives another by the grace time.
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

// Complete submits a job, waits until it ends, and returns its id. The error is that of JobError, so the id is set even if
// the job reached its time limit. If ctx ends first, Complete cancels the job.
func (c *Client) Complete(ctx context.Context, request *cleavev1.CreateJobRequest, data dataset.Dataset, w Watcher) (string, error) {
	created, err := c.Submit(ctx, request, data, w)
	if err != nil {
		return "", err
	}
	id := created.GetJobId()
	ended, err := c.Follow(ctx, id, 0, w)
	if ctx.Err() != nil {
		return "", c.abort(ctx, id)
	}
	if err != nil {
		return "", err
	}
	return id, c.JobError(ctx, id, ended)
}

// abort cancels a job after an interrupt.
func (c *Client) abort(ctx context.Context, jobID string) error {
	ctx, cancel := withGrace(ctx)
	defer cancel()
	if _, err := c.Jobs.CancelJob(ctx, &cleavev1.CancelJobRequest{JobId: jobID}); err != nil {
		return shell.Canceled("interrupted; the job %s could not be cancelled and may go on: %v", jobID, c.Explain(err))
	}
	if c.embedded != nil {
		return shell.Canceled("cancelled; the job ran in this process and is gone. --timeout ends a run with the labels so far")
	}
	return shell.Canceled("cancelled job %s. Its labels so far, if it had any: cleave result %s --server %s", jobID, jobID, c.address)
}

// Cause is why an operation failed. When a part of an embedded cluster broke down, that is why everything
// else fails.
func Cause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}
