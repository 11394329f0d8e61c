package coordinator

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/store"
)

// ShareDataset is CreateDataset for a client in the same process: the coordinator uses the data set where it is in
// memory, and so do workers that ask SharedDataset for it. Nothing is copied, and it was checked when it was made. It stays
// as long as the coordinator, which must keep its state in memory too.
func (c *Coordinator) ShareDataset(ctx context.Context, name string, data dataset.Dataset) (id string, err error) {
	if c.cfg.Store != storeMemory {
		return "", errors.New("coordinator: a data set in memory cannot be shared with a durable store")
	}
	if id, err = c.datasets.id(data); err != nil {
		return "", err
	}
	if existing, err := c.datasets.find(ctx, id); existing != nil || err != nil {
		return id, err
	}
	return id, c.datasets.share(id, name, data, c.now())
}

// share stores a record without a blob of a value that stays where it is in memory.
func (s *contentStore[V]) share(id, name string, value V, now *timestamppb.Timestamp) error {
	encoded, err := proto.Marshal(s.describe(value, id, name, now))
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.shared[id] = value
	s.mu.Unlock()
	return s.commit(store.Txn{Put: []store.Entry{{Key: s.key(id), Value: encoded}}})
}

// sharedValue is a value that is in memory anyway.
func (s *contentStore[V]) sharedValue(id string) (value V, shared bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, shared = s.shared[id]
	return value, shared
}

// SharedDataset is a data set in the memory of this process, nil if there is none of that id.
func (c *Coordinator) SharedDataset(id string) dataset.Dataset {
	return c.datasets.inMemory(id)
}
