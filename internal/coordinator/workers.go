package coordinator

import (
	"context"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
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
	return awaitFleet(ctx, c.fleet, func(workers []fleet.WorkerInfo) bool { return countIn(workers, fleet.WorkerReady) >= count })
}

// awaitFleet blocks until enough accepts the workers.
func awaitFleet(ctx context.Context, f *fleet.Fleet, enough func([]fleet.WorkerInfo) bool) error {
	for {
		changed := f.Changed()
		if enough(f.Workers()) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// countIn returns how many workers are in a state.
func countIn(workers []fleet.WorkerInfo, state fleet.WorkerState) (count int) {
	for _, w := range workers {
		if w.State == state {
			count++
		}
	}
	return count
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
	jobs := slices.DeleteFunc(slices.Clone(w.JobIDs), func(id string) bool {
		j := c.jobs.get(id)
		return j == nil || !caller.Sees(j.owner)
	})
	return &cleavev1.Worker{
		WorkerId: w.ID, Name: w.Name, State: cleavev1.WorkerState(w.State),
		Threads: uint32(w.Threads), MemoryBytes: w.MemoryBytes,
		Version: w.Version, NumericClass: w.NumericClass,
		AttachTime: timestamppb.New(w.AttachedAt), LastHeartbeatTime: timestamppb.New(w.LastHeartbeat),
		Tiles: uint32(w.Tiles), TileBytes: w.ReservedBytes, JobIds: jobs, StatusMessage: w.Message,
	}
}
