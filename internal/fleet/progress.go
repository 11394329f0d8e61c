package fleet

import "sync"

// progress reports the status of a job to its owner: one call at a time, and only when it changed.
type progress struct {
	mu     sync.Mutex
	report func(Status)
	last   Status
}

// setWaiting reports what the job is waiting for.
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
