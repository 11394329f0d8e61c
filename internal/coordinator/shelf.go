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

// shelf keeps data sets: records in the state, canonical bytes in blobs, and the most recently
// used ones decoded in memory, so that an upload followed by jobs is decoded at most once.
type shelf struct {
	state  store.State
	blobs  store.Blobs
	commit func(store.Txn) error

	// loading admits one decoding at a time: jobs that want the same data share it, and memory
	// for decoding is needed once.
	loading chan struct{}
	mu      sync.Mutex
	budget  int64
	used    int64
	recent  *list.List // of *decoded, latest first
	byID    map[string]*list.Element
	lent    map[string]*loan
}

type decoded struct {
	id    string
	data  dataset.Dataset
	bytes int64
}

func newShelf(state store.State, blobs store.Blobs, budget int64, commit func(store.Txn) error) *shelf {
	return &shelf{
		state: state, blobs: blobs, commit: commit, budget: budget,
		loading: make(chan struct{}, 1), recent: list.New(), byID: map[string]*list.Element{}, lent: map[string]*loan{},
	}
}

// add stores a data set, or finds that it is there already: the same content is the same data set.
func (s *shelf) add(ctx context.Context, name string, data dataset.Dataset, now *timestamppb.Timestamp) (*cleavev1.Dataset, error) {
	hash := sha256.New()
	if err := dataset.Encode(hash, data); err != nil {
		return nil, err
	}
	id := hex.EncodeToString(hash.Sum(nil))
	record, _, err := s.record(ctx, id)
	if err == nil {
		s.remember(id, data)
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
		// The same upload came first, or this one did and the store's answer was lost.
		existing, _, err := s.record(ctx, id)
		if err != nil {
			return nil, err
		}
		if existing.GetBlob() != record.GetBlob() {
			_ = s.blobs.Delete(ctx, record.GetBlob()) // an orphan does no harm
		}
		return existing.GetDataset(), nil
	}
	if err != nil {
		return nil, err
	}
	s.remember(id, data)
	return record.GetDataset(), nil
}

const reasonDatasetNotFound = "DATASET_NOT_FOUND"

// record is what is known of a data set, with the revision of its key.
func (s *shelf) record(ctx context.Context, id string) (*statev1.DatasetRecord, int64, error) {
	entry, err := s.state.Get(ctx, datasetKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return nil, 0, fault.New(fault.NotFound, reasonDatasetNotFound, "there is no data set %q; upload it first", id).With("dataset_id", id)
	}
	if err != nil {
		return nil, 0, err
	}
	record := &statev1.DatasetRecord{}
	if err := proto.Unmarshal(entry.Value, record); err != nil {
		return nil, 0, fmt.Errorf("the record of data set %s cannot be read: %w", id, err)
	}
	return record, entry.Revision, nil
}

// load gives a data set, from memory if it is there.
func (s *shelf) load(ctx context.Context, id string) (dataset.Dataset, *cleavev1.Dataset, error) {
	record, _, err := s.record(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	select {
	case s.loading <- struct{}{}:
		defer func() { <-s.loading }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if data := s.recall(id); data != nil {
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
		// Not the caller's fault: these bytes were checked when they came.
		return nil, nil, fault.New(fault.Internal, "DATASET_DAMAGED", "the stored data set %s is damaged: %v", id, err)
	}
	s.remember(id, data)
	return data, record.GetDataset(), nil
}

// OpenDataset gives workers the canonical bytes; length 0 means to the end.
func (s *shelf) OpenDataset(ctx context.Context, id string, offset, length int64) (io.ReadCloser, error) {
	if r := s.openLent(id, offset, length); r != nil {
		return r, nil
	}
	record, _, err := s.record(ctx, id)
	if err != nil {
		return nil, err
	}
	if length == 0 {
		length = -1
	}
	return s.blobs.Open(ctx, record.GetBlob(), offset, length)
}

// remove forgets a data set. Its record goes first: a crash in between leaves an orphaned blob.
func (s *shelf) remove(ctx context.Context, id string) error {
	record, _, err := s.record(ctx, id)
	if err != nil {
		return err
	}
	if err := s.commit(store.Txn{Delete: []string{datasetKey(id)}}); err != nil {
		return err
	}
	s.mu.Lock()
	s.drop(s.byID[id])
	s.mu.Unlock()
	if err := s.blobs.Delete(ctx, record.GetBlob()); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

func (s *shelf) recall(id string) dataset.Dataset {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.byID[id]
	if at == nil {
		return nil
	}
	s.recent.MoveToFront(at)
	return at.Value.(*decoded).data
}

// remember keeps a data set in memory at the expense of those that were used longest ago.
func (s *shelf) remember(id string, data dataset.Dataset) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes := dataset.EncodedSize(data)
	if s.byID[id] != nil || bytes > s.budget {
		return
	}
	for s.used+bytes > s.budget {
		s.drop(s.recent.Back())
	}
	s.byID[id] = s.recent.PushFront(&decoded{id: id, data: data, bytes: bytes})
	s.used += bytes
}

// drop forgets a decoded data set; s.mu is held.
func (s *shelf) drop(at *list.Element) {
	if at == nil {
		return
	}
	old := s.recent.Remove(at).(*decoded)
	delete(s.byID, old.id)
	s.used -= old.bytes
}
