// Package events keeps the events of an unfinished job. An event is numbered when it is appended and becomes
// visible to clients when it is durable, in order and without gaps. A run that starts over repeats the events of the
// run before it; an event that differs is an error, or revokes the events from there on if the numeric class has
// changed.
package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/signal"
	"github.com/cleave-project/cleave/internal/store"
)

// Events are committed in groups: every flushInterval, or as soon as flushEvents are pending. They are stored in
// batches. The last batch is rewritten until it has batchBytes, so that a long run uses few keys.
const (
	flushInterval = 100 * time.Millisecond
	flushEvents   = 256
	maxFlushBytes = 512 << 10 // in one transaction
	batchBytes    = 16 << 10
)

// Damaged is the reason of the error that Load returns for stored events that cannot be used.
const Damaged = "EVENTS_DAMAGED"

// ErrMismatch reports that a run that was started over did not repeat its events.
var ErrMismatch = errors.New("the run did not repeat the events of its earlier attempt")

// Log holds the events of one unfinished job.
type Log struct {
	job    string
	commit func(store.Txn) error

	wake chan struct{} // signals that events are pending
	full chan struct{} // signals that flushEvents are pending

	mu       sync.Mutex
	toRepeat []*cleavev1.Event   // events of an earlier attempt that this one has yet to repeat
	doubt    string              // why toRepeat may be void; empty if it holds
	durable  []*cleavev1.Event   // the visible ones; the number of the first is 1
	pending  []*cleavev1.Event   // those after them, which are not durable yet
	changed  signal.Broadcast    // durable has grown
	step     *cleavev1.Iteration // the last visible iteration

	// Both are owned by FlushLoop; after that ends, by the goroutine that ends the job.
	stored batches
	keys   []string // of all batches that are or may be stored: a failed transaction may have been committed
}

// batches describes the stored batches of events of a job. Only the last one may grow.
type batches struct {
	keys []string          // of all batches
	last []*cleavev1.Event // the events of the last batch
	room int               // bytes that the last batch may still grow by
}

// New returns an empty log. Commit makes a transaction durable.
func New(job string, commit func(store.Txn) error) *Log {
	return &Log{
		job: job, commit: commit,
		wake: make(chan struct{}, 1), full: make(chan struct{}, 1),
	}
}

// Load reads the log of a job that an earlier coordinator ran. If events are damaged or missing, the error has the
// reason Damaged, and the log has the events before them.
func Load(ctx context.Context, state store.State, job string, commit func(store.Txn) error) (*Log, error) {
	l := New(job, commit)
	entries, err := state.List(ctx, records.EventsPrefix(job), "", 0)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		l.stored.keys = append(l.stored.keys, entry.Key)
	}
	l.keys = l.stored.keys
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, entry := range entries {
		batch, err := records.Decode[statev1.EventBatch](entry)
		if err != nil {
			return l, eventsDamaged(job, entry.Key, err)
		}
		for at, e := range batch.GetEvents() {
			if want := uint32(len(l.durable) + at + 1); e.GetSequence() != want {
				return l, eventsDamaged(job, entry.Key, fmt.Errorf("event %d is in the place of event %d",
					e.GetSequence(), want))
			}
		}
		l.publishLocked(batch.GetEvents()...)
	}
	l.toRepeat = valid(l.durable)
	return l, nil
}

func eventsDamaged(job, key string, why error) error {
	return fault.New(fault.DataLoss, Damaged, "the stored events %s of job %s cannot be used: %v; run the job again",
		key, job, why).
		With("job_id", job).Because(why)
}

// Append adds an event and numbers it. While the run repeats an earlier attempt, Append returns ErrMismatch for an
// event that differs in more than words, unless the earlier events are in doubt; then it revokes them.
func (l *Log) Append(e *cleavev1.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.toRepeat) > 0 {
		e.Sequence = l.toRepeat[0].GetSequence()
		if proto.Equal(e, l.toRepeat[0]) || l.doubt == "" && differsOnlyInText(e, l.toRepeat[0]) {
			l.toRepeat = l.toRepeat[1:]
			return nil
		}
		if l.doubt == "" {
			return fmt.Errorf("%w: event %d was %v and is now %v", ErrMismatch, e.GetSequence(), l.toRepeat[0], e)
		}
		l.revokeLocked()
	}
	l.addLocked(e)
	return nil
}

// differsOnlyInText reports whether two events differ only in human-readable text. Another version of this software,
// with other messages, may have run the earlier attempt.
func differsOnlyInText(e, earlier *cleavev1.Event) bool {
	a := proto.CloneOf(e)
	b := proto.CloneOf(earlier)
	for _, event := range []*cleavev1.Event{a, b} {
		switch what := event.GetWhat().(type) {
		case *cleavev1.Event_Notice:
			what.Notice.Message, what.Notice.Parts = "", nil
		case *cleavev1.Event_Shift:
			what.Shift.Why = ""
		}
	}
	return proto.Equal(a, b)
}

// addLocked numbers a new event.
func (l *Log) addLocked(e *cleavev1.Event) {
	e.Sequence = uint32(len(l.durable) + len(l.pending) + 1)
	l.pending = append(l.pending, e)
	signal.Wake(l.wake)
	if len(l.pending) >= flushEvents {
		signal.Wake(l.full)
	}
}

// FullyRepeated reports whether the run has repeated all events of the attempt before it.
func (l *Log) FullyRepeated() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.toRepeat) == 0
}

// FlushLoop makes pending events durable until ctx ends. While the disk is full, it tries again. It is called once.
func (l *Log) FlushLoop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.wake:
		case <-ctx.Done():
			return nil
		}
		select {
		case <-timer.C: // flushInterval has passed since the last flush
		case <-l.full:
		case <-ctx.Done():
			return nil
		}
		err := l.Flush()
		pause := dial.NewBackoff(records.StoreRetries)
		for store.AnswerOf(err) == store.NoSpace && pause.Wait(ctx) == nil {
			err = l.Flush()
		}
		if ctx.Err() != nil {
			return nil // whoever ends the job stores the rest
		}
		if err != nil {
			return err
		}
		timer.Reset(flushInterval)
	}
}

// Flush makes the pending events durable and visible. If it fails, the remaining events stay pending and Flush can be
// called again.
func (l *Log) Flush() error { return l.FlushBy(l.commit) }

// FlushBy flushes like Flush, but commits with the given function.
func (l *Log) FlushBy(commit func(store.Txn) error) error {
	for {
		l.mu.Lock()
		fresh := l.pending[:flushable(l.pending)]
		l.mu.Unlock()
		if len(fresh) == 0 {
			return nil
		}
		grown, puts, err := l.stored.with(l.job, fresh)
		if err != nil {
			return err
		}
		l.keys = grown.keys
		if err := commit(store.Txn{Put: puts}); err != nil {
			return err
		}
		l.stored = grown
		l.mu.Lock()
		l.pending = l.pending[len(fresh):]
		l.publishLocked(fresh...)
		l.mu.Unlock()
	}
}

// flushable returns how many of the events fit into one transaction, at least one.
func flushable(events []*cleavev1.Event) int {
	bytes := 0
	for at, e := range events {
		if bytes += proto.Size(e); at > 0 && bytes > maxFlushBytes {
			return at
		}
	}
	return len(events)
}

// with returns the batches with fresh events added: to the last batch as long as it has room, and then to new ones.
// It also returns the entries that have to be written. It changes nothing that b refers to.
func (b batches) with(job string, fresh []*cleavev1.Event) (batches, []store.Entry, error) {
	b.keys = slices.Clip(b.keys)
	b.last = slices.Clip(b.last)
	var puts []store.Entry
	for len(fresh) > 0 {
		if b.room < proto.Size(fresh[0]) {
			b.keys = append(b.keys, records.EventKey(job, fresh[0].GetSequence()))
			b.last = nil
			b.room = max(batchBytes, proto.Size(fresh[0]))
		}
		for len(fresh) > 0 && proto.Size(fresh[0]) <= b.room {
			b.room -= proto.Size(fresh[0])
			b.last = append(b.last, fresh[0])
			fresh = fresh[1:]
		}
		value, err := proto.Marshal(&statev1.EventBatch{Events: b.last})
		if err != nil {
			return batches{}, nil, err
		}
		puts = append(puts, store.Entry{Key: b.keys[len(b.keys)-1], Value: value})
	}
	return b, puts, nil
}

// publishLocked makes durable events visible.
func (l *Log) publishLocked(events ...*cleavev1.Event) {
	l.durable = append(l.durable, events...)
	for _, e := range events {
		if e.GetIteration() != nil {
			l.step = e.GetIteration()
		}
	}
	l.changed.Notify()
}

// All returns all events so far, durable or not. FlushLoop must have ended.
func (l *Log) All() []*cleavev1.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append(l.durable[:len(l.durable):len(l.durable)], l.pending...)
}

// PublishEnd makes all events visible. The caller has made them durable.
func (l *Log) PublishEnd(events []*cleavev1.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = nil
	l.publishLocked(events[len(l.durable):]...)
}

// News holds the visible events after a given one.
type News struct {
	Events  []*cleavev1.Event
	Ended   bool            // the last event of the job is visible
	Changed <-chan struct{} // closed when there are more
}

// After returns the visible events with larger sequence numbers.
func (l *Log) After(sequence uint32) News {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.durable)
	n := News{Events: l.durable[min(int(sequence), last):last:last], Changed: l.changed.Wait()}
	n.Ended = last > 0 && l.durable[last-1].GetEnded() != nil
	return n
}

// Latest returns the sequence number of the last visible event, and the last visible iteration or nil.
func (l *Log) Latest() (sequence uint32, iteration *cleavev1.Iteration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint32(len(l.durable)), l.step
}

// SetDoubt says why the events that the run has yet to repeat may be void; "" if they hold. Those that differ are
// revoked.
func (l *Log) SetDoubt(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doubt = why
}

// Keys returns the keys of all batches that are or may be stored. FlushLoop must have ended.
func (l *Log) Keys() []string { return l.keys }

// Rest returns the entries that store the events that are not durable yet. After a flush they are few enough for one
// transaction. FlushLoop must have ended.
func (l *Log) Rest(events []*cleavev1.Event) ([]store.Entry, error) {
	durable, _ := l.Latest()
	_, puts, err := l.stored.with(l.job, events[durable:])
	return puts, err
}
