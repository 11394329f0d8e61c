package coordinator

import (
	"context"
	"errors"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// ShareDataset is CreateDataset for a client in the same process: the coordinator uses the data set where it is in
// memory, and so do workers that ask SharedDataset for it. Nothing is copied, and it was checked when it was made. It stays
// as long as the coordinator, which must keep its state in memory too.
func (c *Coordinator) ShareDataset(ctx context.Context, name string, data dataset.Dataset) (id string, err error) {
	if c.cfg.Store != storeMemory {
		return "", errors.New("coordinator: a data set in memory cannot be shared with a durable store")
	}
	if id, err = c.datasets.ID(data); err != nil {
		return "", err
	}
	if existing, err := c.datasets.Find(ctx, id); existing != nil || err != nil {
		return id, err
	}
	return id, c.datasets.Share(id, name, data, c.now())
}

// SharedDataset is a data set in the memory of this process, nil if there is none of that id.
func (c *Coordinator) SharedDataset(id string) dataset.Dataset {
	return c.datasets.InMemory(id)
}
