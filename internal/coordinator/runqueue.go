package coordinator

import (
	"fmt"
	"slices"
	"sync"
)

// runQueue lets a limited number of jobs run at once, first come, first served.
type runQueue struct {
	limit int

	mu      sync.Mutex
	free    int // how many more may run
	waiting []*job
}

func newRunQueue(limit int) *runQueue { return &runQueue{limit: limit, free: limit} }

// enter lets a job run now, or when enough others have left. It tells whether the job may run at once.
func (q *runQueue) enter(j *job) (atOnce bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free == 0 {
		q.waiting = append(q.waiting, j)
		j.setWaiting(fmt.Sprintf("waiting for its turn: at most %d jobs run at once", q.limit))
		return false
	}
	q.free--
	close(j.mayRun)
	return true
}

// leave removes a job that has run or that no longer wants to.
func (q *runQueue) leave(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if at := slices.Index(q.waiting, j); at >= 0 {
		q.waiting = slices.Delete(q.waiting, at, at+1)
		return
	}
	if len(q.waiting) == 0 {
		q.free++
		return
	}
	next := q.waiting[0]
	q.waiting = slices.Delete(q.waiting, 0, 1)
	next.setWaiting("")
	close(next.mayRun)
}
