package coordinator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/problem"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/dial/backoff"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/text"
)

// Snapshots configures how often the states of running jobs are stored. The next coordinator resumes from them.
type Snapshots struct {
	// Interval is the minimum time between two snapshots of a job; 0 disables snapshots. Regardless of Interval, a
	// job runs at least 20 times as long as its snapshots take.
	Interval time.Duration

	share time.Duration // the factor of 20 above; tests use less
}

// defaultSnapshots takes a snapshot at most once a second.
func defaultSnapshots() Snapshots { return Snapshots{Interval: time.Second, share: 20} }

func (s Snapshots) check() error {
	if s.Interval < 0 {
		return badConfig("the snapshot interval is %v; it must not be negative (--snapshot-interval)", s.Interval)
	}
	return nil
}

const (
	// snapshotSettles is how long a snapshot waits for concurrent restarts after the first one has a new state.
	snapshotSettles = 50 * time.Millisecond
	// snapshotGenerations is how many snapshots of a job are kept, so that there is an older one if the last is
	// damaged.
	snapshotGenerations = 2
)

// snapshots stores the states of one running job. A job can resume from any of its snapshots, so the state store does
// not list them: the newest intact blob is used.
type snapshots struct {
	c        *Coordinator
	job      *job
	memory   *snapshot.Memory
	identity snapshot.Identity
	blobs    []string     // names of the stored ones, oldest first
	encoding atomic.Int64 // nanoseconds that the run was blocked since the last snapshot
	failed   bool         // the last one could not be stored
	warned   bool         // a warning about states that do not fit was logged
	stored   int          // number of snapshots stored
	// spent is the total time that snapshots took.
	spent time.Duration
}

// remember returns the context for a run whose states are stored from now on. The caller must call stop when the run
// has ended. If earlier snapshots cannot be read, the run starts from the beginning, as it does when snapshots are
// disabled.
func (c *Coordinator) remember(j *job, p *problem.Problem) (ctx context.Context, stop func()) {
	if c.cfg.Snapshots.Interval == 0 {
		return j.ctx, func() {}
	}
	_, limit := c.problems.SnapshotBytes(p)
	s, err := c.openSnapshots(j, limit)
	for pause := backoff.New(resultRetries); unavailable(err) && pause.Wait(j.ctx) == nil; {
		c.log.Warn("the snapshots of a job cannot be read now, trying again", "job", j.id, "error", err)
		s, err = c.openSnapshots(j, limit)
	}
	if err != nil {
		if j.ctx.Err() == nil {
			c.log.Warn("the job runs without snapshots", "job", j.id, "error", err)
		}
		return j.ctx, func() {}
	}
	stopStoring := s.start(j.ctx)
	return snapshot.With(j.ctx, s.memory), sync.OnceFunc(func() {
		stopStoring()
		if cause := context.Cause(j.ctx); cause != nil && interrupted(cause) {
			s.store() // for the next coordinator
		}
		c.log.Debug("snapshots of the job", "job", j.id, "stored", s.stored, "took", s.spent, "bytes", s.memory.Bytes())
	})
}

// openSnapshots reads the newest snapshot of a job that ran before. limit is the maximum total size of its states in
// bytes.
func (c *Coordinator) openSnapshots(j *job, limit int64) (*snapshots, error) {
	s := &snapshots{c: c, job: j}
	s.memory = snapshot.NewMemory(int(limit), func(encode func()) {
		began := time.Now()
		encode()
		s.encoding.Add(int64(time.Since(began)))
	})
	var err error
	if s.identity, err = s.identify(j.ctx); err != nil || !j.remembered {
		return s, err
	}
	if s.blobs, err = c.blobs.List(j.ctx, records.SnapshotPrefix(j.id)); err != nil {
		return nil, err
	}
	slices.SortFunc(s.blobs, records.CompareSnapshots)
	if j.alone && len(s.blobs) > 0 { // in case it is the snapshot that causes the crashes
		c.log.Warn("the job starts from the beginning, because it ended the coordinator again and again", "job", j.id)
		return s, nil
	}
	if err := s.read(j.ctx); err != nil {
		return nil, err
	}
	return s, c.recordResume(j, s.memory.Steps())
}

// identify returns the identity that the states of the job depend on: its spec, the numeric class of this software, and how
// often the job started over.
func (s *snapshots) identify(ctx context.Context) (of snapshot.Identity, err error) {
	r, err := s.c.openPart(ctx, s.job.id, records.SpecBlob(s.job.id), records.PartSpec, 0)
	if err != nil {
		return of, err
	}
	defer r.Close()
	hash := sha256.New()
	s.job.mu.Lock()
	fmt.Fprintf(hash, "%s\n%d\n", clustering.NumericClass(), s.job.record.GetStartOvers())
	s.job.mu.Unlock()
	if _, err := io.Copy(hash, r); err != nil {
		return of, err
	}
	return snapshot.Identity(hash.Sum(nil)), nil
}

// read fills the memory from the newest usable snapshot, if there is one.
func (s *snapshots) read(ctx context.Context) error {
	for _, name := range slices.Backward(s.blobs) {
		err := s.readBlob(ctx, name)
		if err == nil {
			pieces, done := s.memory.Pieces()
			s.c.log.Info("the job resumes from a snapshot", "job", s.job.id, "snapshot", name, "pieces", pieces, "done", done, "steps", s.memory.Steps())
			return nil
		}
		if unavailable(err) || ctx.Err() != nil {
			return err
		}
		s.c.log.Warn("a snapshot of the job cannot be used; the one before is tried, or the job starts over", "job", s.job.id, "snapshot", name, "error", err)
	}
	return nil
}

func (s *snapshots) readBlob(ctx context.Context, name string) error {
	r, err := s.c.blobs.Open(ctx, name, 0, -1)
	if err != nil {
		return err
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return s.memory.Read(content, s.identity)
}

// start stores snapshots in the background until stop is called, which waits for one in progress.
func (s *snapshots) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.loop(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

func (s *snapshots) loop(ctx context.Context) {
	interval, began := s.c.cfg.Snapshots.Interval, time.Now()
	for pause := interval; ; {
		if !wait(ctx, pause, nil) {
			return
		}
		// Changes made since the last snapshot are stored together with the next state, if that arrives soon.
		timeout := time.Duration(1<<63 - 1)
		select {
		case <-s.memory.Changed():
			timeout = interval
		default:
		}
		s.memory.Ask()
		if !wait(ctx, timeout, s.memory.Changed()) || !wait(ctx, min(snapshotSettles, interval), nil) {
			return
		}
		took := s.store() // assume that the next one takes about as long
		pause = max(interval, s.c.cfg.Snapshots.share*(s.spent+took)-time.Since(began))
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

// store stores a snapshot and returns how long it took. A failure does not affect the job: the previous snapshot is
// still there.
func (s *snapshots) store() time.Duration {
	ctx, began := s.c.storeCtx, time.Now()
	name := records.SnapshotBlob(s.job.id, s.c.term.Revision(), s.job.snapshots)
	s.job.snapshots++ // a name is never reused
	err := s.c.blobs.Put(ctx, name, func(w io.Writer) error { return s.memory.Write(&limitedWriter{w, s.c.roomForSnapshots()}, s.identity) })
	switch {
	case err == nil:
		s.blobs, s.job.remembered = append(s.blobs, name), true
		s.stored++
		s.prune(ctx)
		s.warnRefused()
	case ctx.Err() == nil && !s.failed:
		s.c.log.Warn("a snapshot of a job cannot be stored; it is tried again", "job", s.job.id, "error", err)
	}
	took := time.Duration(s.encoding.Swap(0))
	if s.failed = err != nil; !s.failed { // waiting for an unavailable store costs the run no time
		took += time.Since(began)
	}
	s.spent += took
	return took
}

// warnRefused logs a warning, once, if a state was too large to keep.
func (s *snapshots) warnRefused() {
	if bytes, limit := s.memory.Refused(); bytes > 0 && !s.warned {
		s.warned = true
		s.c.log.Warn("a state of the job does not fit into its snapshots; after a crash that part starts over", "job", s.job.id, "bytes", bytes, "limit", limit)
	}
}

// prune deletes snapshots that newer ones have replaced.
func (s *snapshots) prune(ctx context.Context) {
	for len(s.blobs) > snapshotGenerations {
		called, err := s.c.hold.Delete(func() error { return s.c.blobs.Delete(ctx, s.blobs[0]) })
		if !called || err != nil && !errors.Is(err, store.ErrNotFound) {
			return // retried with the next snapshot, or at the end of the job
		}
		s.blobs = s.blobs[1:]
	}
}

// deleteSnapshots deletes the snapshots of a job that has ended. The transaction that ended it has marked them as
// garbage, so the next coordinator retries if this fails.
func (c *Coordinator) deleteSnapshots(j *job) {
	if !j.remembered {
		return
	}
	if err := c.deleteGarbage(c.storeCtx, records.SnapshotPrefix(j.id)); err != nil && !fault.Is(err, store.DiskFull) {
		c.log.Warn("snapshots of a job that ended are left until the next start", "job", j.id, "error", err)
	}
}

// roomForSnapshots returns how many bytes a snapshot may take on disk. A job can do without snapshots, but not
// without its events and its result: if its own snapshots filled the disk, it would wait forever for the space that
// they occupy.
func (c *Coordinator) roomForSnapshots() int64 {
	free, known := c.blobs.Free()
	if !known {
		return math.MaxInt64
	}
	return free - max(c.cfg.Limits.FreeDisk, 2*store.ReservedSpace)
}

// limitedWriter fails with store.DiskFull once more than room bytes are written.
type limitedWriter struct {
	to   io.Writer
	room int64
}

func (w *limitedWriter) Write(part []byte) (int, error) {
	if w.room -= int64(len(part)); w.room < 0 {
		return 0, fault.New(fault.ResourceExhausted, store.DiskFull, "a snapshot would leave less than %s on the disk for results and the state store",
			text.Bytes(int64(2*store.ReservedSpace)))
	}
	return w.to.Write(part)
}
