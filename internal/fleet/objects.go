package fleet

import (
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

// maxObjectBytes limits the rows of one answer. Workers send less, unless single cells are large.
const maxObjectBytes = 256 << 20

// objectsRead is one call of ReadObjects, whose goroutine owns it. Each worker reads one unit at a time, in a goroutine
// of its own.
type objectsRead struct {
	fleet   *Fleet
	key     string      // the id of the job in commands
	waiting []*unitRead // units that no worker is reading, in order
	left    int         // units that are not done
	reading map[*session]bool
	used    map[*session]bool // workers that got a command
	working sync.WaitGroup    // goroutines that read
	ends    chan readEnd      // has room for all units
	alone   <-chan time.Time  // fires after WorkerWait in which no worker reads or can read; nil while one does or can
}

// reader is a worker that can read objects.
type reader struct {
	session *session
	hangs   bool // on another command: it is asked only while nobody else reads
}

// readEnd is how a worker ended reading a unit.
type readEnd struct {
	by   *session
	unit *unitRead
	err  error
}

// unitRead is a unit and its progress. The goroutine that reads the unit owns it. While no goroutine does, and the unit
// waits, the goroutine of ReadObjects owns it.
type unitRead struct {
	unit   *ObjectUnit
	at     int
	rows   uint64
	failed map[*session]*fault.Error // workers that could not read it, and why
	lost   int                       // workers that were lost while they read it, since rows last arrived
}

// ReadObjects has workers read units, in parallel, the first ones first. If a worker is lost or cannot reach an
// object, another one continues where it stopped. ReadObjects returns when all units are done, or with the first
// error. report is called with the number of workers that read; it may be nil.
func (f *Fleet) ReadObjects(ctx context.Context, units []*ObjectUnit, report func(workers int)) error {
	r := f.newObjectsRead(units)
	defer r.release()
	ctx, cancel := context.WithCancel(ctx)
	defer r.working.Wait()
	defer cancel()
	for reported := 0; ; {
		changed := f.Changed()
		able, attached, err := f.readers()
		if err != nil {
			return err
		}
		r.begin(ctx, able)
		if now := len(r.reading); report != nil && now != reported {
			report(now)
			reported = now
		}
		if over, err := r.over(able, attached); over {
			return err
		}
		if err := r.wait(ctx, changed, attached); err != nil {
			return err
		}
	}
}

func (f *Fleet) newObjectsRead(units []*ObjectUnit) *objectsRead {
	f.mu.Lock()
	key := f.state.newKeyLocked()
	f.mu.Unlock()
	r := &objectsRead{
		fleet: f, key: fmt.Sprintf("import-%d", key), left: len(units),
		reading: map[*session]bool{}, used: map[*session]bool{}, ends: make(chan readEnd, len(units)),
	}
	for at, unit := range units {
		r.waiting = append(r.waiting, &unitRead{unit: unit, at: at, failed: map[*session]*fault.Error{}})
	}
	return r
}

// readers returns the workers that can read objects, those that hang last, and all attached workers. It fails if the
// fleet is closed.
func (f *Fleet) readers() (able []reader, attached []*session, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state.closed {
		return nil, nil, unavailable(ErrClosed.Error())
	}
	attached = f.state.workersLocked()
	var hanging []reader
	for _, s := range attached {
		switch {
		case !s.readsObjects || !s.takesTilesLocked() || s.away:
		case s.hangsLocked():
			hanging = append(hanging, reader{session: s, hangs: true})
		default:
			able = append(able, reader{session: s})
		}
	}
	return append(able, hanging...), attached, nil
}

// begin has idle workers read units that wait.
func (r *objectsRead) begin(ctx context.Context, able []reader) {
	for _, by := range able {
		u := r.assign(by)
		if u == nil {
			continue
		}
		r.working.Go(func() {
			err := fault.Guard(r.fleet.log.Error, func() error { return r.read(ctx, by.session, u) })
			r.ends <- readEnd{by.session, u, err}
		})
	}
	if len(able) > 0 || len(r.reading) > 0 {
		r.alone = nil
	} else if r.alone == nil {
		r.alone = time.After(r.fleet.cfg.WorkerWait)
	}
}

// assign makes an idle worker the reader of the first waiting unit that it has not failed to read, and returns the
// unit, or nil if there is none.
func (r *objectsRead) assign(to reader) *unitRead {
	if r.reading[to.session] || to.hangs && len(r.reading) > 0 {
		return nil
	}
	at := slices.IndexFunc(r.waiting, func(u *unitRead) bool { return u.failed[to.session] == nil })
	if at < 0 {
		return nil
	}
	u := r.waiting[at]
	r.waiting = slices.Delete(r.waiting, at, at+1)
	r.reading[to.session], r.used[to.session] = true, true
	return u
}

// wait waits until a worker ends reading, or the workers change. It returns the error that ends the call.
func (r *objectsRead) wait(ctx context.Context, changed <-chan struct{}, attached []*session) error {
	select {
	case <-changed:
		return nil
	case end := <-r.ends:
		return r.finish(end.by, end.unit, end.err)
	case <-r.alone:
		why := "no worker was connected"
		if len(attached) > 0 {
			why = fmt.Sprintf("none of the %d connected workers could read objects: "+
				"they were draining, silent, or of another version", len(attached))
		}
		return fault.New(fault.Unavailable, noWorkers, "for %v, %s; start workers and repeat the import",
			r.fleet.cfg.WorkerWait, why)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// over reports whether the call is over, with the error if it cannot be completed.
func (r *objectsRead) over(able []reader, attached []*session) (over bool, err error) {
	switch {
	case r.left == 0:
		return true, nil
	case len(r.reading) > 0 || len(attached) == 0:
		return false, nil
	case !slices.ContainsFunc(attached, func(s *session) bool { return s.readsObjects }):
		return true, fault.New(fault.FailedPrecondition, "NO_READERS",
			"none of the workers reads tables by the rules of the coordinator (%s has version %q); run workers of the "+
				"coordinator's version",
			attached[0].name, attached[0].version)
	}
	first := r.waiting[0]
	if len(able) > 0 && !slices.ContainsFunc(able, func(by reader) bool { return first.failed[by.session] == nil }) {
		return true, first.unreadable(able)
	}
	return false, nil // workers that are away may return
}

// unreadable returns the error about a unit that all of the workers have failed to read.
func (u *unitRead) unreadable(able []reader) error {
	first, also := able[0].session, ""
	if others := len(able) - 1; others > 0 {
		also = fmt.Sprintf(", and neither can %s", text.Plural(others, "other worker"))
	}
	reason := u.failed[first]
	why := strings.TrimPrefix(reason.Message, u.unit.URI+" cannot be read: ")
	return fault.New(fault.FailedPrecondition, reason.Reason, "worker %q cannot read %s%s: %s", first.name,
		u.unit.URI, also, why).
		With("uri", u.unit.URI).With("worker", first.name)
}

// losesWorkers returns the error about a unit during which worker after worker was lost.
func (u *unitRead) losesWorkers(last *session) *fault.Error {
	return fault.New(fault.FailedPrecondition, workerCrashed,
		"worker %q was lost while it read %s, as %d were before; its log or "+
			"that of its system may say why. If it was killed for its memory, give workers more, or write the object "+
			"with smaller row groups",
		last.name, u.unit.URI, u.lost-1).With("uri", u.unit.URI).With("worker", last.name)
}

// finish records how reading a unit ended, and returns the error that ends the call. A unit that is not done waits for
// another worker.
func (r *objectsRead) finish(s *session, u *unitRead, err error) error {
	delete(r.reading, s)
	if err == nil {
		r.left--
		return nil
	}
	bad, isFailure := errors.AsType[*failure](err)
	switch {
	case errors.Is(err, errLost):
		if !r.fleet.isDraining(s) {
			u.lost++
		}
		if u.lost >= maxCrashes {
			return u.losesWorkers(s)
		}
		r.fleet.log.Info("worker was lost while reading an object; another one continues", "worker", s.name,
			"object", u.unit.URI, "rows", u.rows)
	case errors.Is(err, errStalled):
		u.failed[s] = fault.New(fault.Unavailable, ranged.Unreadable, "it made no progress for %v",
			r.fleet.cfg.StalledAfter)
	case isFailure && bad.reported.GetKind() == workerv1.FailureKind_FAILURE_KIND_INVALID:
		return objectFault(bad.reported)
	case isFailure:
		r.fleet.log.Warn("worker cannot read an object", "worker", s.name, "object", u.unit.URI, "reason",
			bad.reported.GetReason(), "error", bad.reported.GetMessage())
		u.failed[s] = fault.New(fault.Unavailable, ranged.Unreadable, "%s", bad.reported.GetMessage())
	default:
		return err
	}
	at, _ := slices.BinarySearchFunc(r.waiting, u, func(a, b *unitRead) int { return a.at - b.at })
	r.waiting = slices.Insert(r.waiting, at, u)
	return nil
}

// objectFault returns the fault that a worker found in an object.
func objectFault(bad *workerv1.Failure) error {
	kind := fault.InvalidArgument
	if bad.GetReason() == ranged.Changed {
		kind = fault.FailedPrecondition
	}
	return fault.New(kind, bad.GetReason(), "%s", bad.GetMessage())
}

// read makes a worker read a unit, starting after the rows that have already arrived.
func (r *objectsRead) read(ctx context.Context, s *session, u *unitRead) error {
	for {
		request, err := u.unit.Request(ctx, u.rows)
		if err != nil {
			return err
		}
		rows, err := r.call(ctx, s, request)
		if err != nil {
			return err
		}
		done, err := u.unit.Take(rows)
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
func (r *objectsRead) call(ctx context.Context, s *session,
	read *workerv1.ReadObject) (*workerv1.ObjectRows, error) {
	answer, err := r.fleet.await(ctx, awaited{
		to: s, maxBytes: maxObjectBytes, stallTimeout: r.fleet.cfg.StalledAfter, released: ctx,
		command: &workerv1.Command{JobId: r.key, Operation: &workerv1.Command_ReadObject{ReadObject: read}},
	})
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
	return &failure{worker: s.name, reported: &workerv1.Failure{Kind: workerv1.FailureKind_FAILURE_KIND_INTERNAL,
		Reason: "BAD_ANSWER", Message: message}}
}

// release frees what workers hold for the call.
func (r *objectsRead) release() {
	r.fleet.mu.Lock()
	defer r.fleet.mu.Unlock()
	for s := range r.used {
		s.postLocked(&workerv1.Command{JobId: r.key,
			Operation: &workerv1.Command_Release{Release: &workerv1.Release{}}})
	}
}
