package coordinator

import (
	"context"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/wire"
)

// What a job says about points is about rows of a table if it clustered one. Which rows they are and what they are called is
// stored with the result, because the table may be deleted.

// rowsOf are the rows that the points of a job are; those of a data set are the points themselves.
func (c *Coordinator) rowsOf(ctx context.Context, record *statev1.JobRecord, points int) (*recipe.Rows, error) {
	if record.GetRowsBlob() == "" {
		return recipe.NewRows(points, nil, nil), nil
	}
	job := record.GetJob().GetJobId()
	r, err := c.openPart(ctx, job, record.GetRowsBlob(), records.PartRows)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t, err := table.Decode(r, int64(record.GetRowsBytes()))
	if err != nil {
		return nil, records.JobPart(records.PartRows, job).Damaged(err)
	}
	return recipe.RowsOf(t), nil
}

// labelPart is a portion of the labels of a job, or of new points, with the rows that they are of.
type labelPart struct {
	first  int
	labels []uint32
	rows   []uint32
	ids    []string
}

// idBytes keeps each message of ids around 1 MiB.
const idBytes = 1 << 20

// eachLabelPart calls send with labels, those from first on, in portions of at most so many that are small enough for a message.
// rows may be nil.
func eachLabelPart(first int, labels []int32, rows *recipe.Rows, most int, send func(labelPart) error) error {
	for len(labels) > 0 {
		part := labelPart{first: first}
		count, bytes := 0, 0
		for count < min(len(labels), most) && bytes < idBytes {
			point := first + count
			row := point
			if rows != nil && rows.Kept != nil {
				row = int(rows.Kept[point])
				part.rows = append(part.rows, uint32(row))
			}
			if rows != nil && rows.IDs != nil {
				part.ids = append(part.ids, rows.IDs[row])
				bytes += len(rows.IDs[row])
			}
			count++
		}
		part.labels = wire.LabelsProto(labels[:count])
		if err := send(part); err != nil {
			return err
		}
		first, labels = first+count, labels[count:]
	}
	return nil
}

func (p labelPart) ofJob() *cleavev1.GetLabelsResponse {
	return &cleavev1.GetLabelsResponse{FirstIndex: uint32(p.first), Labels: p.labels, Rows: p.rows, Ids: p.ids}
}

func (p labelPart) ofNew() *cleavev1.PredictJobResponse {
	return &cleavev1.PredictJobResponse{FirstIndex: uint32(p.first), Labels: p.labels, Rows: p.rows, Ids: p.ids}
}
