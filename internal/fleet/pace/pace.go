// Package pace compares how long the workers of a job take for the same commands. It finds the workers that keep the
// others waiting, and passes what it measures to the rule about the shares of workers. It sends nothing and knows no
// clock: the fleet says what happens, and when.
//
// Times are compared per row and thread. Most commands are compared within one operation only, because the next
// operation may ask for much more.
package pace

import (
	"maps"
	"sync"
	"time"

	"github.com/cleave-project/cleave/internal/partition"
)

// tolerated is how many times longer than the others a worker may take.
const tolerated = 3

// Class says how the times of a command are compared and used.
type Class int

// The classes of commands. All but Query take equally long in every operation.
const (
	Query Class = iota // part of what an operation asks; its work counts toward the operation
	Setup              // what a worker needs before it builds tiles; it does not depend on the number of rows
	Build              // tiles that a worker builds
	Load               // labels that tiles compute their sums from
)

// Command is a command to a worker about some tiles.
type Command struct {
	Worker  string // id of the worker
	Threads int    // of the worker
	Kind    string // commands of different kinds are not compared
	Class   Class
	Tiles   int
	Rows    int
	// Copy says that the tiles are copies. They are compared only with other copies, because they first need what
	// other tiles already have.
	Copy bool
}

// steady reports whether a command takes equally long in every operation.
func (c *Command) steady() bool { return c.Class != Query }

// kind returns the kind of commands that this one is compared with.
func (c *Command) kind() string {
	if c.Copy {
		return "copy " + c.Kind
	}
	return c.Kind
}

// units returns the amount of work of one thread.
func (c *Command) units() float64 {
	if c.Class == Setup {
		return 1
	}
	return float64(max(1, c.Rows)) / float64(c.Threads)
}

// work returns what the command adds to the shares of its worker: the tiles that its threads could have worked on.
func (c *Command) work(took time.Duration) partition.Work {
	return partition.Work{Amount: float64((c.Tiles + c.Threads - 1) / c.Threads * c.Threads), Seconds: took.Seconds()}
}

// Running is a command that a worker is running.
type Running struct {
	Command
	began time.Time
}

// Meter measures the commands of one job. It is safe for concurrent use.
type Meter struct {
	limit time.Duration // how long a worker may keep others waiting beyond what is tolerated, in total

	mu      sync.Mutex          // guards the fields below
	op      uint64              // number of operations so far
	asked   map[string]bool     // workers that take part in the round
	running map[string]*Running // by worker
	// by kind: the last time of each worker, of this operation unless the kind is steady
	ranks map[string]*ranks
	lag   map[string]time.Duration // by worker: how long it recently kept others waiting

	shares   partition.Shares
	work     map[string]partition.Work // by worker: of the operation so far
	complete bool                      // the operation is about all tiles
}

// New returns a Meter that has measured nothing yet. limit is how long, in total, a worker may keep others waiting
// beyond what is tolerated.
func New(limit time.Duration) *Meter {
	return &Meter{
		limit: limit, running: map[string]*Running{}, ranks: map[string]*ranks{},
		lag: map[string]time.Duration{}, work: map[string]partition.Work{},
	}
}

// Begin begins an operation, about all tiles or some of them.
func (m *Meter) Begin(complete bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.complete && len(m.work) > 1 {
		m.shares.AddOperation(m.work)
	}
	m.work, m.complete = map[string]partition.Work{}, complete
	m.op++
	maps.DeleteFunc(m.ranks, func(_ string, r *ranks) bool { return !r.steady })
}

// Operations returns how many operations have begun.
func (m *Meter) Operations() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.op
}

// Ask sets which workers take part in a round of the operation.
func (m *Meter) Ask(workers []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = make(map[string]bool, len(workers))
	for _, worker := range workers {
		m.asked[worker] = true
	}
}

// Weigh returns hosts with the weights that their shares are based on.
func (m *Meter) Weigh(hosts []partition.Host) []partition.Host {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shares.Weigh(hosts)
}

// Rebalance moves tiles so that shares match the speeds of workers, if that pays and has cost more than the limit.
func (m *Meter) Rebalance(l *partition.Layout, rule partition.StorageRule, operations int) (partition.Gain, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shares.Rebalance(l, rule, operations, m.limit.Seconds())
}

// Start records that a worker begins a command. It runs one command of a job at a time, so an earlier one is over.
func (m *Meter) Start(c Command, now time.Time) *Running {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &Running{c, now}
	m.running[c.Worker] = r
	return r
}

// Finish records that a command has ended. Its time counts only if it was done. Finish does nothing if the worker was
// forgotten, or if the command was given up and the next one began before its end was known.
func (m *Meter) Finish(r *Running, done bool, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running[r.Worker] != r {
		return
	}
	delete(m.running, r.Worker)
	if !done {
		return
	}
	kind := r.kind()
	took := now.Sub(r.began)
	if m.ranks[kind] == nil {
		m.ranks[kind] = &ranks{steady: r.steady()}
	}
	m.ranks[kind].perUnit.set(r.Worker, took.Seconds()/r.units())
	m.ranks[kind].took.set(r.Worker, took.Seconds())
	m.addWorkLocked(r, took)
	if allowed, known := m.allowedLocked(r); known {
		m.lag[r.Worker] = max(0, m.lag[r.Worker]+took-allowed)
	} else {
		m.lag[r.Worker] = m.lag[r.Worker] * 9 / 10 // it was not the last
	}
}

// addWorkLocked adds what a worker has done to what its share is based on.
func (m *Meter) addWorkLocked(r *Running, took time.Duration) {
	switch work := r.work(took); {
	case r.Copy:
	case r.Class == Query:
		was := m.work[r.Worker]
		m.work[r.Worker] = partition.Work{Amount: was.Amount + work.Amount, Seconds: was.Seconds + work.Seconds}
	case r.Class == Build:
		m.shares.AddBuild(r.Worker, work)
	case r.Class == Load:
		m.shares.AddLoad(r.Worker, work)
	}
}

// Late reports whether a worker keeps the others waiting for too long.
func (m *Meter) Late(worker string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.running[worker]
	if r == nil {
		return false
	}
	allowed, known := m.allowedLocked(r)
	over := now.Sub(r.began) - allowed
	return known && over > 0 && over+m.lag[worker] >= m.limit
}

// Forgive forgets how long a worker kept the others waiting.
func (m *Meter) Forgive(worker string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.lag, worker)
}

// Forget forgets a worker that is gone, so that others are compared with those that are there.
func (m *Meter) Forget(worker string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.lag, worker)
	delete(m.work, worker)
	delete(m.asked, worker)
	delete(m.running, worker)
	for _, r := range m.ranks {
		r.perUnit.remove(worker)
		r.took.remove(worker)
	}
	m.shares.Forget(worker)
}

// allowedLocked returns how long a command may take: tolerated times as long as the median of the other workers takes
// for as much, or for its own part of the operation if that is longer, so that a slow worker with a small share counts
// as slow only if it keeps the others waiting. It returns false while fewer than half of them are done.
func (m *Meter) allowedLocked(c *Running) (time.Duration, bool) {
	r := m.ranks[c.kind()]
	if r == nil {
		return 0, false
	}
	done := r.perUnit.others(c.Worker)
	others := done
	if !c.steady() { // those asked in this round, or more if more have answered in an earlier one
		asked := len(m.asked)
		if m.asked[c.Worker] {
			asked--
		}
		others = max(asked, done)
	}
	middle := (others - 1) / 2
	if middle >= done {
		return 0, false
	}
	seconds := r.perUnit.at(c.Worker, middle) * c.units()
	if !c.steady() {
		seconds = max(seconds, r.took.at(c.Worker, middle))
	}
	return time.Duration(tolerated * seconds * float64(time.Second)), true
}
