package coordinator

import (
	"fmt"
	"slices"
	"sync"

	"github.com/cleave-project/cleave/internal/text"
)

// runQueue lets jobs run, first come, first served: a limited number at once, which share the coordinator's memory. A
// job at the head of the queue that has to wait lets no other pass, so that it gets its turn.
type runQueue struct {
	limit  int
	memory int64 // 0: unlimited

	mu      sync.Mutex
	running map[*job]struct{}
	used    int64 // memory of those that run
	waiting []*job
}

func newRunQueue(limit int, memory int64) *runQueue {
	return &runQueue{limit: limit, memory: memory, running: map[*job]struct{}{}}
}

// enter lets a job run now, or when enough others have left. It tells whether the job may run at once.
func (q *runQueue) enter(j *job) (atOnce bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, j)
	q.advance()
	_, atOnce = q.running[j]
	return atOnce
}

// leave removes a job that has run or that no longer wants to.
func (q *runQueue) leave(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if at := slices.Index(q.waiting, j); at >= 0 {
		q.waiting = slices.Delete(q.waiting, at, at+1)
	} else if _, runs := q.running[j]; runs {
		delete(q.running, j)
		q.used -= j.memory
	}
	q.advance()
}

// advance lets the jobs at the head of the queue run that may; the others are told why they wait. q.mu is held.
func (q *runQueue) advance() {
	for len(q.waiting) > 0 && q.why(q.waiting[0]) == "" {
		next := q.waiting[0]
		q.waiting = slices.Delete(q.waiting, 0, 1)
		q.running[next] = struct{}{}
		q.used += next.memory
		next.setWaiting("")
		close(next.mayRun)
	}
	for at, j := range q.waiting {
		why := q.why(j)
		if why == "" {
			why = fmt.Sprintf("%s ahead of it", text.Plural(at, "job"))
		}
		j.setWaiting("waiting for its turn: " + why)
	}
}

// why says why a job at the head of the queue may not run yet, "" if it may. One that takes more than all memory may run
// alone: it is refused when it begins. q.mu is held.
func (q *runQueue) why(j *job) string {
	switch {
	case len(q.running) == 0:
		return ""
	case j.alone:
		return "the coordinator ended while it ran, so that it runs alone"
	case q.alone():
		return "a job runs alone, because the coordinator ended while it ran before"
	case len(q.running) >= q.limit:
		return fmt.Sprintf("at most %d jobs run at once", q.limit)
	case q.memory > 0 && q.used+j.memory > q.memory:
		return fmt.Sprintf("it takes %s of the coordinator's memory, and jobs that run leave %s of %s",
			text.Bytes(j.memory), text.Bytes(max(0, q.memory-q.used)), text.Bytes(q.memory))
	}
	return ""
}

// alone tells whether a job runs that no other may run beside. q.mu is held.
func (q *runQueue) alone() bool {
	for j := range q.running {
		if j.alone {
			return true
		}
	}
	return false
}
