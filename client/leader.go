package client

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/wire"
)

// repeats paces the retries of calls when the coordinator is UNAVAILABLE. Perhaps only the response was lost, so all
// methods are idempotent: jobs are created with a request id, data sets and tables are identified by their content,
// and canceling or deleting twice is not an error.
var repeats = dial.BackoffPolicy{First: 100 * time.Millisecond, Max: 2 * time.Second}

const (
	// maxRounds is how often all coordinators are tried. If one of them is a standby, there will be a leader soon,
	// and they are tried for electionTimeout; if one has answered before, for reconnectTimeout.
	maxRounds       = 5
	electionTimeout = 30 * time.Second
)

// leader is a connection to the coordinator that leads. It tries the known coordinators in turn, and the one that a
// standby names, until one answers. It is safe for concurrent use.
type leader struct {
	mu         sync.Mutex
	candidates *dial.Candidates
	answered   atomic.Bool // a coordinator has responded, even with an error
	warn       func(format string, args ...any)
	explain    func(error) error // converts the errors that calls return
}

var _ grpc.ClientConnInterface = (*leader)(nil)

func newLeader(addresses string, options func(address string) ([]grpc.DialOption, error)) (*leader, error) {
	all, err := dial.NewCandidates(addresses, options)
	return &leader{candidates: all, warn: func(string, ...any) {}, explain: func(err error) error { return err }}, err
}

func (l *leader) several() bool { return l.candidates.Count() > 1 }

// choose returns the coordinator to call.
func (l *leader) choose() (string, *grpc.ClientConn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, err := l.candidates.Connection()
	if err != nil { // a standby named a bad address
		l.candidates.Advance()
		return "", nil, status.Error(codes.Unavailable, err.Error())
	}
	return l.candidates.Current, c, nil
}

// failed moves on from a coordinator that is unreachable or does not lead, to the one that it names or to the next.
func (l *leader) failed(address string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, refused := wire.RetryDelay(err)
	if l.candidates.Current != address || status.Code(err) != codes.Unavailable || refused {
		return // another call has moved on already, or the coordinator answered
	}
	if hint, _ := wire.LeaderOf(err); hint != "" && hint != address {
		l.candidates.Current = hint
	} else if l.candidates.Advance(); l.several() && l.candidates.Current == address {
		l.candidates.Advance()
	}
	if c, err := l.candidates.Connection(); err == nil {
		c.ResetConnectBackoff() // calls are paced here
	}
}

// repeat makes a call until it returns anything but UNAVAILABLE, or too many attempts have failed. It also returns an
// UNAVAILABLE that says when to retry, for Client.repeatRefused.
func (l *leader) repeat(ctx context.Context, call func() error) error {
	var failed time.Time // when the first attempt failed; it may have worked for long before
	standby := false
	for pause, tries := dial.NewBackoff(repeats), 1; ; tries++ {
		err := call()
		if _, refused := wire.RetryDelay(err); refused || status.Code(err) != codes.Unavailable || ctx.Err() != nil {
			return err
		}
		if failed.IsZero() {
			failed = time.Now()
		}
		_, is := wire.LeaderOf(err)
		standby = standby || is
		if tries < l.candidates.Count() || is && tries <= l.candidates.Count() {
			continue // at once, with another coordinator
		}
		tries = 0
		if !l.keepsTrying(err, standby, time.Since(failed), pause.Waits()) || pause.Wait(ctx) != nil {
			return err
		}
	}
}

// keepsTrying reports whether to try again, given the time since the first attempt failed and the number of rounds.
// A coordinator that answered before is probably restarting, so the client waits longer for it.
func (l *leader) keepsTrying(err error, standby bool, since time.Duration, rounds int) bool {
	switch {
	case standby:
		return since <= electionTimeout
	case isHTTP(status.Convert(err).Message()):
		return false // another kind of server; waiting does not help
	case !l.answered.Load() || wire.Reason(err) != "":
		return rounds < maxRounds-1
	case rounds == maxRounds-1:
		l.warn("the connection to the coordinator broke; reconnecting")
	}
	return since <= reconnectTimeout
}

// Invoke implements grpc.ClientConnInterface.
func (l *leader) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	return l.explain(l.repeat(ctx, func() error {
		address, c, err := l.choose()
		if err != nil {
			return err
		}
		err = c.Invoke(ctx, method, args, reply, options...)
		if status.Code(err) != codes.Unavailable || wire.Reason(err) != "" {
			l.answered.Store(true)
		}
		l.failed(address, err)
		return err
	}))
}

// NewStream implements grpc.ClientConnInterface. The reader of the stream repeats the call if it breaks.
func (l *leader) NewStream(ctx context.Context, description *grpc.StreamDesc, method string,
	options ...grpc.CallOption) (grpc.ClientStream, error) {
	address, c, err := l.choose()
	if err != nil {
		return nil, l.explain(err)
	}
	stream, err := c.NewStream(ctx, description, method, options...)
	if err != nil {
		l.failed(address, err)
		return nil, l.explain(err)
	}
	l.answered.Store(true)
	return &followedStream{ClientStream: stream, leader: l, address: address}, nil
}

// followedStream reports its errors to the leader.
type followedStream struct {
	grpc.ClientStream
	leader  *leader
	address string
}

func (s *followedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil {
		s.leader.failed(s.address, err)
	}
	return s.leader.explain(err)
}

// servicesTimeout limits the time to ask what is at an address, after a call has failed.
const servicesTimeout = 2 * time.Second

// services asks the other side for the names of its services.
func (l *leader) services() (names []string, _ error) {
	ctx, cancel := context.WithTimeout(context.Background(), servicesTimeout)
	defer cancel()
	_, c, err := l.choose()
	if err != nil {
		return nil, err
	}
	stream, err := reflectionv1.NewServerReflectionClient(c).ServerReflectionInfo(ctx)
	if err != nil {
		return nil, err
	}
	list := &reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}
	if err := stream.Send(list); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	answer, err := stream.Recv()
	for _, service := range answer.GetListServicesResponse().GetService() {
		names = append(names, service.GetName())
	}
	return names, err
}

func (l *leader) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.candidates.Close()
}

// An overloaded coordinator refuses calls and says when to retry. Pauses grow from there, or from the first pause of
// repeats if that is longer, up to maxRefusalPause.
const (
	maxRefusals     = 6
	maxRefusalPause = 20 * time.Second
)

// bounded returns a delay that a coordinator asks for, which may be anything, within bounds.
func bounded(delay time.Duration) time.Duration { return min(max(0, delay), maxRefusalPause) }

// repeatRefused calls do, and again while the coordinator refuses it temporarily, at most maxRefusals times.
func (c *Client) repeatRefused(ctx context.Context, do func() error) error {
	for refusals := 1; ; refusals++ {
		err := do()
		delay, helps := wire.RetryDelay(err)
		if !helps || refusals > maxRefusals {
			return err
		}
		pause := min(max(bounded(delay), repeats.First)<<(refusals-1), maxRefusalPause)
		pause += rand.N(pause/2 + 1) // so that refused clients do not all come back at once
		c.warn("%s; trying again in %v (%d of %d)", status.Convert(err).Message(), pause.Round(100*time.Millisecond),
			refusals, maxRefusals)
		if dial.Sleep(ctx, pause) != nil {
			return err
		}
	}
}

// repeat is repeatRefused, and also retries when the connection breaks or there is no leader.
func (c *Client) repeat(ctx context.Context, do func() error) error {
	return c.repeatRefused(ctx, func() error { return c.leader.repeat(ctx, do) })
}

// repeatUnary is a grpc.UnaryClientInterceptor that retries calls that are temporarily refused.
func (c *Client) repeatUnary(
	ctx context.Context, method string, request, reply any, connection *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	return c.repeatRefused(ctx, func() error { return invoke(ctx, method, request, reply, connection, options...) })
}
