package fleet

import (
	"errors"
	"strings"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
)

// The changes of a session that are reported to observe.Coordinator.Session.
const (
	sessionAttached = "attached"
	sessionResumed  = "resumed"
	sessionAway     = "away" // its connection was closed and it did not come back in time
	sessionLost     = "lost"
	sessionLeft     = "left"
	sessionRefused  = "refused"
)

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
