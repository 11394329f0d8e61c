package coordinator

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/dial/backoff"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/text"
)

// Snapshots says how the states of running jobs are stored, from which the next coordinator goes on.
type Snapshots struct {
	// Interval is how long a job runs at least between two snapshots; 0 means that there are none. In any case it runs 20
	// times as long as all of them take.
	Interval time.Duration

	share time.Duration // how many times as long; tests have less
}

// defaultSnapshots is once a second.
func defaultSnapshots() Snapshots { return Snapshots{Interval: time.Second, share: 20} }

func (s Snapshots) check() error {
	if s.Interval < 0 {
		return badConfig("snapshots are %v apart; it must not be negative", s.Interval)
	}
	return nil
}

const (
	// snapshotSettles is how long a snapshot waits for the restarts that run beside the first that has a new state.
	snapshotSettles = 50 * time.Millisecond
	// snapshotGenerations is how many snapshots of a job are stored: if the last one is damaged there is one before it.
	snapshotGenerations = 2
)

// snapshots stores what a job remembers. Any snapshot of a job is one that it can go on from, so that nothing in the state says
// which there are: the newest blob that is in order is taken.
type snapshots struct {
	c        *Coordinator
	job      *job
	memory   *snapshot.Memory
	identity snapshot.Identity
	blobs    []string     // those stored, the oldest first
	encoding atomic.Int64 // nanoseconds that the run waited since the last one
	failed   bool         // the last one could not be stored
	warned   bool         // the log has a warning about states that do not fit
	stored   int          // how many were
	spent    time.Duration
}

// remember is the context of a run that is remembered from now on. If snapshots cannot be read the run begins at the
// beginning, as it does without.
func (c *Coordinator) remember(j *job, p *prepared) (ctx context.Context, stop func()) {
	if c.cfg.Snapshots.Interval == 0 {
		return j.ctx, func() {}
	}
	_, limit := c.snapshotBytes(p)
	s, err := c.openSnapshots(j, limit)
	for pause := backoff.New(resultRetries); unavailable(err) && pause.Wait(j.ctx) == nil; {
		c.log.Warn("the snapshots of a job cannot be read now, trying again", "job", j.id, "error", err)
		s, err = c.openSnapshots(j, limit)
	}
	if err != nil {
		if j.ctx.Err() == nil {
			c.log.Warn("there are no snapshots of the job", "job", j.id, "error", err)
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

// openSnapshots reads the newest snapshot of a job that ran before. Its states may have so many bytes.
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
	if s.blobs, err = c.blobs.List(j.ctx, snapshotPrefix(j.id)); err != nil {
		return nil, err
	}
	slices.SortFunc(s.blobs, compareSnapshots)
	if j.alone && len(s.blobs) > 0 { // if a snapshot makes it crash, it does not
		c.log.Warn("the job starts from the beginning, because it ended the coordinator again and again", "job", j.id)
		return s, nil
	}
	if err := s.read(j.ctx); err != nil {
		return nil, err
	}
	return s, c.goesOn(j, s.memory.Steps())
}

// identify is what the states of the job depend on: its spec, the version of this software, and how often it was started over
// because workers had been wrong.
func (s *snapshots) identify(ctx context.Context) (of snapshot.Identity, err error) {
	r, err := s.c.openPart(ctx, s.job.id, records.SpecBlob(s.job.id), records.PartSpec, 0)
	if err != nil {
		return of, err
	}
	defer r.Close()
	hash := sha256.New()
	s.job.mu.Lock()
	fmt.Fprintf(hash, "%s\n%d\n", s.c.cfg.Version, s.job.record.GetStartOvers())
	s.job.mu.Unlock()
	if _, err := io.Copy(hash, r); err != nil {
		return of, err
	}
	return snapshot.Identity(hash.Sum(nil)), nil
}

// read fills the memory from the newest snapshot that is in order, if there is one.
func (s *snapshots) read(ctx context.Context) error {
	for _, name := range slices.Backward(s.blobs) {
		err := s.readBlob(ctx, name)
		if err == nil {
			pieces, done := s.memory.Pieces()
			s.c.log.Info("the job goes on from a snapshot", "job", s.job.id, "snapshot", name, "pieces", pieces, "done", done, "steps", s.memory.Steps())
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

// start stores snapshots while a job runs; stop ends that.
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
	interval := s.c.cfg.Snapshots.Interval
	if interval == 0 {
		return
	}
	began := time.Now()
	for pause := interval; ; {
		if !wait(ctx, pause, nil) {
			return
		}
		// What changed before is stored together with the next state, if that comes soon.
		patience := time.Duration(1<<63 - 1)
		select {
		case <-s.memory.Changed():
			patience = interval
		default:
		}
		s.memory.Ask()
		if !wait(ctx, patience, s.memory.Changed()) || !wait(ctx, min(snapshotSettles, interval), nil) {
			return
		}
		took := s.store() // and so will the next one, about
		pause = max(interval, s.c.cfg.Snapshots.share*(s.spent+took)-time.Since(began))
	}
}

// wait waits for a time, or for a value; it returns false when ctx ends.
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

// store stores a snapshot, and returns the time that it took. The job goes on without if that fails: the one before is still
// there.
func (s *snapshots) store() time.Duration {
	ctx, began := s.c.storeCtx, time.Now()
	name := snapshotBlob(s.job.id, s.c.term.Revision(), s.job.snapshots)
	s.job.snapshots++ // a name is never used twice
	err := s.c.blobs.Put(ctx, name, func(w io.Writer) error { return s.memory.Write(&roomyWriter{w, s.c.roomForSnapshots()}, s.identity) })
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
	if s.failed = err != nil; !s.failed { // a store that does not answer takes none of the run's time
		took += time.Since(began)
	}
	s.spent += took
	return took
}

// warnRefused warns once if a state is too large to be kept.
func (s *snapshots) warnRefused() {
	if bytes, limit := s.memory.Refused(); bytes > 0 && !s.warned {
		s.warned = true
		s.c.log.Warn("a state of the job does not fit into its snapshots; after a crash that part starts over", "job", s.job.id, "bytes", bytes, "limit", limit)
	}
}

// prune deletes snapshots that newer ones have replaced.
func (s *snapshots) prune(ctx context.Context) {
	for len(s.blobs) > snapshotGenerations {
		if err := s.c.blobs.Delete(ctx, s.blobs[0]); err != nil && !errors.Is(err, store.ErrNotFound) {
			return // with the next one, or at the end of the job
		}
		s.blobs = s.blobs[1:]
	}
}

func snapshotPrefix(job string) string { return records.JobBlobPrefix(job) + "snapshots/" }

// snapshotBlob is the name of a snapshot: of terms, the later one is the larger.
func snapshotBlob(job string, term int64, number int) string {
	return fmt.Sprintf("%s%d.%d", snapshotPrefix(job), term, number)
}

// compareSnapshots compares the names of two snapshots by their age.
func compareSnapshots(a, b string) int {
	age := func(name string) (term, number int64) {
		_, _ = fmt.Sscanf(name[strings.LastIndex(name, "/")+1:], "%d.%d", &term, &number)
		return term, number
	}
	termA, numberA := age(a)
	termB, numberB := age(b)
	return cmp.Or(cmp.Compare(termA, termB), cmp.Compare(numberA, numberB))
}

// deleteSnapshots deletes the snapshots of a job that has ended. Its last transaction has marked them as garbage.
func (c *Coordinator) deleteSnapshots(j *job) {
	if !j.remembered {
		return
	}
	if err := c.deleteGarbage(c.storeCtx, snapshotPrefix(j.id)); err != nil && !fault.Is(err, store.DiskFull) {
		c.log.Warn("snapshots of a job that ended are left until the next start", "job", j.id, "error", err)
	}
}

// roomForSnapshots is how many bytes a snapshot may take on the disk. A job can do without snapshots, but not without its events and its
// result: if its own snapshots filled the disk, it would wait for ever for room that they have.
func (c *Coordinator) roomForSnapshots() int64 {
	free, known := c.blobs.Free()
	if !known {
		return math.MaxInt64
	}
	return free - max(c.cfg.Limits.FreeDisk, 2*store.ReservedSpace)
}

// roomyWriter writes as long as there is room.
type roomyWriter struct {
	to   io.Writer
	room int64
}

func (w *roomyWriter) Write(part []byte) (int, error) {
	if w.room -= int64(len(part)); w.room < 0 {
		return 0, fault.New(fault.ResourceExhausted, store.DiskFull, "a snapshot would leave less than %s on the disk for results and the state store",
			text.Bytes(int64(2*store.ReservedSpace)))
	}
	return w.to.Write(part)
}
