// Package datasets stores what clients upload: data sets and tables. A value is identified by the hash of its bytes and
// stored once, however many owners upload it. Package datasets also limits the uploads in progress.
package datasets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/store"
)

// Store stores values of one kind: their records in the state, their canonical bytes in blobs. It also caches the most
// recently used values in memory, so that an upload followed by jobs is decoded at most once.
type Store[V any] struct {
	kind kind[V]
	cfg  Config

	// decodeLock is a semaphore. One value is decoded at a time, so that calls and jobs on the same data share it, and
	// memory for decoding is needed once.
	decodeLock chan struct{}
	// recordLock is a semaphore, held while a record is changed. It is not a mutex because the store may take long to
	// answer. Callers of methods whose names end with Locked hold it.
	recordLock chan struct{}
	cache      *Cache[V]

	// mu guards the fields below.
	mu      sync.Mutex
	writing map[string]bool // blobs that a record may or may not refer to yet
	shared  map[string]V    // values that a client in the same process keeps in memory
}

// kind describes one kind of values.
type kind[V any] struct {
	noun     string // for people: "data set"
	word     string // for fields, reasons, logs and, in the plural, keys: "dataset"
	id       func(V) (string, error)
	size     func(V) int64 // of the canonical bytes
	encode   func(io.Writer, V) error
	decode   func(io.Reader, *statev1.ContentRecord) (V, error)
	describe func(value V, id, name string, now *timestamppb.Timestamp) *statev1.ContentRecord
	notFound func(id string) error
	weaken   func(V) (find func() (V, bool)) // see NewCache
}

// Users knows which jobs use values.
type Users interface {
	// StopAdmission keeps jobs from being created until release is called. It is called before a value is deleted, so
	// that a value cannot disappear between the check that it exists and the creation of a job that uses it.
	StopAdmission(context.Context) (release func(), err error)
	// JobUsing returns the id of an unfinished job that uses a value, "" if there is none. If owner is not nil, only
	// jobs of that owner count.
	JobUsing(id string, owner *string) string
}

// Config configures a store.
type Config struct {
	Blobs  store.Blobs
	Writer *records.Writer // commits records; reads use its State
	Logger hclog.Logger
	Now    func() time.Time

	// CacheBytes limits the values that are cached in memory.
	CacheBytes int64
	// UseGrain is how precisely the last use of a value is stored: a use is committed only if it is that much later
	// than the stored one. Sweep therefore keeps a value that much longer.
	UseGrain time.Duration
	// Users are the jobs that use values.
	Users Users
	// DeleteBlob deletes a blob whose record is gone, and the key that marks it as garbage.
	DeleteBlob func(name string) error
}

func newStore[V any](cfg Config, k kind[V]) *Store[V] {
	return &Store[V]{
		kind: k, cfg: cfg, writing: map[string]bool{},
		decodeLock: make(chan struct{}, 1), recordLock: make(chan struct{}, 1),
		cache: NewCache(cfg.CacheBytes, k.weaken), shared: map[string]V{},
	}
}

func (k *kind[V]) prefix() string              { return k.word + "s/" }
func (k *kind[V]) key(id string) string        { return k.prefix() + id }
func (k *kind[V]) idOf(e store.Entry) string   { return e.Key[len(k.prefix()):] }
func (k *kind[V]) reason(suffix string) string { return strings.ToUpper(k.word) + suffix }

// Add stores a value for the caller and returns its record. A value that the caller has already is not stored again.
func (s *Store[V]) Add(ctx context.Context, name string, value V,
	now *timestamppb.Timestamp) (*statev1.ContentRecord, error) {
	return s.add(ctx, &statev1.Claim{DisplayName: name, CreateTime: now}, value, nil)
}

// add stores a value with a claim of the caller, who imported it from sources, if there are any.
func (s *Store[V]) add(ctx context.Context, claim *statev1.Claim, value V,
	sources []*cleavev1.SourceObject) (*statev1.ContentRecord, error) {
	id, err := s.kind.id(value)
	if err != nil {
		return nil, err
	}
	caller := identity.FromContext(ctx)
	existing, err := s.Touch(ctx, id)
	if err != nil {
		return nil, err
	}
	claim.Owner = caller.Name
	if claimOf(existing, caller.Name) != nil {
		s.cache.Put(id, value, s.kind.size(value))
		if len(sources) > 0 {
			err = s.cfg.Writer.Detach(ctx, func(change records.Change) error {
				return s.setSources(change, id, caller.Name, sources)
			})
		}
		return viewFor(existing, caller), err
	}
	// Store the blob even if another owner has the same value, so that the time of an upload does not reveal that.
	record := s.kind.describe(value, id, claim.GetDisplayName(), claim.GetCreateTime())
	record.Blob = records.NewBlob(s.kind.key(id))
	record.Claims = []*statev1.Claim{claim}
	if err := s.writeBlob(ctx, record.GetBlob(), value); err != nil {
		return nil, err
	}
	stored, err := records.DetachValue(ctx, s.cfg.Writer, func(change records.Change) (*statev1.ContentRecord, error) {
		return s.claimBlob(change, id, record, sources)
	})
	s.unlessBegun(err, record.GetBlob())
	if err != nil {
		return nil, err
	}
	s.cache.Put(id, value, s.kind.size(value))
	return viewFor(stored, caller), nil
}

// claimBlob stores record, or adds its claim to the existing record and deletes the new blob.
func (s *Store[V]) claimBlob(change records.Change, id string, record *statev1.ContentRecord,
	sources []*cleavev1.SourceObject) (*statev1.ContentRecord, error) {
	unlock, err := s.lock(change.Caller())
	if err != nil {
		s.discard(record.GetBlob())
		return nil, err
	}
	defer unlock()
	stored, err := s.claimLocked(change, id, record, sources)
	switch {
	case err == nil && stored.GetBlob() == record.GetBlob():
		s.settle(record.GetBlob())
	case err == nil || !records.MayBeCommitted(err):
		s.discard(record.GetBlob())
	}
	return stored, err
}

// writeBlob stores a value in a blob that no record refers to yet. The blob is garbage until the transaction that
// stores its record: if the coordinator ends before that, the next one deletes it. The caller then calls settle or
// discard, or neither if it is not known whether there is a record.
func (s *Store[V]) writeBlob(ctx context.Context, blob string, value V) error {
	s.mu.Lock()
	s.writing[blob] = true
	s.mu.Unlock()
	err := s.cfg.Writer.Detach(ctx, func(records.Change) error {
		return s.cfg.Writer.Commit(store.Txn{Put: []store.Entry{{Key: records.GarbageKey(blob)}}})
	})
	if err != nil {
		s.settle(blob)
		return err
	}
	err = s.cfg.Blobs.Put(ctx, blob, func(w io.Writer) error { return s.kind.encode(w, value) })
	if err != nil {
		s.unlessBegun(s.cfg.Writer.Detach(ctx, func(records.Change) error { s.discard(blob); return nil }), blob)
	}
	return err
}

// unlessBegun deletes a blob whose change has failed with err, if that means that the change was not begun. The state
// store does not answer then, so the key that marks the blob as garbage is left until the next start.
func (s *Store[V]) unlessBegun(err error, blob string) {
	if fault.Is(err, records.StoreBusy) {
		_ = s.cfg.Blobs.Delete(s.cfg.Writer.Context, blob)
		s.settle(blob)
	}
}

// settle records that it is known whether a record refers to a blob.
func (s *Store[V]) settle(blob string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.writing, blob)
}

// discard deletes a blob that no record refers to.
func (s *Store[V]) discard(blob string) {
	defer s.settle(blob)
	if err := s.cfg.DeleteBlob(blob); err != nil {
		s.cfg.Logger.Warn("the blob of a "+s.kind.noun+" that was not stored is left until the next start", "blob",
			blob, "error", err)
	}
}

// IsWriting reports whether a blob, which is marked as garbage, may still get a record.
func (s *Store[V]) IsWriting(blob string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writing[blob]
}

// Get returns the record of the value that a request names, as the caller sees it.
func (s *Store[V]) Get(ctx context.Context, id string) (*statev1.ContentRecord, error) {
	if err := fault.Required(s.kind.word+"_id", id); err != nil {
		return nil, err
	}
	return s.Record(ctx, id)
}

// Record returns the record of a value as the caller sees it. A value of somebody else is not found.
func (s *Store[V]) Record(ctx context.Context, id string) (*statev1.ContentRecord, error) {
	record, err := s.Touch(ctx, id)
	if err == nil {
		record = viewFor(record, identity.FromContext(ctx))
	}
	if record == nil && err == nil {
		err = s.kind.notFound(id)
	}
	return record, err
}

// Touch marks a value as used and returns its record regardless of its owner, or nil if there is no such value.
func (s *Store[V]) Touch(ctx context.Context, id string) (*statev1.ContentRecord, error) {
	return s.TouchAt(ctx, id, s.cfg.Now())
}

// TouchAt is like Touch, for a use at the given time.
func (s *Store[V]) TouchAt(ctx context.Context, id string, at time.Time) (*statev1.ContentRecord, error) {
	record, revision, err := s.lookup(ctx, id)
	if record == nil || err != nil || at.Sub(lastUse(record)) < s.cfg.UseGrain {
		return record, err
	}
	record.LastUse = timestamppb.New(at) // also for callers, who may store a change of the record
	if encoded, err := proto.Marshal(record); err == nil {
		// A failure is ignored: the next use is stored instead.
		_ = s.cfg.Writer.Detach(ctx, func(records.Change) error {
			return s.cfg.Writer.Commit(store.Txn{
				If:  []store.Condition{{Key: s.kind.key(id), Revision: revision}},
				Put: []store.Entry{{Key: s.kind.key(id), Value: encoded}},
			})
		})
	}
	return record, nil
}

// lastUse returns when a value was last used, according to its record. It may have been used up to UseGrain later.
func lastUse(record *statev1.ContentRecord) (last time.Time) {
	for _, at := range []*timestamppb.Timestamp{record.GetLastUse(), record.GetDataset().GetCreateTime(),
		record.GetTable().GetCreateTime()} {
		if at != nil && at.AsTime().After(last) {
			last = at.AsTime()
		}
	}
	return last
}

// lookup returns the record of a value and its revision, or nil if there is none.
func (s *Store[V]) lookup(ctx context.Context, id string) (*statev1.ContentRecord, int64, error) {
	entry, err := s.cfg.Writer.State.Get(ctx, s.kind.key(id))
	if errors.Is(err, store.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	record, err := records.Decode[statev1.ContentRecord](entry)
	return record, entry.Revision, err
}

// List returns the page of values that a request asks for and the token of the next page. Only values of the caller
// are listed, and only those whose records are not damaged.
func List[V, P any](ctx context.Context, s *Store[V], request records.PageRequest,
	of func(*statev1.ContentRecord) P) ([]P, string, error) {
	caller := identity.FromContext(ctx)
	return records.PageOf(ctx, s.cfg.Writer.State, s.kind.prefix(), records.Ascending, request,
		func(entry store.Entry) (item P, wanted bool, err error) {
			record, err := records.Decode[statev1.ContentRecord](entry)
			if err != nil {
				s.cfg.Logger.Error("the record of a "+s.kind.noun+" is damaged; it is not listed", s.kind.word,
					s.kind.idOf(entry), "error", err)
				return item, false, nil
			}
			record = viewFor(record, caller)
			return of(record), record != nil, nil
		})
}

// Load returns a value of the caller.
func (s *Store[V]) Load(ctx context.Context, id string) (value V, err error) {
	record, err := s.Record(ctx, id)
	if err != nil {
		return value, err
	}
	if value, found := s.InUse(id); found {
		return value, nil
	}
	select {
	case s.decodeLock <- struct{}{}:
		defer func() { <-s.decodeLock }()
	case <-ctx.Done():
		return value, ctx.Err()
	}
	if value, found := s.cache.Get(id); found { // somebody else has just decoded it
		return value, nil
	}
	r, err := s.open(ctx, record, id, 0, -1)
	if err != nil {
		return value, err
	}
	defer r.Close()
	decode := func(r io.Reader) (V, error) { return s.kind.decode(r, record) }
	value, err = records.DecodeObject(s.kind.object(id), r, decode)
	if err == nil {
		s.cache.Put(id, value, s.kind.size(value))
	}
	return value, err
}

// InUse returns a value that is in memory: shared, cached, or held by somebody. It does not check whose value it is.
func (s *Store[V]) InUse(id string) (value V, found bool) {
	if value, found = s.sharedValue(id); found {
		return value, true
	}
	return s.cache.Get(id)
}

// Keeps reports whether a value is in memory whether or not somebody uses it: shared or cached.
func (s *Store[V]) Keeps(id string) bool {
	_, shared := s.sharedValue(id)
	return shared || s.cache.keeps(id)
}

// open returns a reader of canonical bytes. A length of -1 means to the end. A whole value is checked against its id,
// which is its hash.
func (s *Store[V]) open(ctx context.Context, record *statev1.ContentRecord, id string,
	offset, length int64) (io.ReadCloser, error) {
	object := s.kind.object(id)
	r, err := s.cfg.Blobs.Open(ctx, record.GetBlob(), offset, length)
	if errors.Is(err, store.ErrNotFound) {
		if found, err := s.Touch(ctx, id); found == nil && err == nil {
			return nil, s.kind.notFound(id)
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

func (k *kind[V]) object(id string) records.Object {
	return records.Object{
		Reason: k.reason("_DAMAGED"), What: fmt.Sprintf("the stored %s %s", k.noun, id), Key: k.word + "_id", ID: id,
		Remedy: "restore its blob from a backup, or delete it and upload it again",
	}
}

// Sweep deletes values that were not used for a while, starting with the one unused for longest. It spares values
// with damaged records and those in use; inUse counts the jobs that use each id. keep returns how long an
// unused value is kept, zero meaning forever, and why it is deleted after that.
func (s *Store[V]) Sweep(ctx context.Context, inUse map[string]int, now time.Time,
	keep func() (time.Duration, string)) error {
	if age, _ := keep(); age == 0 {
		return nil
	}
	type unused struct {
		id   string
		last time.Time
	}
	var all []unused
	err := records.Each(ctx, s.cfg.Writer.State, s.kind.prefix(), func(entry store.Entry) error {
		id := s.kind.idOf(entry)
		record, err := records.Decode[statev1.ContentRecord](entry)
		if err != nil {
			s.cfg.Logger.Error("the record of a "+s.kind.noun+" is damaged; it is kept", s.kind.word, id, "error", err)
		} else if inUse[id] == 0 {
			all = append(all, unused{id, lastUse(record)})
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b unused) int { return cmp.Or(a.last.Compare(b.last), cmp.Compare(a.id, b.id)) })
	for _, u := range all {
		if age, why := keep(); age > 0 && !u.last.After(s.due(now, age)) {
			if err := s.DeleteUnused(ctx, u.id, now, age, why); err != nil {
				return err
			}
		}
	}
	return nil
}

// due returns the last use of values that have been unused for an age. The stored use may be UseGrain too early.
func (s *Store[V]) due(now time.Time, age time.Duration) time.Time {
	return now.Add(-age - s.cfg.UseGrain)
}

// Share stores a record without a blob for a value that the owner without a name keeps in memory.
func (s *Store[V]) Share(id, name string, value V, now *timestamppb.Timestamp) error {
	record := s.kind.describe(value, id, name, now)
	record.Claims = []*statev1.Claim{{DisplayName: name, CreateTime: now}}
	encoded, err := proto.Marshal(record)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.shared[id] = value
	s.mu.Unlock()
	return s.cfg.Writer.Commit(store.Txn{Put: []store.Entry{{Key: s.kind.key(id), Value: encoded}}})
}

// sharedValue returns a value that its owner keeps in memory.
func (s *Store[V]) sharedValue(id string) (value V, shared bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, shared = s.shared[id]
	return value, shared
}
