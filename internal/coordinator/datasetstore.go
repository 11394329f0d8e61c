package coordinator

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// datasetStore stores data sets: records in the state, canonical bytes in blobs. The most recently used
// ones are also cached in memory, so that an upload followed by jobs is decoded at most once.
type datasetStore struct {
	state  store.State
	blobs  store.Blobs
	commit func(store.Txn) error

	// loading is a semaphore: one data set is decoded at a time, so that jobs on the same data decode it
	// once, and the memory for decoding is needed once.
	loading   chan struct{}
	mu        sync.Mutex
	budget    int64
	used      int64
	recent    *list.List // of *decoded, the most recently used first
	byID      map[string]*list.Element
	temporary map[string]*temporaryDataset
}

// decoded is a data set in the cache.
type decoded struct {
	id    string
	data  dataset.Dataset
	bytes int64
}

func newDatasetStore(state store.State, blobs store.Blobs, budget int64, commit func(store.Txn) error) *datasetStore {
	return &datasetStore{
		state: state, blobs: blobs, commit: commit, budget: budget,
		loading: make(chan struct{}, 1), recent: list.New(), byID: map[string]*list.Element{}, temporary: map[string]*temporaryDataset{},
	}
}

// add stores a data set, unless the same one is there: data sets are identified by their content.
func (s *datasetStore) add(ctx context.Context, name string, data dataset.Dataset, now *timestamppb.Timestamp) (*cleavev1.Dataset, error) {
	hash := sha256.New()
	if err := dataset.Encode(hash, data); err != nil {
		return nil, err
	}
	id := hex.EncodeToString(hash.Sum(nil))
	record, err := s.record(ctx, id)
	if err == nil {
		s.cache(id, data)
		return record.GetDataset(), nil
	}
	if !fault.Is(err, reasonDatasetNotFound) {
		return nil, err
	}
	record = &statev1.DatasetRecord{Dataset: wire.DatasetProto(data), Blob: datasetBlob(id)}
	record.Dataset.DatasetId, record.Dataset.DisplayName, record.Dataset.CreateTime = id, name, now
	if err := s.blobs.Put(ctx, record.GetBlob(), func(w io.Writer) error { return dataset.Encode(w, data) }); err != nil {
		return nil, err
	}
	value, err := proto.Marshal(record)
	if err != nil {
		return nil, err
	}
	err = s.commit(store.Txn{
		If:  []store.Condition{{Key: datasetKey(id)}},
		Put: []store.Entry{{Key: datasetKey(id), Value: value}},
	})
	if errors.Is(err, store.ErrConflict) {
		// Either the same upload came first, or this one was committed and the answer of the store was
		// lost.
		existing, err := s.record(ctx, id)
		if err != nil {
			return nil, err
		}
		if existing.GetBlob() != record.GetBlob() {
			_ = s.blobs.Delete(ctx, record.GetBlob()) // no record refers to it
		}
		return existing.GetDataset(), nil
	}
	if err != nil {
		return nil, err
	}
	s.cache(id, data)
	return record.GetDataset(), nil
}

const reasonDatasetNotFound = "DATASET_NOT_FOUND"

// record is the record of a data set.
func (s *datasetStore) record(ctx context.Context, id string) (*statev1.DatasetRecord, error) {
	entry, err := s.state.Get(ctx, datasetKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return nil, fault.New(fault.NotFound, reasonDatasetNotFound, "there is no data set %q; upload it first", id).With("dataset_id", id)
	}
	if err != nil {
		return nil, err
	}
	record := &statev1.DatasetRecord{}
	if err := proto.Unmarshal(entry.Value, record); err != nil {
		return nil, fmt.Errorf("the record of data set %s cannot be read: %w", id, err)
	}
	return record, nil
}

// load returns a data set, from the cache if it is there.
func (s *datasetStore) load(ctx context.Context, id string) (dataset.Dataset, *cleavev1.Dataset, error) {
	record, err := s.record(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	select {
	case s.loading <- struct{}{}:
		defer func() { <-s.loading }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if data := s.cached(id); data != nil {
		return data, record.GetDataset(), nil
	}
	size := int64(record.GetDataset().GetBytes())
	r, err := s.blobs.Open(ctx, record.GetBlob(), 0, -1)
	if err != nil {
		return nil, nil, fmt.Errorf("the bytes of data set %s cannot be read: %w", id, err)
	}
	defer r.Close()
	data, err := dataset.Decode(r, size)
	if err != nil {
		// Not the caller's fault: these bytes were checked when they were uploaded.
		return nil, nil, fault.New(fault.Internal, "DATASET_DAMAGED", "the stored data set %s is damaged: %v", id, err)
	}
	s.cache(id, data)
	return data, record.GetDataset(), nil
}

// OpenDataset implements fleet.DatasetSource, by which workers get the canonical bytes.
func (s *datasetStore) OpenDataset(ctx context.Context, id string, offset, length int64) (io.ReadCloser, error) {
	if r := s.openTemporary(id, offset, length); r != nil {
		return r, nil
	}
	record, err := s.record(ctx, id)
	if err != nil {
		return nil, err
	}
	if length == 0 {
		length = -1
	}
	return s.blobs.Open(ctx, record.GetBlob(), offset, length)
}

// remove removes a data set and returns its blob, which is garbage from then on.
func (s *datasetStore) remove(ctx context.Context, id string) (blob string, err error) {
	record, err := s.record(ctx, id)
	if err != nil {
		return "", err
	}
	err = s.commit(store.Txn{Put: []store.Entry{{Key: garbageKey(record.GetBlob())}}, Delete: []string{datasetKey(id)}})
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evict(s.byID[id])
	return record.GetBlob(), nil
}

// cached is a data set from the cache, nil when it is not there.
func (s *datasetStore) cached(id string) dataset.Dataset {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.byID[id]
	if at == nil {
		return nil
	}
	s.recent.MoveToFront(at)
	return at.Value.(*decoded).data
}

// cache adds a data set to the cache, in place of those that were not used for the longest time.
func (s *datasetStore) cache(id string, data dataset.Dataset) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes := dataset.EncodedSize(data)
	if s.byID[id] != nil || bytes > s.budget {
		return
	}
	for s.used+bytes > s.budget {
		s.evict(s.recent.Back())
	}
	s.byID[id] = s.recent.PushFront(&decoded{id: id, data: data, bytes: bytes})
	s.used += bytes
}

// evict removes a data set from the cache; at may be nil. s.mu is held.
func (s *datasetStore) evict(at *list.Element) {
	if at == nil {
		return
	}
	old := s.recent.Remove(at).(*decoded)
	delete(s.byID, old.id)
	s.used -= old.bytes
}
