package coordinator

import (
	"context"
	"errors"
	"strings"
	"time"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/store"
)

// Ready tells whether the coordinator leads and serves and its store answers: nil, or why not.
func (c *Coordinator) Ready(ctx context.Context) error {
	select {
	case <-c.stopping:
		return errStopping
	default:
	}
	if c.serving.Load() && !c.leads() {
		return errors.New("it does not lead")
	}
	if !c.serving.Load() {
		return errors.New("it does not serve yet")
	}
	if _, err := c.state.Get(ctx, records.CreatedKey); err != nil && !errors.Is(err, store.ErrNotFound) {
		return errors.New("the state store does not answer")
	}
	return nil
}

// snapshot looks up what the metrics tell of this moment.
func (c *Coordinator) snapshot() observe.Snapshot {
	s := observe.Snapshot{Leads: c.leads(), MemoryBytes: c.cfg.MemoryBytes, UploadBytes: c.cfg.UploadBytes}
	s.JobsQueued, _, s.JobsRunning = c.queue.waiting("")
	s.MemoryReservedBytes = c.queue.memory()
	s.UploadReservedBytes = c.uploads.Reserved()
	for _, w := range c.fleet.Workers() {
		switch w.State {
		case fleet.WorkerReady:
			s.Ready++
		case fleet.WorkerSilent:
			s.Silent++
		case fleet.WorkerDraining:
			s.Draining++
		}
		s.Threads += w.Threads
		s.Tiles += w.Tiles
		s.WorkerBytes += w.MemoryBytes
		s.WorkerReservedBytes += w.ReservedBytes
	}
	return s
}

// flushEvents makes events durable.
func (c *Coordinator) flushEvents(txn store.Txn) error {
	defer c.cfg.Observe.EventFlush(time.Now())
	return c.writer.Persist(txn)
}

// observeEnd tells how a job ended.
func (j *job) observeEnd(end *jobEnd) {
	reason := shortName(end.stopReason(), "STOP_REASON_")
	if end.failure != nil {
		reason = end.failure.Reason
	}
	j.observed.Ended(strings.ToLower(shortName(end.state, "JOB_STATE_")), reason, end.state == cleavev1.JobState_JOB_STATE_FAILED)
}

// shortName is the name of an enum's value without what all of them begin with.
func shortName(value interface{ String() string }, prefix string) string {
	return strings.TrimPrefix(value.String(), prefix)
}
