package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/table"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Upload sends a data set to the coordinator, unless it has it already, and returns its id.
func (c *Client) Upload(ctx context.Context, data dataset.Dataset, name string, w Watcher) (string, error) {
	id, err := DatasetID(data)
	if err != nil {
		return "", err
	}
	_, err = c.Datasets.GetDataset(ctx, &cleavev1.GetDatasetRequest{DatasetId: id})
	if err == nil {
		return id, nil
	}
	if status.Code(err) != codes.NotFound {
		return "", c.Explain(err)
	}
	w.Uploading(data.Rows(), uint64(dataset.EncodedSize(data)))
	stored, err := wire.SendDataset(ctx, c.Datasets, name, data)
	if err != nil {
		return "", c.Explain(err)
	}
	if stored.GetDatasetId() != id {
		return "", fmt.Errorf("the data set arrived as %s, but it is %s: the upload was damaged", stored.GetDatasetId(), id)
	}
	return id, nil
}

// DatasetID is the id of a data set at every coordinator: the SHA-256 of its canonical bytes.
func DatasetID(data dataset.Dataset) (string, error) {
	hash := sha256.New()
	if err := dataset.Encode(hash, data); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// UploadTables sends the tables that a spec has inline to the coordinator, unless it has them already, and
// names them in the spec by their ids: they may be larger than a request.
func (c *Client) UploadTables(ctx context.Context, spec *cleavev1.JobSpec) error {
	for _, used := range wire.UsedTables(spec) {
		if used.Input.GetInline() == nil {
			continue
		}
		t, err := wire.TableRows(used.Input.GetInline())
		if err != nil {
			return fault.Wrap(err, "%s", used.Field)
		}
		name := used.Name() + " of " + spec.GetDisplayName()
		id, err := c.uploadTable(ctx, t, name)
		if err != nil {
			return err
		}
		used.Input.Source = &cleavev1.TableInput_TableId{TableId: id}
	}
	return nil
}

func (c *Client) uploadTable(ctx context.Context, t *table.Table, name string) (string, error) {
	id := t.ID()
	_, err := c.Tables.GetTable(ctx, &cleavev1.GetTableRequest{TableId: id})
	if err == nil {
		return id, nil
	}
	if status.Code(err) != codes.NotFound {
		return "", c.Explain(err)
	}
	stored, err := wire.SendTable(ctx, c.Tables, name, t)
	if err != nil {
		return "", c.Explain(err)
	}
	if stored.GetTableId() != id {
		return "", fmt.Errorf("the table arrived as %s, but it is %s: the upload was damaged", stored.GetTableId(), id)
	}
	return id, nil
}
