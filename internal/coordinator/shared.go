package coordinator

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/store"
)

// ShareDataset is CreateDataset for a client in the same process: the coordinator uses the data set where it is in
// memory, and so do workers that ask SharedDataset for it. Nothing is copied, and it was checked when it was made. It stays
// as long as the coordinator, which must keep its state in memory too.
func (c *Coordinator) ShareDataset(ctx context.Context, name string, data dataset.Dataset) (id string, err error) {
	if c.cfg.Store != storeMemory {
		return "", errors.New("coordinator: a data set in memory cannot be shared with a durable store")
	}
	if id, err = dataset.ID(data); err != nil {
		return "", err
	}
	if existing, err := c.datasets.find(ctx, id); existing != nil || err != nil {
		return id, err
	}
	encoded, err := proto.Marshal(c.datasets.describe(data, id, name, c.now())) // without a blob
	if err != nil {
		return "", err
	}
	c.datasets.mu.Lock()
	c.datasets.shared[id] = data
	c.datasets.mu.Unlock()
	return id, c.commit(store.Txn{Put: []store.Entry{{Key: c.datasets.key(id), Value: encoded}}})
}

// SharedDataset is a data set in the memory of this process, nil if there is none of that id.
func (c *Coordinator) SharedDataset(id string) dataset.Dataset { return c.datasets.sharedDataset(id) }

func (s *datasetStore) sharedDataset(id string) dataset.Dataset {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shared[id]
}

// unshare forgets a data set in memory.
func (s *datasetStore) unshare(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.shared, id)
}

// load returns a data set, decoded unless it is in memory.
func (s *datasetStore) load(ctx context.Context, id string) (dataset.Dataset, error) {
	if data := s.sharedDataset(id); data != nil {
		return data, nil
	}
	return s.contentStore.load(ctx, id)
}
