package clustertest

import (
	"fmt"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/tabletest"
	"github.com/cleave-project/cleave/test/testscale"
)

// supervised is data with constraints between some pairs.
type supervised struct {
	data        dataset.Dataset
	constraints *cleavev1.TableInput
}

func supervise(data dataset.Dataset, truth []int32, pairs int) supervised {
	constraints, err := synth.Constraints(truth, pairs, random(2))
	if err != nil {
		panic(err)
	}
	return supervised{data, wire.InlineTable(tabletest.Constraints(constraints))}
}

func groupedPoints(n, k int) supervised {
	points, truth, err := synth.Gaussians(n, 5, k, 4, random(1))
	if err != nil {
		panic(err)
	}
	return supervise(points, truth, n/4)
}

func groupedGraph(n, k int, inside, outside float64) supervised {
	edges, truth, err := synth.Blocks(n, k, inside, outside, random(1))
	if err != nil {
		panic(err)
	}
	graph, err := dataset.NewGraph(n, edges)
	if err != nil {
		panic(err)
	}
	return supervise(graph, truth, n/4)
}

// spectralSpecs are jobs of every algorithm of the spectral family, and of kernel k-means with a spectral
// start.
func (s supervised) spectralSpecs(k uint32) map[string]*cleavev1.JobSpec {
	specs := map[string]*cleavev1.JobSpec{
		"spectral": {Algorithm: &cleavev1.JobSpec_Spectral{Spectral: &cleavev1.Spectral{}}},
		"spectral-learning": {
			Algorithm: &cleavev1.JobSpec_SpectralLearning{SpectralLearning: &cleavev1.SpectralLearning{}}},
		"constrained-spectral": {
			Algorithm: &cleavev1.JobSpec_ConstrainedSpectral{ConstrainedSpectral: &cleavev1.ConstrainedSpectral{}}},
		"constrained-spectral by the paper": {
			Algorithm: &cleavev1.JobSpec_ConstrainedSpectral{ConstrainedSpectral: &cleavev1.ConstrainedSpectral{
				Beta: &cleavev1.Beta{Kind: &cleavev1.Beta_Rule{Rule: cleavev1.BetaRule_BETA_RULE_PAPER}},
			}}},
		"kernel k-means": {Algorithm: kernelKmeans(&cleavev1.KernelKmeans{}),
			Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_SPECTRAL}},
	}
	for _, spec := range specs {
		spec.Clusters = &cleavev1.JobSpec_K{K: k}
		spec.Seed = 3
		spec.Supervision = &cleavev1.Supervision{Constraints: s.constraints}
	}
	return specs
}

// spectralJobs are those jobs on points and graphs, for two clusters and for more. All are small but one:
// it is too large for the dense solver of constrained cuts.
var spectralJobs = sync.OnceValue(func() map[string]*workload {
	jobs := map[string]*workload{}
	for _, k := range []int{2, 4} {
		for kind, of := range map[string]supervised{"points": groupedPoints(160, k),
			"a graph": groupedGraph(160, k, 10, 2)} {
			for name, spec := range of.spectralSpecs(uint32(k)) {
				jobs[fmt.Sprintf("%s of %s, k = %d", name, kind, k)] = newWorkload(of.data, spec)
			}
		}
	}
	large := groupedGraph(2001, 2, 12, 2)
	for _, name := range []string{"constrained-spectral", "constrained-spectral by the paper"} {
		spec := large.spectralSpecs(2)[name]
		spec.GetConstrainedSpectral().Eigenvectors = &cleavev1.Eigenvectors{Tolerance: proto.Float64(1e-2)}
		jobs[name+" of a larger graph"] = newWorkload(large.data, spec)
	}
	return jobs
})

// TestEigenvectorsHaveTheSameBitsOnAnyNumberOfWorkers runs every algorithm that computes eigenvectors on
// clusters of 1 and 3 worker processes, and in a long run of 2 and 5 too. Labels, eigenvalues and coordinates must be
// the same.
func TestEigenvectorsHaveTheSameBitsOnAnyNumberOfWorkers(t *testing.T) {
	t.Parallel()
	for c, workers := range growingCluster(t, testscale.Some([]int{1, 2, 3, 5}, 2)...) {
		watches := map[string]*Watch{}
		jobs := someOf(spectralJobs(), 5)
		for name, load := range jobs {
			_, watches[name] = load.run(c)
		}
		for name, load := range jobs {
			what := fmt.Sprintf("%s, %d workers", name, workers)
			load.finish(t, what, watches[name])
			outcome := c.Outcome(watches[name].job)
			isSpectral := load.spec.GetKernelKmeans() == nil
			if outcome.Result.GetPlan().GetWorkers() != uint32(workers) || isSpectral != (outcome.Embedding != nil) ||
				isSpectral != (len(outcome.Result.GetSpectral().GetEigenvalues()) > 0) {
				t.Errorf("%s: the result is %v", what, outcome.Result)
			}
		}
	}
}

// longEigenvectors take seconds to compute their eigenvectors: those of a graph with weak groups, and those
// of a narrow kernel, whose eigenvalues are close together.
var longEigenvectors = sync.OnceValue(func() map[string]*workload {
	graph := groupedGraph(2500, 4, 5, 4)
	points := groupedPoints(1200, 4)
	jobs := map[string]*workload{}
	for name, spec := range graph.spectralSpecs(4) {
		jobs[name] = newWorkload(graph.data, spec)
	}
	learning := points.spectralSpecs(4)["spectral-learning"]
	learning.GetSpectralLearning().Kernel = &cleavev1.Kernel{Rho: proto.Float64(3)}
	jobs["spectral-learning"] = newWorkload(points.data, learning)
	cuts := groupedGraph(20_000, 2, 8, 3)
	jobs["constrained-spectral"] = newWorkload(cuts.data, cuts.spectralSpecs(2)["constrained-spectral by the paper"])
	return jobs
})

// TestEigensolversSurviveChangesOfWorkers kills, pauses and adds workers while eigensolvers run.
func TestEigensolversSurviveChangesOfWorkers(t *testing.T) {
	testscale.LongOnly(t, "TestVectorsSurviveTheLossOfWorkers has the same faults")
	t.Parallel()
	c, workers := StartCluster(t, 3)
	for _, trial := range []struct {
		job     string
		happens func()
	}{
		{"spectral", func() { workers[0].Kill() }},
		{"spectral-learning", func() {
			workers[1].Pause()
			c.AwaitWorkers(1) // it is lost
			workers[1].Resume()
		}},
		{"constrained-spectral", func() { StartWorker(t, c, "late") }},
		{"kernel k-means", func() {
			workers[2].Kill()
			StartWorker(t, c, "later")
		}},
	} {
		load := longEigenvectors()[trial.job]
		_, w := load.run(c)
		w.UntilSolverSteps(3)
		w.StillRunning()
		trial.happens() // a paused worker does not hold up the job, which may end before that worker is lost
		load.finish(t, trial.job+" while something happens", w)
		checkSteps(t, trial.job, w, load.spec)
	}
	c.AwaitWorkers(3)
}

// checkSteps checks what the steps of an eigensolver report: the tolerance, an estimate of the steps that
// are left, and finally that all pairs have converged. Searches with a larger tolerance may come first.
func checkSteps(t *testing.T, what string, w *Watch, spec *cleavev1.JobSpec) {
	t.Helper()
	tolerance, estimates := 1e-8, 0
	if spec.Tolerance != nil {
		tolerance = spec.GetTolerance()
	} else if spec.GetKernelKmeans() != nil {
		tolerance = 1e-5 // of a spectral start
	}
	var last *cleavev1.SolverStep
	for _, e := range w.Events {
		s := e.GetSolver()
		switch {
		case s == nil:
			continue
		case s.GetTolerance() < tolerance || s.GetStep() != last.GetStep()+1:
			t.Errorf("%s: step %v after %v", what, s, last)
		case s.GetStepsLeft() > 0:
			estimates++
		}
		last = s
	}
	if estimates == 0 || last.StepsLeft == nil || last.GetStepsLeft() != 0 || last.GetTolerance() != tolerance ||
		last.GetResidual() > tolerance || last.GetConverged() != last.GetWanted() {
		t.Errorf("%s: %d steps estimated how many were left, and the last was %v", what, estimates, last)
	}
}
