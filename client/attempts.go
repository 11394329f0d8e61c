package client

import (
	"context"
	"math/rand/v2"
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

	// An overloaded coordinator refuses calls and says when to retry. Pauses grow from there, or from the first pause
	// of repeats if that is longer, up to maxRefusalPause.
	maxRefusals     = 6
	maxRefusalPause = 20 * time.Second
)

// attempts decides whether and when a call is made again. Nothing else does, neither for calls with one response nor
// for streams. Every method may be repeated, even if only its response was lost: jobs are created with a request id,
// data sets and tables are identified by their content, and canceling or deleting twice is not an error.
// docs/CLIENT-CONTRACT.md has the rules, for the clients in other languages, too.
type attempts struct {
	leader   *leader
	failures int       // of all kinds
	since    time.Time // when the first of them came; the call may have worked for long before
	tries    int       // coordinators that were UNAVAILABLE in this round
	rounds   int       // how often all of them were
	refusals int       // failures that said when to retry
	standby  bool      // a coordinator waits to lead
	heard    bool      // the call is a stream that has delivered something
}

func (l *leader) attempts() *attempts { return &attempts{leader: l} }

// reached begins anew, because a stream has delivered something.
func (a *attempts) reached() { *a = attempts{leader: a.leader, heard: true} }

// next returns how long to wait before the next attempt, given the error of the last one. again is false if there
// should be no other.
func (a *attempts) next(err error) (pause time.Duration, again bool) {
	a.failures++
	if a.failures == 1 {
		a.since = time.Now()
	}
	delay, refused := wire.RetryDelay(err)
	switch {
	case refused:
		a.refusals++
		return refusalPause(delay, a.refusals), a.refusals <= maxRefusals
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

// refusalPause returns how long to wait after a number of refusals, of which the last asks for a delay. It is partly
// random, so that refused clients do not all come back at once.
func refusalPause(delay time.Duration, refusals int) time.Duration {
	pause := min(max(bounded(delay), repeats.First)<<(refusals-1), maxRefusalPause)
	return pause + rand.N(pause/2+1)
}

// bounded returns a delay that a coordinator asks for, which may be anything, within bounds.
func bounded(delay time.Duration) time.Duration { return min(max(0, delay), maxRefusalPause) }

// onceKey marks a context whose calls are made once, because whoever makes them repeats them. Its value is the attempts
// of whoever does.
type onceKey struct{}

func (a *attempts) calledOnce(ctx context.Context) context.Context {
	return context.WithValue(ctx, onceKey{}, a)
}

// progressed says that what is repeated with the context of one attempt will continue after what it has received, so
// that another failure is the first one again.
func progressed(ctx context.Context) {
	if a, repeated := ctx.Value(onceKey{}).(*attempts); repeated {
		a.reached()
	}
}

// repeat makes a call until it succeeds or should not be made again. The call gets a context whose calls are not
// repeated by themselves.
func (l *leader) repeat(ctx context.Context, call func(context.Context) error) error {
	if ctx.Value(onceKey{}) != nil {
		return call(ctx)
	}
	tries := l.attempts()
	for {
		err := call(tries.calledOnce(ctx))
		if err == nil || ctx.Err() != nil {
			return err
		}
		pause, again := tries.next(err)
		if !again {
			return err
		}
		tries.warn(err, pause)
		if dial.Sleep(ctx, pause) != nil {
			return err
		}
	}
}

// warn tells the user why a call takes longer: at every refusal, and once if the coordinator is away for a while.
func (a *attempts) warn(err error, pause time.Duration) {
	if _, refused := wire.RetryDelay(err); refused {
		a.leader.warn("%s; trying again in %v (%d of %d)", status.Convert(err).Message(),
			pause.Round(100*time.Millisecond), a.refusals, maxRefusals)
		return
	}
	if a.rounds == maxRounds && a.tries == 0 && !a.standby {
		a.leader.warn("the connection to the coordinator broke; reconnecting")
	}
}
