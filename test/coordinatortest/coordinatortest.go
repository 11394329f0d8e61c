// Package coordinatortest runs a coordinator inside a test, with clients that are connected in-process. Tests of the
// packages below internal/coordinator use it to look at what users see. What a test replaces, such as a store that
// fails or a clock, is part of the configuration and known before the coordinator starts.
package coordinatortest

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/store"
)

// Clients are the clients of one caller.
type Clients struct {
	T        *testing.T
	Conn     *grpc.ClientConn
	Jobs     cleavev1.JobServiceClient
	Datasets cleavev1.DatasetServiceClient
	Tables   cleavev1.TableServiceClient
	Cluster  cleavev1.ClusterServiceClient
}

// Harness is a coordinator that serves, and clients of it.
type Harness struct {
	Clients
	Coordinator *coordinator.Coordinator
	Listener    *dial.PipeListener
	Served      chan error // receives the error with which serving ended
	State       *State     // of the coordinator
	Blobs       *Blobs     // of the coordinator

	stop context.CancelFunc
	once sync.Once
}

// Config is the configuration of a coordinator that keeps everything in memory.
func Config() coordinator.Config {
	cfg := coordinator.DefaultConfig()
	cfg.Store = "memory"
	cfg.ShutdownTimeout = 2 * time.Second
	return cfg
}

// DurableConfig is the configuration of a coordinator whose successors, with the same configuration, find its jobs.
func DurableConfig(t *testing.T) coordinator.Config {
	cfg := Config()
	cfg.Store = "embedded"
	cfg.DataDir = t.TempDir()
	return cfg
}

// Start starts a coordinator that stops when the test ends. Its jobs run on the workers that the test attaches.
func Start(t *testing.T, cfg coordinator.Config) *Harness {
	t.Helper()
	h := &Harness{Listener: dial.ListenPipe(dial.PipeAddr{}), Served: make(chan error, 1)}
	cfg.Listener = h.Listener
	h.openStores(t, &cfg)
	var err error
	if h.Coordinator, err = coordinator.New(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	go func() { h.Served <- h.Coordinator.Serve(ctx) }()
	h.Clients = h.connect(t, grpc.WithTransportCredentials(insecure.NewCredentials()))
	t.Cleanup(h.Close)
	return h
}

// StartScripted starts a coordinator whose jobs run a script and need no workers.
func StartScripted(t *testing.T, cfg coordinator.Config, run Script) *Harness {
	t.Helper()
	cfg.Engine = Scripted(run)
	return Start(t, cfg)
}

// openStores opens the stores that the configuration does not provide, and wraps all of them.
func (h *Harness) openStores(t *testing.T, cfg *coordinator.Config) {
	t.Helper()
	state, blobs := cfg.Stores.State, cfg.Stores.Blobs
	var err error
	if state == nil {
		state, err = store.Open(t.Context(), cfg.Store, cfg.DataDir, store.Sharing{}, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
	}
	if blobs == nil {
		blobs, err = store.OpenBlobs(t.Context(), blobsOf(*cfg))
		if err != nil {
			t.Fatal(err)
		}
	}
	h.State = NewState(state)
	h.Blobs = NewBlobs(blobs)
	cfg.Stores = coordinator.Stores{State: h.State, Blobs: h.Blobs}
}

// blobsOf returns where the blobs of a coordinator are, as the coordinator finds it out.
func blobsOf(cfg coordinator.Config) string {
	switch {
	case cfg.Blobs != "":
		return cfg.Blobs
	case cfg.DataDir != "":
		return cfg.DataDir + "/blobs"
	}
	return "mem://"
}

// Dial connects to the coordinator.
func (h *Harness) Dial(ctx context.Context) (net.Conn, error) { return h.Listener.Dial(ctx) }

// connect returns clients with a connection of their own, which the end of the test closes.
func (h *Harness) connect(t *testing.T, options ...grpc.DialOption) Clients {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///test", append(options,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return h.Dial(ctx) }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return Clients{
		T: t, Conn: conn, Jobs: cleavev1.NewJobServiceClient(conn), Datasets: cleavev1.NewDatasetServiceClient(conn),
		Tables: cleavev1.NewTableServiceClient(conn), Cluster: cleavev1.NewClusterServiceClient(conn),
	}
}

// Close shuts the coordinator down.
func (h *Harness) Close() {
	h.once.Do(func() {
		h.stop()
		if err := Within(h.T, h.Served, "the shutdown"); err != nil {
			h.T.Errorf("serving ended with %v", err)
		}
		h.Conn.Close()
	})
}

// Crash closes the state first, so that nothing more is written, as in a power cut.
func (h *Harness) Crash() {
	h.once.Do(func() {
		if err := h.State.Close(); err != nil {
			h.T.Error(err)
		}
		h.Coordinator.Close()
		_ = Within(h.T, h.Served, "the crash")
		h.stop()
		h.Conn.Close()
	})
}

// EndsByItself returns the error with which serving ends without being asked to.
func (h *Harness) EndsByItself() error {
	err := Within(h.T, h.Served, "the end")
	h.once.Do(func() {
		h.stop()
		h.Conn.Close()
	})
	return err
}

// Leftovers are the keys and blobs that there are, except those that every cluster has. What earlier coordinators left
// behind is deleted first, which happens in the background.
func (h *Harness) Leftovers() (keys, blobs []string) {
	h.T.Helper()
	h.Coordinator.AwaitCleanup()
	entries, err := h.State.List(h.T.Context(), "", "", 0)
	if err != nil {
		h.T.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Key != records.CreatedKey && entry.Key != records.IdentityKey {
			keys = append(keys, entry.Key)
		}
	}
	names, err := h.Blobs.List(h.T.Context(), "")
	if err != nil {
		h.T.Fatal(err)
	}
	for _, name := range names {
		if name != records.IdentityBlob {
			blobs = append(blobs, name)
		}
	}
	return keys, blobs
}

// Within waits for a value, but not for long.
func Within[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("%s takes too long", what)
		panic("unreachable")
	}
}

// Await waits until something happens that nothing announces, such as that the server notices a broken connection.
func Await(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s takes too long", what)
		}
	}
}

// collect returns everything that a stream sends.
func collect[M any](stream grpc.ServerStreamingClient[M], err error) ([]*M, error) {
	if err != nil {
		return nil, err
	}
	var all []*M
	for {
		item, err := stream.Recv()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, item)
	}
}
