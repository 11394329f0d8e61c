package fleet

import (
	"fmt"
	"maps"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet/placing"
	"github.com/cleave-project/cleave/internal/text"
)

// This file decides which workers a job uses. A worker that fails, hangs, crashes again and again or gives an answer
// that cannot be right (package check) is excluded from the job that notices. Other jobs use it.

// Reasons why no worker can do a job.
const (
	workerFailed  = "WORKER_FAILED"
	workerStalled = "WORKER_STALLED"
	workerWrong   = "WORKER_WRONG" // it gave an answer that cannot be right
	workerCrashed = "WORKER_CRASHED"
	// workerGone is the reason while a job waits for a worker that crashed again and again. It becomes workerCrashed
	// when the job has waited long enough.
	workerGone = "WORKER_GONE"
)

const (
	// doubtfulCrashes is the number of crashes after which a worker is used only if there is no other.
	doubtfulCrashes = 3
	// maxCrashes is the number of crashes without progress after which a worker gets no tiles of the job. Without
	// this limit, a process that is killed for its memory would be restarted, get the same tiles, and be killed
	// again, forever.
	maxCrashes = 5
)

// blame is what a job holds against workers. Fleet.mu guards it. A session is removed some time after it has ended
// (forgetEndedLocked). Crashes are counted by the name of the worker, because a process that was restarted is another
// session.
type blame struct {
	evidence map[*session]*evidence
	crashes  map[string]crashes
	wrong    map[*session]*fault.Error // Shared.wrong
}

// evidence is what a job has seen of one worker.
type evidence struct {
	excluded    *fault.Error // why it gets no tiles: it cannot do the job; nil if it gets some
	failed      bool         // it had an internal error
	full        bool         // it reported that it has no memory left
	failedAside bool         // it failed to build tiles in the background; they move to it at once
}

// crashes counts how often the process of a worker ended while it had tiles of a job.
type crashes struct {
	all         int
	consecutive int // since the job's last successful operation
}

func newBlame(wrong map[*session]*fault.Error) blame {
	return blame{evidence: map[*session]*evidence{}, crashes: map[string]crashes{}, wrong: wrong}
}

// ofLocked returns what the job has seen of a worker, to be read or changed.
func (b *blame) ofLocked(s *session) *evidence {
	if b.evidence[s] == nil {
		b.evidence[s] = &evidence{}
	}
	return b.evidence[s]
}

// whyExcludedLocked returns why a worker may have no tiles of the job, or nil if it may have some.
func (b *blame) whyExcludedLocked(s *session) *fault.Error {
	if why := b.ofLocked(s).excluded; why != nil {
		return why
	}
	if why := b.crashedLocked(s); why != nil {
		return why
	}
	return b.wrong[s]
}

// doubtsLocked returns how reluctantly a worker is used; a doubted one is used only if there is no better one.
func (b *blame) doubtsLocked(s *session) placing.Doubt {
	switch {
	case b.ofLocked(s).failed, s.hangsLocked(), b.crashes[s.name].all >= doubtfulCrashes:
		return placing.Unreliable
	case s.slow:
		return placing.Slow
	}
	return placing.NoDoubt
}

// acceptsLocked reports whether a worker may take tiles of the job, and nothing speaks against it.
func (b *blame) acceptsLocked(s *session) bool {
	return s.takesTilesLocked() && b.whyExcludedLocked(s) == nil && b.doubtsLocked(s) == placing.NoDoubt &&
		!b.ofLocked(s).full
}

// forgetEndedLocked removes sessions that have ended.
func (b *blame) forgetEndedLocked() {
	maps.DeleteFunc(b.evidence, func(s *session, _ *evidence) bool { return s.ended })
}

// forgiveExcludedLocked gives the workers that were excluded another chance.
func (b *blame) forgiveExcludedLocked() {
	for _, seen := range b.evidence {
		seen.excluded = nil
	}
}

// forgiveFullLocked gives the workers that had no memory left another chance.
func (b *blame) forgiveFullLocked() {
	for _, seen := range b.evidence {
		seen.full = false
	}
}

// forgiveCrashesLocked resets the counts of crashes without progress, after an operation has succeeded.
func (b *blame) forgiveCrashesLocked() {
	for name, c := range b.crashes {
		b.crashes[name] = crashes{all: c.all}
	}
}

const (
	crashAdvice  = "its log or that of its system may say why. If " + memoryAdvice
	memoryAdvice = "it was killed for its memory, start it with a smaller --memory, or give it more"
)

// crashedLocked returns the error about a worker that crashed too often to get tiles of the job, or nil.
func (b *blame) crashedLocked(s *session) *fault.Error {
	c := b.crashes[s.name]
	if c.consecutive < maxCrashes {
		return nil
	}
	return fault.New(fault.FailedPrecondition, workerCrashed,
		"worker %q ended %d times while it computed for this job; %s", s.name, c.consecutive, crashAdvice).With(
		"worker", s.name)
}

// noneAttachedLocked returns what a job without any worker waits for. If its last worker crashed repeatedly, it also
// returns an error, which limits how long the job waits: whatever restarted that worker may have stopped doing so.
func (b *blame) noneAttachedLocked() (waiting string, err error) {
	last, worst := "", 0
	for name, c := range b.crashes {
		if c.consecutive > worst || c.consecutive == worst && name < last {
			last, worst = name, c.consecutive
		}
	}
	switch {
	case worst == 0:
		return noneAttached, nil
	case worst < doubtfulCrashes:
		return fmt.Sprintf("%s; the last one, %q, ended while it computed for this job", noneAttached, last), nil
	}
	return "", fault.New(fault.FailedPrecondition, workerGone,
		"worker %q ended %d times while it computed for this job, and is not back; %s", last, worst, crashAdvice).With(
		"worker", last)
}

// nobodyLeftLocked returns why the job excludes one of the workers, or nil if it excludes none, and whether it excludes
// all. That is the error of a job that cannot be placed without them. If one of them called the input invalid, that is
// the error.
func (b *blame) nobodyLeftLocked(sessions []*session) (why *fault.Error, all bool) {
	all = len(sessions) > 0
	for _, s := range sessions {
		excluded := b.whyExcludedLocked(s)
		all = all && excluded != nil
		if excluded != nil && (why == nil || why.Kind != fault.InvalidArgument) {
			why = excluded
		}
	}
	return why, all
}

// confirmInvalidLocked returns the error of another worker that was excluded because it called the input invalid for
// the same reason, and is not to blame after all; nil if there is none.
func (b *blame) confirmInvalidLocked(s *session, reason string) error {
	for first, seen := range b.evidence {
		why := seen.excluded
		if first != s && why != nil && why.Kind == fault.InvalidArgument && why.Reason == reason {
			seen.excluded = nil
			return why
		}
	}
	return nil
}

// excludeLocked continues the job without a worker that cannot do it: its tiles move to others, and it gets no more. No
// operation may use the tiles.
func (e *execution) excludeLocked(s *session, why *fault.Error) {
	e.fleet.log.Warn("worker excluded from the job", "job", e.jobID, "worker", s.name, "why", why.Message)
	e.fleet.cfg.Observe.Excluded(why.Reason)
	e.blame.ofLocked(s).excluded = why
	for _, t := range e.placed.tilesOfLocked(s) {
		e.placed.removeLocked(t)
	}
	if e.placed.members[s] != nil {
		e.placed.leaveLocked(s)
	}
	e.fleet.notifyLocked()
}

// excludeWrongLocked excludes a worker from all executors of the job, because it gave an answer that cannot be right.
func (e *execution) excludeWrongLocked(s *session, why *fault.Error) {
	e.fleet.log.Error("a worker gave a wrong answer", "job", e.jobID, "worker", s.name, "id", s.id, "why", why.Message)
	e.blame.wrong[s] = why
	e.excludeLocked(s, why)
}

// forgive gives the workers that were excluded another chance, after an operation failed because no worker could do
// it.
func (e *execution) forgive() {
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	e.blame.forgiveExcludedLocked()
	e.placed.recheckLocked()
}

// countCrashLocked records that the process of a worker has ended. An operation may still use the worker's tiles:
// removeLostLocked takes them away before the next placement.
func (e *execution) countCrashLocked(s *session) {
	if e.placed.members[s] != nil && !s.draining && !e.fleet.state.hasTwinLocked(s) {
		c := e.blame.crashes[s.name]
		e.blame.crashes[s.name] = crashes{all: c.all + 1, consecutive: c.consecutive + 1}
	}
}

// hasTwinLocked reports whether another worker with the same name was attached while this one was. Crashes are counted
// by name, and would then be those of two processes.
func (st *state) hasTwinLocked(s *session) bool {
	for _, other := range st.sessions {
		if other != s && other.name == s.name && other.stream != nil && other.attachedAt.Before(s.lastSeen) {
			return true
		}
	}
	return false
}

// blameMessageLocked says that a worker gave a wrong answer to a job that is still running, or how often it crashed
// during one. It returns "" if it did neither.
func (f *Fleet) blameMessageLocked(s *session) string {
	worst := 0
	for e := range f.state.executions {
		if why := e.blame.wrong[s]; why != nil {
			return why.Message
		}
		worst = max(worst, e.blame.crashes[s.name].all)
	}
	if worst == 0 {
		return ""
	}
	return fmt.Sprintf("ended %s while it computed for a job; if %s", text.Plural(worst, "time"), memoryAdvice)
}
