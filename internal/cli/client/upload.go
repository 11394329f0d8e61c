package client

import (
	"context"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/dial/upload"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// UploadInputs uploads the data of a job, unless data is nil, and the inline tables of its spec, and replaces them in
// the spec by their ids. It does not upload what the coordinator has already. name is the display name.
func (c *Client) UploadInputs(ctx context.Context, name string, spec *cleavev1.JobSpec, data dataset.Dataset, w Watcher) error {
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

// SendTable uploads a table, unless the coordinator has it, and returns its id. w may be nil.
func (c *Client) SendTable(ctx context.Context, name string, t *table.Table, w Watcher) (string, error) {
	return c.target().Table(ctx, name, t, func() {
		if w != nil {
			w.Uploading(t.Rows(), uint64(t.EncodedSize()))
		}
	})
}

func (c *Client) target() upload.Target {
	return upload.Target{Datasets: c.Datasets, Tables: c.Tables, Retry: c.Retry}
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
		id, err := c.SendTable(ctx, used.Name()+" of "+of, t, nil)
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
	err := c.Retry(ctx, func() error {
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
