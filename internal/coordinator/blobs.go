package coordinator

import (
	"context"
	"errors"
	"io"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/store"
)

func (c *Coordinator) readSpec(ctx context.Context, job string) (*cleavev1.JobSpec, error) {
	spec := &cleavev1.JobSpec{}
	return spec, c.readMessage(ctx, job, records.SpecBlob(job), records.PartSpec, spec)
}

// readOutcome reads the result and the events of a job that has ended.
func (c *Coordinator) readOutcome(ctx context.Context, record *statev1.JobRecord) (*statev1.Outcome, error) {
	outcome := &statev1.Outcome{}
	return outcome, c.readMessage(ctx, record.GetJob().GetJobId(), record.GetOutcomeBlob(), records.PartOutcome, outcome)
}

// readMessage reads a part of a job that is one message.
func (c *Coordinator) readMessage(ctx context.Context, job, blob, part string, message proto.Message) error {
	r, err := c.openPart(ctx, job, blob, part)
	if err != nil {
		return err
	}
	defer r.Close()
	encoded, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(encoded, message); err != nil {
		return records.JobPart(part, job).Damaged(err)
	}
	return nil
}

// openPart opens a stored part of a job.
func (c *Coordinator) openPart(ctx context.Context, job, blob, part string) (io.ReadCloser, error) {
	r, err := c.blobs.Open(ctx, blob, 0, -1)
	if errors.Is(err, store.ErrNotFound) {
		if _, _, deleted := c.find(ctx, job); deleted != nil { // since the caller found it
			return nil, deleted
		}
	}
	if err != nil {
		return nil, records.JobPart(part, job).Explain(err)
	}
	return records.JobPart(part, job).Reader(r), nil
}

func (c *Coordinator) putBlob(ctx context.Context, name string, message proto.Message) error {
	encoded, err := proto.Marshal(message)
	if err != nil {
		return err
	}
	return c.blobs.Put(ctx, name, func(w io.Writer) error {
		_, err := w.Write(encoded)
		return err
	})
}
