// Package attempts counts the runs of a job that crashed the coordinator, so that no job crashes it forever. A run counts
// from its beginning until it is known not to have crashed. Attempts before one that made progress, by more events or a
// later snapshot, do not count: whatever ended the coordinator, the job gets on.
package attempts

import "slices"

// Max is how many runs of a job may crash the coordinator before the job fails. A few kills in a row from outside are not
// yet a reason to give up a job that was acknowledged.
const Max = 5

// Attempts are the runs of a job that count: those that crashed, and the one in progress. The zero value has none.
type Attempts struct {
	Count  int
	Events uint64  // how many events the job had when the last one began
	Steps  uint64  // how many steps the snapshot had from which one of them resumed
	Terms  []int64 // in which coordinators ran them; earlier versions stored fewer than Count
}

// Spent reports whether the job may not run again.
func (a *Attempts) Spent() bool { return a.Count >= Max }

// LastIsNext reports whether the next run is the last one. It runs alone and without a snapshot, so that no job fails
// because another one, or its snapshot, crashed the coordinator.
func (a *Attempts) LastIsNext() bool { return a.Count == Max-1 }

// Begin counts a run that begins in a term while the job has this many events.
func (a *Attempts) Begin(events uint64, term int64) {
	a.Count, a.Events, a.Terms = a.Count+1, events, append(a.Terms, term)
}

// TakeBack takes the run in progress back, because it does nothing that could crash.
func (a *Attempts) TakeBack() {
	a.Count = max(0, a.Count-1)
	a.Terms = a.Terms[:max(0, len(a.Terms)-1)]
}

// Forget clears all attempts, because the last run did not crash.
func (a *Attempts) Forget() { *a = Attempts{} }

// Reached clears the attempts if the job has more events than when the last one began.
func (a *Attempts) Reached(events uint64) {
	if events > a.Events {
		a.Count, a.Terms = 0, nil
	}
}

// Resumed records that the run in progress resumes from a snapshot with this many steps, and reports whether that changes
// anything: if no attempt has resumed from one as late, those before this run no longer count.
func (a *Attempts) Resumed(steps uint64, term int64) bool {
	if steps <= a.Steps {
		return false
	}
	a.Count, a.Steps, a.Terms = 1, steps, []int64{term}
	return true
}

// Forgive takes back the attempts of terms that ended without a crash, because the lease was lost. A leader that lost its
// lease cannot write that its runs did not crash, but if the same process leads again, it knows.
func (a *Attempts) Forgive(outlived []int64) {
	before := len(a.Terms)
	a.Terms = slices.DeleteFunc(a.Terms, func(term int64) bool { return slices.Contains(outlived, term) })
	a.Count = max(0, a.Count-(before-len(a.Terms)))
}
