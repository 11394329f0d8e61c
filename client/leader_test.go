package client

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/wire"
)

// fakeCoordinator answers every call with the error of a function, or an empty message; it counts them.
func fakeCoordinator(t *testing.T, answer func() error) (address string, calls *atomic.Int32) {
	t.Helper()
	calls = &atomic.Int32{}
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if err := stream.RecvMsg(&emptypb.Empty{}); err != nil {
			return err
		}
		calls.Add(1)
		if err := answer(); err != nil {
			return err
		}
		return stream.SendMsg(&emptypb.Empty{})
	}))
	return serveGRPC(t, server), calls
}

// Calls go to the coordinator that a standby names, also to one that the client was not given, and stay there.
func TestCallsFollowTheLeader(t *testing.T) {
	leader, led := fakeCoordinator(t, func() error { return nil })
	standby, refused := fakeCoordinator(t, func() error {
		return wire.Status(fault.New(fault.Unavailable, wire.NotLeader, "a standby").With(wire.LeaderKey, leader))
	})
	gone, _ := fakeCoordinator(t, func() error { return nil })
	for name, given := range map[string]string{"the standby alone": standby,
		"a dead one first": "127.0.0.1:1," + standby, "several": standby + "," + gone} {
		led.Store(0)
		refused.Store(0)
		c, err := Dial(given)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := c.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: "job"}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if led.Load() != 3 || refused.Load() != 1 {
			t.Errorf("%s: %d calls to the leader and %d to the standby", name, led.Load(), refused.Load())
		}
		c.Close()
	}
}

// A client that has had an answer waits for a coordinator that is gone, which may be one that is started again;
// another one soon gives up.
func TestCallsWaitForACoordinatorThatAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, answered := range []bool{false, true} {
			l, err := newLeader("127.0.0.1:1", func(address string) ([]grpc.DialOption, error) {
				return credentials.Dial{}.Options(nil, address)
			})
			if err != nil {
				t.Fatal(err)
			}
			l.answered.Store(answered)
			warnings := 0
			l.warn = func(string, ...any) { warnings++ }
			for away, back := range map[time.Duration]bool{500 * time.Millisecond: true, 20 * time.Second: answered,
				2 * reconnectTimeout: false} {
				began := time.Now()
				err := l.repeat(t.Context(), l.warn, func(context.Context, func()) error {
					if time.Since(began) < away {
						return status.Error(codes.Unavailable, "connection refused")
					}
					return nil
				})
				if (err == nil) != back {
					t.Errorf("answered %v, away for %v: %v", answered, away, err)
				}
			}
			if want := map[bool]int{true: 2}[answered]; warnings != want {
				t.Errorf("answered %v: %d warnings, want %d", answered, warnings, want)
			}
			began := time.Now()
			refused := wire.Status(fault.New(fault.Unavailable, "BLOBS_UNAVAILABLE", "no disk"))
			err = l.repeat(t.Context(), l.warn, func(context.Context, func()) error { return refused })
			if err == nil || time.Since(began) > 10*time.Second {
				t.Errorf("answered %v: what a coordinator cannot do is %v after %v", answered, err, time.Since(began))
			}
			l.close()
		}
	})
}

// A context that ends while a call waits for its next attempt ends the call with its own error, which tells what was
// wrong with the last attempt.
func TestACallEndsWithItsContextDuringAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := refusedClient(t, func() error { return status.Error(codes.Unavailable, "connection refused") })
		c.leader.answered.Store(true)
		for want, end := range map[error]func() (context.Context, context.CancelFunc){
			context.DeadlineExceeded: func() (context.Context, context.CancelFunc) {
				return context.WithTimeout(t.Context(), 5*time.Second)
			},
			context.Canceled: func() (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(5*time.Second, cancel)
				return ctx, cancel
			},
		} {
			for what, call := range map[string]func(context.Context) error{
				"a call": func(ctx context.Context) error {
					_, err := c.CreateJob(ctx, &cleavev1.CreateJobRequest{})
					return err
				},
				"Retry": func(ctx context.Context) error {
					return c.Retry(ctx, func(context.Context, func()) error {
						return status.Error(codes.Unavailable, "connection refused")
					})
				},
				"Wait": func(ctx context.Context) error {
					_, err := c.Wait(ctx, "job")
					return err
				},
			} {
				ctx, cancel := end()
				err := call(ctx)
				cancel()
				e, is := errors.AsType[*Error](err)
				if !is || !errors.Is(err, want) || e.Temporary() || !strings.Contains(e.Message, "connection refused") {
					t.Errorf("%s, %v: %#v", what, want, err)
				}
			}
		}
	})
}

// interrupted has the streams of imports, of which the first few break after they have worked for a while.
type interrupted struct {
	grpc.ClientStream
	breaks, calls int
	parts         int // of the current call
}

func (i *interrupted) open(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, grpc.Streamer,
	...grpc.CallOption) (grpc.ClientStream, error) {
	i.calls++
	i.parts = 0
	return i, nil
}

func (*interrupted) SendMsg(any) error { return nil }

func (*interrupted) CloseSend() error { return nil }

func (i *interrupted) RecvMsg(m any) error {
	part := m.(*cleavev1.ImportTableResponse)
	switch i.parts++; {
	case i.parts == 1:
		part.What = &cleavev1.ImportTableResponse_Progress{Progress: &cleavev1.ImportProgress{}}
	case i.calls <= i.breaks:
		time.Sleep(2 * reconnectTimeout)
		return status.Error(codes.Unavailable, "the connection broke")
	case i.parts == 2:
		part.What = &cleavev1.ImportTableResponse_Imported{Imported: &cleavev1.ImportedTable{}}
	default:
		return io.EOF
	}
	return nil
}

// A download that begins again whenever it breaks is given up after a few times only, however long it works in between.
func TestDownloadsBeginAgain(t *testing.T) {
	for breaks, works := range map[int]bool{2: true, maxRestarts: true, maxRestarts + 1: false} {
		synctest.Test(t, func(t *testing.T) {
			streams := &interrupted{breaks: breaks}
			c, err := Dial("127.0.0.1:1", WithGRPC(grpc.WithChainStreamInterceptor(streams.open)))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, err = c.ImportTable(t.Context(), &cleavev1.ImportTableRequest{}, nil)
			if (err == nil) != works || streams.calls != min(breaks, maxRestarts)+1 {
				t.Errorf("it breaks %d times: %v after %d calls", breaks, err, streams.calls)
			}
		})
	}
}

// A call that worked for a long time before the connection broke is repeated like any other.
func TestALongCallIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := refusedClient(t, nil)
		c.leader.answered.Store(true)
		calls := 0
		err := c.leader.repeat(t.Context(), c.leader.warn, func(context.Context, func()) error {
			if calls++; calls > 1 {
				return nil
			}
			time.Sleep(2 * reconnectTimeout)
			return status.Error(codes.Unavailable, "the connection broke")
		})
		if err != nil || calls != 2 {
			t.Errorf("after %d calls: %v", calls, err)
		}
	})
}

// A coordinator that says when to try again has answered: the client stays with it, but leaves one that stops.
func TestARefusalIsNoReasonToLeave(t *testing.T) {
	options := func(address string) ([]grpc.DialOption, error) { return credentials.Dial{}.Options(nil, address) }
	for reason, c := range map[string]struct {
		wait  time.Duration
		stays bool
	}{"SLOW_READER": {time.Second, true}, "SHUTTING_DOWN": {0, false}, wire.NotLeader: {0, false}} {
		l, err := newLeader("127.0.0.1:1,127.0.0.1:2", options)
		if err != nil {
			t.Fatal(err)
		}
		address, _, err := l.choose()
		if err != nil {
			t.Fatal(err)
		}
		l.failed(t.Context(), address, wire.Status(fault.New(fault.Unavailable, reason, "not now").RetryIn(c.wait)))
		if next, _, err := l.choose(); err != nil || (next == address) != c.stays {
			t.Errorf("%s: %s follows %s, %v", reason, next, address, err)
		}
		l.close()
	}
}
