package runner

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/text"
)

// Snapshots are the states of running jobs in blobs, from which the next coordinator resumes them. A job can resume
// from any of its snapshots, so nothing lists them: the newest blob that is intact is used.

// SnapshotConfig configures how often snapshots are stored.
type SnapshotConfig struct {
	// Interval is the minimum time between two snapshots of a job; 0 disables snapshots.
	Interval time.Duration
	// Ratio is the minimum ratio of the time that a job runs to the time that its snapshots take: 20 limits snapshots
	// to 5% of the time.
	Ratio int
}

// DefaultSnapshots takes a snapshot at most once a second.
func DefaultSnapshots() SnapshotConfig { return SnapshotConfig{Interval: time.Second, Ratio: 20} }

// Check rejects a negative interval.
func (c SnapshotConfig) Check() error {
	if c.Interval < 0 {
		return fault.Invalid("INVALID_CONFIG",
			"the snapshot interval is %v; it must not be negative (--snapshot-interval)", c.Interval)
	}
	return nil
}

const (
	// settle is how long a snapshot waits for concurrent restarts after the first one has a new state.
	settle = 50 * time.Millisecond
	// Generations is how many snapshots of a job are kept, so that there is an older one if the last is damaged.
	Generations = 2
)

// SnapshotStore stores the snapshots of all jobs.
type SnapshotStore struct {
	Config  SnapshotConfig
	Blobs   store.Blobs
	Context context.Context // ends when writing must stop
	Hold    *records.Hold   // snapshots that newer ones replace stay while it is active
	// bytes that snapshots leave free on the disk, if that is more than results and the state store need
	FreeDisk int64
	Logger   hclog.Logger

	term int64 // set by Begin; part of the names, so that no two coordinators use the same
}

// Begin says in which term the coordinator leads, before anything is stored.
func (s *SnapshotStore) Begin(term int64) { s.term = term }

// Snapshots are those of one job. Only its run uses them.
type Snapshots struct {
	store *SnapshotStore
	job   string
	next  int  // number of the next one; a name is never used twice
	exist bool // some may be stored
}

// Of returns the snapshots of a job. exist says that there may be some of earlier coordinators.
func (s *SnapshotStore) Of(job string, exist bool) *Snapshots {
	return &Snapshots{store: s, job: job, exist: exist}
}

// Exist reports whether there may be snapshots, so that they have to be deleted when the job ends.
func (s *Snapshots) Exist() bool { return s.exist }

// SnapshotRun is one run of a job, whose states are stored. While Start's goroutine runs, it owns all fields but Memory
// and encoding.
type SnapshotRun struct {
	of *Snapshots
	// Memory has the states. The run finds those of the snapshot in it that it resumes from.
	Memory *snapshot.Memory

	identity snapshot.Identity
	blobs    []string      // names of the stored ones, oldest first
	encoding atomic.Int64  // nanoseconds that the run was blocked since the last snapshot
	failed   bool          // the last one could not be stored
	warned   bool          // a warning about states that do not fit was logged
	stored   int           // number of snapshots stored
	spent    time.Duration // total time that snapshots took
}

// Open begins a run and reads the newest snapshot that was stored with the same identity. A run that is to start from
// the beginning reads none. limit is the maximum total size of the states in bytes.
func (s *Snapshots) Open(ctx context.Context, identity snapshot.Identity, limit int64,
	fromStart bool) (*SnapshotRun, error) {
	r := &SnapshotRun{of: s, identity: identity}
	r.Memory = snapshot.NewMemory(int(limit), func(encode func()) {
		began := time.Now()
		encode()
		r.encoding.Add(int64(time.Since(began)))
	})
	if !s.exist {
		return r, nil
	}
	var err error
	if r.blobs, err = s.store.Blobs.List(ctx, records.SnapshotPrefix(s.job)); err != nil {
		return nil, err
	}
	slices.SortFunc(r.blobs, records.CompareSnapshots)
	if fromStart && len(r.blobs) > 0 {
		s.store.Logger.Warn(
			"the job starts over instead of from its snapshot, because it has crashed the coordinator repeatedly",
			"job", s.job)
		return r, nil
	}
	return r, r.read(ctx)
}

// read fills the memory from the newest usable snapshot, if there is one.
func (r *SnapshotRun) read(ctx context.Context) error {
	log := r.of.store.Logger
	for _, name := range slices.Backward(r.blobs) {
		err := r.readBlob(ctx, name)
		if err == nil {
			pieces, done := r.Memory.Pieces()
			log.Info("the job resumes from a snapshot", "job", r.of.job, "snapshot", name, "pieces", pieces,
				"done", done, "steps", r.Memory.Steps())
			return nil
		}
		if store.AnswerOf(err) == store.Unanswered || ctx.Err() != nil {
			return err
		}
		log.Warn("a snapshot of the job cannot be used; the one before is tried, or the job starts over",
			"job", r.of.job, "snapshot", name, "error", err)
	}
	return nil
}

func (r *SnapshotRun) readBlob(ctx context.Context, name string) error {
	blob, err := r.of.store.Blobs.Open(ctx, name, 0, -1)
	if err != nil {
		return err
	}
	defer blob.Close()
	content, err := io.ReadAll(blob)
	if err != nil {
		return err
	}
	return r.Memory.Read(content, r.identity)
}

// Start stores snapshots in the background until stop is called, which waits for one in progress and, if last is
// true, stores one more.
func (r *SnapshotRun) Start(ctx context.Context) (stop func(last bool)) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.loop(ctx)
	}()
	return func(last bool) {
		cancel()
		<-ended
		if last {
			r.save()
		}
		r.of.store.Logger.Debug("snapshots of the job", "job", r.of.job, "stored", r.stored, "took", r.spent,
			"bytes", r.Memory.Bytes())
	}
}

func (r *SnapshotRun) loop(ctx context.Context) {
	interval := r.of.store.Config.Interval
	began := time.Now()
	for pause := interval; ; {
		if !wait(ctx, pause, nil) {
			return
		}
		// Changes made since the last snapshot are stored together with the next state, if that arrives soon.
		timeout := time.Duration(math.MaxInt64)
		select {
		case <-r.Memory.Changed():
			timeout = interval
		default:
		}
		r.Memory.Ask()
		if !wait(ctx, timeout, r.Memory.Changed()) || !wait(ctx, min(settle, interval), nil) {
			return
		}
		took := r.save() // assume that the next one takes about as long
		pause = max(interval, time.Duration(r.of.store.Config.Ratio)*(r.spent+took)-time.Since(began))
	}
}

// wait blocks for the given time or until value receives. It returns false if ctx ended first.
func wait(ctx context.Context, longest time.Duration, value <-chan struct{}) bool {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-value:
	case <-ctx.Done():
		return false
	}
	return true
}

// save stores a snapshot and returns how long it took. A failure does not affect the job: the previous snapshot is
// still there.
func (r *SnapshotRun) save() time.Duration {
	s := r.of.store
	began := time.Now()
	name := records.SnapshotBlob(r.of.job, s.term, r.of.next)
	r.of.next++
	room := s.room()
	var err error
	if int64(r.Memory.Bytes()) > room { // do not fill the disk first
		err = s.diskFull()
	} else {
		r.of.exist = true // a Put that fails may still be completed by the store
		err = s.Blobs.Put(s.Context, name, func(w io.Writer) error {
			return r.Memory.Write(&limitedWriter{to: w, room: room, full: s.diskFull()}, r.identity)
		})
	}
	switch {
	case err == nil:
		r.blobs = append(r.blobs, name)
		r.stored++
		r.prune()
		r.warnRefused()
	case s.Context.Err() == nil && !r.failed:
		s.Logger.Warn("a snapshot of a job cannot be stored; it is tried again", "job", r.of.job, "error", err)
	}
	took := time.Duration(r.encoding.Swap(0))
	// Waiting for an unavailable store costs the run no time.
	if r.failed = err != nil; !r.failed || store.AnswerOf(err) == store.NoSpace {
		took += time.Since(began)
	}
	r.spent += took
	return took
}

// warnRefused logs a warning, once, if a state was too large to keep.
func (r *SnapshotRun) warnRefused() {
	if bytes, limit := r.Memory.Refused(); bytes > 0 && !r.warned {
		r.warned = true
		r.of.store.Logger.Warn("a state of the job does not fit into its snapshots; after a crash that "+
			"part starts over",
			"job", r.of.job, "bytes", bytes, "limit", limit)
	}
}

// prune deletes snapshots that newer ones have replaced.
func (r *SnapshotRun) prune() {
	for len(r.blobs) > Generations {
		called, err := r.of.store.Hold.Delete(func() error {
			return r.of.store.Blobs.Delete(r.of.store.Context, r.blobs[0])
		})
		if !called || err != nil && !errors.Is(err, store.ErrNotFound) {
			return // retried with the next snapshot, or at the end of the job
		}
		r.blobs = r.blobs[1:]
	}
}

// room returns how many bytes a snapshot may take on disk. A job can do without snapshots, but not without its events
// and its result: if its own snapshots filled the disk, it would wait forever for the space that they occupy.
func (s *SnapshotStore) room() int64 {
	free, known := s.Blobs.Free()
	if !known {
		return math.MaxInt64
	}
	return free - s.reserve()
}

// reserve returns how many bytes snapshots leave free on the disk.
func (s *SnapshotStore) reserve() int64 { return max(s.FreeDisk, 2*store.ReservedSpace) }

func (s *SnapshotStore) diskFull() error {
	return fault.New(fault.ResourceExhausted, store.DiskFull,
		"a snapshot would leave less than %s on the disk for results and the state store", text.Bytes(s.reserve()))
}

// limitedWriter fails with full once more than room bytes are written.
type limitedWriter struct {
	to   io.Writer
	room int64
	full error
}

func (w *limitedWriter) Write(part []byte) (int, error) {
	if w.room -= int64(len(part)); w.room < 0 {
		return 0, w.full
	}
	return w.to.Write(part)
}
