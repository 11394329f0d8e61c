package clustertest

import (
	"fmt"
	"sync"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/tabletest"
	"github.com/cleave-project/cleave/test/testscale"
)

// knownPoints are points in overlapping clusters, with labels of some and constraints between pairs.
var knownPoints = sync.OnceValue(func() (known struct {
	points      *dataset.Points
	sparse      *dataset.SparsePoints
	seeds       *cleavev1.TableInput
	constraints *cleavev1.TableInput
}) {
	points, truth, err := synth.Gaussians(1000, 6, 8, 5, random(1))
	if err != nil {
		panic(err)
	}
	var seeds []constraint.Seed
	for i := 0; i < len(truth); i += 20 {
		seeds = append(seeds, constraint.Seed{Index: int32(i), Label: truth[i]})
	}
	known.seeds = wire.InlineTable(tabletest.Seeds(seeds))
	pairs, err := synth.Constraints(truth, 150, random(2))
	if err != nil {
		panic(err)
	}
	known.points = points
	known.constraints = wire.InlineTable(tabletest.Constraints(pairs))
	known.sparse = positive(points)
	return known
})

// positive keeps the positive values of points, spread over 60 columns.
func positive(points *dataset.Points) *dataset.SparsePoints {
	starts := []int64{0}
	columns := []int32{}
	values := []float64{}
	for i := range points.N {
		for f, v := range points.Row(i) {
			if v > 0 || f == 0 {
				columns = append(columns, int32(10*f+i%3))
				values = append(values, max(v, 1e-3))
			}
		}
		starts = append(starts, int64(len(columns)))
	}
	sparse, err := dataset.NewSparsePoints(points.N, 60, starts, columns, values)
	if err != nil {
		panic(err)
	}
	return sparse
}

// vectorJobs are jobs of every algorithm of the k-means family, on dense and sparse points.
var vectorJobs = sync.OnceValue(func() map[string]*workload {
	known := knownPoints()
	jobs := map[string]*workload{}
	seeded := &cleavev1.Supervision{Seeds: known.seeds}
	linked := &cleavev1.Supervision{Constraints: known.constraints}
	add := func(name string, data dataset.Dataset, spec *cleavev1.JobSpec) {
		spec.Clusters = &cleavev1.JobSpec_K{K: 8}
		spec.Seed = 3
		jobs[name] = newWorkload(data, spec)
	}
	spherical := cleavev1.Geometry_GEOMETRY_SPHERICAL
	full := cleavev1.Metric_METRIC_FULL
	for kind, data := range map[string]dataset.Dataset{"": known.points, " of sparse points": known.sparse} {
		add("kmeans"+kind, data,
			&cleavev1.JobSpec{Restarts: 3, Algorithm: &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}}})
		add("spherical kmeans"+kind, data,
			&cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{Geometry: spherical}}})
		add("seeded"+kind, data, &cleavev1.JobSpec{Supervision: seeded,
			Algorithm: &cleavev1.JobSpec_SeededKmeans{SeededKmeans: &cleavev1.SeededKmeans{}}})
		add("constrained"+kind, data, &cleavev1.JobSpec{Supervision: seeded,
			Algorithm: &cleavev1.JobSpec_ConstrainedKmeans{ConstrainedKmeans: &cleavev1.ConstrainedKmeans{}}})
		add("cop"+kind, data, &cleavev1.JobSpec{Supervision: linked,
			Algorithm: &cleavev1.JobSpec_CopKmeans{CopKmeans: &cleavev1.CopKmeans{}}})
		add("pc"+kind, data, &cleavev1.JobSpec{Supervision: linked,
			Algorithm: &cleavev1.JobSpec_PcKmeans{PcKmeans: &cleavev1.PcKmeans{}}})
		add("m"+kind, data, &cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_MKmeans{MKmeans: &cleavev1.MKmeans{}}})
		add("mpc"+kind, data, &cleavev1.JobSpec{Supervision: linked,
			Algorithm: &cleavev1.JobSpec_MpcKmeans{MpcKmeans: &cleavev1.MpcKmeans{}}})
		add("hmrf"+kind, data, &cleavev1.JobSpec{Supervision: linked,
			Algorithm: &cleavev1.JobSpec_HmrfKmeans{HmrfKmeans: &cleavev1.HmrfKmeans{}}})
	}
	add("mpc with a full metric", known.points, &cleavev1.JobSpec{Supervision: linked,
		Algorithm: &cleavev1.JobSpec_MpcKmeans{MpcKmeans: &cleavev1.MpcKmeans{Metric: full}}})
	add("hmrf of cosines", known.points, &cleavev1.JobSpec{Supervision: linked,
		Algorithm: &cleavev1.JobSpec_HmrfKmeans{
			HmrfKmeans: &cleavev1.HmrfKmeans{Distortion: cleavev1.Distortion_DISTORTION_COSINE}}})
	add("hmrf of sparse probabilities", known.sparse, &cleavev1.JobSpec{Supervision: linked,
		Algorithm: &cleavev1.JobSpec_HmrfKmeans{
			HmrfKmeans: &cleavev1.HmrfKmeans{Distortion: cleavev1.Distortion_DISTORTION_KL}}})
	add("hmrf of the I-divergence", known.sparse, &cleavev1.JobSpec{Supervision: linked,
		Algorithm: &cleavev1.JobSpec_HmrfKmeans{HmrfKmeans: &cleavev1.HmrfKmeans{
			Distortion: cleavev1.Distortion_DISTORTION_I_DIVERGENCE, Penalty: cleavev1.Penalty_PENALTY_POTTS}}})
	byLandmarks := func(o *cleavev1.KernelKmeans) *cleavev1.JobSpec_KernelKmeans {
		o.Landmarks = 90
		return &cleavev1.JobSpec_KernelKmeans{KernelKmeans: o}
	}
	add("landmarks", known.points, &cleavev1.JobSpec{Restarts: 1, Scale: cleavev1.Scale_SCALE_ZSCORE,
		Algorithm: byLandmarks(&cleavev1.KernelKmeans{})})
	add("landmarks with constraints", known.points, &cleavev1.JobSpec{Supervision: linked,
		Algorithm: byLandmarks(&cleavev1.KernelKmeans{})})
	add("landmarks of polynomials with seeds", known.points, &cleavev1.JobSpec{Supervision: seeded,
		Algorithm: byLandmarks(&cleavev1.KernelKmeans{
			Kernel: &cleavev1.Kernel{Function: cleavev1.KernelFunction_KERNEL_FUNCTION_POLYNOMIAL}})})
	return jobs
})

// TestVectorsHaveTheSameBitsOnAnyNumberOfWorkers runs every algorithm of the k-means family on clusters of
// 1, 2, 3 and 5 worker processes.
func TestVectorsHaveTheSameBitsOnAnyNumberOfWorkers(t *testing.T) {
	t.Parallel()
	for c, workers := range growingCluster(t, testscale.Some([]int{1, 2, 3, 5}, 2)...) {
		for name, load := range someOf(vectorJobs(), 5) {
			what := fmt.Sprintf("%s, %d workers", name, workers)
			job, w := load.run(c)
			load.finish(t, what, w)
			result := c.Outcome(job).Result
			if result.GetPlan().GetWorkers() != uint32(workers) || result.GetModel() == nil {
				t.Errorf("%s: the result is %v", what, result.GetPlan())
			}
			// whose starts are good ones
			if workers == 1 && result.GetIterations() < 2 && result.GetLandmarks() == nil {
				t.Errorf("%s: only %d iterations show little", what, result.GetIterations())
			}
		}
	}
}

// longVectors iterates for a few seconds, by many random starts.
var longVectors = sync.OnceValue(func() *workload {
	return newWorkload(gaussians(3000, 6, 12, 6), &cleavev1.JobSpec{
		Clusters: &cleavev1.JobSpec_K{K: 12}, Seed: 3, Restarts: restarts(24),
		Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM},
		Algorithm:      &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}},
	})
})

// longMetrics learns metrics with constraints, in many restarts, on sparse points.
var longMetrics = sync.OnceValue(func() *workload {
	known := knownPoints()
	return newWorkload(known.sparse, &cleavev1.JobSpec{
		Clusters: &cleavev1.JobSpec_K{K: 8}, Seed: 3, Restarts: restarts(14),
		Supervision:    &cleavev1.Supervision{Constraints: known.constraints},
		Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM},
		Algorithm:      &cleavev1.JobSpec_MpcKmeans{MpcKmeans: &cleavev1.MpcKmeans{}},
	})
})

// longLandmarks runs from many starts, of which seeds give one cluster only.
var longLandmarks = sync.OnceValue(func() *workload {
	return newWorkload(gaussians(3000, 6, 12, 6), &cleavev1.JobSpec{
		Clusters: &cleavev1.JobSpec_K{K: 12}, Seed: 3, Restarts: restarts(16),
		Supervision: &cleavev1.Supervision{Seeds: wire.InlineTable(tabletest.Seeds([]constraint.Seed{{Index: 7}}))},
		Algorithm:   &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{Landmarks: 200}},
	})
})

func TestVectorsSurviveTheLossOfWorkers(t *testing.T) {
	t.Parallel()
	loads := map[string]func() *workload{"vectors": longVectors, "metrics": longMetrics, "landmarks": longLandmarks}
	for _, name := range testscale.Some([]string{"metrics", "vectors", "landmarks"}, 1) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			load := loads[name]
			c, workers := StartCluster(t, 3)
			_, w := load().run(c)
			w.UntilIterations(3)
			workers[0].Kill()
			workers[1].Pause()
			w.StillRunning()
			w.UntilIterations(10) // with the remaining worker
			workers[2].Pause()    // so that the job cannot end before the next one joins
			w.StillRunning()
			StartWorker(t, c, "late")
			workers[1].Resume()
			workers[2].Resume()
			load().finish(t, "with a worker killed, one paused and one that joined", w)
			c.AwaitWorkers(3)
		})
	}
}
