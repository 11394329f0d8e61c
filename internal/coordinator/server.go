package coordinator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"slices"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/api"
	"github.com/cleave-project/cleave/internal/coordinator/httpapi"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// newServer returns a gRPC server for a port, without services.
func (c *Coordinator) newServer(port *httpapi.Port) *grpc.Server {
	handler := recovery.WithRecoveryHandlerContext(c.panicked)
	// Later options override those of the fleet: clients may send larger messages than workers.
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(max(c.cfg.MaxMessageBytes, wire.WorkerMessageBytes)),
		grpc.ChainUnaryInterceptor(c.cfg.Observe.Unary, c.gate.HoldUnary, c.leaderOnlyUnary, c.gate.AuditUnary,
			c.unaryErrors, recovery.UnaryServerInterceptor(handler)),
		grpc.ChainStreamInterceptor(c.cfg.Observe.Stream, c.gate.HoldStream, c.leaderOnlyStream, c.gate.AuditStream,
			c.streamErrors, recovery.StreamServerInterceptor(handler), c.gate.TimeReaders),
	}
	return grpc.NewServer(slices.Concat(
		fleet.ServerOptions(), c.cfg.Observe.ServerOptions(), c.gate.ServerOptions(port.Credentials()), options)...)
}

// registerServices registers the services of cleave.v1.
func (c *Coordinator) registerServices(a *calls) {
	s, r := c.storage, c.runs
	receiver := api.Receiver{
		Room: a.room, Uploads: a.uploads, MaxBytes: c.cfg.MaxDatasetBytes, Logger: c.log, Now: c.cfg.Now,
	}
	cleavev1.RegisterDatasetServiceServer(a.server, &api.Datasets{Receiver: receiver, Datasets: s.datasets})
	cleavev1.RegisterTableServiceServer(a.server, &api.Tables{
		Receiver: receiver, Tables: s.tables, Importer: a.importer, Downloads: a.downloads,
	})
	cleavev1.RegisterJobServiceServer(a.server, a.jobs)
	cleavev1.RegisterClusterServiceServer(a.server, &api.Cluster{
		Fleet: r.fleet, Jobs: r.jobs, Gate: c.gate, Sweeper: r.retention, Limits: c.cfg.limitsProto(),
		Backups: api.Backups{
			Context: c.runCtx, Writer: s.writer, Blobs: s.blobs, Hold: s.hold, DeletePostponed: c.deletePostponed,
			HasRoom: c.cfg.hasTemporaryRoom, Version: c.cfg.Version, Logger: c.log, Now: c.cfg.Now,
		},
	})
}

// newHTTP returns the server of everything on the port that is not gRPC.
func (c *Coordinator) newHTTP() *httpapi.Server {
	hosts := slices.Clone(c.cfg.HTTP.Hosts)
	if host, _, err := net.SplitHostPort(c.cfg.Election.Advertise); err == nil {
		hosts = append(hosts, host)
	}
	return httpapi.New(httpapi.Config{
		Hosts: hosts, Origins: c.cfg.HTTP.Origins,
		MaxMessageBytes: c.cfg.MaxMessageBytes, MaxUploadBytes: c.cfg.MaxDatasetBytes, UploadMemory: c.cfg.UploadBytes,
		Memory: c.memory.requests, Authorize: c.gate.Authorize, HasRoom: c.cfg.hasTemporaryRoom,
		ReadStall: c.cfg.UploadStall, WriteStall: c.cfg.Limits.SlowReader,
		Version: c.cfg.Version, Logger: c.log.Named("http"),
	})
}

// unaryErrors converts the errors of handlers to gRPC statuses and logs the calls.
func (c *Coordinator) unaryErrors(ctx context.Context, request any, info *grpc.UnaryServerInfo,
	handler grpc.UnaryHandler) (any, error) {
	began := time.Now()
	response, err := handler(ctx, request)
	return response, c.answer(ctx, info.FullMethod, began, err)
}

func (c *Coordinator) streamErrors(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	handler grpc.StreamHandler) error {
	began := time.Now()
	return c.answer(stream.Context(), info.FullMethod, began, handler(server, stream))
}

// answer converts the error of a handler to a gRPC status, and logs the call.
func (c *Coordinator) answer(ctx context.Context, method string, began time.Time, err error) error {
	err = c.toStatus(ctx, method, err)
	if c.log.IsDebug() {
		c.log.Debug("call", "method", method, "request", observe.RequestID(ctx), "code", status.Code(err).String(),
			"took", time.Since(began), "error", err)
	}
	return err
}

// toStatus converts an error to a gRPC status. If this coordinator is shutting down or no longer leads, the status is
// UNAVAILABLE, so that clients retry. If its store has failed, the status says so. Errors that are not the caller's
// fault are also logged with their cause.
func (c *Coordinator) toStatus(ctx context.Context, method string, err error) error {
	ofStore := store.AnswerOf(err)
	switch {
	case errors.Is(err, jobs.ErrStopping), ofStore == store.Closed:
		return wire.Unavailable("SHUTTING_DOWN", "the coordinator is shutting down; try again when it is back")
	case ofStore == store.Deposed:
		return wire.Unavailable(wire.NotLeader, "this coordinator no longer leads; try again")
	}
	answer := wire.Status(err)
	if c.runCtx.Err() == nil {
		switch f, _ := errors.AsType[*fault.Error](err); {
		case f != nil && f.Cause != nil:
			c.log.Error("a call failed", "method", method, "request", observe.RequestID(ctx), "reason", f.Reason,
				"error", err, "cause", f.Cause)
		case status.Code(answer) == codes.Internal, status.Code(answer) == codes.DataLoss:
			c.log.Error("a call failed", "method", method, "request", observe.RequestID(ctx), "error", err)
		}
	}
	return answer
}

// panicked converts a panic in a handler to an error of that call alone.
func (c *Coordinator) panicked(ctx context.Context, p any) error {
	c.log.Error("a call panicked", "panic", p, "request", observe.RequestID(ctx), "stack", string(debug.Stack()))
	return fault.Panicked(p)
}

// AwaitWorkers blocks until at least count workers are ready. Programs that start workers together with the
// coordinator call it so that the first job is placed on all of them.
func (c *Coordinator) AwaitWorkers(ctx context.Context, count int) error {
	return c.runs.fleet.AwaitWorkers(ctx, func(workers []fleet.WorkerInfo) bool {
		return fleet.CountIn(workers, fleet.WorkerReady) >= count
	}, nil)
}

// ShareDataset is CreateDataset for a client in the same process. The coordinator uses the data set in place, and so
// do workers that ask SharedDataset for it. Nothing is copied or validated again. The data set must not be modified
// and stays as long as the coordinator, whose store must be in memory too.
func (c *Coordinator) ShareDataset(ctx context.Context, name string, data dataset.Dataset) (id string, err error) {
	if c.cfg.Store != storeMemory {
		return "", errors.New("coordinator: a data set in memory cannot be shared with a durable store")
	}
	if id, err = dataset.ID(data); err != nil {
		return "", err
	}
	if existing, err := c.storage.datasets.Touch(ctx, id); existing != nil || err != nil {
		return id, err
	}
	return id, c.storage.datasets.Share(id, name, data, timestamppb.New(c.cfg.Now()))
}

// SharedDataset returns the data set in the memory of this process that has this id, or nil if there is none.
func (c *Coordinator) SharedDataset(id string) dataset.Dataset {
	return c.storage.datasets.InMemory(id)
}

// Ready returns nil if the coordinator leads, serves, and its store answers, and otherwise an error that says why
// not.
func (c *Coordinator) Ready(ctx context.Context) error {
	switch {
	case c.runCtx.Err() != nil:
		return jobs.ErrStopping
	case !c.serving.Load():
		return errors.New("not serving yet")
	case !c.leads():
		return errors.New("standby")
	}
	if _, err := c.storage.state.Get(ctx, records.CreatedKey); err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("cannot read the state store: %w", err)
	}
	return nil
}

// Gauges returns the current values of the gauges.
func (c *Coordinator) Gauges() observe.Gauges {
	s := observe.Gauges{Leads: c.leads(), MemoryBytes: c.cfg.MemoryBytes, UploadBytes: c.cfg.UploadBytes}
	s.JobsRunning, s.JobsQueued, _ = c.runs.jobs.Count("")
	s.MemoryReservedBytes = c.memory.jobs.Held()
	s.UploadReservedBytes = c.memory.uploads.Held()
	workers := c.runs.fleet.Workers()
	s.Ready = fleet.CountIn(workers, fleet.WorkerReady)
	s.Silent = fleet.CountIn(workers, fleet.WorkerSilent)
	s.Draining = fleet.CountIn(workers, fleet.WorkerDraining)
	for _, w := range workers {
		s.Threads += w.Threads
		s.Tiles += w.Tiles
		s.WorkerBytes += w.MemoryBytes
		s.WorkerReservedBytes += w.ReservedBytes
	}
	return s
}
