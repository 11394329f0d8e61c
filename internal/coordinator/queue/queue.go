// Package queue decides which waiting job runs next, and who may take how much of the coordinator's memory: jobs,
// uploads, calls and downloads. It knows nothing of how jobs run: callers use their own keys for jobs and report when
// jobs arrive and leave.
//
// A limited number of jobs run at once and share memory, of which a Budget keeps account. Owners take turns: the
// next job belongs to the owner with the fewest running jobs and, in case of a tie, to the one whose last turn was
// longest ago. Among an owner's jobs, the highest priority runs first and, in case of a tie, the oldest. Jobs with a
// priority above normal go ahead of all turns.
//
// While the job whose turn it is waits for memory, no other job may pass it. So every job gets its turn, however
// large it is, provided that running jobs end and jobs of higher priority do not keep arriving forever. A job that
// needs more than all the memory runs when it can have all of it; the run then fails for lack of memory.
package queue

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/text"
)

// Limits are what concurrently running jobs may use together; 0 means no limit. Memory may be nil if jobs need none; a
// share is of one queue only.
type Limits struct {
	Running         int
	RunningPerOwner int
	Memory          *Share
}

// Job contains what determines a job's position in the queue.
type Job struct {
	Owner    string
	Priority int   // 0 is normal
	Memory   int64 // bytes of Limits.Memory that it takes while it runs
	Alone    bool  // must not run beside another job
}

// Queue holds the waiting and the running jobs. It and the budget of its memory have one lock: whether a job may run
// and whether it has its memory is decided in one step. Queue is safe for concurrent use.
type Queue[K comparable] struct {
	limits Limits
	wake   func() // see NewQueue

	// The fields below are guarded by the lock of the budget.
	places  map[K]*place[K]
	owners  map[string]*owner[K] // only those with jobs
	running int
	alone   bool      // the running job must not run beside another
	first   *place[K] // the waiting job that has a reservation; nil if none has
	// clock counts the calls of tick; it orders arrivals and turns.
	clock uint64
}

// place is the place of a job, waiting or running, in the queue.
type place[K comparable] struct {
	Job
	key     K
	arrived uint64
	runs    bool
	memory  *Reservation // nil for jobs that wait behind others
}

// owner holds the jobs of one owner.
type owner[K comparable] struct {
	waiting []*place[K] // in the order in which they run
	running int
	turn    uint64 // tick of its last turn, or of when it began to wait after having no waiting jobs
}

// NewQueue returns an empty queue. It calls wake, if that is not nil, when limits.Memory has become free for the job
// whose turn it is; wake should call Advance. The queue and the memory are not locked then.
func NewQueue[K comparable](limits Limits, wake func()) *Queue[K] {
	if limits.Memory == nil {
		limits.Memory = NewBudget(0).JobsShare()
	}
	return &Queue[K]{limits: limits, wake: wake, places: map[K]*place[K]{}, owners: map[string]*owner[K]{}}
}

// lock locks the queue and its memory for a method that does not change what is reserved. Others use Budget.update.
func (q *Queue[K]) lock() (unlock func()) {
	mu := &q.limits.Memory.budget.mu
	mu.Lock()
	return mu.Unlock
}

// Enter adds a waiting job. Call Advance to let it run.
func (q *Queue[K]) Enter(key K, job Job) {
	defer q.lock()()
	o := q.owners[job.Owner]
	if o == nil {
		o = &owner[K]{}
		q.owners[job.Owner] = o
	}
	if len(o.waiting) == 0 {
		o.turn = q.tickLocked() // behind everyone who is already waiting
	}
	p := &place[K]{Job: job, key: key, arrived: q.tickLocked()}
	q.places[key] = p
	at, _ := slices.BinarySearchFunc(o.waiting, p, order)
	o.waiting = slices.Insert(o.waiting, at, p)
}

// order orders the jobs of one owner by when they run.
func order[K comparable](a, b *place[K]) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.arrived, b.arrived))
}

func (q *Queue[K]) tickLocked() uint64 {
	q.clock++
	return q.clock
}

// Leave removes a job, whether it is waiting or running. It does nothing if the job is not in the queue.
func (q *Queue[K]) Leave(key K) {
	q.limits.Memory.budget.update(func() {
		if p := q.places[key]; p != nil {
			q.removeLocked(p)
		}
	})
}

// removeLocked removes a job and gives its memory back.
func (q *Queue[K]) removeLocked(p *place[K]) {
	delete(q.places, p.key)
	o := q.owners[p.Owner]
	if p.runs {
		o.running--
		q.running--
		q.alone = q.alone && !p.Alone
	} else {
		at, _ := slices.BinarySearchFunc(o.waiting, p, order)
		o.waiting = slices.Delete(o.waiting, at, at+1)
	}
	if o.running == 0 && len(o.waiting) == 0 {
		delete(q.owners, p.Owner)
	}
	if q.first == p {
		q.first = nil
	}
	if p.memory != nil {
		p.memory.withdrawLocked()
	}
}

// Advance starts all jobs that may run now and returns their keys.
func (q *Queue[K]) Advance() (started []K) {
	q.limits.Memory.budget.update(func() { started = q.startLocked() })
	return started
}

// startLocked starts all jobs that may run now and returns their keys.
func (q *Queue[K]) startLocked() (started []K) {
	for {
		o := q.nextLocked()
		if o == nil || !q.readyLocked(o.waiting[0]) {
			return started
		}
		p := o.waiting[0]
		o.waiting = slices.Delete(o.waiting, 0, 1)
		o.running++
		o.turn = q.tickLocked()
		p.runs = true
		q.running++
		q.alone = p.Alone
		q.first = nil
		started = append(started, p.key)
	}
}

// readyLocked reports whether the job whose turn it is may run, and reserves its memory. A job that reserved memory
// before it is no longer first, and gives it back.
func (q *Queue[K]) readyLocked(p *place[K]) bool {
	if q.first != nil && q.first != p {
		q.first.memory.withdrawLocked()
		q.first.memory = nil
		q.first = nil
	}
	if q.obstacleLocked(p) != "" {
		return false
	}
	if p.memory == nil {
		p.memory = q.limits.Memory.reserveLocked(p.Memory, q.wake)
		q.first = p
	}
	return p.memory.held
}

// nextLocked returns the owner whose turn it is, or nil if no owner may run another job.
func (q *Queue[K]) nextLocked() (first *owner[K]) {
	for _, o := range q.owners {
		if len(o.waiting) > 0 && !q.fullLocked(o) && (first == nil || before(o, first)) {
			first = o
		}
	}
	return first
}

// before reports whether the turn of owner a comes before that of b. No two owners have equal turns.
func before[K comparable](a, b *owner[K]) bool {
	return cmp.Or(
		cmp.Compare(max(0, b.waiting[0].Priority), max(0, a.waiting[0].Priority)),
		cmp.Compare(a.running, b.running),
		cmp.Compare(a.turn, b.turn),
	) < 0
}

// fullLocked reports whether an owner has reached the limit of running jobs.
func (q *Queue[K]) fullLocked(o *owner[K]) bool {
	return q.limits.RunningPerOwner > 0 && o.running >= q.limits.RunningPerOwner
}

// obstacleLocked returns why the next job cannot run, apart from memory, or "" if it can.
func (q *Queue[K]) obstacleLocked(p *place[K]) string {
	switch {
	case p.Alone && q.running > 0:
		return "it must run alone, because the coordinator crashed while it ran before"
	case q.alone:
		return "another job must run alone, because the coordinator crashed while it ran before"
	case q.limits.Running > 0 && q.running >= q.limits.Running:
		return fmt.Sprintf("the limit is %s at a time", text.Plural(q.limits.Running, "job"))
	}
	return ""
}

// lackLocked returns what keeps the memory of a job from it, or "" if nothing does.
func (q *Queue[K]) lackLocked(p *place[K]) string {
	memory := q.limits.Memory
	users := "running jobs leave"
	free := memory.freeLocked()
	switch {
	case p.Memory <= free:
		return ""
	case memory.held+free < memory.Max():
		users = "running jobs, and large uploads, calls and downloads, leave"
	}
	return fmt.Sprintf("it needs %s of the coordinator's memory, but %s only %s of %s",
		text.Bytes(p.Memory), users, text.Bytes(free), text.Bytes(memory.Max()))
}

// Why returns why a job is waiting, or "" if it is not.
func (q *Queue[K]) Why(key K) string {
	defer q.lock()()
	p := q.places[key]
	if p == nil || p.runs {
		return ""
	}
	o := q.owners[p.Owner]
	if q.fullLocked(o) {
		return fmt.Sprintf("the limit is %s of one owner at a time", text.Plural(q.limits.RunningPerOwner, "job"))
	}
	if why := cmp.Or(q.obstacleLocked(p), q.lackLocked(p)); why != "" {
		return why
	}
	if ahead, _ := slices.BinarySearchFunc(o.waiting, p, order); ahead > 0 {
		return fmt.Sprintf("%s ahead of it", text.Plural(ahead, "job"))
	}
	return "a job of another owner is ahead of it"
}

// Runs reports whether a job is running.
func (q *Queue[K]) Runs(key K) bool {
	defer q.lock()()
	return q.places[key] != nil && q.places[key].runs
}

// Waiting returns how many jobs are waiting, in total and for one owner.
func (q *Queue[K]) Waiting(of string) (all, own int) {
	defer q.lock()()
	if o := q.owners[of]; o != nil {
		own = len(o.waiting)
	}
	return len(q.places) - q.running, own
}

// Running returns how many jobs are running.
func (q *Queue[K]) Running() int {
	defer q.lock()()
	return q.running
}
