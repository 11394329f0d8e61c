package coordinator

import (
	"errors"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
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
	err := j.write(c.persist, store.Txn{}, func(record *statev1.JobRecord) error {
		record.Distrusted = why
		return nil
	})
	if err != nil {
		return err
	}
	j.trust.StartOver()
	j.log.startOver(why)
	return nil
}

// startOver begins to repeat all events; those that differ are revoked.
func (l *eventLog) startOver(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doubt = why
	l.toRepeat = valid(append(l.durable[:len(l.durable):len(l.durable)], l.pending...))
}

// revokeRest revokes what a run that has ended did not repeat, if it may be wrong.
func (l *eventLog) revokeRest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.doubt != "" && len(l.toRepeat) > 0 {
		l.revoke()
	}
}

// revoke revokes the events that are yet to be repeated; l.mu is held.
func (l *eventLog) revoke() {
	l.add(&cleavev1.Event{What: &cleavev1.Event_Revoked{Revoked: &cleavev1.EventsRevoked{
		FirstSequence: l.toRepeat[0].GetSequence(), Message: l.doubt,
	}}})
	l.toRepeat = nil
}

// valid are the events of a log that were not revoked.
func valid(events []*cleavev1.Event) []*cleavev1.Event {
	var left []*cleavev1.Event
	for _, e := range events {
		revoked := e.GetRevoked()
		if revoked == nil {
			left = append(left, e)
			continue
		}
		for len(left) > 0 && left[len(left)-1].GetSequence() >= revoked.GetFirstSequence() {
			left = left[:len(left)-1]
		}
	}
	return left
}
