package client

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/dial/backoff"
	"github.com/cleave-project/cleave/internal/dial/candidates"
	"github.com/cleave-project/cleave/internal/wire"
)

// Calls are repeated when the coordinator is UNAVAILABLE. The answer may only have been lost on the way, so that every
// method must bear being called twice: jobs are created with a request id, data sets and tables are identified by their
// content, and it is no error to cancel or delete again.
var repeats = backoff.Policy{First: 100 * time.Millisecond, Max: 2 * time.Second}

const (
	// maxRounds is how often all coordinators are asked. While one of them says that it is a standby there will be a
	// leader soon, and they are asked for electionTimeout; and for reconnectTimeout, if one has answered before.
	maxRounds       = 5
	electionTimeout = 30 * time.Second
)

// leader is a connection to the coordinator that leads, among those that the client knows. It asks one after the other,
// and next the one that a standby names, until one answers.
type leader struct {
	mu         sync.Mutex
	candidates *candidates.Candidates
	answered   atomic.Bool // one has, whatever
	warn       func(format string, args ...any)
}

var _ grpc.ClientConnInterface = (*leader)(nil)

func newLeader(addresses string, options func(address string) ([]grpc.DialOption, error)) (*leader, error) {
	all, err := candidates.New(addresses, options)
	return &leader{candidates: all, warn: func(string, ...any) {}}, err
}

func (l *leader) several() bool { return l.candidates.Count() > 1 }

// choose is the coordinator to ask.
func (l *leader) choose() (string, *grpc.ClientConn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, err := l.candidates.Connection()
	if err != nil { // of an address that a standby told
		l.candidates.Advance()
		return "", nil, status.Error(codes.Unavailable, err.Error())
	}
	return l.candidates.Current, c, nil
}

// failed notes that a coordinator did not answer, and goes to the one that it names or to the next.
func (l *leader) failed(address string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.candidates.Current != address || status.Code(err) != codes.Unavailable {
		return // another call has gone on already, or it did answer
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

// leave goes to another coordinator, and returns the error that says why.
func (l *leader) leave(why string) error {
	err := status.Error(codes.Unavailable, why)
	address, _, chooseErr := l.choose()
	if chooseErr == nil {
		l.failed(address, err)
	}
	return err
}

// repeat makes a call until it gives anything but UNAVAILABLE, or too many attempts have failed.
func (l *leader) repeat(ctx context.Context, call func() error) error {
	began, standby := time.Now(), false
	for pause, tries := backoff.New(repeats), 1; ; tries++ {
		err := call()
		if status.Code(err) != codes.Unavailable || ctx.Err() != nil {
			return err
		}
		_, is := wire.LeaderOf(err)
		standby = standby || is
		if tries < l.candidates.Count() || is && tries <= l.candidates.Count() {
			continue // at once, with another coordinator
		}
		tries = 0
		if !l.patient(err, standby, time.Since(began), pause.Waits()) || pause.Wait(ctx) != nil {
			return err
		}
	}
}

// patient tells whether to try again after so much time and so many rounds. A coordinator that has answered and is gone is
// mostly one that is started again; a client that is in the middle of its work waits for it.
func (l *leader) patient(err error, standby bool, since time.Duration, rounds int) bool {
	switch {
	case standby:
		return since <= electionTimeout
	case !l.answered.Load() || wire.Reason(err) != "":
		return rounds < maxRounds-1
	case rounds == maxRounds-1:
		l.warn("the connection to the coordinator broke; trying to get back")
	}
	return since <= reconnectTimeout
}

// Invoke implements grpc.ClientConnInterface.
func (l *leader) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	return l.repeat(ctx, func() error {
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
	})
}

// NewStream implements grpc.ClientConnInterface. Whoever reads the stream repeats the call if it breaks.
func (l *leader) NewStream(ctx context.Context, description *grpc.StreamDesc, method string, options ...grpc.CallOption) (grpc.ClientStream, error) {
	address, c, err := l.choose()
	if err != nil {
		return nil, err
	}
	stream, err := c.NewStream(ctx, description, method, options...)
	if err != nil {
		l.failed(address, err)
		return nil, err
	}
	l.answered.Store(true) // there is a connection
	return &followedStream{ClientStream: stream, leader: l, address: address}, nil
}

// followedStream tells the leader when it breaks.
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
	return err
}

func (l *leader) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.candidates.Close()
}
