package client

import (
	"context"
	"io"
	"net"
	"os"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/worker"
)

// embeddedAddress is not resolved: the dialer connects to the pipe.
const embeddedAddress = "passthrough:///embedded"

// embeddedLog is the level of an embedded cluster's log. The run reports its own errors.
const embeddedLog = "error"

// StartEmbedded starts a coordinator that keeps everything in memory, and its workers, connected by pipes.
// They run until the client is closed, also when ctx ends, so that there is time to cancel a job.
func StartEmbedded(ctx context.Context, workers int, log io.Writer) (*Client, error) {
	logger, err := (&shell.Logs{Level: embeddedLog}).Logger("cleave", log)
	if err != nil {
		return nil, err
	}
	const pipeBytes = 1 << 20
	listener := bufconn.Listen(pipeBytes)
	dial := grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) })

	cfg := coordinator.DefaultConfig()
	cfg.Listener, cfg.Store, cfg.Blobs = listener, "memory", "mem://"
	cfg.Logger, cfg.Version = logger.Named("coordinator"), shell.Version()
	cluster, err := StartCluster(ctx, cfg)
	if err != nil {
		return nil, err
	}
	cluster.AddWorkers(workers, worker.Config{
		Coordinator: embeddedAddress,
		Version:     shell.Version(),
		Logger:      logger.Named("worker"),
		DialOptions: []grpc.DialOption{dial},
	})
	waiting, done := cluster.Context(ctx)
	defer done()
	if err := cluster.AwaitWorkers(waiting, workers); err != nil {
		cluster.Stop()
		return nil, err
	}
	c, err := Connect(embeddedAddress, credentials.Dial{}, dial)
	if err != nil {
		cluster.Stop()
		return nil, err
	}
	c.embedded = cluster
	return c, nil
}

// limitGarbage keeps a process small whose data are large. By default garbage may become as large as what is in use, which
// saves work where memory is many small pieces. Data of this size are a few arrays, which take no time to collect, and what
// reading them has left is given back at once. GOGC, if it is set, stays.
func limitGarbage(dataBytes int64) {
	const large, percent = 32 << 20, 20
	if dataBytes >= large && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
		debug.FreeOSMemory()
	}
}
