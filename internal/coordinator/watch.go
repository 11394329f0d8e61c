package coordinator

import (
	"context"
	"time"

	"google.golang.org/grpc"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Progress is sent when it has changed, but not more often than progressEvery, and when it has
// not, as a sign of life.
const (
	progressEvery   = 100 * time.Millisecond
	signOfLifeEvery = 2 * time.Second
)

type watchStream = grpc.ServerStreamingServer[cleavev1.WatchJobResponse]

// WatchJob follows a job at its client's pace: it reads the log as fast as the client does, and
// neither the run nor the log waits for it.
func (s *jobService) WatchJob(request *cleavev1.WatchJobRequest, stream watchStream) error {
	j, record, err := s.c.find(stream.Context(), request.GetJobId())
	if err != nil {
		return err
	}
	if j == nil {
		return s.c.replay(stream, record, request.GetAfterSequence())
	}
	return s.c.follow(stream, j, request.GetAfterSequence())
}

// follow sends the events after a number as they become visible, and progress in between, until
// the event that ends the job.
func (c *Coordinator) follow(stream watchStream, j *job, after uint64) error {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	var sentVersion uint64
	var sentAt time.Time
	for {
		events, ended, changed := j.log.after(after)
		for _, e := range events {
			if err := sendEvent(stream, e); err != nil {
				return err
			}
			after = e.GetSequence()
		}
		if ended {
			return nil
		}
		progress, version := j.board.read()
		if now := time.Now(); version != sentVersion && now.Sub(sentAt) >= progressEvery || now.Sub(sentAt) >= signOfLifeEvery {
			if err := stream.Send(&cleavev1.WatchJobResponse{Item: &cleavev1.WatchJobResponse_Progress{Progress: progress}}); err != nil {
				return err
			}
			sentVersion, sentAt = version, now
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-c.stopping:
			return errStopping
		}
	}
}

// replay sends the events of a job that has ended.
func (c *Coordinator) replay(stream watchStream, record *statev1.JobRecord, after uint64) error {
	events, err := c.eventsOf(stream.Context(), record)
	if err != nil {
		return err
	}
	for _, e := range events[min(after, uint64(len(events))):] {
		if err := sendEvent(stream, e); err != nil {
			return err
		}
	}
	return nil
}

// eventsOf reads the events of a job that has ended: folded into its outcome, or, if that could
// not be stored, still in the state.
func (c *Coordinator) eventsOf(ctx context.Context, record *statev1.JobRecord) ([]*cleavev1.Event, error) {
	if record.GetOutcomeBlob() == "" {
		log, err := loadEventLog(ctx, c.state, record.GetJob().GetJobId(), nil)
		if err != nil {
			return nil, err
		}
		return log.durable, nil
	}
	outcome := &statev1.Outcome{}
	err := c.readBlob(ctx, record.GetOutcomeBlob(), outcome)
	return outcome.GetEvents(), err
}

func sendEvent(stream watchStream, e *cleavev1.Event) error {
	return stream.Send(&cleavev1.WatchJobResponse{Item: &cleavev1.WatchJobResponse_Event{Event: e}})
}
