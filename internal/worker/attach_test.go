package worker

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/worker/exchange"
)

// A name server that does not answer delays a worker that looks for its own address, but does not keep it from
// attaching. The worker says once why others are not told of it.
func TestASlowNameServer(t *testing.T) {
	names := net.DefaultResolver
	defer func() { net.DefaultResolver = names }()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	synctest.Test(t, func(t *testing.T) {
		listener := dial.ListenPipe(dial.PipeAddr{})
		server := grpc.NewServer()
		workerv1.RegisterWorkerServiceServer(server,
			&fakeCoordinator{attach: func(stream workerv1.WorkerService_AttachServer) error {
				if _, err := stream.Recv(); err != nil {
					return err
				}
				return errors.Join(stream.Send(welcome("session", false)), stream.Send(farewell))
			}})
		go func() { _ = server.Serve(listener) }()
		defer server.Stop()
		leader, err := newLeader("passthrough:///one.invalid:1,passthrough:///two.invalid:1",
			func(string) ([]grpc.DialOption, error) {
				return []grpc.DialOption{
					grpc.WithTransportCredentials(insecure.NewCredentials()),
					grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
						return listener.Dial(ctx)
					}),
				}, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		defer leader.Close()
		var log bytes.Buffer
		w := newTestJob(t).worker
		w.leader = leader
		w.exchange = exchange.New(exchange.Config{Logger: hclog.New(&hclog.LoggerOptions{Output: &log})})
		defer w.exchange.Close()
		w.exchange.Serve(dial.ListenPipe(&net.TCPAddr{IP: net.IPv4zero, Port: 1}), grpc.EmptyServerOption{})
		for range 2 {
			if welcomed, err := w.attach(t.Context()); !welcomed || !errors.Is(err, errFarewell) {
				t.Errorf("the worker is welcome: %v; the stream ended with: %v", welcomed, err)
			}
		}
		w.endSession()
		if said := strings.Count(log.String(), "give --peer-address"); said != 1 {
			t.Errorf("the log says %d times that the address is unknown:\n%s", said, log.String())
		}
	})
}
