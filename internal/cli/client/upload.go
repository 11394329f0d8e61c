package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/dataset"
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
