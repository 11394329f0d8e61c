package coordinator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/store"
)

// Group commit: events wait at most flushEvery for company, or until flushEvents are together.
// A batch is rewritten as it grows up to batchBytes, so that a long run has few keys.
const (
	flushEvery  = 100 * time.Millisecond
	flushEvents = 256
	flushBytes  = 512 << 10
	batchBytes  = 16 << 10
)

// errReplayMismatch says that a run that began again did not repeat the events it had shown.
var errReplayMismatch = errors.New("the run did not repeat the events of its earlier attempt")

// eventLog is the numbered events of one unfinished job. Events are numbered when they are
// appended and become visible when they are durable, in order and without gaps.
type eventLog struct {
	job    string
	commit func(store.Txn) error

	wake chan struct{} // something is pending
	full chan struct{} // so much is pending that it should not wait for more

	mu       sync.Mutex
	toRepeat []*cleavev1.Event   // of an earlier attempt, not yet repeated by this one
	durable  []*cleavev1.Event   // what everyone may see; the number of the first is 1
	pending  []*cleavev1.Event   // the next ones, on their way to the store
	changed  chan struct{}       // closed and replaced when durable grows
	step     *cleavev1.Iteration // the last visible one

	// Owned by whoever flushes: the flusher, and after its end the one who concludes.
	keys []string          // of the batches in the store
	tail []*cleavev1.Event // the events of the last batch
	room int               // bytes that it may still grow by
}

func newEventLog(job string, commit func(store.Txn) error) *eventLog {
	return &eventLog{
		job: job, commit: commit,
		wake: make(chan struct{}, 1), full: make(chan struct{}, 1), changed: make(chan struct{}),
	}
}

// loadEventLog reads the log of a job that an earlier coordinator ran.
func loadEventLog(ctx context.Context, state store.State, job string, commit func(store.Txn) error) (*eventLog, error) {
	l := newEventLog(job, commit)
	entries, err := state.List(ctx, eventsPrefix(job), "", 0)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		batch := &statev1.EventBatch{}
		if err := proto.Unmarshal(entry.Value, batch); err != nil {
			return nil, fmt.Errorf("events %s cannot be read: %w", entry.Key, err)
		}
		l.keys = append(l.keys, entry.Key)
		l.publish(batch.GetEvents()...)
	}
	for at, e := range l.durable {
		if e.GetSequence() != uint64(at+1) {
			return nil, fmt.Errorf("event %d of job %s is missing", at+1, job)
		}
	}
	l.toRepeat = l.durable
	return l, nil
}

// append numbers an event. Where the run repeats an earlier attempt it must say the same again.
func (l *eventLog) append(e *cleavev1.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.toRepeat) > 0 {
		e.Sequence = l.toRepeat[0].GetSequence()
		if !proto.Equal(e, l.toRepeat[0]) {
			return fmt.Errorf("%w: event %d was %v and is now %v", errReplayMismatch, e.GetSequence(), l.toRepeat[0], e)
		}
		l.toRepeat = l.toRepeat[1:]
		return nil
	}
	e.Sequence = uint64(len(l.durable) + len(l.pending) + 1)
	l.pending = append(l.pending, e)
	signal(l.wake)
	if len(l.pending) >= flushEvents {
		signal(l.full)
	}
	return nil
}

// repeated tells whether the run has said again all that its earlier attempt had said.
func (l *eventLog) fullyRepeated() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.toRepeat) == 0
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// flushLoop makes pending events durable until ctx ends: the first at once, then in groups.
func (l *eventLog) flushLoop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.wake:
		case <-ctx.Done():
			return nil
		}
		select {
		case <-timer.C: // flushEvery has passed since the last flush
		case <-l.full:
		case <-ctx.Done():
			return nil
		}
		if err := l.flush(); err != nil {
			return err
		}
		timer.Reset(flushEvery)
	}
}

// flush makes what is pending durable and visible.
func (l *eventLog) flush() error {
	for {
		l.mu.Lock()
		fresh := l.pending[:flushable(l.pending)]
		l.mu.Unlock()
		if len(fresh) == 0 {
			return nil
		}
		puts, err := l.intoBatches(fresh)
		if err != nil {
			return err
		}
		if err := l.commit(store.Txn{Put: puts}); err != nil {
			return err
		}
		l.mu.Lock()
		l.pending = l.pending[len(fresh):]
		l.publish(fresh...)
		l.mu.Unlock()
	}
}

// flushable is how many of the events fit into one transaction.
func flushable(events []*cleavev1.Event) int {
	bytes := 0
	for at, e := range events {
		if bytes += proto.Size(e); at > 0 && bytes > flushBytes {
			return at
		}
	}
	return len(events)
}

// layOut puts fresh events into the last batch while it has room, then into new ones, and gives
// the batches to be written.
func (l *eventLog) intoBatches(fresh []*cleavev1.Event) ([]store.Entry, error) {
	var puts []store.Entry
	for len(fresh) > 0 {
		if l.room < proto.Size(fresh[0]) {
			l.keys = append(l.keys, eventKey(l.job, fresh[0].GetSequence()))
			l.tail, l.room = nil, max(batchBytes, proto.Size(fresh[0]))
		}
		for len(fresh) > 0 && proto.Size(fresh[0]) <= l.room {
			l.room -= proto.Size(fresh[0])
			l.tail = append(l.tail, fresh[0])
			fresh = fresh[1:]
		}
		value, err := proto.Marshal(&statev1.EventBatch{Events: l.tail})
		if err != nil {
			return nil, err
		}
		puts = append(puts, store.Entry{Key: l.keys[len(l.keys)-1], Value: value})
	}
	return puts, nil
}

// show makes durable events visible; l.mu is held.
func (l *eventLog) publish(events ...*cleavev1.Event) {
	l.durable = append(l.durable, events...)
	for _, e := range events {
		if e.GetIteration() != nil {
			l.step = e.GetIteration()
		}
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// all is every event so far, durable or not. The flusher must have ended.
func (l *eventLog) all() []*cleavev1.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append(l.durable[:len(l.durable):len(l.durable)], l.pending...)
}

// conclude shows the rest of the log, which the caller has made durable.
func (l *eventLog) publishEnd(events []*cleavev1.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = nil
	l.publish(events[len(l.durable):]...)
}

// after gives the visible events with larger numbers, whether the log has ended, and a channel
// that closes when there is more.
func (l *eventLog) after(sequence uint64) (events []*cleavev1.Event, ended bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.durable)
	ended = last > 0 && l.durable[last-1].GetEnded() != nil
	return l.durable[min(sequence, uint64(last)):last:last], ended, l.changed
}

// latest is the number of the last visible event and the last visible iteration, nil before it.
func (l *eventLog) latest() (sequence uint64, iteration *cleavev1.Iteration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint64(len(l.durable)), l.step
}
