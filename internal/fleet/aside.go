package fleet

import (
	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
)

// How often one worker may fail within one operation before the job goes on without it.
const (
	maxInternalFailures = 3
	maxNotReady         = 10
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
type failureCounts struct{ internal, notReady map[*session]int }

func newFailureCounts() *failureCounts {
	return &failureCounts{internal: map[*session]int{}, notReady: map[*session]int{}}
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
