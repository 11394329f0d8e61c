package jobs

import (
	"context"
	"time"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/events"
)

// watcher sends the events of a job to a client.
type watcher struct {
	send  func(*cleavev1.WatchJobResponse) error
	after *uint32 // the number of the last event that was sent
}

func (w watcher) sendAll(events []*cleavev1.Event) error {
	for _, e := range events {
		if err := w.send(&cleavev1.WatchJobResponse{Item: &cleavev1.WatchJobResponse_Event{Event: e}}); err != nil {
			return err
		}
		*w.after = e.GetSequence()
	}
	return nil
}

// Watch sends the events of a job after sequence number *after, which it advances, until the event that ends the job.
// It goes at the pace of send; a slow client never holds up the run.
func (m *Manager) Watch(ctx context.Context, id string, after *uint32,
	send func(*cleavev1.WatchJobResponse) error) error {
	j, record, err := m.find(ctx, id)
	if err != nil {
		return err
	}
	w := watcher{send, after}
	if j != nil {
		return m.follow(ctx, w, j)
	}
	events, err := m.eventsOf(ctx, record)
	if err != nil {
		return err
	}
	return w.sendAll(events[min(*after, uint32(len(events))):])
}

// follow sends the events of a job as they become visible, with progress in between.
func (m *Manager) follow(ctx context.Context, w watcher, j *Job) error {
	silence := time.NewTimer(KeepAlive)
	defer silence.Stop()
	var shown uint64
	silent := false
	done, supervised := j.done, true
	for {
		news := j.log.After(*w.after)
		if err := w.sendAll(news.Events); err != nil {
			return err
		}
		if news.Ended {
			return nil
		}
		if err := j.refusal(); err != nil && !supervised {
			return err // there will be no final event
		}
		doing := j.progress.Announced()
		if doing.Version != shown || silent {
			item := &cleavev1.WatchJobResponse_Progress{Progress: doing.Progress}
			if err := w.send(&cleavev1.WatchJobResponse{Item: item}); err != nil {
				return err
			}
			shown, silent = doing.Version, false
		}
		silence.Reset(KeepAlive)
		select {
		case <-news.Changed:
		case <-doing.Changed:
		case <-silence.C:
			silent = true
		case <-done: // loop once more: the final event may have arrived at the same time
			done, supervised = nil, false
		case <-ctx.Done():
			return ctx.Err()
		case <-m.d.Context.Done():
			return ErrStopping
		}
	}
}

// eventsOf returns the events of a job that has ended. It reads them from the outcome or, if that could not be
// stored, from the state.
func (m *Manager) eventsOf(ctx context.Context, record *statev1.JobRecord) ([]*cleavev1.Event, error) {
	if record.GetOutcomeBlob() == "" {
		log, err := events.Load(ctx, m.d.Writer.State, record.GetJob().GetJobId(), nil)
		if err != nil {
			return nil, err
		}
		return log.All(), nil
	}
	outcome, err := m.d.Parts.Outcome(ctx, record)
	return outcome.GetEvents(), err
}
