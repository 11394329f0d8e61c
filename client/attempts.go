package client

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/wire"
)

// repeats paces the attempts when the coordinator is UNAVAILABLE.
var repeats = dial.BackoffPolicy{First: 100 * time.Millisecond, Max: 2 * time.Second}

const (
	// All coordinators are tried this often or this long.
	maxRounds        = 5                // if none has answered
	electionTimeout  = 30 * time.Second // if one is a standby: there will be a leader soon
	reconnectTimeout = time.Minute      // if one has answered before: it is probably restarting

	// An overloaded coordinator defers calls: it refuses them and says when to retry. Pauses grow from there, or from
	// the first pause of repeats if that is longer, up to maxDeferralPause.
	maxDeferrals     = 6
	maxDeferralPause = 20 * time.Second

	maxRestarts = 6 // how often a download begins again that delivers something each time, and cannot continue
)

// attempts decides whether and when a call is made again. Nothing else does, neither for calls with one response nor
// for streams. Every method may be repeated, even if only its response was lost: jobs are created with a request id,
// data sets and tables are identified by their content, and canceling or deleting twice is not an error.
// docs/CLIENT-CONTRACT.md has the rules, for the clients in other languages, too.
type attempts struct {
	leader    *leader
	warn      func(format string, args ...any)
	failures  int       // of all kinds
	since     time.Time // when the first of them came; the call may have worked for long before
	tries     int       // coordinators that were UNAVAILABLE in this round
	rounds    int       // how often all of them were
	deferrals int       // failures that said when to retry
	standby   bool      // a coordinator waits to lead
	heard     bool      // the call has delivered something
	restarts  int       // attempts that delivered something, none of which the next one continued

	received atomic.Bool // a stream of this attempt has delivered something that the next attempt will not continue
}

// progressed begins anew, because the next attempt will continue after what this one has delivered.
func (a *attempts) progressed() { a.beginAnew(0) }

func (a *attempts) beginAnew(restarts int) {
	*a = attempts{leader: a.leader, warn: a.warn, heard: true, restarts: restarts}
}

// next returns how long to wait before the next attempt, given the error of the last one. again is false if there
// should be no other. What happened to the call decides, not the explanation that callers get.
func (a *attempts) next(err error) (pause time.Duration, again bool) {
	err = unexplained(err)
	if a.received.Load() {
		if a.restarts == maxRestarts {
			return 0, false
		}
		a.beginAnew(a.restarts + 1)
	}
	a.failures++
	if a.failures == 1 {
		a.since = time.Now()
	}
	delay, deferred := wire.RetryDelay(err)
	switch {
	case deferred:
		a.deferrals++
		return deferralPause(delay, a.deferrals), a.deferrals <= maxDeferrals
	case status.Code(err) != codes.Unavailable:
		return 0, false
	}
	_, standby := wire.LeaderOf(err)
	a.standby = a.standby || standby
	a.tries++
	known := a.leader.candidates.Count()
	if a.tries < known || standby && a.tries <= known {
		return 0, true // at once, with another coordinator
	}
	a.tries = 0
	a.rounds++
	return repeats.Delay(a.rounds-1, rand.Float64()), a.isPatient(err)
}

// isPatient reports whether to try all coordinators again.
func (a *attempts) isPatient(err error) bool {
	since := time.Since(a.since)
	switch {
	case a.heard:
		return since <= reconnectTimeout
	case a.standby:
		return since <= electionTimeout
	case isHTTP(status.Convert(err).Message()):
		return false // another kind of server; waiting does not help
	case !a.leader.answered.Load() || wire.Reason(err) != "":
		return a.rounds < maxRounds
	}
	return since <= reconnectTimeout
}

// deferralPause returns how long to wait after a number of deferrals, of which the last asks for a delay. It is partly
// random, so that deferred clients do not all come back at once.
func deferralPause(delay time.Duration, deferrals int) time.Duration {
	pause := min(max(bounded(delay), repeats.First)<<(deferrals-1), maxDeferralPause)
	return pause + rand.N(pause/2+1)
}

// bounded returns a delay that a coordinator asks for, which may be anything, within bounds.
func bounded(delay time.Duration) time.Duration { return min(max(0, delay), maxDeferralPause) }

// attemptsKey is the key of the attempts that repeat the calls of a context. Such calls are made once.
type attemptsKey struct{}

// repeat makes a call until it succeeds, should not be made again, or ctx ends, also during a pause. It passes the call
// a context in which calls are not repeated a second time, and a function that says that this attempt made progress, so
// that the next one continues after it.
func (l *leader) repeat(ctx context.Context, warn func(format string, args ...any),
	call func(ctx context.Context, progressed func()) error) error {
	if ctx.Value(attemptsKey{}) != nil {
		return call(ctx, func() {})
	}
	tries := &attempts{leader: l, warn: warn}
	once := context.WithValue(ctx, attemptsKey{}, tries)
	for {
		err := call(once, tries.progressed)
		if err == nil {
			return nil
		}
		pause, again := tries.next(err)
		if !again {
			return err
		}
		if ctx.Err() == nil {
			tries.tell(err, pause)
			_ = dial.Sleep(ctx, pause)
		}
		if ended := ctx.Err(); ended != nil {
			return contextEnded(ended, l.explain(ctx, err))
		}
	}
}

// reasonSlowReader is the reason of the error by which a coordinator ends a stream that is not read.
const reasonSlowReader = "SLOW_READER"

// tell says why a call takes longer: at every deferral, when a stream breaks that has delivered something, and once if
// the coordinator is away for a while.
func (a *attempts) tell(err error, pause time.Duration) {
	err = unexplained(err)
	_, deferred := wire.RetryDelay(err)
	away := a.rounds == maxRounds && a.tries == 0 && !a.standby
	switch {
	case a.heard && wire.Reason(err) == reasonSlowReader:
		a.warn("the coordinator ended the stream because it was not read for a while; continuing where it ended")
	case deferred:
		a.warn("%s; trying again in %v (%d of %d)", status.Convert(err).Message(), pause.Round(100*time.Millisecond),
			a.deferrals, maxDeferrals)
	case a.heard && a.failures == 1, !a.heard && away:
		a.warn("the connection to the coordinator broke; reconnecting")
	}
}
