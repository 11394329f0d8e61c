package bench

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"

	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/worker"
)

const (
	workerCount      = 8    // workers
	coordinationRows = 512  // so few that computing takes almost no time
	coordinationGoal = 1e-3 // seconds per iteration besides the computation
	movesPerStep     = 8
)

// datasetSource is the canonical bytes of the one data set, for the workers to fetch.
type datasetSource []byte

func (s datasetSource) OpenDataset(_ context.Context, _ string, offset, length int64) (io.ReadCloser, error) {
	part := s[offset:]
	if length >= 0 {
		part = part[:length]
	}
	return io.NopCloser(bytes.NewReader(part)), nil
}

// measureCoordination times iterations, each of Assign and Update, over gRPC on the loopback interface with
// eight workers, and the same iterations on a shard in this process.
func measureCoordination(ctx context.Context, b *benchmark) error {
	points, _, err := synth.Gaussians(coordinationRows, 4, 4, clusterSpread, rand.New(rand.NewPCG(2, 2)))
	if err != nil {
		return err
	}
	problem, err := gaussian(set{points: points, k: 4}, 0, randomLabels(points.N, 4, 1), 0)
	if err != nil {
		return err
	}
	local, err := kernelkmeans.NewLocal(ctx, problem, points, b.Threads)
	if err != nil {
		return err
	}
	var inProcess, remote, remoteAssign, remoteUpdate times
	if err := b.iterate(ctx, local, points.N, &inProcess, &times{}, &times{}); err != nil {
		return err
	}
	err = withFleet(ctx, problem, points, func(executor kernelkmeans.Executor) error {
		return b.iterate(ctx, executor, points.N, &remote, &remoteAssign, &remoteUpdate)
	})
	if err != nil {
		return err
	}
	overhead := remote.median() - inProcess.median()
	b.report.add(Row{
		What: fmt.Sprintf("one iteration over gRPC, %d workers, loopback: p50 beyond the computation", workerCount),
		Ours: duration(overhead), Peer: "in one process: " + duration(inProcess.median()),
		Goal: "<= 1 ms", Verdict: b.report.verdict(overhead <= coordinationGoal),
	})
	b.report.note("an iteration is Assign and then Update of %d moved points; n = %d in %d tiles, %d iterations, p50 "+
		"of Assign %s and of Update %s. All workers share this machine's %d cores.",
		movesPerStep, points.N, partition.TileCount(points.N), len(remote), duration(remoteAssign.median()),
		duration(remoteUpdate.median()), b.Threads)
	return nil
}

// iterate moves a few points in every iteration and times it.
func (b *benchmark) iterate(ctx context.Context, x kernelkmeans.Executor, n int, both, assigns, updates *times) error {
	const k = 4
	weights, labels := make([]float64, n), randomLabels(n, k, 1)
	stats := kernel.ClusterStats{Weight: make([]float64, k), SelfAffinity: make([]float64, k), Count: make([]int32, k)}
	for i := range weights {
		weights[i] = 1
		stats.Weight[labels[i]]++
		stats.Count[labels[i]]++
	}
	if err := x.Matrix().SetOperands(ctx, kernel.Operands{K: k, Weights: weights,
		Sparse: &kernel.Sparse{RowStart: make([]int64, n+1)}}); err != nil {
		return err
	}
	if _, err := x.Load(ctx, labels); err != nil {
		return err
	}
	warmUp := b.steps / 10
	for step := range b.steps + warmUp {
		moves := make([]labeling.Move, movesPerStep)
		for i := range moves {
			point := int32((step*movesPerStep + i) % n)
			moves[i] = labeling.Move{Point: point, From: labels[point], To: (labels[point] + 1) % k}
			labels[point] = moves[i].To
		}
		assign, err := stopwatch(func() error { _, err := x.Assign(ctx, []kernel.ClusterStats{stats}); return err })
		if err != nil {
			return err
		}
		update, err := stopwatch(func() error { _, err := x.Update(ctx, moves); return err })
		if err != nil {
			return err
		}
		if step >= warmUp {
			*both, *assigns, *updates = append(*both, assign+update), append(*assigns, assign), append(*updates, update)
		}
	}
	return nil
}

// withFleet starts a coordinator's fleet and workers that connect to it over TCP on the loopback interface,
// calls use with an executor, and stops them.
func withFleet(ctx context.Context, problem *kernelkmeans.Problem, points *dataset.Points,
	use func(kernelkmeans.Executor) error) (err error) {
	content, err := dataset.Marshal(points)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	f := fleet.New(fleet.Config{Datasets: datasetSource(content)})
	server := grpc.NewServer(fleet.ServerOptions()...)
	f.Register(server)
	var serving, working sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // it returns when the server is stopped
	workersCtx, stopWorkers := context.WithCancel(ctx)
	failures := make(chan error, workerCount)
	defer func() {
		f.Close() // first, so that workers do not wait for their tiles to be moved
		server.Stop()
		stopWorkers()
		working.Wait()
		serving.Wait()
		close(failures)
		for failure := range failures {
			if failure != nil && !errors.Is(failure, context.Canceled) {
				err = errors.Join(err, failure)
			}
		}
	}()
	for i := range workerCount {
		working.Go(func() {
			failures <- worker.Run(workersCtx, worker.Config{Coordinator: listener.Addr().String(),
				Name: fmt.Sprintf("worker-%d", i), Threads: 1, Version: "bench"})
		})
	}
	for changed := f.Changed(); len(f.Workers()) < workerCount; changed = f.Changed() {
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	hash := sha256.Sum256(content)
	executor, err := f.NewExecutor(ctx, fleet.Task{
		JobID: "bench", DatasetID: hex.EncodeToString(hash[:]),
		Need: planning.Workload{Matrix: &planning.Matrix{Spec: problem.Matrix}, DatasetBytes: int64(len(content)),
			K: problem.K()},
	})
	if err != nil {
		return err
	}
	defer executor.Release()
	return use(executor)
}
