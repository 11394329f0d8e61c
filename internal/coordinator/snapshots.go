package coordinator

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"sync"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/checkpoint"
	"github.com/cleave-project/cleave/internal/coordinator/problem"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/dial/backoff"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/internal/store"
)

// startSnapshots returns the context for a run whose states are stored from now on. The caller must call stop when the
// run has ended. If earlier snapshots cannot be read, the run starts from the beginning, as it does when snapshots are
// disabled.
func (c *Coordinator) startSnapshots(j *job, p *problem.Problem) (ctx context.Context, stop func()) {
	if c.cfg.Snapshots.Interval == 0 {
		return j.ctx, func() {}
	}
	_, limit := c.problems.SnapshotBytes(p)
	run, err := c.openSnapshots(j, limit)
	for pause := backoff.New(resultRetries); store.IsUnavailable(err) && pause.Wait(j.ctx) == nil; {
		c.log.Warn("the snapshots of a job cannot be read now, trying again", "job", j.id, "error", err)
		run, err = c.openSnapshots(j, limit)
	}
	if err != nil {
		if j.ctx.Err() == nil {
			c.log.Warn("the job runs without snapshots", "job", j.id, "error", err)
		}
		return j.ctx, func() {}
	}
	stopStoring := run.Start(j.ctx)
	return snapshot.With(j.ctx, run.Memory), sync.OnceFunc(func() {
		cause := context.Cause(j.ctx)
		stopStoring(cause != nil && interrupted(cause)) // the last one is for the next coordinator
	})
}

// openSnapshots reads the newest snapshot of a job that ran before. limit is the maximum total size of its states in
// bytes.
func (c *Coordinator) openSnapshots(j *job, limit int64) (*checkpoint.Run, error) {
	identity, err := c.identify(j)
	if err != nil {
		return nil, err
	}
	fromStart := j.alone // in case it is the snapshot that causes the crashes
	run, err := j.snapshots.Open(j.ctx, identity, limit, fromStart)
	if err != nil || fromStart || !j.snapshots.Exist() {
		return run, err
	}
	return run, c.recordResume(j, run.Memory.Steps())
}

// identify returns the identity that the states of the job depend on: its spec, the numeric class of this software,
// and how often the job started over.
func (c *Coordinator) identify(j *job) (of snapshot.Identity, err error) {
	r, err := c.parts.Open(j.ctx, j.id, records.SpecBlob(j.id), records.PartSpec, 0)
	if err != nil {
		return of, err
	}
	defer r.Close()
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%d\n", clustering.NumericClass(), j.durable().GetStartOvers())
	if _, err := io.Copy(hash, r); err != nil {
		return of, err
	}
	return snapshot.Identity(hash.Sum(nil)), nil
}
