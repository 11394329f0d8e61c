package client

import (
	"context"
	"errors"
	"time"

	"github.com/cleave-project/cleave/client"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// UploadInputs uploads the data of a job, unless data is nil, and the inline tables of its spec, and replaces them in
// the spec by their ids. It does not upload what the coordinator has already. name is the display name.
func (c *Client) UploadInputs(ctx context.Context, name string, spec *cleavev1.JobSpec, data dataset.Dataset,
	w Watcher) error {
	if data != nil {
		id, err := c.upload(ctx, data, name, w)
		if err != nil {
			return err
		}
		spec.Data = &cleavev1.JobSpec_DatasetId{DatasetId: id}
	}
	return c.uploadTables(ctx, name, spec)
}

// upload uploads a data set, unless the coordinator has it, and returns its id. An embedded coordinator shares the
// memory of data.
func (c *Client) upload(ctx context.Context, data dataset.Dataset, name string, w Watcher) (string, error) {
	if c.embedded != nil {
		return c.embedded.ShareDataset(ctx, name, data)
	}
	return c.target().Dataset(ctx, name, data, func() { w.Uploading(data.Rows(), uint64(dataset.EncodedSize(data))) })
}

// SendTable uploads a table, unless the coordinator has it, and returns its id.
func (c *Client) SendTable(ctx context.Context, name string, t *table.Table, w Watcher) (string, error) {
	return c.target().Table(ctx, name, t, func() { w.Uploading(t.Rows(), uint64(t.EncodedSize())) })
}

func (c *Client) target() wire.Uploader {
	return wire.Uploader{Datasets: c.Datasets, Tables: c.Tables, Retry: c.Retry}
}

// uploadTables uploads the inline tables of a spec, which may be larger than a request, and replaces them by their
// ids.
func (c *Client) uploadTables(ctx context.Context, of string, spec *cleavev1.JobSpec) error {
	for _, used := range wire.UsedTables(spec) {
		if used.Input.GetInline() == nil {
			continue
		}
		t, err := wire.TableRows(used.Input.GetInline())
		if err != nil {
			return fault.Wrap(err, "%s", used.Field)
		}
		id, err := c.SendTable(ctx, used.Name()+" of "+of, t, Silent{})
		if err != nil {
			return err
		}
		used.Input.Source = &cleavev1.TableInput_TableId{TableId: id}
	}
	return nil
}

// StreamTable uploads a table while it is read, and returns its description. read starts at the first row and calls
// send with a function that returns the next rows. It is called again if the connection breaks, because unfinished
// uploads are lost.
func (c *Client) StreamTable(
	ctx context.Context, name string, read func(send func(next func() (*table.Table, error)) error) error,
) (stored *cleavev1.Table, _ error) {
	again := false
	err := c.Retry(ctx, func(ctx context.Context, _ func()) error {
		if again {
			c.warn("the connection to the coordinator broke; sending the table again from its first row")
		}
		return read(func(next func() (*table.Table, error)) (err error) {
			stored, err = wire.SendBatches(ctx, c.Tables, name, func() (*table.Table, error) {
				again = true
				return next()
			})
			return err
		})
	})
	return stored, err
}

// Watcher is told about the progress of a job: sending its data, then its events. Calls do not overlap.
type Watcher interface {
	client.Watcher
	// Uploading is called before data is uploaded.
	Uploading(rows int, bytes uint64)
	// Importing is called while workers read objects.
	Importing(*cleavev1.ImportProgress)
}

// Silent is the Watcher of a job whose progress nobody sees.
type Silent struct{}

// Item does nothing.
func (Silent) Item(*cleavev1.WatchJobResponse) {}

// Warn does nothing.
func (Silent) Warn(string, ...any) {}

// Uploading does nothing.
func (Silent) Uploading(int, uint64) {}

// Importing does nothing.
func (Silent) Importing(*cleavev1.ImportProgress) {}

// Submit uploads the data and tables of a job and creates the job. Without a request id, the request gets one, so that
// its retries create only one job.
func (c *Client) Submit(ctx context.Context, request *cleavev1.CreateJobRequest, data dataset.Dataset,
	w Watcher) (*cleavev1.Job, error) {
	if err := c.UploadInputs(ctx, request.GetDisplayName(), request.GetSpec(), data, w); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// An interrupt must not leave behind a job whose id nobody knows, so wait for the response.
	ctx, cancel := withGrace(ctx)
	defer cancel()
	return c.CreateJob(ctx, request)
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

// Complete submits a job, waits until it ends, and returns its id. The error is that of JobError, so the id is set
// even if the job reached its time limit. If ctx ends first, the job is canceled or goes on, as o says; if it goes on,
// Complete returns its id and the error of ctx.
func (c *Client) Complete(ctx context.Context, request *cleavev1.CreateJobRequest, data dataset.Dataset, w Watcher,
	o OnInterrupt) (string, error) {
	created, err := c.Submit(ctx, request, data, w)
	if err != nil {
		return "", err
	}
	id := created.GetJobId()
	ended, err := c.Watch(ctx, id, 0, w)
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
		return shell.Canceled("interrupted; job %s could not be canceled and may continue: %v", jobID, err)
	}
	if c.embedded != nil {
		return shell.Canceled("canceled; the job ran in this process and is gone. --timeout ends a run with the " +
			"labels so far")
	}
	return shell.Canceled("canceled job %s. Its labels so far, if it had any: cleave result %s --server %s", jobID,
		jobID, c.Address())
}

// Cause returns why a part of an embedded cluster failed, if that ended ctx and so caused err, or else err. It returns
// nil for nil: a failure after everything succeeded does not matter.
func Cause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}
