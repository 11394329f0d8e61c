// Package api implements the services of cleave.v1. Its methods check what a request asks for, and whether there is
// room for it (room.go, limits.go), and leave the rest to the packages that do it: jobs runs the jobs, datasets stores
// data sets and tables, and results answers what jobs have found.
package api

import (
	"bufio"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/backup"
	"github.com/cleave-project/cleave/internal/coordinator/gate"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/store"
)

// Cluster implements cleave.v1.ClusterService. It is safe for concurrent use.
type Cluster struct {
	cleavev1.UnimplementedClusterServiceServer
	Fleet   *fleet.Fleet
	Jobs    *jobs.Manager
	Gate    *gate.Gate
	Sweeper *records.Sweeper
	Limits  *cleavev1.Limits // what GetLimits tells
	Backups Backups
}

// Backups is what backups need.
type Backups struct {
	Context context.Context // ends when the coordinator shuts down
	Writer  *records.Writer // only its State is used
	Blobs   store.Blobs
	Hold    *records.Hold
	// DeletePostponed deletes, in the background, what was to be deleted during a backup.
	DeletePostponed func()
	HasRoom         func() bool // whether temporary files may grow
	Version         string
	Logger          hclog.Logger
	Now             func() time.Time
}

// Page tokens of workers contain the name and then the id, because the list is sorted that way.
const workerPrefix = "workers/"

func workerKey(w fleet.WorkerInfo) string { return workerPrefix + w.Name + "\x00" + w.ID }

// ListWorkers implements ClusterService.
func (s *Cluster) ListWorkers(ctx context.Context,
	request *cleavev1.ListWorkersRequest) (*cleavev1.ListWorkersResponse, error) {
	workers, next, err := records.Page(request, workerPrefix,
		func(after string, _ int, add func(string, *cleavev1.Worker) bool) error {
			for _, w := range s.Fleet.Workers() {
				if key := workerKey(w); key > after && !add(key, s.Worker(ctx, w)) {
					break
				}
			}
			return nil
		})
	return &cleavev1.ListWorkersResponse{Workers: workers, NextPageToken: next}, err
}

// DrainWorker implements ClusterService.
func (s *Cluster) DrainWorker(ctx context.Context,
	request *cleavev1.DrainWorkerRequest) (*cleavev1.DrainWorkerResponse, error) {
	if err := fault.Required("worker_id", request.GetWorkerId()); err != nil {
		return nil, err
	}
	w, err := s.Fleet.Drain(request.GetWorkerId())
	if err != nil {
		return nil, err
	}
	return &cleavev1.DrainWorkerResponse{Worker: s.Worker(ctx, w)}, nil
}

// Worker returns a worker as the caller sees it. It lists the unfinished jobs with tiles on it that the caller may see.
// Predictions are not jobs and are left out.
func (s *Cluster) Worker(ctx context.Context, w fleet.WorkerInfo) *cleavev1.Worker {
	caller := identity.FromContext(ctx)
	shown := slices.DeleteFunc(slices.Clone(w.JobIDs), func(id string) bool {
		j := s.Jobs.Unfinished(id)
		return j == nil || !caller.Sees(j.Record().GetJob().GetOwner())
	})
	return &cleavev1.Worker{
		WorkerId: w.ID, Name: w.Name, State: cleavev1.WorkerState(w.State),
		Threads: uint32(w.Threads), MemoryBytes: w.MemoryBytes,
		Version: w.Version, NumericClass: w.NumericClass,
		AttachTime: timestamppb.New(w.AttachedAt), LastHeartbeatTime: timestamppb.New(w.LastHeartbeat),
		Tiles: uint32(w.Tiles), TileBytes: w.ReservedBytes, JobIds: shown, StatusMessage: w.Message,
	}
}

// backupPart is the size of a message of a backup.
const backupPart = 1 << 20

// Backup copies what the coordinator stores while it serves. Blobs that are deleted meanwhile stay until it ends, so
// that everything that the copied state refers to can be copied too.
func (s *Cluster) Backup(_ *cleavev1.BackupRequest, stream grpc.ServerStreamingServer[cleavev1.BackupResponse]) error {
	b := s.Backups
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	defer context.AfterFunc(b.Context, func() { cancel(jobs.ErrStopping) })() // a shutdown does not wait for a backup
	end, err := b.Hold.Begin(ctx)
	defer func() {
		if postponed := end(); postponed && b.Context.Err() == nil {
			b.DeletePostponed() // the client does not wait for it
		}
	}()
	if err == nil {
		err = b.send(ctx, stream)
	}
	if err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return nil
}

// send sends a backup.
func (b Backups) send(ctx context.Context, stream grpc.ServerStreamingServer[cleavev1.BackupResponse]) error {
	prepared, err := backup.Prepare(ctx, backup.Source{
		State: b.Writer.State, Blobs: b.Blobs, Version: b.Version, Now: b.Now(), HasRoom: b.HasRoom,
	})
	if err != nil {
		return err
	}
	defer prepared.Close()
	head := prepared.Head()
	b.Logger.Info("a backup begins", "revision", head.Revision, "blobs", head.Blobs, "bytes", head.Bytes)
	if head.Damaged > 0 {
		b.Logger.Error("the backup has damaged values of the state; keep older backups", "values", head.Damaged,
			"keys", head.DamagedKeys)
	}
	if err := stream.Send(&cleavev1.BackupResponse{TotalBytes: uint64(prepared.Bytes())}); err != nil {
		return err
	}
	out := bufio.NewWriterSize(backupStream{ctx, stream}, backupPart)
	if err := prepared.Write(ctx, out); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	b.Logger.Info("a backup is complete", "revision", head.Revision)
	return nil
}

// backupStream sends what is written to it.
type backupStream struct {
	ctx    context.Context
	stream grpc.ServerStreamingServer[cleavev1.BackupResponse]
}

func (s backupStream) Write(p []byte) (int, error) {
	for part := range slices.Chunk(p, backupPart) {
		if s.ctx.Err() != nil {
			return 0, context.Cause(s.ctx)
		}
		if err := s.stream.Send(&cleavev1.BackupResponse{Content: part}); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// GetLimits implements ClusterService.
func (s *Cluster) GetLimits(ctx context.Context, _ *cleavev1.GetLimitsRequest) (*cleavev1.GetLimitsResponse, error) {
	return &cleavev1.GetLimitsResponse{Limits: s.Limits, Usage: s.usageProto(ctx)}, nil
}

func (s *Cluster) usageProto(ctx context.Context) *cleavev1.Usage {
	running, queued, own := s.Jobs.Count(identity.FromContext(ctx).Name)
	inUse := s.Gate.InUse()
	return &cleavev1.Usage{
		JobsRunning: uint32(running), JobsQueued: uint32(queued), JobsQueuedOwn: uint32(own),
		Calls: uint32(inUse.Calls), Reads: uint32(inUse.ShortCalls), Streams: uint32(inUse.Streams),
		DiskBytes: uint64(max(0, s.Sweeper.Used())),
	}
}
