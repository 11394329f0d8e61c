package fleet

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/partition"
)

// tolerated is how many times longer than the others a worker may take.
const tolerated = 3

// pace compares how long the workers of a job take for the same commands. It finds those that keep the others waiting,
// and passes what it measures to the rule about the shares of workers. It compares the time per row and thread. Most
// commands are compared within one operation only, because the next operation may ask for much more.
type pace struct {
	limit time.Duration // how long a worker may keep others waiting beyond what is tolerated, in total

	// mu guards the fields below.
	mu    sync.Mutex
	op    uint64
	asked map[*session]bool // workers that take part in the round
	calls map[*session]*timed
	last  map[string]map[*session]measured
	ranks map[string]*ranks          // of what counts in last: steady kinds, and this operation's times of the workers asked
	lag   map[*session]time.Duration // how long they recently kept others waiting

	shares   partition.Shares
	work     map[string]partition.Work // of the operation so far, by id of the session
	complete bool                      // the operation is about all tiles
}

// timed is a running command.
type timed struct {
	session *session
	kind    string
	steady  bool // takes equally long in every operation
	units   float64
	tiles   float64 // that its threads could have worked on
	record  func(id string, w partition.Work)
	began   time.Time
}

// measured is how long a worker took per unit of work.
type measured struct {
	op      uint64
	perUnit float64
	took    time.Duration
}

func newPace(limit time.Duration) *pace {
	return &pace{
		limit: limit, asked: map[*session]bool{}, calls: map[*session]*timed{}, last: map[string]map[*session]measured{},
		ranks: map[string]*ranks{}, lag: map[*session]time.Duration{}, work: map[string]partition.Work{},
	}
}

// begin begins an operation, about all tiles or some of them.
func (p *pace) begin(complete bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.complete && len(p.work) > 1 {
		p.shares.AddOperation(p.work)
	}
	p.work, p.complete = map[string]partition.Work{}, complete
	p.op++
	maps.DeleteFunc(p.ranks, func(_ string, r *ranks) bool { return !r.steady })
}

// addWork records a part of the operation. The caller holds p.mu.
func (p *pace) addWork(id string, w partition.Work) {
	was := p.work[id]
	p.work[id] = partition.Work{Amount: was.Amount + w.Amount, Seconds: was.Seconds + w.Seconds}
}

// weigh returns hosts with the weights that their shares are based on.
func (p *pace) weigh(hosts []partition.Host) []partition.Host {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shares.Weigh(hosts)
}

// due reports whether it is time to rebalance, after a number of operations on one placement.
func (p *pace) due(operations int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shares.Due(operations)
}

// rebalance moves tiles so that shares match the speeds of workers, if that pays and has cost more than the limit.
func (p *pace) rebalance(l *partition.Layout, rule partition.StorageRule, operations int) (partition.Gain, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shares.Rebalance(l, rule, operations, p.limit.Seconds())
}

// operations returns how many operations have begun.
func (p *pace) operations() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.op
}

// ask sets which workers take part in a round.
func (p *pace) ask(sessions []*session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = make(map[*session]bool, len(sessions))
	for _, s := range sessions {
		p.asked[s] = true
	}
	for kind, r := range p.ranks { // of an earlier round of the same operation
		if !r.steady {
			p.ranks[kind] = newRanks(false)
			for s, m := range p.last[kind] {
				p.rank(kind, false, s, m)
			}
		}
	}
}

// rank takes what a worker took into account, if it counts. The caller holds p.mu.
func (p *pace) rank(kind string, steady bool, s *session, m measured) {
	if p.ranks[kind] == nil {
		p.ranks[kind] = newRanks(steady)
	}
	if steady || p.asked[s] && m.op == p.op {
		p.ranks[kind].perUnit.set(s, m.perUnit)
		p.ranks[kind].took.set(s, m.took.Seconds())
	}
}

// start begins to time a command about some tiles with a number of rows. Copies of tiles are compared only with each
// other, because they first need what other tiles already have.
func (p *pace) start(g *group, c *workerv1.Command, tiles, rows int) *timed {
	t := &timed{session: g.session, kind: fmt.Sprintf("%T", c.GetOperation()), units: float64(max(1, rows)) / float64(g.session.threads), began: time.Now()}
	t.tiles = float64((tiles + g.session.threads - 1) / g.session.threads * g.session.threads)
	t.record = p.addWork
	switch c.GetOperation().(type) {
	case *workerv1.Command_Prepare, *workerv1.Command_SetOperands:
		t.steady, t.units, t.record = true, 1, nil
	case *workerv1.Command_Adopt:
		t.record = nil
	case *workerv1.Command_Build:
		t.steady, t.record = true, p.shares.AddBuild
	case *workerv1.Command_Load:
		t.steady, t.record = true, p.shares.AddLoad
	}
	if g.copies != nil {
		t.kind, t.record = "copy "+t.kind, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[t.session] = t
	return t
}

// finish records how long a command took. It records nothing if the command was not done.
func (p *pace) finish(t *timed, done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.calls, t.session)
	if !done {
		return
	}
	took := time.Since(t.began)
	if p.last[t.kind] == nil {
		p.last[t.kind] = map[*session]measured{}
	}
	m := measured{op: p.op, perUnit: took.Seconds() / t.units, took: took}
	p.last[t.kind][t.session] = m
	p.rank(t.kind, t.steady, t.session, m)
	if t.record != nil {
		t.record(t.session.id, partition.Work{Amount: t.tiles, Seconds: took.Seconds()})
	}
	if allowed, known := p.allowed(t); known {
		p.lag[t.session] = max(0, p.lag[t.session]+took-allowed)
	} else {
		p.lag[t.session] = p.lag[t.session] * 9 / 10 // it was not the last
	}
}

// late reports whether a worker keeps the others waiting for too long.
func (p *pace) late(s *session) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.calls[s]
	if t == nil {
		return false
	}
	allowed, known := p.allowed(t)
	over := time.Since(t.began) - allowed
	return known && over > 0 && over+p.lag[s] >= p.limit
}

// forgive forgets how long a worker kept the others waiting.
func (p *pace) forgive(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.lag, s)
}

// allowed returns how long a command may take: tolerated times as long as the median of the other workers takes for as
// much, or for its own part of the operation if that is longer, so that a slow worker with a small share counts as slow
// only if it keeps the others waiting. It returns false while fewer than half of them are done. The caller holds p.mu.
func (p *pace) allowed(t *timed) (time.Duration, bool) {
	r := p.ranks[t.kind]
	if r == nil {
		return 0, false
	}
	others := r.perUnit.others(t.session)
	if !t.steady {
		others = len(p.asked)
		if p.asked[t.session] {
			others--
		}
	}
	middle := (others - 1) / 2
	if others == 0 || middle >= r.perUnit.others(t.session) {
		return 0, false
	}
	seconds := r.perUnit.at(t.session, middle) * t.units
	if !t.steady {
		seconds = max(seconds, r.took.at(t.session, middle))
	}
	return time.Duration(tolerated * seconds * float64(time.Second)), true
}

// ranking holds one value of each of some workers, in ascending order, so that the median of the others is found without
// looking at all of them: thousands of workers ask for it in every operation.
type ranking struct {
	of     map[*session]float64
	sorted []float64
}

func newRanking() *ranking { return &ranking{of: map[*session]float64{}} }

// set sets the value of a worker.
func (r *ranking) set(s *session, value float64) {
	if old, there := r.of[s]; there {
		at, _ := slices.BinarySearch(r.sorted, old)
		r.sorted = slices.Delete(r.sorted, at, at+1)
	}
	at, _ := slices.BinarySearch(r.sorted, value)
	r.sorted = slices.Insert(r.sorted, at, value)
	r.of[s] = value
}

// others returns how many workers other than s have a value.
func (r *ranking) others(s *session) int {
	if _, there := r.of[s]; there {
		return len(r.sorted) - 1
	}
	return len(r.sorted)
}

// at returns the value of rank i, counted from 0, among the workers other than s. There must be more than i of them.
func (r *ranking) at(s *session, i int) float64 {
	if own, there := r.of[s]; there {
		if at, _ := slices.BinarySearch(r.sorted, own); i >= at {
			i++
		}
	}
	return r.sorted[i]
}

// ranks holds the times of workers for one kind of command.
type ranks struct {
	perUnit, took *ranking // seconds
	steady        bool     // times stay from one operation to the next
}

func newRanks(steady bool) *ranks {
	return &ranks{perUnit: newRanking(), took: newRanking(), steady: steady}
}
