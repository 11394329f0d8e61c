package coordinator

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/waitlock"
)

// contentStore stores values that are identified by their content: records in the state, canonical bytes in
// blobs. The most recently used values are also cached in memory, so that an upload followed by jobs is
// decoded at most once.
type contentStore[V any] struct {
	contentKind[V]
	state  store.State
	blobs  store.Blobs
	commit func(store.Txn) error

	// loading is a semaphore: one value is decoded at a time, so that jobs on the same data decode it once,
	// and the memory for decoding is needed once.
	loading chan struct{}
	// changing is held while a record is changed.
	changing waitlock.Lock
	mu       sync.Mutex
	uses     uses
	budget   int64
	used     int64
	recent   *list.List // of *decoded[V], the most recently used first
	byID     map[string]*list.Element
	shared   map[string]V // values that are in the memory of this process anyway
}

// contentKind is what sets one kind of values apart from another.
type contentKind[V any] struct {
	noun     string // for people: "data set"
	word     string // for fields, reasons, logs and, in the plural, keys: "dataset"
	id       func(V) (string, error)
	size     func(V) int64 // of the canonical bytes
	encode   func(io.Writer, V) error
	decode   func(io.Reader, *statev1.ContentRecord) (V, error)
	describe func(value V, id, name string, now *timestamppb.Timestamp) *statev1.ContentRecord
	notFound func(id string) error
	usedBy   func(j *job, id string) bool
}

// decoded is a value in the cache.
type decoded[V any] struct {
	id    string
	value V
	bytes int64
}

func newContentStore[V any](state store.State, blobs store.Blobs, budget int64, commit func(store.Txn) error, uses uses, kind contentKind[V]) *contentStore[V] {
	uses.touched = map[string]time.Time{}
	return &contentStore[V]{
		contentKind: kind, state: state, blobs: blobs, commit: commit, budget: budget, uses: uses,
		loading: make(chan struct{}, 1), recent: list.New(), byID: map[string]*list.Element{}, shared: map[string]V{},
	}
}

func (k *contentKind[V]) prefix() string              { return k.word + "s/" }
func (k *contentKind[V]) key(id string) string        { return k.prefix() + id }
func (k *contentKind[V]) reason(suffix string) string { return strings.ToUpper(k.word) + suffix }

// add stores a value for the caller, unless they have it already.
func (s *contentStore[V]) add(ctx context.Context, name string, value V, now *timestamppb.Timestamp) (*statev1.ContentRecord, error) {
	id, err := s.id(value)
	if err != nil {
		return nil, err
	}
	caller := identity.FromContext(ctx)
	existing, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if claimOf(existing, caller.Name) != nil {
		s.cache(id, value)
		return viewFor(existing, caller), nil
	}
	// Also when another owner has the same: how long an upload takes must not tell of it.
	blob := records.NewBlob(s.key(id))
	if err := s.blobs.Put(ctx, blob, func(w io.Writer) error { return s.encode(w, value) }); err != nil {
		return nil, err
	}
	record := s.describe(value, id, name, now)
	record.Blob = blob
	record.Claims = []*statev1.Claim{{Owner: caller.Name, DisplayName: name, CreateTime: now}}
	stored, err := s.claim(ctx, id, record)
	if stored != nil && stored.GetBlob() != blob || err != nil && !records.MayBeCommitted(err) {
		_ = s.blobs.Delete(context.WithoutCancel(ctx), blob) // no record refers to it
	}
	if err != nil {
		return nil, err
	}
	s.cache(id, value)
	return viewFor(stored, caller), nil
}

// get is the record of the value that a request names.
func (s *contentStore[V]) get(ctx context.Context, id string) (*statev1.ContentRecord, error) {
	if err := fault.Required(s.word+"_id", id); err != nil {
		return nil, err
	}
	return s.record(ctx, id)
}

// record is the record of a value that the caller may see, as they see it.
func (s *contentStore[V]) record(ctx context.Context, id string) (*statev1.ContentRecord, error) {
	record, err := s.find(ctx, id)
	if err == nil {
		record = viewFor(record, identity.FromContext(ctx))
	}
	if record == nil && err == nil {
		err = s.notFound(id)
	}
	return record, err
}

// find is the record of a value that is used now, nil when there is none.
func (s *contentStore[V]) find(ctx context.Context, id string) (*statev1.ContentRecord, error) {
	record, revision, err := s.look(ctx, id)
	if record != nil {
		s.touch(id, record, revision)
	}
	return record, err
}

// look is the record of a value and its revision, nil when there is none.
func (s *contentStore[V]) look(ctx context.Context, id string) (*statev1.ContentRecord, int64, error) {
	entry, err := s.state.Get(ctx, s.key(id))
	if errors.Is(err, store.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	record := &statev1.ContentRecord{}
	if err := proto.Unmarshal(entry.Value, record); err != nil {
		return nil, 0, fmt.Errorf("the record of %s %s cannot be read: %w", s.noun, id, err)
	}
	return record, entry.Revision, nil
}

// listContent is one page of the records, seen as what clients get.
func listContent[V, P any](ctx context.Context, s *contentStore[V], request pageRequest, of func(*statev1.ContentRecord) P) ([]P, string, error) {
	caller := identity.FromContext(ctx)
	return pageOfState(ctx, s.state, s.prefix(), request, func(entry store.Entry) (item P, wanted bool, err error) {
		record := &statev1.ContentRecord{}
		err = proto.Unmarshal(entry.Value, record)
		record = viewFor(record, caller)
		return of(record), record != nil, err
	})
}

// load returns a value, from the cache if it is there.
func (s *contentStore[V]) load(ctx context.Context, id string) (value V, err error) {
	record, err := s.record(ctx, id)
	if err != nil {
		return value, err
	}
	if value, shared := s.sharedValue(id); shared {
		return value, nil
	}
	select {
	case s.loading <- struct{}{}:
		defer func() { <-s.loading }()
	case <-ctx.Done():
		return value, ctx.Err()
	}
	if value, found := s.cached(id); found {
		return value, nil
	}
	r, err := s.open(ctx, record, id, 0, -1)
	if err != nil {
		return value, err
	}
	defer r.Close()
	value, err = s.decode(r, record)
	// To the end, where the hash of all is checked: bytes that are not what the id names explain why they cannot be decoded.
	if _, readErr := io.Copy(io.Discard, r); readErr != nil {
		return value, readErr
	}
	if _, damaged := errors.AsType[*fault.Error](err); damaged {
		return value, s.object(id).Damaged(err)
	}
	if err != nil {
		return value, fmt.Errorf("the bytes of %s %s cannot be read: %w", s.noun, id, err)
	}
	s.cache(id, value)
	return value, nil
}

// open reads canonical bytes; length -1 means to the end. Whole contents are checked against the id, which is their hash.
func (s *contentStore[V]) open(ctx context.Context, record *statev1.ContentRecord, id string, offset, length int64) (io.ReadCloser, error) {
	object := s.object(id)
	r, err := s.blobs.Open(ctx, record.GetBlob(), offset, length)
	if errors.Is(err, store.ErrNotFound) {
		if found, err := s.find(ctx, id); found == nil && err == nil {
			return nil, s.notFound(id)
		}
	}
	if err != nil {
		return nil, object.Explain(err)
	}
	if offset == 0 && length < 0 {
		return object.HashedReader(r, id), nil
	}
	return object.Reader(r), nil
}

func (k *contentKind[V]) object(id string) records.Object {
	return records.Object{
		Reason: k.reason("_DAMAGED"), What: fmt.Sprintf("the stored %s %s", k.noun, id), Key: k.word + "_id", ID: id,
		Remedy: "restore its blob from a backup, or delete it and upload it again",
	}
}

// cached is a value from the cache, if it is there.
func (s *contentStore[V]) cached(id string) (value V, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.byID[id]
	if at == nil {
		return value, false
	}
	s.recent.MoveToFront(at)
	return at.Value.(*decoded[V]).value, true
}

// cache adds a value to the cache, in place of those that were not used for the longest time.
func (s *contentStore[V]) cache(id string, value V) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes := s.size(value)
	if s.byID[id] != nil || bytes > s.budget {
		return
	}
	for s.used+bytes > s.budget {
		s.evict(s.recent.Back())
	}
	s.byID[id] = s.recent.PushFront(&decoded[V]{id: id, value: value, bytes: bytes})
	s.used += bytes
}

// evict removes a value from the cache; at may be nil. s.mu is held.
func (s *contentStore[V]) evict(at *list.Element) {
	if at == nil {
		return
	}
	old := s.recent.Remove(at).(*decoded[V])
	delete(s.byID, old.id)
	s.used -= old.bytes
}
