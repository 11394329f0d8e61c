package fleet

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cleave-project/cleave/internal/fault"
)

// This file handles workers that give wrong answers, for example because of broken memory. They are detected in
// check.go and verify.go.

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

// refused returns why a worker gets no tiles of the job, or nil if it may have some. The caller holds f.mu.
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
