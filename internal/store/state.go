// Package store keeps what a coordinator must not forget.
//
// Small state (jobs, leases, placements, numbered events) lives in a State: an ordered map with
// conditional, atomic transactions and a leader election, over etcd (embedded in this process or
// an existing cluster, one implementation) or in memory. Every write is fenced by the leader's
// election, so a deposed leader changes nothing.
//
// Large state (dataset chunks, snapshots, results) lives in Blobs: write-once names in a
// directory or an object store. The usual order is blob first, then the transaction that points
// to it: a crash between the two leaves an unreferenced blob, never a dangling pointer.
package store

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/fault"
)

// Limits of one transaction. They hold for every kind of State, so that what works in a test
// also works on a cluster. An etcd of default settings accepts MaxCommitBytes; it needs
// --max-txn-ops=1024 for transactions of more than 127 changes or conditions.
const (
	MaxCommitOps   = 1000                    // conditions, and likewise changes (puts plus deletes)
	MaxCommitBytes = 3<<19 - requestOverhead // all keys and values: just under 1.5 MiB

	requestOverhead = 4 << 10 // for the fence and the frame around the operations
	opOverhead      = 64      // encoding of one operation beside its key and value: tags, lengths, kind
)

// Entry is a key with its value.
type Entry struct {
	Key      string
	Value    []byte
	Revision int64 // of the key's last change; 0 means absent
}

// Condition demands that a key was last changed at a revision; 0 demands that it is absent.
type Condition struct {
	Key      string
	Revision int64
}

// Txn is a set of changes made together or not at all, if every condition holds.
type Txn struct {
	If     []Condition
	Put    []Entry // the Revision of an entry is ignored
	Delete []string
}

// State is the small, durable state of a coordinator. Values belong to the caller: they are
// copied on the way in and on the way out. All methods may be called concurrently.
type State interface {
	// Get returns one entry, or ErrNotFound.
	Get(ctx context.Context, key string) (Entry, error)

	// List returns the entries whose keys begin with prefix and come strictly after `after` (""
	// means from the start), in key order, at most limit of them (0 means all).
	List(ctx context.Context, prefix, after string, limit int) ([]Entry, error)

	// Commit applies a transaction atomically and durably and returns the revision it made. It
	// returns ErrConflict when a condition fails and ErrNotLeader when this process does not
	// lead, or leads no longer; in both cases nothing was changed.
	Commit(ctx context.Context, txn Txn) (revision int64, err error)

	// Lead blocks until this process is the one leader among all that use the same state. The
	// name says who leads, for people who look; it needs not be unique.
	Lead(ctx context.Context, name string) (Leadership, error)

	// Close resigns if need be, waits for calls under way (which it cancels) and releases
	// everything.
	Close() error
}

// Leadership is one term as the leader. After a term is over the process may Lead again.
type Leadership interface {
	// Revision identifies the term: it grows from one leader to the next, also over restarts.
	Revision() int64

	// Lost is closed when the term is over, for whatever reason.
	Lost() <-chan struct{}

	// Resign ends the term; another candidate takes over at once.
	Resign(ctx context.Context) error
}

// validate refuses what some State could not apply, before anything is sent.
func (t Txn) validate() error {
	changes := len(t.Put) + len(t.Delete)
	if most := max(len(t.If), changes); most > MaxCommitOps {
		return fault.New(fault.ResourceExhausted, "TRANSACTION_TOO_LONG",
			"a transaction has %d conditions and %d changes, the limit is %d of each; use several transactions",
			len(t.If), changes, MaxCommitOps)
	}
	total, largest := 0, Entry{}
	changed := make([]string, 0, changes)
	for _, c := range t.If {
		if c.Key == "" {
			return emptyKey("condition")
		}
		total += len(c.Key) + opOverhead
	}
	for _, e := range t.Put {
		changed = append(changed, e.Key)
		total += len(e.Key) + len(e.Value) + opOverhead
		if len(e.Value) >= len(largest.Value) {
			largest = e
		}
	}
	for _, key := range t.Delete {
		changed = append(changed, key)
		total += len(key) + opOverhead
	}
	slices.Sort(changed)
	for i, key := range changed {
		if key == "" {
			return emptyKey("change")
		}
		if i > 0 && key == changed[i-1] {
			return fault.New(fault.Internal, "TRANSACTION_REPEATS_KEY",
				"a transaction changes the key %q twice", key)
		}
	}
	if total > MaxCommitBytes {
		return fault.New(fault.ResourceExhausted, "TRANSACTION_TOO_LARGE",
			"a transaction holds %d bytes, the limit is %d; its largest value, %q, has %d: keep large values in blobs",
			total, MaxCommitBytes, largest.Key, len(largest.Value))
	}
	return nil
}

func emptyKey(of string) error {
	return fault.New(fault.Internal, "TRANSACTION_EMPTY_KEY", "a %s of a transaction has an empty key", of)
}

// keyRange gives the half-open range of keys [from, to) that List looks at; to == "" means no end.
func keyRange(prefix, after string) (from, to string) {
	from, to = prefix, prefixEnd(prefix)
	if after >= from && after != "" {
		from = after + "\x00" // the first key after `after`
	}
	return from, to
}

// prefixEnd is the first key after all that begin with prefix, "" when there is none.
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
