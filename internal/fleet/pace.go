package fleet

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
)

// tolerated is how many times longer than the others a worker may take.
const tolerated = 3

// pace compares how long the workers of a job take for the same commands, and finds those that keep the others waiting.
// What counts is the time for a row and thread. Most commands are compared within one operation only, because the next
// one may ask for much more.
type pace struct {
	limit time.Duration // how long a worker may keep the others waiting beyond what is tolerated, all in all

	mu    sync.Mutex
	op    uint64
	asked []*session // the workers that take part in the round
	calls map[*session]*timed
	last  map[string]map[*session]measured
	lag   map[*session]time.Duration // how long they kept others waiting lately
}

// timed is a command that is running.
type timed struct {
	session *session
	kind    string
	steady  bool // takes as long in any operation
	units   float64
	began   time.Time
}

// measured is how long a worker took for a unit.
type measured struct {
	op      uint64
	perUnit float64
}

func newPace(limit time.Duration) *pace {
	return &pace{limit: limit, calls: map[*session]*timed{}, last: map[string]map[*session]measured{}, lag: map[*session]time.Duration{}}
}

// begin begins an operation.
func (p *pace) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.op++
}

// operations is how many operations have begun.
func (p *pace) operations() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.op
}

// ask says which workers take part in a round.
func (p *pace) ask(sessions []*session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = sessions
}

// start begins to time a command about a number of rows. Copies of tiles are compared with each other: what they need
// first, others had before.
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

// finish records how long a command took, if it was done.
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
	p.last[t.kind][t.session] = measured{op: p.op, perUnit: took.Seconds() / t.units}
	if expected, known := p.expected(t); known {
		p.lag[t.session] = max(0, p.lag[t.session]+took-tolerated*expected)
	} else {
		p.lag[t.session] = p.lag[t.session] * 9 / 10 // it was not the last
	}
}

// late tells whether a worker keeps the others waiting for too long.
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

// expected is how long the median of the other workers takes for a command; it is not known while fewer than half of
// them are done. The caller holds p.mu.
func (p *pace) expected(t *timed) (time.Duration, bool) {
	var others []float64
	if t.steady {
		for s, m := range p.last[t.kind] {
			if s != t.session {
				others = append(others, m.perUnit)
			}
		}
	} else {
		for _, s := range p.asked {
			if m, there := p.last[t.kind][s]; s == t.session {
				continue
			} else if there && m.op == p.op {
				others = append(others, m.perUnit)
			} else {
				others = append(others, math.Inf(1))
			}
		}
	}
	if len(others) == 0 {
		return 0, false
	}
	slices.Sort(others)
	median := others[(len(others)-1)/2]
	if math.IsInf(median, 1) {
		return 0, false
	}
	return time.Duration(median * t.units * float64(time.Second)), true
}

// How often one worker may fail within one operation before the job goes on without it.
const (
	maxInternalFailures = 3
	maxNotReady         = 10
	maxNoMemory         = 10
)

// slowWorker is how many times longer than planned a worker may take for a piece of work.
const slowWorker = 30

// Reasons of jobs that no worker can do.
const (
	workerFailed  = "WORKER_FAILED"
	workerStalled = "WORKER_STALLED"
	workerWrong   = "WORKER_WRONG" // its answers cannot be right, or others give another
)

// failureCounts counts the failures of each worker within one operation.
type failureCounts struct{ internal, notReady, noMemory map[*session]int }

func newFailureCounts() *failureCounts {
	return &failureCounts{internal: map[*session]int{}, notReady: map[*session]int{}, noMemory: map[*session]int{}}
}

// putAside goes on without a worker that cannot do the job, because of why: its tiles go to others, and it gets no more.
// The caller holds f.mu.
func (j *job) putAside(s *session, why *fault.Error) {
	j.fleet.log.Warn("the job goes on without a worker", "job", j.jobID, "worker", s.name, "why", why.Message)
	j.fleet.cfg.Observer.PutAside(why.Reason)
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

// doubts tells whether a worker is used only when there is no other. The caller holds f.mu.
func (j *job) doubts(s *session) bool { return j.failing[s] || s.stalled != 0 || s.slow }

// judgeInvalid decides whose fault it is that a worker calls the input wrong. One that says so alone is put aside. When
// a second one gives the same reason it is the job's: then judgeInvalid returns the error that ends the operation. The
// caller holds f.mu.
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

// nobodyLeft is the error of a job that cannot be placed without the workers that were put aside, nil if there are none.
// What a worker said of the input is then believed. The caller holds f.mu.
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

// forgive gives the workers that were put aside another chance, after the operation that nobody could do has failed.
func (j *job) forgive() {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	clear(j.aside)
	j.balancedAt = nil
}

// onlyAside tells whether there are workers and all were put aside. The caller holds f.mu.
func (j *job) onlyAside(sessions []*session) bool {
	for _, s := range sessions {
		if j.refused(s) == nil {
			return false
		}
	}
	return len(sessions) > 0
}
