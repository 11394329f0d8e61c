package coordinator

import (
	"errors"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/store"
)

// checkVerify rejects a share of verified work outside of 0 to 1.
func checkVerify(s *cleavev1.Scheduling) error {
	if v := s.GetVerify(); !(v >= 0 && v <= 1) {
		return fault.Invalid("VALUE_OUT_OF_RANGE", "scheduling.verify is %v; it must be between 0 and 1", v).OnField("scheduling.verify")
	}
	return nil
}

// verifyShare returns the share of a job's work that is verified.
func (c *Coordinator) verifyShare(j *job) float64 {
	if record := j.durable(); record.Verify != nil {
		return record.GetVerify()
	}
	return c.cfg.Verify
}

// A worker may turn out to be faulty after a run has used its answers. The run then starts over without that worker.
// Events that the new run does not repeat are revoked: they keep their numbers, and another event declares them void.

// maxStartOvers is how often a run starts over before the job fails.
const maxStartOvers = 10

// runTrusted runs a job, starting over whenever a worker whose answers it used turns out to be faulty.
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
		c.log.Error("restarting a job: a worker returned wrong results", "job", j.id, "why", out.err)
		if err := c.startOver(j, out.err.Error()); err != nil {
			return runOutcome{err: err}
		}
	}
	return runOutcome{err: fault.New(fault.Internal, "WORKER_WRONG",
		"the job started over %d times, each time because another worker gave wrong answers", maxStartOvers)}
}

// startOver durably records that the events of a job may be wrong, before the new run produces different ones.
func (c *Coordinator) startOver(j *job, why string) error {
	err := j.write(c.storeCtx, c.writer.Persist, store.Txn{}, func(record *statev1.JobRecord) error {
		record.Distrusted = why
		record.StartOvers++ // so that no snapshot of the earlier runs is used
		return nil
	})
	if err != nil {
		return err
	}
	c.fleet.StartOver(j.trust)
	j.log.StartOver(why)
	return nil
}
