package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/cleave-project/cleave/internal/fault"
)

// boltState is a State in one file, which a single process has opened. It leads because it has the file.
//
// All entries are in one bucket. The sequence of the bucket is the revision of the state, and each stored value begins
// with the revision of its entry. Readers see the file as the last transaction left it, each for itself; one goroutine
// writes, see bolt_writer.go.
//
// The file is mapped into memory. If a part of it is gone or its disk fails, reading the map is a fault of memory,
// which would end the program. All that reads the map therefore runs within guard.
type boltState struct {
	db      *bbolt.DB
	path    string
	log     hclog.Logger
	admit   func(Txn) error // rejects transactions that must not be attempted; may be nil
	release func()          // lets another process open the directory

	needed   atomic.Int64             // how many bytes the file must have
	requests chan *request            // for the writer; unbuffered, so that what it has not taken never happens
	ended    chan struct{}            // closed when the state fails or is closed
	written  chan struct{}            // closed when the writer has ended
	term     atomic.Pointer[boltTerm] // the last one, which may be over; nil if there was none

	campaigning atomic.Bool // a Lead is running

	mu     sync.Mutex
	closed bool  // Close was called
	why    error // why the state has ended, ErrClosed or a *Failure; nil while it works
}

// entriesBucket is the name of the bucket.
var entriesBucket = []byte("entries")

// patience is how long a transaction may take. One that takes longer may still happen.
const patience = 10 * time.Second

// stored returns the value of a key in the file: the revision and the value, with a checksum.
func stored(e Entry) []byte {
	revision := binary.BigEndian.AppendUint64(nil, uint64(e.Revision))
	return sealValue(e.Key, append(revision, e.Value...))
}

// loaded returns the entry that stored made.
func loaded(key, value []byte) Entry {
	e := Entry{Key: string(key), Revision: revisionOf(value)}
	content, err := unsealValue(e.Key, value)
	switch {
	case err != nil:
		e.Damage = err
	case len(content) < revisionBytes:
		e.Damage = valueDamaged(e.Key)
	default:
		e.Value = bytes.Clone(content[revisionBytes:]) // the map is not to be changed, and goes away
	}
	return e
}

const revisionBytes = 8

// revisionOf returns the revision of a stored value, damaged or not, and 0 for an absent one.
func revisionOf(value []byte) int64 {
	if len(value) < sealBytes+revisionBytes {
		return 0
	}
	return int64(binary.BigEndian.Uint64(value[sealBytes:]))
}

// guard calls a function that reads the map of a file. It returns a *pageError if a page cannot be read or is damaged,
// so that bbolt panics. Locks of bbolt may be held then: its file must not be used any more, not even closed.
func guard(read func() error) (err error) {
	before := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(before)
	defer func() {
		switch panicked := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }: // a fault of memory
			err = &pageError{"a part of it is gone, or its disk cannot be read"}
		default:
			err = &pageError{fmt.Sprint(panicked)}
		}
	}()
	return read()
}

// pageError is the error for a page that cannot be used.
type pageError struct{ what string }

func (e *pageError) Error() string { return e.what }

// usable returns why the state cannot be used, or nil. It looks at the size of the file, because most of a file that
// was cut can still be read and written for a while, but is lost. Readers look too, although that takes a system call:
// what is left of the last page ends in zeros, not in a fault of memory, and there keys would seem to be absent.
func (s *boltState) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if isClosed(s.ended) {
		return s.reason()
	}
	if err := s.checkSize(); err != nil {
		return s.fail(err)
	}
	return nil
}

func (s *boltState) checkSize() error {
	info, err := os.Stat(s.path)
	if err != nil {
		return &pageError{"it is gone"}
	}
	if needed := s.needed.Load(); info.Size() < needed {
		return &pageError{fmt.Sprintf("it was cut to %d of %d bytes", info.Size(), needed)}
	}
	return nil
}

// end ends the state, unless it has ended already.
func (s *boltState) end(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == nil {
		s.why = why
		close(s.ended)
		s.term.Load().end()
	}
}

// reason returns why the state has ended.
func (s *boltState) reason() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// failed reports whether the state has ended because its file cannot be used any more.
func (s *boltState) failed() bool { return AnswerOf(s.reason()) == Failed }

// fail ends the state because its file cannot be used any more, and returns the error of all calls from then on, so
// that the program can say why it stops.
func (s *boltState) fail(cause error) error {
	failure := fault.New(fault.Unavailable, storeFailed,
		"the state store has failed (%v); make sure that its disk has space and can be written to, "+
			"and restart the coordinator", cause)
	if page := (*pageError)(nil); errors.As(cause, &page) {
		failure = fault.New(fault.DataLoss, storeDamaged,
			"the file of the state store is damaged (%v); restore the data directory from a backup, "+
				"or start with another one", cause)
	}
	s.log.Error("the state store has failed", "file", s.path, "error", cause)
	s.end(&Failure{failure})
	return s.reason()
}

// explain returns the error for the caller of a call that failed with err.
func (s *boltState) explain(err error) error {
	if page := (*pageError)(nil); errors.As(err, &page) {
		return s.fail(err)
	}
	if errors.Is(err, bbolterrors.ErrDatabaseNotOpen) {
		return s.reason()
	}
	return err
}

// view calls a function with the entries, as they are at one revision.
func (s *boltState) view(ctx context.Context, read func(*bbolt.Bucket) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	return s.explain(guard(func() error {
		return s.db.View(func(tx *bbolt.Tx) error { return read(tx.Bucket(entriesBucket)) })
	}))
}

func (s *boltState) Get(ctx context.Context, key string) (found Entry, err error) {
	err = s.view(ctx, func(entries *bbolt.Bucket) error {
		value := entries.Get([]byte(key))
		if value == nil {
			return ErrNotFound
		}
		found = loaded([]byte(key), value)
		return found.Damage
	})
	if err != nil {
		return Entry{}, err
	}
	return found, nil
}

func (s *boltState) List(ctx context.Context, prefix, after string, limit int) ([]Entry, error) {
	from, to := keyRange(prefix, after)
	return s.list(ctx, limit, func(c *bbolt.Cursor) pairs { return ascending(c, from, to) })
}

func (s *boltState) ListBackward(ctx context.Context, prefix, before string, limit int) ([]Entry, error) {
	from, to := backwardRange(prefix, before)
	return s.list(ctx, limit, func(c *bbolt.Cursor) pairs { return descending(c, from, to) })
}

// pairs are keys and their values in the file.
type pairs = iter.Seq2[[]byte, []byte]

// list returns at most limit entries, in the order that they come in.
func (s *boltState) list(ctx context.Context, limit int, in func(*bbolt.Cursor) pairs) ([]Entry, error) {
	var found []Entry
	err := s.view(ctx, func(entries *bbolt.Bucket) error {
		for key, value := range in(entries.Cursor()) {
			found = append(found, loaded(key, value))
			if len(found) == limit {
				break
			}
		}
		return nil
	})
	return found, err
}

// ascending returns the keys in [from, to) and their values. to == "" means no end.
func ascending(c *bbolt.Cursor, from, to string) pairs {
	return func(yield func([]byte, []byte) bool) {
		for key, value := c.Seek([]byte(from)); key != nil; key, value = c.Next() {
			if to != "" && string(key) >= to || !yield(key, value) {
				return
			}
		}
	}
}

// descending is ascending in the other order.
func descending(c *bbolt.Cursor, from, to string) pairs {
	return func(yield func([]byte, []byte) bool) {
		for key, value := lastBefore(c, to); key != nil && string(key) >= from; key, value = c.Prev() {
			if !yield(key, value) {
				return
			}
		}
	}
}

// lastBefore moves a cursor to the last key before to, or to the last one if to is empty.
func lastBefore(c *bbolt.Cursor, to string) (key, value []byte) {
	if to == "" {
		return c.Last()
	}
	if key, _ := c.Seek([]byte(to)); key == nil {
		return c.Last()
	}
	return c.Prev()
}

// Walk reads the entries in pages, because visit is not to run within guard. The pages are of one revision, since they
// are read in one transaction of bbolt. The writer does not wait for it, unless the file outgrows its map.
func (s *boltState) Walk(ctx context.Context, visit func(Entry) error) (revision int64, err error) {
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	var tx *bbolt.Tx
	err = guard(func() (err error) {
		tx, err = s.db.Begin(false)
		return err
	})
	if err != nil {
		return 0, s.explain(err)
	}
	defer func() {
		if !s.failed() { // otherwise bbolt may hold locks forever
			_ = tx.Rollback()
		}
	}()
	for from := ""; ; {
		var page []Entry
		err := guard(func() error {
			entries := tx.Bucket(entriesBucket)
			revision = int64(entries.Sequence())
			for key, value := range ascending(entries.Cursor(), from, "") {
				page = append(page, loaded(key, value))
				if len(page) == walkPage {
					break
				}
			}
			return nil
		})
		if err != nil {
			return 0, s.explain(err)
		}
		if len(page) == 0 {
			return revision, nil
		}
		for _, e := range page {
			if err := visit(e); err != nil {
				return 0, err
			}
		}
		from = page[len(page)-1].Key + "\x00"
		if err := s.usable(ctx); err != nil {
			return 0, err
		}
	}
}

func (s *boltState) Commit(ctx context.Context, txn Txn) (int64, error) {
	if err := txn.validate(); err != nil {
		return 0, err
	}
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	term := s.term.Load()
	if !term.Current() {
		return 0, ErrNotLeader
	}
	if s.admit != nil {
		if err := s.admit(txn); err != nil {
			return 0, err
		}
	}
	return s.submit(ctx, &request{txn: txn.clone(), term: term})
}

// clone returns a copy, so that the caller of Commit may change the transaction while it is written.
func (t Txn) clone() Txn {
	t.If = slices.Clone(t.If)
	t.Delete = slices.Clone(t.Delete)
	t.Put = slices.Clone(t.Put)
	for i := range t.Put {
		t.Put[i].Value = bytes.Clone(t.Put[i].Value)
	}
	return t
}

func (s *boltState) Leader(ctx context.Context) (string, error) {
	if err := s.usable(ctx); err != nil {
		return "", err
	}
	term := s.term.Load()
	if !term.Current() {
		return "", ErrNotFound
	}
	return term.name, nil
}

// Lead begins a term at once, because no other process has opened the file.
func (s *boltState) Lead(ctx context.Context, name string) (Leadership, error) {
	if s.campaigning.Swap(true) {
		return nil, errAlreadyLeading
	}
	defer s.campaigning.Store(false)
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if s.term.Load().Current() {
		return nil, errAlreadyLeading
	}
	revision, err := s.submit(ctx, &request{})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why != nil {
		return nil, s.why
	}
	term := &boltTerm{name: name, revision: revision, lost: make(chan struct{})}
	s.term.Store(term)
	return term, nil
}

// boltTerm is a Leadership. A nil one is over.
type boltTerm struct {
	name     string
	revision int64
	ending   sync.Once
	lost     chan struct{}
}

func (t *boltTerm) Revision() int64       { return t.revision }
func (t *boltTerm) Lost() <-chan struct{} { return t.lost }
func (t *boltTerm) Current() bool         { return t != nil && !isClosed(t.lost) }

func (t *boltTerm) Resign(context.Context) error {
	t.end()
	return nil
}

func (t *boltTerm) end() {
	if t != nil {
		t.ending.Do(func() { close(t.lost) })
	}
}

func (s *boltState) Close() error {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	s.mu.Unlock()
	if already {
		return nil
	}
	s.end(ErrClosed)
	defer s.release()
	if s.failed() { // bbolt may hold locks forever, and the program is about to end
		return nil
	}
	<-s.written
	return s.db.Close()
}
