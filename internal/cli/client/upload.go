package client

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// UploadInputs uploads the data of a job, unless data is nil, and the inline tables of its spec, and replaces them in the spec
// by their ids. It does not upload what the coordinator has already. name is the display name.
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

// upload uploads a data set, unless the coordinator has it, and returns its id. An embedded coordinator shares the memory of data.
func (c *Client) upload(ctx context.Context, data dataset.Dataset, name string, w Watcher) (string, error) {
	if c.embedded != nil {
		limitGarbage(dataset.EncodedSize(data))
		return c.embedded.shareDataset(ctx, name, data)
	}
	id, err := dataset.ID(data)
	if err != nil {
		return "", err
	}
	_, err = c.Datasets.GetDataset(ctx, &cleavev1.GetDatasetRequest{DatasetId: id})
	return id, c.sendMissing(ctx, "data set", id, err, func(start wire.UploadStart) (string, error) {
		w.Uploading(data.Rows(), uint64(dataset.EncodedSize(data)))
		stored, err := wire.ResumeDataset(ctx, c.Datasets, name, data, start)
		return stored.GetDatasetId(), err
	})
}

// UploadTable uploads a table, unless the coordinator has it, and returns its id. w may be nil.
func (c *Client) UploadTable(ctx context.Context, name string, t *table.Table, w Watcher) (string, error) {
	id := t.ID()
	_, err := c.Tables.GetTable(ctx, &cleavev1.GetTableRequest{TableId: id})
	return id, c.sendMissing(ctx, "table", id, err, func(start wire.UploadStart) (string, error) {
		if w != nil {
			w.Uploading(t.Rows(), uint64(t.EncodedSize()))
		}
		stored, err := wire.ResumeTable(ctx, c.Tables, name, t, start)
		return stored.GetTableId(), err
	})
}

// sendMissing calls send if found, the error of a call that asked for the id, is NOT_FOUND. It continues a broken upload where it
// stopped, if the coordinator kept the parts that arrived.
func (c *Client) sendMissing(ctx context.Context, noun, id string, found error, send func(wire.UploadStart) (storedID string, err error)) error {
	if status.Code(found) != codes.NotFound {
		return c.Explain(found)
	}
	var stored string
	start, again := wire.UploadStart{ID: uuid.NewString()}, false
	err := c.repeat(ctx, func() (err error) {
		if again {
			arrived, _ := c.Datasets.GetUpload(ctx, &cleavev1.GetUploadRequest{UploadId: start.ID})
			start.FirstPart = arrived.GetParts() // 0 starts over
		}
		again = true
		stored, err = send(start)
		return err
	})
	if err != nil {
		return c.Explain(err)
	}
	if stored != id {
		return fmt.Errorf("the %s arrived as %s, but it is %s: the upload was damaged", noun, stored, id)
	}
	return nil
}

// uploadTables uploads the inline tables of a spec, which may be larger than a request, and replaces them by their ids.
func (c *Client) uploadTables(ctx context.Context, of string, spec *cleavev1.JobSpec) error {
	for _, used := range wire.UsedTables(spec) {
		if used.Input.GetInline() == nil {
			continue
		}
		t, err := wire.TableRows(used.Input.GetInline())
		if err != nil {
			return fault.Wrap(err, "%s", used.Field)
		}
		id, err := c.UploadTable(ctx, used.Name()+" of "+of, t, nil)
		if err != nil {
			return err
		}
		used.Input.Source = &cleavev1.TableInput_TableId{TableId: id}
	}
	return nil
}

// StreamTable uploads a table while it is read, and returns its description. read starts at the first row and calls send with a
// function that returns the next rows. It is called again if the connection breaks, because unfinished uploads are lost.
func (c *Client) StreamTable(ctx context.Context, name string, read func(send func(next func() (*table.Table, error)) error) error) (stored *cleavev1.Table, _ error) {
	again := false
	err := c.repeat(ctx, func() error {
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
	if err == nil {
		limitGarbage(int64(stored.GetBytes())) // its labels will be large as well
	}
	return stored, c.Explain(err)
}
