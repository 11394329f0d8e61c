package clustertest

import (
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/programs"
	"github.com/cleave-project/cleave/test/tabletest"
	"github.com/cleave-project/cleave/test/testscale"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// workload is a job and its expected outcome.
type workload struct {
	data dataset.Dataset
	spec *cleavev1.JobSpec
	want func(testing.TB) Outcome
}

// newWorkload makes a workload that computes its expected outcome once, when a test first needs it.
func newWorkload(data dataset.Dataset, spec *cleavev1.JobSpec) *workload {
	var once sync.Once
	var outcome Outcome
	return &workload{data: data, spec: spec, want: func(t testing.TB) Outcome {
		t.Helper()
		once.Do(func() { outcome = Compute(t, data, spec) })
		return outcome
	}}
}

// on uploads the data and returns a copy of the job's spec with its id.
func (l *workload) on(c *Coordinator) *cleavev1.JobSpec {
	c.Process.t.Helper()
	spec := proto.CloneOf(l.spec) // tests share the workload
	spec.Data = &cleavev1.JobSpec_DatasetId{DatasetId: c.Upload(l.data)}
	return spec
}

// run uploads the data, creates the job and begins to watch it.
func (l *workload) run(c *Coordinator) (job string, w *Watch) {
	c.Process.t.Helper()
	job = c.Create(l.on(c))
	return job, c.Watch(job)
}

// finish waits for the end of the job and checks its outcome.
func (l *workload) finish(t testing.TB, what string, w *Watch) {
	t.Helper()
	if end := w.End(); end.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Fatalf("%s: the job ended with %v", what, end)
	}
	SameOutcome(t, what, w.client.Outcome(w.job), l.want(t))
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func kernelKmeans(options *cleavev1.KernelKmeans) *cleavev1.JobSpec_KernelKmeans {
	return &cleavev1.JobSpec_KernelKmeans{KernelKmeans: options}
}

// restarts is the number of restarts that makes a job long enough for a fault to happen during it. With
// the race detector everything takes several times as long, so fewer suffice.
func restarts(count uint32) uint32 {
	if programs.RaceDetector {
		return count/3 + 1
	}
	return count
}

func gaussians(n, d, k int, spread float64) *dataset.Points {
	points, _, err := synth.Gaussians(n, d, k, spread, random(1))
	if err != nil {
		panic(err)
	}
	return points
}

// longPoints iterates for a few seconds: overlapping clusters, and many random starts of some dozens of
// iterations each.
var longPoints = sync.OnceValue(func() *workload { return pointsRestarted(10) })

// longerPoints runs long enough for two snapshots, even if the disk is busy.
var longerPoints = sync.OnceValue(func() *workload { return pointsRestarted(uint32(testscale.Count(30, 50))) })

func pointsRestarted(times uint32) *workload {
	return newWorkload(gaussians(1800, 6, 12, 6), &cleavev1.JobSpec{
		Clusters: &cleavev1.JobSpec_K{K: 12}, Seed: 3, Restarts: restarts(times),
		Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM},
		Algorithm:      kernelKmeans(&cleavev1.KernelKmeans{}),
	})
}

// longBuild has many tiles to build and few iterations.
var longBuild = sync.OnceValue(func() *workload {
	iterations := uint32(5)
	return newWorkload(gaussians(6000, 48, 12, 8), &cleavev1.JobSpec{
		Clusters: &cleavev1.JobSpec_K{K: 12}, Seed: 1, MaxIterations: &iterations,
		Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM},
		Algorithm:      kernelKmeans(&cleavev1.KernelKmeans{}),
	})
})

// longGraph is a graph with constraints. Its objective rises at some iteration, so that the shift is
// computed by Lanczos: many products of the matrix with a vector, each an operation on all workers.
var longGraph = sync.OnceValue(func() *workload {
	edges, truth, err := synth.Blocks(2500, 12, 10, 2, random(1))
	if err != nil {
		panic(err)
	}
	graph, err := dataset.NewGraph(2500, edges)
	if err != nil {
		panic(err)
	}
	var pairs []constraint.Constraint
	if pairs, err = synth.Constraints(truth, 200, random(2)); err != nil {
		panic(err)
	}
	return newWorkload(graph, &cleavev1.JobSpec{
		Clusters: &cleavev1.JobSpec_K{K: 12}, Seed: 3, Restarts: restarts(16),
		Supervision:    &cleavev1.Supervision{Constraints: wire.InlineTable(tabletest.Constraints(pairs))},
		Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM},
		Algorithm:      kernelKmeans(&cleavev1.KernelKmeans{}),
	})
})
