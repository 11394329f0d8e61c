package coordinator

import (
	"errors"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/store"
)

// maxAttempts is how many runs of a job may end with a crash of the coordinator. A run that makes more events than the
// one before does not count: whatever ended the coordinator, the job gets on. The last attempt runs alone, so that no
// job fails because another one ended the coordinator.
const maxAttempts = 3

// beginAttempt makes it durable that the job runs, before anything of the run can end the coordinator. It fails if the
// job has run too often.
func (c *Coordinator) beginAttempt(j *job) error {
	if attempts := j.attempts(); attempts >= maxAttempts && !j.counted {
		return fault.New(fault.Internal, "COORDINATOR_CRASHED",
			"the coordinator ended %d times while it ran this job, which is not started again; its log or that of the system may say why (memory?)", attempts).
			With("job_id", j.id)
	}
	if j.problem != nil {
		return nil // nothing can happen before markRunning, which counts
	}
	return j.write(c.persist, store.Txn{}, func(record *statev1.JobRecord) error {
		j.countAttempt(record)
		return nil
	})
}

// countAttempt counts a run, once.
func (j *job) countAttempt(record *statev1.JobRecord) {
	if j.counted {
		return
	}
	j.counted = true
	sequence, _ := j.log.latest()
	record.Attempts, record.AttemptEvents = record.GetAttempts()+1, sequence
}

// untilWorkersCome reports the status of a job before it runs. While it waits for workers it does nothing that could end
// the coordinator, and is not counted as running.
func (c *Coordinator) untilWorkersCome(j *job, report func(fleet.Status)) func(fleet.Status) {
	return func(s fleet.Status) {
		if s.Waiting != "" {
			c.endAttempt(j, func(record *statev1.JobRecord) { record.Attempts-- })
		}
		report(s)
	}
}

// endAttempt makes it durable that a run, if there was one, did not end with a crash.
func (c *Coordinator) endAttempt(j *job, change func(*statev1.JobRecord)) {
	if !j.counted {
		return
	}
	err := j.write(c.commit, store.Txn{}, func(record *statev1.JobRecord) error {
		change(record)
		return nil
	})
	j.counted = err != nil
	if err != nil && !interrupted(err) && !errors.Is(err, c.storeCtx.Err()) {
		c.log.Warn("the run of a job counts as one that crashed", "job", j.id, "error", err)
	}
}

// attempts is how many runs of the job ended with a crash.
func (j *job) attempts() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return int(j.record.GetAttempts())
}

// forgetAttempts clears the attempts of a job.
func forgetAttempts(record *statev1.JobRecord) { record.Attempts, record.AttemptEvents = 0, 0 }
