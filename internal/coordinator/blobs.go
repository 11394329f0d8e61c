package coordinator

import (
	"context"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func (c *Coordinator) readSpec(ctx context.Context, job string) (*cleavev1.JobSpec, error) {
	spec := &cleavev1.JobSpec{}
	return spec, c.readBlob(ctx, specBlob(job), spec)
}

func (c *Coordinator) readBlob(ctx context.Context, name string, message proto.Message) error {
	r, err := c.blobs.Open(ctx, name, 0, -1)
	if err != nil {
		return err
	}
	defer r.Close()
	encoded, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(encoded, message); err != nil {
		return fmt.Errorf("the blob %s cannot be read: %w", name, err)
	}
	return nil
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
