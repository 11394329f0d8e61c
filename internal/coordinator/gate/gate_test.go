package gate

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"pgregory.net/rapid"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/wire"
)

// heldJobs is a service whose calls announce themselves and then wait until they are let go.
type heldJobs struct {
	cleavev1.UnimplementedJobServiceServer
	begun chan string
	letGo chan struct{}
}

func (h *heldJobs) hold(what string) error {
	h.begun <- what
	<-h.letGo
	return status.Error(codes.NotFound, what)
}

func (h *heldJobs) GetJob(_ context.Context, request *cleavev1.GetJobRequest) (*cleavev1.GetJobResponse, error) {
	return nil, h.hold(request.GetJobId())
}

func (h *heldJobs) CreateJob(_ context.Context,
	request *cleavev1.CreateJobRequest) (*cleavev1.CreateJobResponse, error) {
	return nil, h.hold(request.GetRequestId())
}

// served is a gate in front of a service, and a client of it.
type served struct {
	*Gate
	*heldJobs
	conn   *grpc.ClientConn
	client cleavev1.JobServiceClient
}

func serve(t *testing.T, limits Limits) *served {
	t.Helper()
	g, err := Open(Config{
		Security: Security{Serve: credentials.Serve{Insecure: true}}, Limits: limits,
		RequestTimeout: time.Hour, SlowReader: time.Hour, Logger: hclog.NewNullLogger(), Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(append(g.ServerOptions(insecure.NewCredentials()), grpc.ChainUnaryInterceptor(g.HoldUnary),
		grpc.ChainStreamInterceptor(g.HoldStream))...)
	s := &served{Gate: g, heldJobs: &heldJobs{begun: make(chan string, 100), letGo: make(chan struct{}, 100)}}
	cleavev1.RegisterJobServiceServer(server, s.heldJobs)
	healthv1.RegisterHealthServer(server, health.NewServer())
	listener := dial.ListenPipe(dial.PipeAddr{})
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	dial := func(ctx context.Context, _ string) (net.Conn, error) { return listener.Dial(ctx) }
	s.conn, err = grpc.NewClient("passthrough:///", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial))
	if err != nil {
		t.Fatal(err)
	}
	s.client = cleavev1.NewJobServiceClient(s.conn)
	t.Cleanup(func() {
		close(s.letGo)
		s.conn.Close()
		server.Stop()
		<-ended
		g.Close()
	})
	return s
}

func (s *served) get(ctx context.Context, id string) error {
	_, err := s.client.GetJob(ctx, &cleavev1.GetJobRequest{JobId: id})
	return err
}

func wantRefused(t *testing.T, err error, reason string) {
	t.Helper()
	delay, helps := wire.RetryDelay(err)
	if status.Code(err) != codes.ResourceExhausted || wire.Reason(err) != reason || !helps || delay <= 0 {
		t.Errorf("got %v, want a refusal for %s that says when to try again", err, reason)
	}
}

// settle waits until so many calls are in work.
func (s *served) settle(t *testing.T, calls int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		got := s.InUse()
		if got.Calls+got.ShortCalls == calls {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("in work are %+v, not %d calls", got, calls)
		}
	}
}

func TestReadsAreBounded(t *testing.T) {
	s := serve(t, Limits{Calls: 1, ShortCalls: 2, Streams: 1})
	ends := make(chan error, 2)
	for range 2 {
		go func() { ends <- s.get(t.Context(), "held") }()
		<-s.begun
	}
	wantRefused(t, s.get(t.Context(), "third"), "TOO_MANY_CALLS")
	// larger than any window: it is not read
	wantRefused(t, s.get(t.Context(), strings.Repeat("x", 8<<20)), "TOO_MANY_CALLS")
	s.letGo <- struct{}{}
	<-ends
	s.settle(t, 1)
	s.letGo <- struct{}{}
	s.letGo <- struct{}{}
	if err := s.get(t.Context(), "fourth"); status.Code(err) != codes.NotFound {
		t.Errorf("with room again: %v", err)
	}
}

// A burst of calls that solve something waits and is not refused; reads pass meanwhile.
func TestHeavyCallsWaitForTheirTurn(t *testing.T) {
	const burst = 100
	s := serve(t, Limits{Calls: 2, ShortCalls: 1, Streams: 1})
	ends := make(chan error, burst)
	for at := range burst {
		go func() {
			_, err := s.client.CreateJob(t.Context(), &cleavev1.CreateJobRequest{RequestId: fmt.Sprint(at)})
			ends <- err
		}()
	}
	s.settle(t, burst)
	<-s.begun
	<-s.begun
	select {
	case third := <-s.begun:
		t.Fatalf("call %s works beside two others", third)
	default:
	}
	read := make(chan error)
	go func() { read <- s.get(t.Context(), "read") }()
	<-s.begun
	for range burst + 1 {
		s.letGo <- struct{}{}
	}
	if err := <-read; status.Code(err) != codes.NotFound {
		t.Errorf("a read beside the burst: %v", err)
	}
	for range burst - 2 {
		<-s.begun
	}
	for range burst {
		if err := <-ends; status.Code(err) != codes.NotFound {
			t.Errorf("a call of the burst: %v", err)
		}
	}
	s.settle(t, 0)
}

// Whatever the limit is, calls beyond it find a place to wait.
func TestCallsBeyondTheLimitMayWait(t *testing.T) {
	for calls, want := range map[int]int{1: 1 + minWaitingCalls, 512: 2 * 512} {
		s := serve(t, Limits{Calls: calls, ShortCalls: 1, Streams: 1})
		places := 0
		for s.limiters[callSlot].take("client") {
			places++
		}
		if places != want {
			t.Errorf("%d calls at a time: %d may run or wait, want %d", calls, places, want)
		}
	}
}

// A call that sends its header alone loses its slot when another needs it.
func TestCallsWithoutARequestMakeRoom(t *testing.T) {
	s := serve(t, Limits{Calls: 1, ShortCalls: 2, Streams: 1})
	s.limiters[shortSlot].waiting.evictAfter = time.Hour
	ends := make(chan error, 2)
	for range 2 {
		stream, err := s.conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
			cleavev1.JobService_GetJob_FullMethodName)
		if err != nil {
			t.Fatal(err)
		}
		go func() { ends <- stream.RecvMsg(&cleavev1.GetJobResponse{}) }()
	}
	s.settle(t, 2)
	wantRefused(t, s.get(t.Context(), "early"), "TOO_MANY_CALLS") // their requests may still come
	s.limiters[shortSlot].waiting.mu.Lock()
	s.limiters[shortSlot].waiting.evictAfter = 0
	s.limiters[shortSlot].waiting.mu.Unlock()
	s.letGo <- struct{}{}
	if err := s.get(t.Context(), "late"); status.Code(err) != codes.NotFound {
		t.Errorf("a call in place of one without a request: %v", err)
	}
	if err := <-ends; status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("the call that made room ends with %v", err)
	}
	s.settle(t, 1)
}

// A client that has its share of the slots does not end the calls of others to get more.
func TestAShareIsNotExceededAtTheCostOfOthers(t *testing.T) {
	g := &Gate{cfg: Config{Limits: Limits{Calls: 1, ShortCalls: 4, Streams: 1}, RequestTimeout: time.Hour,
		Logger: hclog.NewNullLogger()}}
	g.addLimiters()
	g.limiters[shortSlot].waiting.evictAfter = 0
	enter := func(client string) (context.Context, error) {
		ctx := peer.NewContext(identity.NewContext(t.Context(), identity.Caller{Name: client, Role: identity.Reader}),
			&peer.Peer{Addr: &net.TCPAddr{}})
		call := &tap.Info{FullMethodName: cleavev1.JobService_GetJob_FullMethodName}
		ctx, err := g.takeSlot(ctx, call)
		if err != nil {
			return nil, err
		}
		return g.awaitRequest(ctx, call), nil
	}
	slow, err := enter("slow")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		ctx, err := enter("greedy")
		if err != nil {
			t.Fatal(err)
		}
		requestArrived(ctx)
	}
	_, err = enter("greedy")
	wantRefused(t, err, "TOO_MANY_CALLS")
	if slow.Err() != nil {
		t.Error("the call of the slow client has ended")
	}
}

// Health checks need no credentials, so that they have a limit of their own.
func TestProbesAreBounded(t *testing.T) {
	s := serve(t, Limits{Calls: 1, ShortCalls: 1, Streams: 1})
	check := func() error {
		_, err := healthv1.NewHealthClient(s.conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
		return err
	}
	for range maxProbes {
		s.limiters[probeSlot].take("stranger")
	}
	wantRefused(t, check(), "TOO_MANY_PROBES")
	s.limiters[probeSlot].giveBack("stranger")
	if err := check(); err != nil {
		t.Error(err)
	}
}

// One client alone may take all slots; when half are taken, nobody gets more than an equal share.
func TestClientsShareADoorway(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newLimiter(rapid.IntRange(1, 40).Draw(t, "limit"), "R", "%d")
		held := map[string]int{}
		total := 0
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			client := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "client")
			if held[client] > 0 && rapid.Bool().Draw(t, "leave") {
				d.giveBack(client)
				held[client]--
				total--
				continue
			}
			clients := 0
			for name, n := range held {
				if n > 0 && name != client {
					clients++
				}
			}
			want := total < d.limit && (2*total < d.limit || held[client] == 0 || held[client] < d.limit/(clients+1))
			if got := d.take(client); got != want {
				t.Fatalf("%s with %d of %d places, %d taken by %d others: %v", client, held[client], d.limit,
					total, clients, got)
			}
			if want {
				held[client]++
				total++
			}
		}
		if d.inUse() != total {
			t.Fatalf("%d places are taken, want %d", d.inUse(), total)
		}
	})
}

// Clients take turns, however many calls one of them has waiting, and a call that gives up leaves no gap.
func TestClientsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Gate{cfg: Config{Limits: Limits{Calls: 1}}}
		g.addLimiters()
		as := func(ctx context.Context, client string) context.Context {
			return identity.NewContext(ctx, identity.Caller{Name: client})
		}
		first, err := g.awaitTurn(as(t.Context(), "greedy"))
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		canceled, cancel := context.WithCancel(t.Context())
		wait := func(ctx context.Context, client string) {
			go func() {
				leave, err := g.awaitTurn(as(ctx, client))
				if err == nil {
					order = append(order, client)
					leave()
				}
			}()
			synctest.Wait()
		}
		for range 3 {
			wait(t.Context(), "greedy")
		}
		wait(canceled, "gone")
		wait(t.Context(), "modest")
		cancel()
		synctest.Wait()
		first()
		synctest.Wait()
		if want := []string{"greedy", "modest", "greedy", "greedy"}; !slices.Equal(order, want) {
			t.Errorf("turns %q, want %q", order, want)
		}
		if waiting, _ := g.turns.Waiting(""); waiting != 0 || g.turns.Running() != 0 {
			t.Errorf("left over: %d wait, %d run", waiting, g.turns.Running())
		}
	})
}

// Streams take the slots of streams, and other calls those of calls or reads.
func TestMethodsTakeTheirSlots(t *testing.T) {
	for _, service := range []grpc.ServiceDesc{
		cleavev1.DatasetService_ServiceDesc, cleavev1.TableService_ServiceDesc, cleavev1.JobService_ServiceDesc,
		cleavev1.ClusterService_ServiceDesc,
	} {
		for _, stream := range service.Streams {
			if name := "/" + service.ServiceName + "/" + stream.StreamName; methods[name].takes != streamSlot {
				t.Errorf("%s is a stream and takes slot %d", name, methods[name].takes)
			}
		}
		for _, method := range service.Methods {
			name := "/" + service.ServiceName + "/" + method.MethodName
			if takes := methods[name].takes; takes != callSlot && takes != shortSlot {
				t.Errorf("%s is no stream and takes slot %d", name, takes)
			}
		}
	}
}

// An anonymous client has one share, however many connections it has.
func TestConnectionsOfAClientShare(t *testing.T) {
	for address, want := range map[net.Addr]string{
		&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1}: "10.0.0.1",
		&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 2}: "10.0.0.1",
		&net.TCPAddr{IP: net.IPv6loopback, Port: 3}:      "::1",
		dial.PipeAddr{}: dial.PipeAddr{}.String(),
	} {
		if got := clientOf(peer.NewContext(t.Context(), &peer.Peer{Addr: address})); got != want {
			t.Errorf("a connection from %v belongs to %q, want %q", address, got, want)
		}
	}
}

// panickingStream is a stream whose messages cannot be encoded.
type panickingStream struct{ grpc.ServerStream }

func (panickingStream) SendMsg(any) error { panic("encoding") }

// A panic while a message is sent ends the stream, and not the process.
func TestAPanicWhileSendingEndsTheStream(t *testing.T) {
	g := serve(t, Limits{})
	info := &grpc.StreamServerInfo{FullMethod: cleavev1.JobService_WatchJob_FullMethodName, IsServerStream: true}
	err := g.TimeReaders(nil, panickingStream{}, info, func(_ any, stream grpc.ServerStream) error {
		return stream.SendMsg(nil)
	})
	if !fault.Is(err, "PANIC") {
		t.Errorf("got %v", err)
	}
}
