package clustertest

import (
	"fmt"
	"reflect"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/testscale"
)

// neighborJob is a job on the graph of 8 nearest neighbors.
func neighborJob(data dataset.Dataset, spec *cleavev1.JobSpec, weights cleavev1.NeighborWeights) *workload {
	spec.NeighborGraph = &cleavev1.NeighborGraph{Neighbors: proto.Uint32(8), Weights: weights}
	return newWorkload(data, spec)
}

// neighborJobs are jobs on graphs of neighbors of data of every kind that has neighbors.
var neighborJobs = sync.OnceValue(func() map[string]*workload {
	const plain, gaussian = cleavev1.NeighborWeights_NEIGHBOR_WEIGHTS_UNSPECIFIED,
		cleavev1.NeighborWeights_NEIGHBOR_WEIGHTS_GAUSSIAN
	points, truth, err := synth.Gaussians(200, 4, 3, 3, random(1))
	if err != nil {
		panic(err)
	}
	wide := gaussians(250, 4, 4, 2)
	for i := range wide.N {
		wide.Row(i)[1] *= 1e6
	}
	kernel, err := dataset.NewKernel(200, 200, products(gaussians(200, 3, 4, 2)))
	if err != nil {
		panic(err)
	}
	return map[string]*workload{
		"auto": neighborJob(points, &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 3},
			Algorithm: &cleavev1.JobSpec_Auto{Auto: &cleavev1.Auto{}}}, plain),
		"auto with constraints": inFewFolds(neighborJob(points, &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 3},
			Supervision: &cleavev1.Supervision{Constraints: supervise(points, truth, 40).constraints},
			Algorithm:   &cleavev1.JobSpec_Auto{Auto: &cleavev1.Auto{}}}, gaussian)),
		"kernel k-means": neighborJob(wide, &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 4}, Restarts: 5,
			Algorithm: kernelKmeans(&cleavev1.KernelKmeans{})}, gaussian),
		"ratio cut": neighborJob(positive(gaussians(200, 6, 4, 4)),
			&cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 4}, Restarts: 3,
				Algorithm: kernelKmeans(&cleavev1.KernelKmeans{Objective: cleavev1.Objective_OBJECTIVE_RATIO_CUT})},
			gaussian),
		"spectral": neighborJob(kernel, &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 4},
			Algorithm: &cleavev1.JobSpec_Spectral{Spectral: &cleavev1.Spectral{}}}, gaussian),
	}
})

// TestNeighborGraphsHaveTheSameBitsOnAnyNumberOfWorkers runs jobs on graphs of neighbors on clusters of 1, 2, 3 and 5
// worker processes: labels, results, events and the graphs themselves must be the same.
func TestNeighborGraphsHaveTheSameBitsOnAnyNumberOfWorkers(t *testing.T) {
	t.Parallel()
	events, graphs := map[string][]*cleavev1.Event{}, map[string]*dataset.Graph{}
	jobs := someOf(neighborJobs(), 2)
	for name, load := range jobs {
		graphs[name] = localGraph(t, load)
	}
	for c, workers := range growingCluster(t, testscale.Some([]int{1, 2, 3, 5}, 2)...) {
		watches := map[string]*Watch{}
		for name, load := range jobs {
			_, watches[name] = load.run(c)
		}
		for name, load := range jobs {
			what := fmt.Sprintf("%s, %d workers", name, workers)
			load.finish(t, what, watches[name])
			if got := c.neighborGraph(watches[name].job); !reflect.DeepEqual(got, graphs[name]) {
				t.Errorf("%s: another graph", what)
			}
			if workers == 1 {
				events[name] = watches[name].Events
				continue
			}
			equalEvents(t, what, watches[name].Events, events[name])
		}
	}
}

// localGraph is the graph of neighbors of a job, as one process finds it.
func localGraph(t *testing.T, load *workload) *dataset.Graph {
	t.Helper()
	spec, err := wire.Spec(load.spec, &recipe.Rows{Count: load.data.Rows()}, wire.NoTables)
	if err != nil {
		t.Fatal(err)
	}
	result, err := local.Solve(t.Context(), load.data, spec, 2, clustering.NopObserver{})
	if err != nil {
		t.Fatal(err)
	}
	return result.NeighborGraph.Graph
}

// neighborGraph fetches the graph of neighbors of a job.
func (c *Coordinator) neighborGraph(job string) *dataset.Graph {
	c.Process.t.Helper()
	stream, err := c.Jobs.GetNeighborGraph(c.Process.t.Context(), &cleavev1.GetNeighborGraphRequest{JobId: job})
	if err != nil {
		c.Process.t.Fatal(err)
	}
	graph, err := wire.ReceiveNeighborGraph(stream.Recv)
	if err != nil {
		c.Process.t.Fatal(err)
	}
	return graph
}

// longNeighbors looks for neighbors for a second or more: points without structure in many columns.
var longNeighbors = sync.OnceValue(func() *workload {
	return neighborJob(gaussians(12_000, 60, 1, 1), &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 4},
		Algorithm: &cleavev1.JobSpec_Spectral{Spectral: &cleavev1.Spectral{
			Eigenvectors: &cleavev1.Eigenvectors{Tolerance: proto.Float64(1e-3)},
		}}}, cleavev1.NeighborWeights_NEIGHBOR_WEIGHTS_UNSPECIFIED)
})

// TestNeighborGraphsSurviveKills kills a worker while neighbors are looked for, then the coordinator while the graph is
// clustered.
func TestNeighborGraphsSurviveKills(t *testing.T) {
	testscale.LongOnly(t, "TestFaults kills during other work")
	t.Parallel()
	c, workers := StartCluster(t, 3)
	load := longNeighbors()
	job, w := load.run(c)
	w.Resumes = true
	w.Until("some neighbors are found", func(item *cleavev1.WatchJobResponse) bool {
		return item.GetProgress().GetTilesBuilt() > 0
	})
	workers[0].Kill()
	w.UntilSolverSteps(2)
	w.StillRunning()
	c.Kill()
	c.Restart()
	load.finish(t, "with a worker and the coordinator killed", w)
	sameEvents(t, c, job, w.Events)
}
