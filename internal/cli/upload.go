package cli

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// upload brings a data set to the coordinator unless it is there already, and returns its id.
func (c *client) upload(ctx context.Context, data dataset.Dataset, name string, p *progress) (string, error) {
	id, err := identify(data)
	if err != nil {
		return "", err
	}
	_, err = c.datasets.GetDataset(ctx, &cleavev1.GetDatasetRequest{DatasetId: id})
	if err == nil {
		return id, nil
	}
	if status.Code(err) != codes.NotFound {
		return "", c.explain(err)
	}
	p.step("load  sending %s, %s", plural(data.Rows(), "row"), size(uint64(dataset.EncodedSize(data))))
	stored, err := wire.SendDataset(ctx, c.datasets, name, data)
	if err != nil {
		return "", c.explain(err)
	}
	if stored.GetDatasetId() != id {
		return "", fmt.Errorf("the data set arrived as %s, but it is %s: the upload was damaged", stored.GetDatasetId(), id)
	}
	return id, nil
}

// size writes a number of bytes for people.
func size(bytes uint64) string {
	value, units := float64(bytes), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for len(units) > 1 && value >= 1024 {
		value, units = value/1024, units[1:]
	}
	return fmt.Sprintf("%.3g %s", value, units[0])
}
