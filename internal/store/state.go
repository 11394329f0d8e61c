// Package store keeps the durable state of a coordinator. It knows nothing about what keys, values and blobs mean.
//
// Small values (jobs, numbered events, data set records) are in a State: an ordered map with conditional, atomic
// transactions and a leader election. It is kept in a file, in an etcd cluster or in memory. Every write requires that
// its process still leads, so a process that lost the election changes nothing.
//
// Large values (data sets, specs, labels, results) are in Blobs: write-once names in a directory or an object store.
// A blob is written before the transaction that refers to it. A crash between the two leaves an unused blob, never a
// reference to a missing one. Large blobs are marked as garbage before they are written, so a crash does not leak them.
// Small ones are found by a sweep when a coordinator starts.
//
// AnswerOf classifies the error of a call:
//
//	            means                                    may pass   a Commit may have    the process is done
//	                                                     by itself  been committed       with the store
//	Refused     not found, exists, too large, damaged    no         no                   no
//	Conflict    ErrConflict                              no         no                   no
//	NoSpace     DISK_FULL, STORE_FULL: somebody must     no         no                   no
//	            free space
//	Unanswered  a fault of kind Unavailable              yes        yes                  no
//	Unclear     the caller's context ended, and others   yes        yes                  no
//	Deposed     ErrNotLeader                             no         no                   yes
//	Closed      ErrClosed                                no         yes                  yes
//	Failed      a *Failure: damage or a failed write     no         yes                  yes
package store

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/fault"
)

// Limits of one transaction. They are the same for every kind of State, so that what works in a test also works on a
// cluster. An etcd with default settings accepts MaxCommitBytes, but needs --max-txn-ops=1024 for transactions of
// more than 127 changes or conditions.
const (
	MaxCommitOps   = 1000                    // applies to conditions, and to changes (puts plus deletes)
	MaxCommitBytes = 3<<19 - requestOverhead // all keys and values: just under 1.5 MiB
	MaxKeyBytes    = 4 << 10

	requestOverhead = 4 << 10 // for the fence and the message around the operations
	opOverhead      = 72      // of one operation beyond its key and value: tags, lengths, kind
)

// Entry is a key with its value.
type Entry struct {
	Key      string
	Value    []byte
	Revision int64 // revision of the key's last change; 0 means absent

	// Damage is nil unless the value is lost: its checksum did not match. The Value is empty then. Only List,
	// ListBackward and Walk return such entries, so that they can go on with the others.
	Damage error
}

// Condition requires that a key was last changed at a revision; 0 requires that it is absent.
type Condition struct {
	Key      string
	Revision int64
}

// Txn is a set of changes that are made together if every condition holds, and not at all otherwise.
type Txn struct {
	If     []Condition
	Put    []Entry // only the Key and the Value of an entry count
	Delete []string

	// Urgent lets a transaction use the space that is reserved for those that end or delete something. One that puts
	// nothing may use it in any case.
	Urgent bool
}

// State is the small, durable state of a coordinator. Values are copied when they are stored and when they are
// returned, so the caller may modify them. All methods may be called concurrently.
type State interface {
	// Get returns one entry, or ErrNotFound, or a fault with the reason ValueDamaged.
	Get(ctx context.Context, key string) (Entry, error)

	// List returns the entries whose keys begin with prefix and come strictly after `after` ("" means from the
	// start), in key order, at most limit of them (0 means all). The Damage of an entry says that its value is lost.
	List(ctx context.Context, prefix, after string, limit int) ([]Entry, error)

	// ListBackward is List in descending key order: it returns the entries that come strictly before `before` (""
	// means from the end).
	ListBackward(ctx context.Context, prefix, before string, limit int) ([]Entry, error)

	// Walk calls visit with every entry, in key order, all as they were at one revision, which it returns. It returns
	// ErrCompacted if so much changed meanwhile that the store no longer knows that revision; the caller may start
	// again.
	Walk(ctx context.Context, visit func(Entry) error) (revision int64, err error)

	// Commit applies a transaction atomically and durably and returns the revision it created. It returns ErrConflict
	// if a condition does not hold and ErrNotLeader if this process does not, or no longer, lead; in both cases
	// nothing was changed. After other errors, AnswerOf says whether the transaction may have been committed.
	Commit(ctx context.Context, txn Txn) (revision int64, err error)

	// Lead blocks until this process is the only leader among all that use the same state. The name tells people who
	// leads and need not be unique.
	Lead(ctx context.Context, name string) (Leadership, error)

	// Leader returns the name of the process that leads, or ErrNotFound if none does.
	Leader(ctx context.Context) (name string, err error)

	// Close resigns if this process leads, cancels running calls and waits for them, and releases everything.
	Close() error
}

// Leadership is one term as the leader. After a term is over, the process may call Lead again.
type Leadership interface {
	// Revision identifies the term. It increases from one leader to the next, across restarts too.
	Revision() int64

	// Lost returns a channel that is closed when the term is over, for whatever reason.
	Lost() <-chan struct{}

	// Current reports whether the term is certainly not over. A process that was suspended for a while may learn from
	// Lost only later that it is.
	Current() bool

	// Resign ends the term, so that another process can lead immediately.
	Resign(ctx context.Context) error
}

// size returns how many bytes the keys and values of the transaction have.
func (t Txn) size() int {
	total := 0
	for _, c := range t.If {
		total += len(c.Key) + opOverhead
	}
	for _, e := range t.Put {
		total += len(e.Key) + len(e.Value) + opOverhead
	}
	for _, key := range t.Delete {
		total += len(key) + opOverhead
	}
	return total
}

// validate rejects a transaction that some kind of State could not apply.
func (t Txn) validate() error {
	changes := len(t.Put) + len(t.Delete)
	if max(len(t.If), changes) > MaxCommitOps {
		return fault.New(fault.ResourceExhausted, "TRANSACTION_TOO_LONG",
			"a transaction has %d conditions and %d changes, the limit is %d of each; use several transactions",
			len(t.If), changes, MaxCommitOps)
	}
	var largest Entry
	changed := make([]string, 0, changes)
	for _, c := range t.If {
		if c.Key == "" {
			return emptyKey("condition")
		}
	}
	for _, e := range t.Put {
		changed = append(changed, e.Key)
		if len(e.Value) >= len(largest.Value) {
			largest = e
		}
	}
	changed = append(changed, t.Delete...)
	slices.Sort(changed)
	for i, key := range changed {
		if key == "" {
			return emptyKey("change")
		}
		if len(key) > MaxKeyBytes {
			return fault.New(fault.Internal, "TRANSACTION_LONG_KEY",
				"a key of a transaction has %d bytes, the limit is %d: %.40q...", len(key), MaxKeyBytes, key)
		}
		if i > 0 && key == changed[i-1] {
			return fault.New(fault.Internal, "TRANSACTION_REPEATS_KEY",
				"a transaction changes the key %q twice", key)
		}
	}
	if total := t.size(); total > MaxCommitBytes {
		return fault.New(fault.ResourceExhausted, "TRANSACTION_TOO_LARGE",
			"a transaction holds %d bytes, the limit is %d; its largest value, %q, has %d: keep large values in blobs",
			total, MaxCommitBytes, largest.Key, len(largest.Value))
	}
	return nil
}

func emptyKey(of string) error {
	return fault.New(fault.Internal, "TRANSACTION_EMPTY_KEY", "a %s of a transaction has an empty key", of)
}

// keyRange returns the range of keys [from, to) of a List; to == "" means no end.
func keyRange(prefix, after string) (from, to string) {
	from = prefix
	to = prefixEnd(prefix)
	if after >= from && after != "" {
		from = after + "\x00" // the first key after `after`
	}
	return from, to
}

// backwardRange is keyRange for a list in descending order.
func backwardRange(prefix, before string) (from, to string) {
	from = prefix
	to = prefixEnd(prefix)
	if before != "" && (to == "" || before < to) {
		to = before
	}
	return from, to
}

// prefixEnd returns the first key after all keys that begin with prefix, or "" if there is none.
func prefixEnd(prefix string) string {
	end := []byte(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return string(end[:i+1])
		}
	}
	return ""
}
