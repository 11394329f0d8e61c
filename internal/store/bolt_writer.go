package store

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/bbolt"
)

// request asks the writer for a transaction.
type request struct {
	txn  Txn
	term *boltTerm // of the leader that makes the transaction; nil begins a term

	done     chan struct{} // closed when the fields below are set
	revision int64
	err      error
}

const (
	// maxGroup and maxGroupBytes are how many transactions are written together, and how large they are before the last
	// one. They need less room than checkSpace reserves.
	maxGroup      = 64
	maxGroupBytes = 4 << 20
	// slowWrite is how long a write takes that the log mentions.
	slowWrite = time.Second
)

// submit waits until the writer has written a transaction, and returns its revision. The disk may be slow or hang, so
// it does not wait longer than patience.
func (s *boltState) submit(ctx context.Context, r *request) (revision int64, err error) {
	r.done = make(chan struct{})
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case s.requests <- r:
	case <-s.ended:
		return 0, s.reason()
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-timeout.C:
		return 0, unanswered(errDiskSlow)
	}
	select {
	case <-r.done:
		return r.revision, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-timeout.C:
		return 0, unanswered(errDiskSlow)
	}
}

var errDiskSlow = errors.New("the disk takes too long to write")

// write writes transactions until the state ends. Those that wait while others are written are then written together,
// because most of the time goes into waiting for the disk.
func (s *boltState) write() {
	defer close(s.written)
	for {
		select {
		case first := <-s.requests:
			s.writeGroup(s.waiting(first))
		case <-s.ended:
			return
		}
	}
}

// waiting returns a request and those that wait for the writer now.
func (s *boltState) waiting(first *request) []*request {
	group := []*request{first}
	for size := first.txn.size(); len(group) < maxGroup && size < maxGroupBytes; {
		select {
		case next := <-s.requests:
			group = append(group, next)
			size += next.txn.size()
		default:
			return group
		}
	}
	return group
}

// errUnchanged ends a transaction of bbolt that changes nothing, so that nothing is written.
var errUnchanged = errors.New("nothing changes")

// writeGroup applies transactions one after the other, and answers them when all of them are on the disk.
func (s *boltState) writeGroup(group []*request) {
	began := time.Now()
	err := s.update(group)
	if took := time.Since(began); took > slowWrite {
		s.log.Warn("the disk of the state store is slow", "took", took, "transactions", len(group))
	}
	if err != nil {
		err = s.fail(err)
	}
	for _, r := range group {
		if err != nil {
			r.err = err
		}
		close(r.done)
	}
}

// update applies transactions in one of bbolt. An error means that the file cannot be used any more: not all of what
// was written may have reached the disk.
func (s *boltState) update(group []*request) error {
	if err := s.checkSize(); err != nil {
		return err
	}
	err := guard(func() error {
		return s.db.Update(func(tx *bbolt.Tx) error {
			entries := tx.Bucket(entriesBucket)
			before := entries.Sequence()
			for _, r := range group {
				if err := r.apply(entries); err != nil {
					return err
				}
			}
			if entries.Sequence() == before {
				return errUnchanged
			}
			return nil
		})
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.learnSize()
}

// learnSize finds out how many bytes of the file are in use.
func (s *boltState) learnSize() error {
	return guard(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			s.needed.Store(tx.Size())
			return nil
		})
	})
}

// apply makes the changes of a transaction, or sets the error of the request and changes nothing. A transaction creates
// one revision, and none if it changes nothing.
func (r *request) apply(entries *bbolt.Bucket) error {
	now := entries.Sequence()
	next := now + 1
	r.revision = int64(now)
	if r.term == nil {
		r.revision = int64(next)
		return entries.SetSequence(next)
	}
	if !r.term.Current() {
		r.err = ErrNotLeader
		return nil
	}
	for _, c := range r.txn.If {
		if revisionOf(entries.Get([]byte(c.Key))) != c.Revision {
			r.err = ErrConflict
			return nil
		}
	}
	changed := len(r.txn.Put) > 0
	for _, e := range r.txn.Put {
		e.Revision = int64(next)
		if err := entries.Put([]byte(e.Key), stored(e)); err != nil {
			return err
		}
	}
	for _, key := range r.txn.Delete {
		if entries.Get([]byte(key)) == nil {
			continue
		}
		if err := entries.Delete([]byte(key)); err != nil {
			return err
		}
		changed = true
	}
	if !changed {
		return nil
	}
	r.revision = int64(next)
	return entries.SetSequence(next)
}
