// Package queue decides which waiting job runs next.
//
// A limited number of jobs run at once and share the coordinator's memory. Owners take turns: the next job is one of the
// owner with the fewest running jobs and, of several, of the one whose last turn was longest ago. Within an owner it is
// the job of the highest priority and, of several, the oldest. Jobs of a priority above normal come before everybody's turn.
//
// The job whose turn it is lets no other pass while it waits for memory. So every job gets its turn, however large it is,
// as long as those that run end and no jobs of higher priority come without end.
package queue

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/text"
)

// Limits are what jobs that run at once may have together; 0 means no limit.
type Limits struct {
	Running         int
	RunningPerOwner int
	Memory          int64
}

// Job is what the order of the jobs depends on.
type Job struct {
	Owner    string
	Priority int   // 0 is normal
	Memory   int64 // that it takes while it runs
	Alone    bool  // no other job may run beside it
}

// Queue has the jobs that wait and those that run. It is not safe for concurrent use.
type Queue[K comparable] struct {
	limits  Limits
	places  map[K]*place[K]
	owners  map[string]*owner[K] // those with jobs
	running int
	memory  int64 // of those that run
	alone   bool  // one runs that no other may run beside
	clock   uint64
}

// place is the place of a job in the queue.
type place[K comparable] struct {
	Job
	key     K
	arrived uint64
	runs    bool
}

// owner has the jobs of one owner.
type owner[K comparable] struct {
	waiting []*place[K] // the next one first
	running int
	turn    uint64 // when it had its last turn, or began to wait after having nothing to wait for
}

// NewQueue makes an empty queue.
func NewQueue[K comparable](limits Limits) *Queue[K] {
	return &Queue[K]{limits: limits, places: map[K]*place[K]{}, owners: map[string]*owner[K]{}}
}

// Enter adds a job that waits.
func (q *Queue[K]) Enter(key K, job Job) {
	o := q.owners[job.Owner]
	if o == nil {
		o = &owner[K]{}
		q.owners[job.Owner] = o
	}
	if len(o.waiting) == 0 {
		o.turn = q.tick() // behind all who wait
	}
	p := &place[K]{Job: job, key: key, arrived: q.tick()}
	q.places[key] = p
	at, _ := slices.BinarySearchFunc(o.waiting, p, order)
	o.waiting = slices.Insert(o.waiting, at, p)
}

// order is the order of one owner's jobs.
func order[K comparable](a, b *place[K]) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.arrived, b.arrived))
}

func (q *Queue[K]) tick() uint64 {
	q.clock++
	return q.clock
}

// Leave removes a job, whether it waits, runs or has left before.
func (q *Queue[K]) Leave(key K) {
	p := q.places[key]
	if p == nil {
		return
	}
	delete(q.places, key)
	o := q.owners[p.Owner]
	if p.runs {
		o.running--
		q.running--
		q.memory -= p.Memory
		q.alone = q.alone && !p.Alone
	} else {
		at, _ := slices.BinarySearchFunc(o.waiting, p, order)
		o.waiting = slices.Delete(o.waiting, at, at+1)
	}
	if o.running == 0 && len(o.waiting) == 0 {
		delete(q.owners, p.Owner)
	}
}

// Advance lets all jobs run that may, and returns them.
func (q *Queue[K]) Advance() (started []K) {
	for {
		o := q.next()
		if o == nil || q.obstacle(o.waiting[0]) != "" {
			return started
		}
		p := o.waiting[0]
		o.waiting = slices.Delete(o.waiting, 0, 1)
		o.running++
		o.turn = q.tick()
		p.runs = true
		q.running++
		q.memory += p.Memory
		q.alone = p.Alone
		started = append(started, p.key)
	}
}

// next is the owner whose turn it is, nil if none may run a job.
func (q *Queue[K]) next() (first *owner[K]) {
	for _, o := range q.owners {
		if len(o.waiting) > 0 && !q.full(o) && (first == nil || before(o, first)) {
			first = o
		}
	}
	return first
}

// before tells whether the turn of one owner comes before that of another. No two turns are the same.
func before[K comparable](a, b *owner[K]) bool {
	return cmp.Or(
		cmp.Compare(max(0, b.waiting[0].Priority), max(0, a.waiting[0].Priority)),
		cmp.Compare(a.running, b.running),
		cmp.Compare(a.turn, b.turn),
	) < 0
}

// full tells whether an owner may have no further job running.
func (q *Queue[K]) full(o *owner[K]) bool {
	return q.limits.RunningPerOwner > 0 && o.running >= q.limits.RunningPerOwner
}

// obstacle says why a job whose turn it is may not run yet, "" if it may. One that takes more than all memory may run
// alone: it is refused when it begins.
func (q *Queue[K]) obstacle(p *place[K]) string {
	switch {
	case q.running == 0:
		return ""
	case p.Alone:
		return "the coordinator ended while it ran, so that it runs alone"
	case q.alone:
		return "a job runs alone, because the coordinator ended while it ran before"
	case q.limits.Running > 0 && q.running >= q.limits.Running:
		return fmt.Sprintf("the limit is %s at a time", text.Plural(q.limits.Running, "job"))
	case q.limits.Memory > 0 && q.memory+p.Memory > q.limits.Memory:
		return fmt.Sprintf("it takes %s of the coordinator's memory, and jobs that run leave %s of %s",
			text.Bytes(p.Memory), text.Bytes(max(0, q.limits.Memory-q.memory)), text.Bytes(q.limits.Memory))
	}
	return ""
}

// Why says why a job waits, "" if it does not.
func (q *Queue[K]) Why(key K) string {
	p := q.places[key]
	if p == nil || p.runs {
		return ""
	}
	o := q.owners[p.Owner]
	if q.full(o) {
		return fmt.Sprintf("the limit is %s of one owner at a time", text.Plural(q.limits.RunningPerOwner, "job"))
	}
	if why := q.obstacle(p); why != "" {
		return why
	}
	if ahead, _ := slices.BinarySearchFunc(o.waiting, p, order); ahead > 0 {
		return fmt.Sprintf("%s ahead of it", text.Plural(ahead, "job"))
	}
	return "a job of another owner is ahead of it"
}

// Runs tells whether a job runs.
func (q *Queue[K]) Runs(key K) bool { return q.places[key] != nil && q.places[key].runs }

// Waiting is how many jobs wait, in all and of one owner.
func (q *Queue[K]) Waiting(of string) (all, own int) {
	if o := q.owners[of]; o != nil {
		own = len(o.waiting)
	}
	return len(q.places) - q.running, own
}

// Running is how many jobs run.
func (q *Queue[K]) Running() int { return q.running }

// Memory is what the jobs that run have together.
func (q *Queue[K]) Memory() int64 { return q.memory }
