package fleet

import (
	"fmt"
	"maps"
	"sync"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
)

// tolerated is how many times longer than the others a worker may take.
const tolerated = 3

// pace compares how long the workers of a job take for the same commands, and finds those that keep the others
// waiting. It compares the time per row and thread. Most commands are compared within one operation only, because the
// next operation may ask for much more.
type pace struct {
	limit time.Duration // how long a worker may keep others waiting beyond what is tolerated, in total

	// mu guards the fields below.
	mu    sync.Mutex
	op    uint64
	asked map[*session]bool // workers that take part in the round
	calls map[*session]*timed
	last  map[string]map[*session]measured
	ranks map[string]*ranking        // of what counts in last: steady kinds, and this operation's times of the workers asked
	lag   map[*session]time.Duration // how long they recently kept others waiting
}

// timed is a running command.
type timed struct {
	session *session
	kind    string
	steady  bool // takes equally long in every operation
	units   float64
	began   time.Time
}

// measured is how long a worker took per unit of work.
type measured struct {
	op      uint64
	perUnit float64
}

func newPace(limit time.Duration) *pace {
	return &pace{
		limit: limit, asked: map[*session]bool{}, calls: map[*session]*timed{}, last: map[string]map[*session]measured{},
		ranks: map[string]*ranking{}, lag: map[*session]time.Duration{},
	}
}

// begin begins an operation.
func (p *pace) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.op++
	maps.DeleteFunc(p.ranks, func(_ string, r *ranking) bool { return !r.steady })
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
			p.ranks[kind] = newRanking(false)
			for s, m := range p.last[kind] {
				p.rank(kind, false, s, m)
			}
		}
	}
}

// rank takes what a worker took into account, if it counts. The caller holds p.mu.
func (p *pace) rank(kind string, steady bool, s *session, m measured) {
	if p.ranks[kind] == nil {
		p.ranks[kind] = newRanking(steady)
	}
	if steady || p.asked[s] && m.op == p.op {
		p.ranks[kind].set(s, m.perUnit)
	}
}

// start begins to time a command about a number of rows. Copies of tiles are compared only with each other, because
// they first need what other tiles already have.
func (p *pace) start(g *group, c *workerv1.Command, rows int) *timed {
	t := &timed{session: g.session, kind: fmt.Sprintf("%T", c.GetOperation()), units: float64(max(1, rows)) / float64(g.session.threads), began: time.Now()}
	switch c.GetOperation().(type) {
	case *workerv1.Command_Prepare, *workerv1.Command_SetOperands:
		t.steady, t.units = true, 1
	case *workerv1.Command_Build, *workerv1.Command_Load:
		t.steady = true
	}
	if g.copies != nil {
		t.kind = "copy " + t.kind
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
	m := measured{op: p.op, perUnit: took.Seconds() / t.units}
	p.last[t.kind][t.session] = m
	p.rank(t.kind, t.steady, t.session, m)
	if expected, known := p.expected(t); known {
		p.lag[t.session] = max(0, p.lag[t.session]+took-tolerated*expected)
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
	expected, known := p.expected(t)
	over := time.Since(t.began) - tolerated*expected
	return known && over > 0 && over+p.lag[s] >= p.limit
}

// forgive forgets how long a worker kept the others waiting.
func (p *pace) forgive(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.lag, s)
}

// expected returns how long a command should take, judging by the median of the other workers. It returns false while
// fewer than half of them are done. The caller holds p.mu.
func (p *pace) expected(t *timed) (time.Duration, bool) {
	r := p.ranks[t.kind]
	others := r.others(t.session)
	if !t.steady {
		others = len(p.asked)
		if p.asked[t.session] {
			others--
		}
	}
	middle := (others - 1) / 2
	if others == 0 || middle >= r.others(t.session) {
		return 0, false
	}
	median := r.at(t.session, middle)
	return time.Duration(median * t.units * float64(time.Second)), true
}

// How often one worker may fail within one operation before the job continues without it.
const (
	maxInternalFailures = 3
	maxNotReady         = 10
	maxNoMemory         = 10
)

// slowWorker is how many times longer than planned a worker may take for a piece of work.
const slowWorker = 30

// Reasons why no worker can do a job.
const (
	workerFailed  = "WORKER_FAILED"
	workerStalled = "WORKER_STALLED"
	workerWrong   = "WORKER_WRONG" // its answers are impossible, or differ from those of others
)

// failureCounts counts the failures of each worker within one operation.
type failureCounts struct{ internal, notReady, noMemory map[*session]int }

func newFailureCounts() *failureCounts {
	return &failureCounts{internal: map[*session]int{}, notReady: map[*session]int{}, noMemory: map[*session]int{}}
}

// putAside excludes a worker that cannot do the job: its tiles move to others, and it gets no more. The caller holds
// f.mu.
func (j *job) putAside(s *session, why *fault.Error) {
	j.fleet.log.Warn("the job goes on without a worker", "job", j.jobID, "worker", s.name, "why", why.Message)
	j.fleet.cfg.Observe.PutAside(why.Reason)
	j.aside[s] = why
	for t := range j.tiles {
		if j.tiles[t].worker == s {
			j.unplace(t)
		}
	}
	if j.members[s] != nil {
		j.endMembership(s)
	}
	j.fleet.notifyChanged()
}

// doubts reports whether a worker is used only if there is no other. The caller holds f.mu.
func (j *job) doubts(s *session) bool { return j.failing[s] || s.stalled != 0 || s.slow }

// judgeInvalid decides who is to blame if a worker calls the input invalid. If it is the only one, it is put aside
// and judgeInvalid returns nil. If a second worker gives the same reason, the job is to blame, and judgeInvalid
// returns the error that ends the operation. The caller holds f.mu.
func (j *job) judgeInvalid(s *session, f *workerv1.Failure) error {
	for first, why := range j.aside {
		if first != s && why.Kind == fault.InvalidArgument && why.Reason == f.GetReason() {
			delete(j.aside, first)
			return why
		}
	}
	j.putAside(s, fault.New(fault.InvalidArgument, f.GetReason(), "%s", f.GetMessage()))
	return nil
}

// nobodyLeft returns the error of a job that cannot be placed without the workers that were put aside, or nil if none
// were. If one of them called the input invalid, it is believed now. The caller holds f.mu.
func (j *job) nobodyLeft(sessions []*session) error {
	var last *fault.Error
	for _, s := range sessions {
		if why := j.refused(s); why != nil && why.Kind == fault.InvalidArgument {
			return why
		} else if why != nil {
			last = why
		}
	}
	if last == nil {
		return nil
	}
	return last
}

// forgive gives the workers that were put aside another chance. It is called after an operation failed because no
// worker could do it.
func (j *job) forgive() {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	clear(j.aside)
	j.balancedAt = nil
}

// onlyAside reports whether there are workers and all of them were put aside. The caller holds f.mu.
func (j *job) onlyAside(sessions []*session) bool {
	for _, s := range sessions {
		if j.refused(s) == nil {
			return false
		}
	}
	return len(sessions) > 0
}
