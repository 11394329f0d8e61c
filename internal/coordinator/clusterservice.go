package coordinator

import (
	"bufio"
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/backup"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/security/identity"
)

// clusterService implements cleave.v1.ClusterService.
type clusterService struct {
	cleavev1.UnimplementedClusterServiceServer
	c *Coordinator
}

// AwaitWorkers blocks until at least count workers are ready. Programs that start workers together with the
// coordinator call it so that the first job is placed on all of them.
func (c *Coordinator) AwaitWorkers(ctx context.Context, count int) error {
	return c.fleet.AwaitWorkers(ctx, func(workers []fleet.WorkerInfo) bool {
		return fleet.CountIn(workers, fleet.WorkerReady) >= count
	})
}

// Page tokens of workers contain the name and then the id, because the list is sorted that way.
const workerPrefix = "workers/"

func workerKey(w fleet.WorkerInfo) string { return workerPrefix + w.Name + "\x00" + w.ID }

func (s *clusterService) ListWorkers(ctx context.Context, request *cleavev1.ListWorkersRequest) (*cleavev1.ListWorkersResponse, error) {
	workers, next, err := records.Page(request, workerPrefix, func(after string, _ int, add func(string, *cleavev1.Worker) bool) error {
		for _, w := range s.c.fleet.Workers() {
			if key := workerKey(w); key > after && !add(key, s.c.workerProto(ctx, w)) {
				break
			}
		}
		return nil
	})
	return &cleavev1.ListWorkersResponse{Workers: workers, NextPageToken: next}, err
}

func (s *clusterService) DrainWorker(ctx context.Context, request *cleavev1.DrainWorkerRequest) (*cleavev1.DrainWorkerResponse, error) {
	if err := fault.Required("worker_id", request.GetWorkerId()); err != nil {
		return nil, err
	}
	w, err := s.c.fleet.Drain(request.GetWorkerId())
	if err != nil {
		return nil, err
	}
	return &cleavev1.DrainWorkerResponse{Worker: s.c.workerProto(ctx, w)}, nil
}

// workerProto converts a worker. It lists the unfinished jobs with tiles on it that the caller may see. Predictions are
// not jobs and are left out.
func (c *Coordinator) workerProto(ctx context.Context, w fleet.WorkerInfo) *cleavev1.Worker {
	caller := identity.FromContext(ctx)
	shown := slices.DeleteFunc(slices.Clone(w.JobIDs), func(id string) bool {
		j := c.jobs.Unfinished(id)
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
func (s *clusterService) Backup(_ *cleavev1.BackupRequest, stream grpc.ServerStreamingServer[cleavev1.BackupResponse]) error {
	c := s.c
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	defer context.AfterFunc(c.runCtx, func() { cancel(jobs.ErrStopping) })() // a shutdown does not wait for a backup
	end, err := c.hold.Begin(ctx)
	defer func() {
		if postponed := end(); !postponed || c.runCtx.Err() != nil {
			return
		}
		c.sweeping.Go(func() { // the client does not wait for it
			if err := c.garbage.Collect(c.storeCtx); err != nil && c.storeCtx.Err() == nil {
				c.log.Warn("what was deleted during a backup is left until the next start", "error", err)
			}
		})
	}()
	if err != nil {
		return err
	}
	b, err := backup.Prepare(ctx, backup.Source{State: c.state, Blobs: c.blobs, Version: c.cfg.Version, Now: c.cfg.Now(), HasRoom: c.hasTemporaryRoom})
	if err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	defer b.Close()
	head := b.Head()
	c.log.Info("a backup begins", "revision", head.Revision, "blobs", head.Blobs, "bytes", head.Bytes)
	if head.Damaged > 0 {
		c.log.Error("the backup has damaged values of the state; keep older backups", "values", head.Damaged, "keys", head.DamagedKeys)
	}
	if err := stream.Send(&cleavev1.BackupResponse{TotalBytes: uint64(b.Bytes())}); err != nil {
		return err
	}
	out := bufio.NewWriterSize(backupStream{ctx, stream}, backupPart)
	if err := b.Write(ctx, out); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	if err := out.Flush(); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	c.log.Info("a backup is complete", "revision", head.Revision)
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

func (s *clusterService) GetLimits(ctx context.Context, _ *cleavev1.GetLimitsRequest) (*cleavev1.GetLimitsResponse, error) {
	return &cleavev1.GetLimitsResponse{Limits: s.c.cfg.limitsProto(), Usage: s.c.usageProto(ctx)}, nil
}

// durationProto converts a duration, 0 to nil.
func durationProto(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

func (cfg Config) limitsProto() *cleavev1.Limits {
	l, r := cfg.Limits, cfg.Retention
	count := func(n int64) uint32 { return uint32(min(n, math.MaxUint32)) }
	return &cleavev1.Limits{
		Rows: count(l.Rows), DatasetBytes: uint64(cfg.MaxDatasetBytes), MessageBytes: uint64(cfg.MaxMessageBytes),
		Clusters: count(l.Clusters), Constraints: count(l.Constraints),
		JobsRunning: count(int64(cfg.MaxConcurrentJobs)), JobsRunningPerOwner: count(int64(l.RunningPerOwner)),
		JobsQueued: count(int64(l.Queued)), JobsQueuedPerOwner: count(int64(l.QueuedPerOwner)),
		DefaultTimeLimit: durationProto(l.DefaultTime), MaxTimeLimit: durationProto(l.MaxTime),
		Calls: count(int64(l.Calls)), Reads: count(int64(l.ShortCalls)), Streams: count(int64(l.Streams)), SlowReader: durationProto(l.SlowReader),
		UploadBytesPerSecond: uint64(l.UploadRate), UploadBytesPerSecondPerOwner: uint64(l.UploadRatePerOwner), UploadStall: durationProto(cfg.UploadStall),
		DiskQuotaBytes: uint64(r.Quota), FreeDiskBytes: uint64(l.FreeDisk), KeepJobs: durationProto(r.KeepJobs), KeepDatasets: durationProto(r.KeepDatasets),
	}
}

func (c *Coordinator) usageProto(ctx context.Context) *cleavev1.Usage {
	running, queued, own := c.jobs.Count(identity.FromContext(ctx).Name)
	inUse := c.gate.InUse()
	return &cleavev1.Usage{
		JobsRunning: uint32(running), JobsQueued: uint32(queued), JobsQueuedOwn: uint32(own),
		Calls: uint32(inUse.Calls), Reads: uint32(inUse.ShortCalls), Streams: uint32(inUse.Streams), DiskBytes: uint64(max(0, c.retention.Used())),
	}
}
