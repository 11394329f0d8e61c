package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/eventlog"
	"github.com/cleave-project/cleave/internal/coordinator/gate"
	"github.com/cleave-project/cleave/internal/fault"
)

// Progress is sent when it has changed, but at most every progressInterval, and when nothing else was sent for
// keepAliveInterval.
const (
	progressInterval  = 100 * time.Millisecond
	keepAliveInterval = 2 * time.Second
)

// WatchJob reads the log of a job as fast as the client takes it. The run never waits for a slow client.
func (s *jobService) WatchJob(request *cleavev1.WatchJobRequest, stream eventlog.Stream) error {
	j, record, err := s.c.find(stream.Context(), request.GetJobId())
	if err != nil {
		return err
	}
	after := request.GetAfterSequence()
	if j == nil {
		err = s.c.replay(stream, record, &after)
	} else {
		err = s.c.follow(stream, j, &after)
	}
	if f, is := errors.AsType[*fault.Error](err); is && f.Reason == gate.SlowReader {
		return f.With("last_sequence", fmt.Sprint(after))
	}
	return err
}

// follow sends the events with larger numbers as they become visible, and progress in between, until the
// event that ends the job.
func (c *Coordinator) follow(stream eventlog.Stream, j *job, after *uint64) error {
	silence := time.NewTimer(keepAliveInterval)
	defer silence.Stop()
	var shown uint64
	silent := false
	done, supervised := j.done, true
	for {
		news := j.log.After(*after)
		for at, e := range news.Events {
			if err := news.Send(at, stream); err != nil {
				return err
			}
			*after = e.GetSequence()
		}
		if news.Ended {
			return nil
		}
		if err := j.refusal(); err != nil && !supervised {
			return err // there will be no last event
		}
		progress := j.progress.announced()
		if progress.version != shown || silent {
			if err := stream.SendMsg(progress.encoded); err != nil {
				return err
			}
			shown, silent = progress.version, false
		}
		silence.Reset(keepAliveInterval)
		select {
		case <-news.Changed:
		case <-progress.changed:
		case <-silence.C:
			silent = true
		case <-done: // the last event may have come at the same time
			done, supervised = nil, false
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-c.stopping:
			return errStopping
		}
	}
}

// replay sends the events of a job that has ended.
func (c *Coordinator) replay(stream eventlog.Stream, record *statev1.JobRecord, after *uint64) error {
	events, err := c.eventsOf(stream.Context(), record)
	if err != nil {
		return err
	}
	for _, e := range events[min(*after, uint64(len(events))):] {
		if err := eventlog.SendEvent(stream, e); err != nil {
			return err
		}
		*after = e.GetSequence()
	}
	return nil
}

// eventsOf reads the events of a job that has ended: from its outcome, or, if that could not be stored,
// from the state.
func (c *Coordinator) eventsOf(ctx context.Context, record *statev1.JobRecord) ([]*cleavev1.Event, error) {
	if record.GetOutcomeBlob() == "" {
		log, err := eventlog.Load(ctx, c.state, record.GetJob().GetJobId(), nil)
		if err != nil {
			return nil, err
		}
		return log.All(), nil
	}
	outcome, err := c.readOutcome(ctx, record)
	return outcome.GetEvents(), err
}
