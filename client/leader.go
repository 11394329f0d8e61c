package client

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/wire"
)

// leader is a connection to the coordinator that leads. It tries the known coordinators in turn, and the one that a
// standby names, until one answers. It is safe for concurrent use.
type leader struct {
	mu         sync.Mutex
	candidates *dial.Candidates
	answered   atomic.Bool // a coordinator has responded, even with an error
	warn       func(format string, args ...any)
	explain    func(context.Context, error) error // converts the errors that calls return
}

var _ grpc.ClientConnInterface = (*leader)(nil)

func newLeader(addresses string, options func(address string) ([]grpc.DialOption, error)) (*leader, error) {
	all, err := dial.NewCandidates(addresses, options)
	return &leader{candidates: all, warn: func(string, ...any) {},
		explain: func(_ context.Context, err error) error { return err }}, err
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

// errSilent is the cause of the end of a context whose stream was silent for too long.
var errSilent = status.Error(codes.Unavailable, "the coordinator is silent")

// failed moves on from a coordinator that is unreachable, silent or does not lead, to the one that it names or to the
// next. ctx is that of the call.
func (l *leader) failed(ctx context.Context, address string, err error) {
	if cause := context.Cause(ctx); cause == errSilent {
		err = cause
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, deferred := wire.RetryDelay(err)
	if l.candidates.Current != address || status.Code(err) != codes.Unavailable || deferred {
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

// Invoke implements grpc.ClientConnInterface. It repeats the call.
func (l *leader) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	if request, is := args.(*cleavev1.CreateJobRequest); is && request.GetRequestId() == "" {
		identified := proto.CloneOf(request)
		identified.RequestId = uuid.NewString() // so that repeating the call creates no second job
		args = identified
	}
	return l.explain(ctx, l.repeat(ctx, l.warn, func(ctx context.Context, _ func()) error {
		address, c, err := l.choose()
		if err != nil {
			return err
		}
		err = c.Invoke(ctx, method, args, reply, options...)
		if status.Code(err) != codes.Unavailable || wire.Reason(err) != "" {
			l.answered.Store(true)
		}
		l.failed(ctx, address, err)
		return err
	}))
}

// NewStream implements grpc.ClientConnInterface. The reader of the stream repeats the call if it breaks.
func (l *leader) NewStream(ctx context.Context, description *grpc.StreamDesc, method string,
	options ...grpc.CallOption) (grpc.ClientStream, error) {
	address, c, err := l.choose()
	if err != nil {
		return nil, l.explain(ctx, err)
	}
	stream, err := c.NewStream(ctx, description, method, options...)
	if err != nil {
		l.failed(ctx, address, err)
		return nil, l.explain(ctx, err)
	}
	l.answered.Store(true)
	return &followedStream{ClientStream: stream, ctx: ctx, leader: l, address: address}, nil
}

// followedStream reports its errors to the leader, and to the attempts of its call that it has delivered something.
type followedStream struct {
	grpc.ClientStream
	ctx     context.Context // that of the caller; the stream's own ends with the stream
	leader  *leader
	address string
}

func (s *followedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil {
		s.leader.failed(s.ctx, s.address, err)
	} else if tries, is := s.ctx.Value(attemptsKey{}).(*attempts); is {
		tries.received.Store(true)
	}
	return s.leader.explain(s.ctx, err)
}

// servicesTimeout limits the time to ask what is at an address, after a call has failed.
const servicesTimeout = 2 * time.Second

// services asks the other side for the names of its services.
func (l *leader) services(ctx context.Context) (names []string, _ error) {
	ctx, cancel := context.WithTimeout(ctx, servicesTimeout)
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
