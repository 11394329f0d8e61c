package results

import (
	"context"
	"errors"
	"io"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

// Parts reads what is stored of jobs in blobs.
type Parts struct {
	Blobs  store.Blobs
	Writer *records.Writer // only its State is used
}

// Spec reads the spec of a job.
func (p *Parts) Spec(ctx context.Context, job string) (*cleavev1.JobSpec, error) {
	spec := &cleavev1.JobSpec{}
	return spec, p.read(ctx, job, records.SpecBlob(job), records.PartSpec, spec)
}

// Outcome reads the result and the events of a job that has ended and whose outcome was stored.
func (p *Parts) Outcome(ctx context.Context, record *statev1.JobRecord) (*statev1.Outcome, error) {
	outcome := &statev1.Outcome{}
	return outcome, p.read(ctx, record.GetJob().GetJobId(), record.GetOutcomeBlob(), records.PartOutcome, outcome)
}

// read reads the blob of a part into message.
func (p *Parts) read(ctx context.Context, job, blob, part string, message proto.Message) error {
	r, err := p.Open(ctx, job, blob, part, 0)
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

// Open opens the blob of a part of a job at a byte offset. The name of the part is used in errors only.
func (p *Parts) Open(ctx context.Context, job, blob, part string, offset int64) (io.ReadCloser, error) {
	var err error
	var r io.ReadCloser
	if offset != 0 {
		var size int64
		size, err = p.Blobs.Size(ctx, blob)
		if err == nil && (offset < 0 || offset > size) {
			return nil, fault.Invalid("OFFSET_OUT_OF_RANGE", "the request starts after the end of the %s of job %s",
				part, job).With("job_id", job)
		}
	}
	if err == nil {
		r, err = p.Blobs.Open(ctx, blob, offset, -1)
	}
	if errors.Is(err, store.ErrNotFound) {
		if deleted := p.find(ctx, job); deleted != nil { // after the caller found it
			return nil, deleted
		}
	}
	if err != nil {
		return nil, records.JobPart(part, job).Explain(err)
	}
	return records.JobPart(part, job).Reader(r), nil
}

// find returns an error if there is no such job, or if its record cannot be read.
func (p *Parts) find(ctx context.Context, job string) error {
	entry, err := p.Writer.State.Get(ctx, records.JobKey(job))
	if errors.Is(err, store.ErrNotFound) {
		return records.NoJob(job)
	}
	if err == nil {
		_, err = records.ReadJob(entry)
	}
	return err
}
