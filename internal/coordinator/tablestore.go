package coordinator

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/table"
	"github.com/cleave-project/cleave/internal/wire"
)

// tableStore stores tables: records in the state, canonical bytes in blobs. The most recently used ones are
// also cached in memory, because a job reads its tables when it is created and again when it runs.
type tableStore struct {
	state  store.State
	blobs  store.Blobs
	commit func(store.Txn) error

	mu     sync.Mutex
	budget int64
	used   int64
	recent *list.List // of *cachedTable, latest first
	byID   map[string]*list.Element
}

// cachedTable is a table in the cache.
type cachedTable struct {
	id    string
	table *table.Table
	bytes int64
}

func newTableStore(state store.State, blobs store.Blobs, budget int64, commit func(store.Txn) error) *tableStore {
	return &tableStore{state: state, blobs: blobs, commit: commit, budget: budget, recent: list.New(), byID: map[string]*list.Element{}}
}

// add stores a table, or finds that it is there already: the same content is the same table.
func (s *tableStore) add(ctx context.Context, name string, t *table.Table, now *timestamppb.Timestamp) (*cleavev1.Table, error) {
	id := t.ID()
	record, err := s.record(ctx, id)
	if err == nil {
		s.cache(id, t)
		return record.GetTable(), nil
	}
	if !fault.Is(err, reasonTableNotFound) {
		return nil, err
	}
	record = &statev1.TableRecord{Table: wire.TableProto(t), Blob: tableBlob(id)}
	record.Table.TableId, record.Table.DisplayName, record.Table.CreateTime = id, name, now
	if err := s.blobs.Put(ctx, record.GetBlob(), t.Encode); err != nil {
		return nil, err
	}
	value, err := proto.Marshal(record)
	if err != nil {
		return nil, err
	}
	err = s.commit(store.Txn{
		If:  []store.Condition{{Key: tableKey(id)}},
		Put: []store.Entry{{Key: tableKey(id), Value: value}},
	})
	if errors.Is(err, store.ErrConflict) {
		// The same upload came first, or this one did and the store's answer was lost.
		existing, err := s.record(ctx, id)
		if err != nil {
			return nil, err
		}
		if existing.GetBlob() != record.GetBlob() {
			_ = s.blobs.Delete(ctx, record.GetBlob()) // an orphan does no harm
		}
		return existing.GetTable(), nil
	}
	if err != nil {
		return nil, err
	}
	s.cache(id, t)
	return record.GetTable(), nil
}

const reasonTableNotFound = "TABLE_NOT_FOUND"

// record is what is known of a table.
func (s *tableStore) record(ctx context.Context, id string) (*statev1.TableRecord, error) {
	entry, err := s.state.Get(ctx, tableKey(id))
	if errors.Is(err, store.ErrNotFound) {
		_, err := wire.NoTables(id)
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	record := &statev1.TableRecord{}
	if err := proto.Unmarshal(entry.Value, record); err != nil {
		return nil, fmt.Errorf("the record of table %s cannot be read: %w", id, err)
	}
	return record, nil
}

// finder finds tables for one call.
func (s *tableStore) finder(ctx context.Context) wire.Tables {
	return func(id string) (*table.Table, error) { return s.load(ctx, id) }
}

// load gives a table, from the cache if it is there.
func (s *tableStore) load(ctx context.Context, id string) (*table.Table, error) {
	record, err := s.record(ctx, id)
	if err != nil {
		return nil, err
	}
	if t := s.cached(id); t != nil {
		return t, nil
	}
	r, err := s.blobs.Open(ctx, record.GetBlob(), 0, -1)
	if err != nil {
		return nil, fmt.Errorf("the bytes of table %s cannot be read: %w", id, err)
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("the bytes of table %s cannot be read: %w", id, err)
	}
	t, err := table.Decode(content)
	if err != nil {
		// Not the caller's fault: these bytes were checked when they came.
		return nil, fault.New(fault.Internal, "TABLE_DAMAGED", "the stored table %s is damaged: %v", id, err)
	}
	s.cache(id, t)
	return t, nil
}

func (s *tableStore) cached(id string) *table.Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.byID[id]
	if at == nil {
		return nil
	}
	s.recent.MoveToFront(at)
	return at.Value.(*cachedTable).table
}

// cache keeps a table in memory at the expense of those that were used longest ago.
func (s *tableStore) cache(id string, t *table.Table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes := t.EncodedSize()
	if s.byID[id] != nil || bytes > s.budget {
		return
	}
	for s.used+bytes > s.budget {
		s.evict(s.recent.Back())
	}
	s.byID[id] = s.recent.PushFront(&cachedTable{id: id, table: t, bytes: bytes})
	s.used += bytes
}

// evict forgets a cached table; s.mu is held.
func (s *tableStore) evict(at *list.Element) {
	if at == nil {
		return
	}
	old := s.recent.Remove(at).(*cachedTable)
	delete(s.byID, old.id)
	s.used -= old.bytes
}

// remove removes a table and returns its blob, which is garbage from then on.
func (s *tableStore) remove(ctx context.Context, id string) (blob string, err error) {
	record, err := s.record(ctx, id)
	if err != nil {
		return "", err
	}
	if err := s.commit(store.Txn{Put: []store.Entry{{Key: garbageKey(record.GetBlob())}}, Delete: []string{tableKey(id)}}); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evict(s.byID[id])
	return record.GetBlob(), nil
}
