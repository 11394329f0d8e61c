package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/objects/ranged"
	"github.com/cleave-project/cleave/internal/signal"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// ObjectUnit is a part of an object that one worker reads: all of it, or some row groups of a Parquet file.
type ObjectUnit struct {
	URI string
	// Request returns the request for the rows that follow the given number of rows.
	Request func(ctx context.Context, rows uint64) (*workerv1.ReadObject, error)
	// Take is called with the rows in order, by one goroutine at a time. done ends the unit.
	Take func(rows *workerv1.ObjectRows) (done bool, err error)
}

// maxObjectRows limits the rows of one answer, in bytes. Workers send less, unless single cells are large.
const maxObjectRows = 256 << 20

// objectsRead is the state of one call of ReadObjects. mu guards the fields below it.
type objectsRead struct {
	fleet  *Fleet
	key    string // the id of the job in commands
	report func(workers int)

	mu      sync.Mutex
	waiting []*unitRead // units that no worker is reading, in order
	left    int         // units that are not done
	reading map[*session]bool
	used    map[*session]bool // workers that got a command
	changed chan struct{}     // has a value after a change
	err     error             // ends the call
}

// unitRead is a unit and its progress. The goroutine that reads it owns it; while it is in waiting, objectsRead.mu guards
// it.
type unitRead struct {
	*ObjectUnit
	at     int
	rows   uint64
	failed map[*session]*fault.Error // workers that could not read it, and why
	lost   int                       // workers that were lost while they read it, since rows last arrived
}

// ReadObjects has workers read units, in parallel, the first ones first. If a worker is lost or cannot reach an
// object, another one continues where it stopped. ReadObjects returns when all units are done, or with the first
// error. report is called with the number of workers that read; it may be nil.
func (f *Fleet) ReadObjects(ctx context.Context, units []*ObjectUnit, report func(workers int)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.mu.Lock()
	f.nextKey++
	r := &objectsRead{
		fleet: f, key: fmt.Sprintf("import-%d", f.nextKey), report: report, left: len(units),
		reading: map[*session]bool{}, used: map[*session]bool{}, changed: make(chan struct{}, 1),
	}
	f.mu.Unlock()
	for at, unit := range units {
		r.waiting = append(r.waiting, &unitRead{ObjectUnit: unit, at: at, failed: map[*session]*fault.Error{}})
	}
	var working sync.WaitGroup
	defer r.release()
	defer working.Wait()
	defer cancel()
	var alone <-chan time.Time // fires after WorkerWait in which no worker reads or can read; nil while one does or can
	for {
		changed := f.Changed()
		able, sound, attached, closed := f.readers()
		if closed {
			return unavailable(ErrClosed.Error())
		}
		if len(able) > 0 || r.isReading() {
			alone = nil
		} else if alone == nil {
			alone = time.After(f.cfg.WorkerWait)
		}
		for at, s := range able {
			if r.begin(s, at >= sound) {
				working.Go(func() { r.serve(ctx, s) })
			}
		}
		if done, err := r.state(able, attached); done || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-r.changed:
		case <-alone:
			why := "no worker was connected"
			if len(attached) > 0 {
				why = fmt.Sprintf("none of the %d connected workers could read objects: they were draining, quarantined, silent, or of another version", len(attached))
			}
			return fault.New(fault.Unavailable, noWorkers, "for %v, %s; start workers and repeat the import", f.cfg.WorkerWait, why)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// readers returns the workers that can read objects, with those that hang at the end, able[sound:]; all attached
// workers; and whether the fleet is closed.
func (f *Fleet) readers() (able []*session, sound int, attached []*session, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var hanging []*session
	for _, s := range f.sessions {
		if s.referee {
			continue
		}
		attached = append(attached, s)
		switch {
		case !s.readsObjects || !s.takesTilesLocked() || s.away:
		case s.stalled != 0:
			hanging = append(hanging, s)
		default:
			able = append(able, s)
		}
	}
	slices.SortFunc(able, byName)
	slices.SortFunc(hanging, byName)
	slices.SortFunc(attached, byName)
	return append(able, hanging...), len(able), attached, f.closed
}

// begin marks an idle worker as reading if there is a unit for it, and reports whether it did. A worker that hangs gets
// one only while nobody else reads.
func (r *objectsRead) begin(s *session, hangs bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil || r.reading[s] || hangs && len(r.reading) > 0 || !slices.ContainsFunc(r.waiting, func(u *unitRead) bool { return u.failed[s] == nil }) {
		return false
	}
	r.reading[s], r.used[s] = true, true
	r.reportWorkersLocked()
	return true
}

// reportWorkersLocked reports how many workers read.
func (r *objectsRead) reportWorkersLocked() {
	if r.report != nil {
		r.report(len(r.reading))
	}
}

// isReading reports whether a worker reads.
func (r *objectsRead) isReading() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.reading) > 0
}

// state reports whether the call is over, with the error if it cannot be completed.
func (r *objectsRead) state(able, attached []*session) (done bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil || r.left == 0 {
		return true, r.err
	}
	if len(r.reading) > 0 || len(attached) == 0 {
		return false, nil
	}
	if !slices.ContainsFunc(attached, func(s *session) bool { return s.readsObjects }) {
		return true, fault.New(fault.FailedPrecondition, "NO_READERS",
			"none of the workers can read objects (%s has version %q); run workers of the coordinator's version",
			attached[0].name, attached[0].version)
	}
	first := r.waiting[0]
	if !slices.ContainsFunc(able, func(s *session) bool { return first.failed[s] == nil }) && len(able) > 0 {
		return true, first.unreadable(able)
	}
	// Keep waiting. Workers that are away may return; if one was lost after able was computed, the end of its reading
	// wakes the caller.
	return false, nil
}

// unreadable returns the error about a unit that all of the workers have failed to read.
func (u *unitRead) unreadable(able []*session) error {
	first, also := able[0], ""
	if others := len(able) - 1; others > 0 {
		also = fmt.Sprintf(", and neither can %s", text.Plural(others, "other worker"))
	}
	reason := u.failed[first]
	why := strings.TrimPrefix(reason.Message, u.URI+" cannot be read: ")
	return fault.New(fault.FailedPrecondition, reason.Reason, "worker %q cannot read %s%s: %s", first.name, u.URI, also, why).
		With("uri", u.URI).With("worker", first.name)
}

// losesWorkers returns the error about a unit during which worker after worker was lost.
func (u *unitRead) losesWorkers(last *session) *fault.Error {
	return fault.New(fault.FailedPrecondition, workerCrashed, "worker %q was lost while it read %s, as %d were before; its log or "+
		"that of its system may say why. If it was killed for its memory, give workers more, or write the object with smaller row groups",
		last.name, u.URI, u.lost-1).With("uri", u.URI).With("worker", last.name)
}

// serve makes a worker read units until there are none left for it.
func (r *objectsRead) serve(ctx context.Context, s *session) {
	defer func() {
		r.mu.Lock()
		delete(r.reading, s)
		r.reportWorkersLocked()
		r.mu.Unlock()
		r.notify()
	}()
	for {
		u := r.nextUnit(s)
		if u == nil {
			return
		}
		err := fault.Guard(r.fleet.log.Error, func() error { return r.read(ctx, s, u) })
		if !r.finishUnit(s, u, err) {
			return
		}
	}
}

// nextUnit removes and returns the first waiting unit that the worker has not failed to read, or returns nil.
func (r *objectsRead) nextUnit(s *session) *unitRead {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.waiting, func(u *unitRead) bool { return u.failed[s] == nil })
	if at < 0 || r.err != nil {
		return nil
	}
	u := r.waiting[at]
	r.waiting = slices.Delete(r.waiting, at, at+1)
	return u
}

// finishUnit records how reading a unit ended, and reports whether the worker can continue with another one.
func (r *objectsRead) finishUnit(s *session, u *unitRead, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.notify()
	if err == nil {
		r.left--
		return r.left > 0
	}
	var bad *failure
	switch isFailure := errors.As(err, &bad); {
	case errors.Is(err, errLost):
		if !r.fleet.leaves(s) {
			u.lost++
		}
		if u.lost >= maxCrashes {
			r.err = cmp.Or(r.err, error(u.losesWorkers(s)))
			return false
		}
		r.fleet.log.Info("worker was lost while reading an object; another one continues", "worker", s.name, "object", u.URI, "rows", u.rows)
	case errors.Is(err, errStalled):
		u.failed[s] = fault.New(fault.Unavailable, ranged.Unreadable, "it made no progress for %v", r.fleet.cfg.StalledAfter)
	case isFailure && bad.GetKind() == workerv1.FailureKind_FAILURE_KIND_INVALID:
		r.err = cmp.Or(r.err, objectFault(bad.Failure))
		return false
	case isFailure:
		r.fleet.log.Warn("worker cannot read an object", "worker", s.name, "object", u.URI, "reason", bad.GetReason(),
			"error", bad.GetMessage())
		u.failed[s] = fault.New(fault.Unavailable, ranged.Unreadable, "%s", bad.GetMessage())
	default:
		r.err = cmp.Or(r.err, err)
		return false
	}
	at, _ := slices.BinarySearchFunc(r.waiting, u, func(a, b *unitRead) int { return a.at - b.at })
	r.waiting = slices.Insert(r.waiting, at, u)
	return !errors.Is(err, errLost) && !errors.Is(err, errStalled)
}

// objectFault returns the fault that a worker found in an object.
func objectFault(bad *workerv1.Failure) error {
	kind := fault.InvalidArgument
	if bad.GetReason() == ranged.Changed {
		kind = fault.FailedPrecondition
	}
	return fault.New(kind, bad.GetReason(), "%s", bad.GetMessage())
}

// notify makes ReadObjects check the state again.
func (r *objectsRead) notify() { signal.Wake(r.changed) }

// read makes a worker read a unit, starting after the rows that have already arrived.
func (r *objectsRead) read(ctx context.Context, s *session, u *unitRead) error {
	for {
		request, err := u.Request(ctx, u.rows)
		if err != nil {
			return err
		}
		rows, err := r.call(ctx, s, request)
		if err != nil {
			return err
		}
		done, err := u.Take(rows)
		if err != nil || done {
			return err
		}
		before := u.rows
		for _, part := range rows.GetRows() {
			u.rows += uint64(wire.RowsIn(part))
		}
		if u.rows == before {
			return badAnswer(s, "its answer has no rows")
		}
		u.lost = 0
	}
}

// call sends one command.
func (r *objectsRead) call(ctx context.Context, s *session, request *workerv1.ReadObject) (*workerv1.ObjectRows, error) {
	c := &workerv1.Command{JobId: r.key, Operation: &workerv1.Command_ReadObject{ReadObject: request}}
	answer, err := r.fleet.await(ctx, ctx, r.fleet.cfg.StalledAfter, s, c, maxObjectRows)
	if err != nil {
		return nil, err
	}
	rows := &workerv1.ObjectRows{}
	if err := proto.Unmarshal(answer.values, rows); err != nil {
		return nil, badAnswer(s, "its answer cannot be decoded")
	}
	return rows, nil
}

// badAnswer returns the failure of a worker whose answer no worker gives.
func badAnswer(s *session, message string) error {
	return &failure{worker: s.name, Failure: &workerv1.Failure{Kind: workerv1.FailureKind_FAILURE_KIND_INTERNAL, Reason: "BAD_ANSWER", Message: message}}
}

// release frees what workers hold for the call.
func (r *objectsRead) release() {
	r.fleet.mu.Lock()
	defer r.fleet.mu.Unlock()
	for s := range r.used {
		s.postLocked(&workerv1.Command{JobId: r.key, Operation: &workerv1.Command_Release{Release: &workerv1.Release{}}})
	}
}
