package client

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/google/uuid"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// UploadInputs uploads the data of a job with a name, unless data is nil, and the tables of its spec, as far as the
// coordinator does not have them. The spec then names them by their ids.
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

// upload sends a data set to the coordinator, unless it has it already, and returns its id. An embedded coordinator uses
// it where it is.
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

// Remote tells whether the coordinator is another process.
func (c *Client) Remote() bool { return c.embedded == nil }

// UploadTable sends a table to the coordinator, unless it has it already, and returns its id.
func (c *Client) UploadTable(ctx context.Context, name string, t *table.Table, w Watcher) (string, error) {
	id := t.ID()
	_, err := c.Tables.GetTable(ctx, &cleavev1.GetTableRequest{TableId: id})
	return id, c.sendMissing(ctx, "table", id, err, func(start wire.UploadStart) (string, error) {
		w.Uploading(t.Rows(), uint64(t.EncodedSize()))
		stored, err := wire.ResumeTable(ctx, c.Tables, name, t, start)
		return stored.GetTableId(), err
	})
}

// sendMissing sends what the coordinator does not have. found is how it answered when it was asked. An upload that breaks off
// goes on where it was, if the coordinator has kept what arrived.
func (c *Client) sendMissing(ctx context.Context, noun, id string, found error, send func(wire.UploadStart) (storedID string, err error)) error {
	if status.Code(found) != codes.NotFound {
		return c.Explain(found)
	}
	var stored string
	start, again := wire.UploadStart{ID: uuid.NewString()}, false
	err := c.repeat(ctx, func() (err error) {
		if again {
			arrived, _ := c.Datasets.GetUpload(ctx, &cleavev1.GetUploadRequest{UploadId: start.ID})
			start.FirstPart = arrived.GetParts() // 0: it starts over
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

// uploadTables sends the tables that a spec has inline to the coordinator, unless it has them already, and
// names them in the spec by their ids: they may be larger than a request.
func (c *Client) uploadTables(ctx context.Context, of string, spec *cleavev1.JobSpec) error {
	for _, used := range wire.UsedTables(spec) {
		if used.Input.GetInline() == nil {
			continue
		}
		t, err := wire.TableRows(used.Input.GetInline())
		if err != nil {
			return fault.Wrap(err, "%s", used.Field)
		}
		id, name := t.ID(), used.Name()+" of "+of
		_, err = c.Tables.GetTable(ctx, &cleavev1.GetTableRequest{TableId: id})
		err = c.sendMissing(ctx, "table", id, err, func(start wire.UploadStart) (string, error) {
			stored, err := wire.ResumeTable(ctx, c.Tables, name, t, start)
			return stored.GetTableId(), err
		})
		if err != nil {
			return err
		}
		used.Input.Source = &cleavev1.TableInput_TableId{TableId: id}
	}
	return nil
}
