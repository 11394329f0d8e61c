package wire

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Uploader sends data sets and tables to a coordinator that lacks them. The public client and the command line share
// it.
type Uploader struct {
	Datasets cleavev1.DatasetServiceClient
	Tables   cleavev1.TableServiceClient
	// Retry calls do until it succeeds or fails for good, see client.Client.
	Retry func(ctx context.Context, do func(ctx context.Context, progressed func()) error) error
}

// UploadDamaged is the reason of the error of an upload that arrived as something else.
const UploadDamaged = "UPLOAD_DAMAGED"

// Dataset sends a data set, unless the coordinator has it, and returns its id. It calls begin, which may be nil,
// before it sends anything.
func (t Uploader) Dataset(ctx context.Context, name string, data dataset.Dataset, begin func()) (string, error) {
	id, err := dataset.ID(data)
	if err != nil {
		return "", err
	}
	_, err = t.Datasets.GetDataset(ctx, &cleavev1.GetDatasetRequest{DatasetId: id})
	return t.sendMissing(ctx, "data set", id, err, begin, func(ctx context.Context, start UploadStart) (string, error) {
		stored, err := SendDataset(ctx, t.Datasets, name, data, start)
		return stored.GetDatasetId(), err
	})
}

// Table sends a table, unless the coordinator has it, and returns its id. It calls begin, which may be nil, before it
// sends anything.
func (t Uploader) Table(ctx context.Context, name string, rows *table.Table, begin func()) (string, error) {
	id := rows.ID()
	_, err := t.Tables.GetTable(ctx, &cleavev1.GetTableRequest{TableId: id})
	return t.sendMissing(ctx, "table", id, err, begin, func(ctx context.Context, start UploadStart) (string, error) {
		stored, err := SendTable(ctx, t.Tables, name, rows, start)
		return stored.GetTableId(), err
	})
}

// sendMissing calls send if found, the error of a call that asked for the id, is NOT_FOUND, and returns the id. It
// continues a broken upload where it stopped, if the coordinator kept the parts that arrived.
func (t Uploader) sendMissing(ctx context.Context, noun, id string, found error, begin func(),
	send func(context.Context, UploadStart) (storedID string, err error)) (string, error) {
	if found == nil {
		return id, nil
	}
	if status.Code(found) != codes.NotFound {
		return "", found
	}
	if begin != nil {
		begin()
	}
	var stored string
	start := UploadStart{ID: uuid.NewString()}
	again := false
	err := t.Retry(ctx, func(ctx context.Context, progressed func()) (err error) {
		if again {
			arrived, err := t.Datasets.GetUpload(ctx, &cleavev1.GetUploadRequest{UploadId: start.ID})
			if err != nil && status.Code(err) != codes.NotFound {
				return err
			}
			if arrived.GetParts() > start.FirstPart {
				progressed()
			}
			start.FirstPart = arrived.GetParts() // 0 starts over
		}
		again = true
		stored, err = send(ctx, start)
		return err
	})
	if err == nil && stored != id {
		err = fault.New(fault.DataLoss, UploadDamaged,
			"the %s arrived as %s, but it is %s: the upload was damaged; upload it again", noun, stored, id)
	}
	if err != nil {
		return "", err
	}
	return id, nil
}
