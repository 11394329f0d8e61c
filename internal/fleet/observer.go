package fleet

import (
	"context"
	"errors"
	"strings"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
)

// Observer receives events for metrics and traces. Some of its methods are called with Fleet.mu held, so they must
// not block or call the fleet.
type Observer interface {
	// Operation begins an operation over tiles. Its commands run with the returned context. end is called once, when
	// it ends.
	Operation(ctx context.Context, name string) (_ context.Context, end func(error))
	// Command begins a command to a worker. The command carries the returned parent, which makes the worker's trace
	// part of the job's. end is called with the reason the command failed, or "" if it succeeded.
	Command(ctx context.Context, command, worker string, tiles int) (parent string, end func(failure string))
	TilesBuilt(count int)
	Heartbeat()
	// Session reports a change of a worker's session, one of the constants below.
	Session(change string)
	// PutAside reports that a job goes on without a worker, and why.
	PutAside(reason string)
}

// The changes of a session that are reported to Observer.Session.
const (
	sessionAttached = "attached"
	sessionResumed  = "resumed"
	sessionAway     = "away" // its connection was closed and it did not come back in time
	sessionLost     = "lost"
	sessionLeft     = "left"
	sessionRefused  = "refused"
)

// nobody is an Observer that does nothing.
type nobody struct{}

func (nobody) Operation(ctx context.Context, _ string) (context.Context, func(error)) {
	return ctx, func(error) {}
}

func (nobody) Command(context.Context, string, string, int) (string, func(string)) {
	return "", func(string) {}
}
func (nobody) TilesBuilt(int)  {}
func (nobody) Heartbeat()      {}
func (nobody) Session(string)  {}
func (nobody) PutAside(string) {}

// whyNotDone returns the reason a command failed, or "" if it succeeded.
func whyNotDone(answer *workerv1.Answer, err error) string {
	switch {
	case answer.GetFailure() != nil:
		return strings.ToLower(strings.TrimPrefix(answer.GetFailure().GetKind().String(), "FAILURE_KIND_"))
	case err == nil:
		return ""
	case errors.Is(err, errLost):
		return "lost"
	case errors.Is(err, errStalled):
		return "stalled"
	}
	return "canceled"
}

// progress reports the status of a job to its owner, one call at a time and only if it changed.
type progress struct {
	mu     sync.Mutex
	report func(Status)
	last   Status
}

// setWaiting reports what the job is waiting for; "" for nothing.
func (p *progress) setWaiting(why string) {
	p.update(func(s *Status) { s.Waiting = why })
}

func (p *progress) update(change func(*Status)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.last
	change(&p.last)
	if p.report != nil && p.last != was {
		p.report(p.last)
	}
}

// reportPlaced reports a complete placement. Only the running operation calls it.
func (j *job) reportPlaced() {
	now := Status{Tiles: len(j.tiles)}
	j.fleet.mu.Lock()
	for t := range j.tiles {
		if j.tiles[t].state != notBuilt {
			now.TilesBuilt++
		}
	}
	now.Workers = len(j.members)
	j.fleet.mu.Unlock()
	j.progress.update(func(s *Status) { *s = now })
}
