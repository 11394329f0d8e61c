package simulate

import (
	"context"
	"fmt"
	"time"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/tools/simulate/model"
	"github.com/cleave-project/cleave/tools/simulate/simworker"
)

// family is a kind of job that is simulated.
type family struct {
	name       string
	operations float64 // of an iteration
	// calibrate measures what a worker computes.
	calibrate func(ctx context.Context, cfg *Config) (model.Cost, error)
	// run runs a job of n rows until it has made all its iterations.
	run func(ctx context.Context, cfg *Config, h *host, n int, o *observer) error
}

const (
	neighborCount = 20 // of a vertex: 10 nearest neighbors, and those that have it as one of theirs
	denseColumns  = 64
	featureRank   = 64
	landmarkCount = 256
)

var families = []family{
	{"neighbors", 2, calibrateGraph, runGraph},
	{"landmarks", 1, calibrateVectors, runLandmarks},
	{"full matrix", 2, calibrateDense, runDense},
}

func calibrateGraph(ctx context.Context, cfg *Config) (model.Cost, error) {
	return model.Graph(ctx, cfg.calibrationRows, neighborCount, cfg.K)
}

func calibrateVectors(ctx context.Context, cfg *Config) (model.Cost, error) {
	return model.Vectors(ctx, cfg.calibrationRows, featureRank, cfg.K)
}

func calibrateDense(ctx context.Context, cfg *Config) (model.Cost, error) {
	return model.Dense(ctx, cfg.calibrationRows/10, denseColumns, cfg.K)
}

// runGraph clusters a graph. The coordinator needs no more of it than its number of vertices.
func runGraph(ctx context.Context, cfg *Config, h *host, n int, o *observer) error {
	graph, err := dataset.NewGraph(n, []dataset.Edge{{Source: 0, Target: 1, Weight: 1}})
	if err != nil {
		return err
	}
	return runMatrix(ctx, cfg, h, graph, int64(n)*neighborCount*12,
		&kernelkmeans.Options{Objective: kernelkmeans.ObjectiveRatioAssociation}, o)
}

// runDense clusters points by a matrix that workers store.
func runDense(ctx context.Context, cfg *Config, h *host, n int, o *observer) error {
	points := &dataset.Points{N: n, D: 1, Values: make([]float64, n)}
	return runMatrix(ctx, cfg, h, points, int64(n)*denseColumns*8, &kernelkmeans.Options{Rho: 1}, o)
}

func runMatrix(ctx context.Context, cfg *Config, h *host, data dataset.Dataset, bytes int64,
	options *kernelkmeans.Options, o *observer) error {
	labels := make([]int32, data.Rows())
	for i := range labels {
		labels[i] = simworker.Label(i, 0, cfg.K, cfg.MovedEvery)
	}
	p, err := kernelkmeans.Prepare(data, clustering.Spec{
		K: cfg.K, MaxIterations: cfg.Iterations, Restarts: 1, Algorithm: options,
		Initialization: clustering.Initialization{
			Start: clustering.StartLabels, Labels: labels,
		},
	})
	if err != nil {
		return err
	}
	e, err := h.NewExecutor(ctx, fleet.Task{
		JobID: fmt.Sprint("matrix-", data.Rows()), DatasetID: "simulated",
		Need: planning.Workload{DatasetBytes: bytes, K: cfg.K, Lanes: p.Lanes(),
			Matrix: &planning.Matrix{Spec: p.Matrix, SparseEntries: int64(data.Rows())}},
	})
	if err != nil {
		return err
	}
	defer e.Release()
	o.placed(e.Usage())
	_, err = kernelkmeans.Run(ctx, p, e, o)
	return err
}

// runLandmarks clusters points by kernel features.
func runLandmarks(ctx context.Context, cfg *Config, h *host, n int, o *observer) error {
	points := &dataset.Points{N: n, D: 1, Values: make([]float64, n)}
	features := &kernel.FeatureSpec{
		Matrix: kernel.MatrixSpec{Function: kernel.Gaussian, Rho: 1, Rows: n, Columns: 1,
			Grid: kernel.GridFor(float64(n))},
		Rank: featureRank, Projection: make([]float64, landmarkCount*featureRank),
	}
	for at := range landmarkCount {
		features.Landmarks = append(features.Landmarks, int32(at))
		features.Projection[at*featureRank+at%featureRank] = 1
	}
	rows := vector.NewFeatureSpec(features, 1)
	p, err := kmeans.NewProblem(points, rows, nil, clustering.Spec{
		K: cfg.K, MaxIterations: cfg.Iterations, Restarts: 1,
		Initialization: clustering.Initialization{Start: clustering.StartCentroids},
		Algorithm:      &kmeans.Options{Algorithm: kmeans.Kmeans, InitialCentroids: make([]float64, cfg.K*featureRank)},
	})
	if err != nil {
		return err
	}
	e, err := h.NewKMeansExecutor(ctx, fleet.Task{
		JobID: fmt.Sprint("landmarks-", n), DatasetID: "simulated", Vectors: rows,
		Need: planning.Workload{
			Vectors:      &planning.Vectors{Rows: n, Columns: featureRank, Width: rows.Width()},
			DatasetBytes: int64(n) * denseColumns * 8, K: cfg.K, Lanes: 1,
		},
	})
	if err != nil {
		return err
	}
	defer e.Release()
	o.placed(e.Usage())
	_, err = kmeans.Run(ctx, p, e, o)
	return err
}

// observer notes what this process used at the end of each iteration.
type observer struct {
	host   *host
	rows   int
	began  time.Time
	setup  float64 // seconds of processor time until tiles were placed and built
	tiles  int     // of the worker with the most
	all    int     // tiles
	notes  []note
	atInit float64
}

// note is the state at the end of an iteration.
type note struct {
	at    time.Time
	cpu   float64
	bytes traffic
	moved int
}

func newObserver(h *host, rows int) *observer {
	return &observer{host: h, rows: rows, began: time.Now(), atInit: processorTime()}
}

// placed notes how tiles were placed.
func (o *observer) placed(u *fleet.Usage) {
	o.setup = processorTime() - o.atInit
	for _, share := range u.Shares {
		o.tiles = max(o.tiles, share.Stored+share.Computed)
	}
	o.all = u.Stored + u.Computed
}

// Observe implements clustering.Observer.
func (o *observer) Observe(e clustering.Event) {
	if done, is := e.(clustering.IterationDone); is && done.Iteration > 0 {
		o.notes = append(o.notes, note{time.Now(), processorTime(), o.host.traffic(), done.Moved})
	}
}
