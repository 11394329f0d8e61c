package coordinator

import (
	"sync"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
)

// runQueue lets jobs run when it is their turn, which package turns decides.
type runQueue struct {
	mu    sync.Mutex
	turns *queue.Queue[*job]
}

func newRunQueue(limits queue.Limits) *runQueue {
	return &runQueue{turns: queue.NewQueue[*job](limits)}
}

// enter lets a job run now, or when its turn has come. It tells whether the job may run at once.
func (q *runQueue) enter(j *job) (atOnce bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.turns.Enter(j, queue.Job{Owner: j.owner, Priority: j.priority, Memory: j.memory, Alone: j.alone})
	q.advance()
	return q.turns.Runs(j)
}

// leave removes a job that has run or that no longer wants to.
func (q *runQueue) leave(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.turns.Leave(j)
	q.advance()
}

// advance lets the jobs run that may. q.mu is held.
func (q *runQueue) advance() {
	for _, j := range q.turns.Advance() {
		close(j.mayRun)
	}
}

// why says why a job waits for its turn, "" if it does not.
func (q *runQueue) why(j *job) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	if why := q.turns.Why(j); why != "" {
		return "waiting for its turn: " + why
	}
	return ""
}

// waiting is how many jobs wait for their turn, in all and of one owner, and how many run.
func (q *runQueue) waiting(owner string) (all, own, running int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all, own = q.turns.Waiting(owner)
	return all, own, q.turns.Running()
}

// memory is what the jobs that run have together.
func (q *runQueue) memory() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.turns.Memory()
}

// priorityOf is the priority of a job as a number.
func priorityOf(record *statev1.JobRecord) int {
	switch record.GetJob().GetPriority() {
	case cleavev1.Priority_PRIORITY_LOW:
		return -1
	case cleavev1.Priority_PRIORITY_HIGH:
		return 1
	}
	return 0
}
