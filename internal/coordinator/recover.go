package coordinator

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/eventlog"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

// resumeUnfinished goes on with the jobs that an earlier coordinator left unfinished, oldest first. A job whose record is damaged
// stays as it is, for a restart after a repair: the others do not wait for it.
func (c *Coordinator) resumeUnfinished(ctx context.Context) error {
	entries, err := c.state.List(ctx, records.UnfinishedPrefix, "", 0)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		id := strings.TrimPrefix(entry.Key, records.UnfinishedPrefix)
		err := c.adopt(ctx, id)
		if isRecordDamaged(err) || errors.Is(err, store.ErrNotFound) {
			c.log.Error("an unfinished job cannot be resumed", "job", id, "error", err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// resumeJob goes on with a job that is not launched, from its last snapshot if there is one (see snapshots.go). The events
// that its log already has must come out the same again. If they are damaged, the job fails. A job that has ended stays ended.
func (c *Coordinator) resumeJob(ctx context.Context, id string) error {
	entry, err := c.state.Get(ctx, records.JobKey(id))
	if err != nil {
		return err
	}
	record, err := readJob(entry)
	if err != nil || ended(record.GetJob()) {
		return err
	}
	log, err := eventlog.Load(ctx, c.state, id, c.flushEvents)
	damaged := fault.Is(err, eventlog.Damaged)
	if err != nil && !damaged {
		return err
	}
	record = proto.CloneOf(record)
	record.Job.State, record.Job.StartTime = cleavev1.JobState_JOB_STATE_PENDING, nil
	if uint64(log.DurableCount()) > record.GetAttemptEvents() {
		record.Attempts, record.AttemptTerms = 0, nil // the last one got further
	}
	forgiveAttempts(record, c.cfg.Election.outlived)
	log.Distrust(record.GetDistrusted())
	j := c.newJob(record, log)
	j.resumed, j.remembered, j.alone = true, true, record.GetAttempts() == maxAttempts-1
	switch {
	case damaged:
		c.log.Error("an unfinished job has lost its events and fails", "job", id, "error", err)
		j.cancel(err)
	case record.GetJob().GetCancelRequested():
		j.cancel(errCanceled)
	}
	c.cfg.Observe.Resumed()
	c.log.Info("job is resumed", "job", id, "events", log.DurableCount(), "crashes", record.GetAttempts(), "canceled", record.GetJob().GetCancelRequested())
	c.launch(j, nil)
	return nil
}
