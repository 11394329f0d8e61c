package fleet

import (
	"errors"
	"fmt"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// This file excludes workers from jobs. A worker that fails, hangs, crashes again and again or gives an impossible answer is put
// aside by the job that notices. A worker whose answers are wrong, for example because of broken memory, is quarantined: no job
// uses it. check.go and verify.go find wrong answers.

// refused returns why a worker may have no tiles of the job, or nil if it may have some. The caller holds f.mu.
func (j *job) refused(s *session) *fault.Error {
	if why := j.aside[s]; why != nil {
		return why
	}
	if s.wrong != nil {
		return s.wrong
	}
	if why := j.crashed(s); why != nil {
		return why
	}
	return j.trust.refused(s)
}

// How often one worker may fail within one operation before the job continues without it.
const (
	maxInternalFailures = 3
	maxNotReady         = 10
	maxNoMemory         = 10
)

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
// f.mu, and no operation uses the tiles.
func (j *job) putAside(s *session, why *fault.Error) {
	j.fleet.log.Warn("the job continues without a worker", "job", j.jobID, "worker", s.name, "why", why.Message)
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
func (j *job) doubts(s *session) bool {
	return j.failing[s] || s.stalled != 0 || s.slow || j.crashes[s.name].all >= doubtfulCrashes
}

// crashes counts how often the process of a worker ended while it had tiles of a job.
type crashes struct {
	all   int
	inRow int // since the last operation of the job that succeeded
}

const (
	// doubtfulCrashes is the number of crashes after which a worker is used only if there is no other.
	doubtfulCrashes = 3
	// maxCrashes is the number of crashes without progress after which a worker gets no tiles of the job. Without this limit, a
	// process that is killed for its memory would be restarted, get the same tiles, and be killed again, forever.
	maxCrashes = 5

	workerCrashed = "WORKER_CRASHED"
	// workerGone is the reason while a job waits for a worker that crashed again and again. It becomes workerCrashed when the job has
	// waited long enough.
	workerGone = "WORKER_GONE"
)

// countCrash records that the process of a worker has ended. An operation may still use the worker's tiles: unplaceLost takes them
// away before the next placement. The caller holds f.mu.
func (j *job) countCrash(s *session) {
	if j.members[s] == nil || s.draining || j.fleet.hasTwin(s) {
		return
	}
	c := j.crashes[s.name]
	c.all, c.inRow = c.all+1, c.inRow+1
	j.crashes[s.name] = c
}

// hasTwin reports whether another worker with the same name was attached while this one was. Crashes are counted by name, and
// would then be those of two processes. The caller holds f.mu.
func (f *Fleet) hasTwin(s *session) bool {
	for _, other := range f.sessions {
		if other != s && other.name == s.name && other.stream != nil && other.attachedAt.Before(s.lastSeen) {
			return true
		}
	}
	return false
}

// forgiveCrashes resets the counts of crashes without progress, after an operation has succeeded. The caller holds f.mu.
func (j *job) forgiveCrashes() {
	for name, c := range j.crashes {
		c.inRow = 0
		j.crashes[name] = c
	}
}

// noneAttached returns what a job without any worker waits for. If its last worker crashed repeatedly, noneAttached returns an
// error, which limits how long the job waits: whatever restarted that worker may have stopped doing so. The caller holds f.mu.
func (j *job) noneAttached() (waiting string, err error) {
	last, worst := "", 0
	for name, c := range j.crashes {
		if c.inRow > worst || c.inRow == worst && name < last {
			last, worst = name, c.inRow
		}
	}
	switch {
	case worst == 0:
		return noneAttached, nil
	case worst < doubtfulCrashes:
		return fmt.Sprintf("%s; the last one, %q, ended while it computed for this job", noneAttached, last), nil
	}
	return "", fault.New(fault.FailedPrecondition, workerGone, "worker %q ended %d times while it computed for this job, and is not back; its log or that of its system may say why. "+
		"If it was killed for its memory, start it with a smaller --memory, or give it more", last, worst).With("worker", last)
}

// crashed returns the error about a worker that crashed too often to get tiles of the job, or nil. The caller holds f.mu.
func (j *job) crashed(s *session) *fault.Error {
	if c := j.crashes[s.name]; c.inRow >= maxCrashes {
		return fault.New(fault.FailedPrecondition, workerCrashed, "worker %q ended %d times while it computed for this job; its log or that of its system may say why. "+
			"If it was killed for its memory, start it with a smaller --memory, or give it more", s.name, c.inRow).With("worker", s.name)
	}
	return nil
}

// crashMessage says how often a worker crashed during a job that is still running. It returns "" if it never did. The caller
// holds f.mu.
func (f *Fleet) crashMessage(s *session) string {
	worst := 0
	for j := range f.jobs {
		worst = max(worst, j.crashes[s.name].all)
	}
	if worst == 0 {
		return ""
	}
	return fmt.Sprintf("ended %s while it computed for a job; if it was killed for its memory, start it with a smaller --memory, or give it more", text.Plural(worst, "time"))
}

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

// ErrDistrusted is returned by an operation after a worker whose earlier answers the run has used turned out to be
// faulty. Those answers may be wrong too, so the run has to start over.
var ErrDistrusted = errors.New("fleet: a worker that took part in the run is not to be trusted")

// Trust is what the executors of one run share about their workers. It is safe for concurrent use.
type Trust struct {
	mu    sync.Mutex
	used  map[*session]bool         // the run has used their answers
	wrong map[*session]*fault.Error // they gave an answer that is impossible
}

// NewTrust returns the Trust of a run that has not used any answers yet.
func NewTrust() *Trust {
	return &Trust{used: map[*session]bool{}, wrong: map[*session]*fault.Error{}}
}

// StartOver forgets whose answers were used, but not who was wrong.
func (t *Trust) StartOver() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.used)
}

func (t *Trust) use(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used[s] = true
}

func (t *Trust) refuse(s *session, why *fault.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrong[s] = why
}

func (t *Trust) refused(s *session) *fault.Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wrong[s]
}

// CheckTrust returns ErrDistrusted if the run has used answers of a worker that turned out to be faulty.
func (f *Fleet) CheckTrust(t *Trust) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	for s := range t.used {
		why := t.wrong[s]
		if why == nil {
			why = s.wrong
		}
		if why != nil {
			return fmt.Errorf("%w: %s", ErrDistrusted, why.Message)
		}
	}
	return nil
}

func (j *job) distrusts() error { return j.fleet.CheckTrust(j.trust) }

// wrongAnswer is the error of a group whose answer is impossible.
type wrongAnswer struct{ error }

// distrust puts a worker aside for the whole run, because it gave an impossible answer. The caller holds f.mu.
func (j *job) distrust(s *session, why *fault.Error) {
	j.fleet.log.Error("a worker gave a wrong answer", "job", j.jobID, "worker", s.name, "id", s.id, "why", why.Message)
	j.trust.refuse(s, why)
	j.putAside(s, why)
}

// quarantine excludes a worker from all jobs until its process restarts, because others that computed the same have a
// different answer. The caller holds f.mu.
func (f *Fleet) quarantine(s *session, why *fault.Error) {
	if s.wrong != nil {
		return
	}
	f.log.Error("worker quarantined: its answers are wrong", "worker", s.name, "id", s.id, "why", why.Message)
	s.wrong = why
	if s.ended {
		f.quarantined[s.id] = why
	}
	f.notifyChanged()
	f.handOver()
}
