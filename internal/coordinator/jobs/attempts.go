package jobs

import (
	"slices"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
)

// Attempts are the runs of a job that may have crashed the coordinator. They are counted so that no job crashes it
// forever. A run counts from its beginning until it is known not to have crashed. Attempts before one that made
// progress, by more events or a later snapshot, do not count: whatever ended the coordinator, the job gets on.
//
// The record of the job has the term of each attempt.

// MaxAttempts is how many runs of a job may crash the coordinator before the job fails. A few kills in a row from
// outside are not yet a reason to give up a job that was acknowledged.
const MaxAttempts = 5

// attemptsSpent reports whether the job may not run again.
func attemptsSpent(r *statev1.JobRecord) bool { return len(r.GetAttemptTerms()) >= MaxAttempts }

// lastAttemptIsNext reports whether the next run is the last one. It runs alone and without a snapshot, so that no job
// fails because another one, or its snapshot, crashed the coordinator.
func lastAttemptIsNext(r *statev1.JobRecord) bool { return len(r.GetAttemptTerms()) == MaxAttempts-1 }

// beginAttempt counts a run that begins in a term while the job has this many events.
func beginAttempt(r *statev1.JobRecord, events uint32, term int64) {
	r.AttemptEvents = uint64(events)
	r.AttemptTerms = append(r.AttemptTerms, term)
}

// takeBackAttempt takes the run in progress back, because it does nothing that could crash.
func takeBackAttempt(r *statev1.JobRecord) {
	r.AttemptTerms = r.AttemptTerms[:max(0, len(r.AttemptTerms)-1)]
}

// forgetAttempts clears all attempts, because the last run did not crash.
func forgetAttempts(r *statev1.JobRecord) {
	r.AttemptTerms = nil
	r.AttemptEvents = 0
	r.AttemptSteps = 0
}

// attemptReached clears the attempts if the job has more events than when the last one began.
func attemptReached(r *statev1.JobRecord, events uint32) {
	if uint64(events) > r.AttemptEvents {
		r.AttemptTerms = nil
	}
}

// attemptResumed records that the run in progress resumes from a snapshot with this many steps, and reports whether
// that changes anything. It does if no attempt resumed from so late a snapshot: then only this run counts.
func attemptResumed(r *statev1.JobRecord, steps uint64, term int64) bool {
	if steps <= r.AttemptSteps {
		return false
	}
	r.AttemptSteps = steps
	r.AttemptTerms = []int64{term}
	return true
}

// countStartOver records that the job starts over: no snapshot of its earlier runs is used, so every later one is
// progress.
func countStartOver(r *statev1.JobRecord) {
	r.StartOvers++
	r.AttemptSteps = 0
}

// forgiveAttempts takes back the attempts of terms that ended without a crash, because the lease was lost. A leader
// that lost its lease cannot write that its runs did not crash, but if the same process leads again, it knows.
func forgiveAttempts(r *statev1.JobRecord, outlived []int64) {
	r.AttemptTerms = slices.DeleteFunc(r.AttemptTerms, func(term int64) bool { return slices.Contains(outlived, term) })
}
