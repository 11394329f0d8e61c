package coordinator

import (
	"errors"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/store"
)

// A worker may turn out to be wrong after a run has used its answers. Then the run starts over without it. Events that do
// not come out again are revoked: they keep their numbers, and an event says that they are void.

// maxStartOvers is how often a run starts over before the job fails.
const maxStartOvers = 10

// runTrusted runs a job, again whenever the answers of a worker that it used turn out not to be trusted.
func (c *Coordinator) runTrusted(j *job) runOutcome {
	j.trust = fleet.NewTrust()
	for range maxStartOvers {
		out := c.run(j)
		if out.err == nil {
			out.err = c.fleet.CheckTrust(j.trust)
		}
		if !errors.Is(out.err, fleet.ErrDistrusted) {
			return out
		}
		c.log.Error("a job starts over: a worker that took part in it is not to be trusted", "job", j.id, "why", out.err)
		if err := c.startOver(j, out.err.Error()); err != nil {
			return runOutcome{err: err}
		}
	}
	return runOutcome{err: fault.New(fault.Internal, "WORKER_WRONG", "the job started over %d times, each time because another worker gave wrong answers", maxStartOvers)}
}

// startOver makes it durable that the events of a job may be wrong, before any of them comes out differently.
func (c *Coordinator) startOver(j *job, why string) error {
	err := j.write(c.writer.Persist, store.Txn{}, func(record *statev1.JobRecord) error {
		record.Distrusted = why
		record.StartOvers++ // so that no snapshot of the runs before is used
		return nil
	})
	if err != nil {
		return err
	}
	j.trust.StartOver()
	j.log.StartOver(why)
	return nil
}
