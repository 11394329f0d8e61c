package coordinator

import (
	"context"
	"strings"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// resume takes up the jobs that an earlier coordinator left unfinished, in the order they came.
// Each begins again from the start; what its log already holds must come out the same.
func (c *Coordinator) resume(ctx context.Context) error {
	entries, err := c.state.List(ctx, unfinishedPrefix, "", 0)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		id := strings.TrimPrefix(entry.Key, unfinishedPrefix)
		if err := c.takeUp(ctx, id); err != nil {
			return err
		}
	}
	return c.sweep(ctx)
}

func (c *Coordinator) takeUp(ctx context.Context, id string) error {
	stored, err := c.state.Get(ctx, jobKey(id))
	if err != nil {
		return err
	}
	record, err := readJob(stored)
	if err != nil {
		return err
	}
	log, err := loadEventLog(ctx, c.state, id, c.commit)
	if err != nil {
		return err
	}
	record = proto.CloneOf(record)
	record.Job.State, record.Job.StartTime = cleavev1.JobState_JOB_STATE_PENDING, nil
	j := c.newJob(record, log)
	if record.GetJob().GetCancelRequested() {
		j.cancel(errCancelled)
	}
	c.log.Info("job is taken up again", "job", id, "events", len(log.durable), "cancelled", record.GetJob().GetCancelRequested())
	c.launch(j)
	return nil
}

// sweep deletes the events that the end of a very long job left over: folded into its outcome,
// but too many for the transaction that ended it.
func (c *Coordinator) sweep(ctx context.Context) error {
	const portion = 1000
	for after := ""; ; {
		entries, err := c.state.List(ctx, eventPrefix, after, portion)
		if err != nil {
			return err
		}
		var leftOver []string
		for _, entry := range entries {
			after = entry.Key
			id, _, _ := strings.Cut(strings.TrimPrefix(entry.Key, eventPrefix), "/")
			if c.unfinished(id) != nil {
				continue
			}
			stored, err := c.state.Get(ctx, jobKey(id))
			if err != nil {
				return err
			}
			record, err := readJob(stored)
			if err != nil {
				return err
			}
			if record.GetOutcomeBlob() != "" {
				leftOver = append(leftOver, entry.Key)
			}
		}
		if err := c.deleteKeys(leftOver); err != nil {
			return err
		}
		if len(entries) < portion {
			return nil
		}
	}
}
