package store

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
)

// memory is a State that is lost when the process ends, for `cleave run` and for tests. Several handles may share one
// map, as several processes share one etcd.
type memory struct {
	shared *sharedMemory
	closed chan struct{} // closed with shared.mu held
	term   *memoryTerm   // nil when not leading; guarded by shared.mu

	campaigning atomic.Bool // a Lead is running
}

// sharedMemory is the state that all handles share. mu guards its other fields.
type sharedMemory struct {
	mu       sync.Mutex
	revision int64
	keys     []string // sorted
	entries  map[string]Entry
	leader   *memoryTerm // nil when nobody leads
}

// NewMemory returns an empty State in memory.
func NewMemory() State { return SharedMemory()() }

// SharedMemory creates an empty state in memory. Each call of open returns another handle, as if from another
// process: the state survives when a handle is closed, and at most one handle leads at a time.
func SharedMemory() (open func() State) {
	shared := &sharedMemory{entries: map[string]Entry{}}
	return func() State { return &memory{shared: shared, closed: make(chan struct{})} }
}

// begin locks the state for one call; the caller must call unlock. It fails if the handle is closed or ctx has ended.
func (m *memory) begin(ctx context.Context) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.shared.mu.Lock()
	if isClosed(m.closed) {
		m.shared.mu.Unlock()
		return nil, ErrClosed
	}
	return m.shared.mu.Unlock, nil
}

func isClosed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}

func (m *memory) Get(ctx context.Context, key string) (Entry, error) {
	unlock, err := m.begin(ctx)
	if err != nil {
		return Entry{}, err
	}
	defer unlock()
	if _, there := m.shared.entries[key]; !there {
		return Entry{}, ErrNotFound
	}
	return m.shared.entry(key), nil
}

func (m *memory) List(ctx context.Context, prefix, after string, limit int) ([]Entry, error) {
	from, to := keyRange(prefix, after)
	return m.list(ctx, from, to, limit, slices.All)
}

func (m *memory) ListBackward(ctx context.Context, prefix, before string, limit int) ([]Entry, error) {
	from, to := backwardRange(prefix, before)
	return m.list(ctx, from, to, limit, slices.Backward)
}

// list returns at most limit entries with keys in [from, to), in the given order. to == "" means no end.
func (m *memory) list(
	ctx context.Context, from, to string, limit int, order func([]string) iter.Seq2[int, string],
) ([]Entry, error) {
	unlock, err := m.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	start, _ := slices.BinarySearch(m.shared.keys, from)
	end := len(m.shared.keys)
	if to != "" {
		end, _ = slices.BinarySearch(m.shared.keys, to)
	}
	var found []Entry
	for _, key := range order(m.shared.keys[min(start, end):end]) {
		if limit > 0 && len(found) == limit {
			break
		}
		found = append(found, m.shared.entry(key))
	}
	return found, nil
}

func (m *memory) Walk(ctx context.Context, visit func(Entry) error) (revision int64, err error) {
	unlock, err := m.begin(ctx)
	if err != nil {
		return 0, err
	}
	all := make([]Entry, len(m.shared.keys))
	for at, key := range m.shared.keys {
		all[at] = m.shared.entry(key)
	}
	revision = m.shared.revision
	unlock() // visit may take long, or call the state
	for _, e := range all {
		if err := visit(e); err != nil {
			return 0, err
		}
	}
	return revision, nil
}

func (m *memory) Commit(ctx context.Context, txn Txn) (int64, error) {
	if err := txn.validate(); err != nil {
		return 0, err
	}
	unlock, err := m.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	s := m.shared
	if m.term == nil {
		return 0, ErrNotLeader
	}
	for _, c := range txn.If {
		if s.entries[c.Key].Revision != c.Revision {
			return 0, ErrConflict
		}
	}
	// As in etcd, a transaction creates one revision, and none if it changes nothing.
	next := s.revision + 1
	for _, e := range txn.Put {
		s.put(Entry{Key: e.Key, Value: bytes.Clone(e.Value), Revision: next})
		s.revision = next
	}
	for _, key := range txn.Delete {
		if s.remove(key) {
			s.revision = next
		}
	}
	return s.revision, nil
}

// entry returns a copy of the entry of a key that exists. The caller holds s.mu.
func (s *sharedMemory) entry(key string) Entry {
	e := s.entries[key]
	e.Value = bytes.Clone(e.Value)
	return e
}

func (s *sharedMemory) put(e Entry) {
	if at, found := slices.BinarySearch(s.keys, e.Key); !found {
		s.keys = slices.Insert(s.keys, at, e.Key)
	}
	s.entries[e.Key] = e
}

func (s *sharedMemory) remove(key string) bool {
	at, found := slices.BinarySearch(s.keys, key)
	if found {
		s.keys = slices.Delete(s.keys, at, at+1)
		delete(s.entries, key)
	}
	return found
}

func (m *memory) Leader(ctx context.Context) (string, error) {
	unlock, err := m.begin(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if m.shared.leader == nil {
		return "", ErrNotFound
	}
	return m.shared.leader.name, nil
}

func (m *memory) Lead(ctx context.Context, name string) (Leadership, error) {
	if m.campaigning.Swap(true) {
		return nil, errAlreadyLeading
	}
	defer m.campaigning.Store(false)
	for {
		won, other, err := m.tryLead(ctx, name)
		if err != nil {
			return nil, err
		}
		if won != nil {
			return won, nil
		}
		select {
		case <-other.lost:
		case <-m.closed:
		case <-ctx.Done():
		}
	}
}

// tryLead starts a term if nobody leads. Otherwise it returns the term of the leader, to wait for.
func (m *memory) tryLead(ctx context.Context, name string) (won, other *memoryTerm, err error) {
	unlock, err := m.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	s := m.shared
	if m.term != nil {
		return nil, nil, errAlreadyLeading
	}
	if s.leader != nil {
		return nil, s.leader, nil
	}
	s.revision++
	m.term = &memoryTerm{state: m, name: name, revision: s.revision, lost: make(chan struct{})}
	s.leader = m.term
	return m.term, nil, nil
}

func (m *memory) Close() error {
	m.shared.mu.Lock()
	defer m.shared.mu.Unlock()
	if isClosed(m.closed) {
		return nil
	}
	m.term.end()
	close(m.closed)
	return nil
}

// memoryTerm is a Leadership.
type memoryTerm struct {
	state    *memory
	name     string
	revision int64
	lost     chan struct{}
}

func (t *memoryTerm) Revision() int64       { return t.revision }
func (t *memoryTerm) Lost() <-chan struct{} { return t.lost }
func (t *memoryTerm) Current() bool         { return !isClosed(t.lost) }

func (t *memoryTerm) Resign(context.Context) error {
	t.state.shared.mu.Lock()
	defer t.state.shared.mu.Unlock()
	t.end()
	return nil
}

// end ends a term. It does nothing if t is nil or has already ended. The caller holds shared.mu.
func (t *memoryTerm) end() {
	if t != nil && t.state.term == t {
		t.state.term, t.state.shared.leader = nil, nil
		close(t.lost)
	}
}

var errAlreadyLeading = errors.New("store: Lead was called by a process that leads or is waiting to lead")
