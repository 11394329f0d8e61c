package fleet

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cleave-project/cleave/internal/fault"
)

// Workers whose answers are wrong, as those of broken memory are: how they are found is in check.go and verify.go.

// ErrDistrusted is the error of an operation after a worker turned out to be wrong whose earlier answers the run has
// used. They may be wrong too, so that the run has to start over.
var ErrDistrusted = errors.New("fleet: a worker that took part in the run is not to be trusted")

// Trust is what the executors of one run share about their workers.
type Trust struct {
	mu    sync.Mutex
	used  map[*session]bool         // the run has used answers of theirs
	wrong map[*session]*fault.Error // they gave an answer that cannot be right
}

// NewTrust is a run that has used no answer yet.
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

// CheckTrust gives ErrDistrusted if the run has used answers of a worker that turned out to be wrong.
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

// wrongAnswer is the error of a group whose answer cannot be right.
type wrongAnswer struct{ error }

// refused is why a worker gets no tiles of the job, nil if it does. The caller holds f.mu.
func (j *job) refused(s *session) *fault.Error {
	if why := j.aside[s]; why != nil {
		return why
	}
	if s.wrong != nil {
		return s.wrong
	}
	return j.trust.refused(s)
}

// distrust puts a worker aside for the whole run, because it gave an answer that cannot be right. The caller holds f.mu.
func (j *job) distrust(s *session, why *fault.Error) {
	j.fleet.log.Error("a worker gave a wrong answer", "job", j.jobID, "worker", s.name, "id", s.id, "why", why.Message)
	j.trust.refuse(s, why)
	j.putAside(s, why)
}

// quarantine gives a worker no tiles of any job until its process is started again, because others that computed the same
// have another answer. The caller holds f.mu.
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
