package clustertest

import (
	"fmt"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/tabletest"
	"github.com/cleave-project/cleave/test/testscale"
)

func autoJob(data dataset.Dataset, k uint32, supervision *cleavev1.Supervision) *workload {
	return newWorkload(data, &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: k}, Seed: 3, Supervision: supervision,
		Algorithm: &cleavev1.JobSpec_Auto{Auto: &cleavev1.Auto{}}})
}

// inFewFolds tries each way of auto a few times only: what takes long on a graph is the number of cuts, not its size.
func inFewFolds(load *workload) *workload {
	load.spec.GetAuto().Folds = proto.Uint32(2)
	return load
}

// namedJob is a job of an algorithm that auto beats, of which a notice tells.
const namedJob = "a named algorithm"

// autoJobs are jobs of auto on data of every kind.
var autoJobs = sync.OnceValue(func() map[string]*workload {
	moons, truth, err := synth.TwoMoons(200, 0.08, random(1))
	if err != nil {
		panic(err)
	}
	linked := supervise(moons, truth, 50)
	blocks := groupedGraph(160, 2, 10, 2)
	var seeds []constraint.Seed
	for i := 0; i < len(truth); i += 12 {
		seeds = append(seeds, constraint.Seed{Index: int32(i), Label: truth[i]})
	}
	kernel, err := dataset.NewKernel(200, 200, products(gaussians(200, 3, 4, 2)))
	if err != nil {
		panic(err)
	}
	named := autoJob(moons, 2, &cleavev1.Supervision{Constraints: linked.constraints})
	named.spec.Algorithm = &cleavev1.JobSpec_PcKmeans{PcKmeans: &cleavev1.PcKmeans{}}
	return map[string]*workload{
		namedJob: named,
		"points": autoJob(gaussians(200, 4, 5, 3), 5, nil),
		"points with constraints": inFewFolds(autoJob(moons, 2,
			&cleavev1.Supervision{Constraints: linked.constraints})),
		"points with seeds": autoJob(moons, 2,
			&cleavev1.Supervision{Seeds: wire.InlineTable(tabletest.Seeds(seeds))}),
		"a graph with constraints": inFewFolds(autoJob(blocks.data, 2,
			&cleavev1.Supervision{Constraints: blocks.constraints})),
		"sparse points": autoJob(positive(gaussians(200, 6, 4, 4)), 4, nil),
		"a kernel matrix and a pair": autoJob(kernel, 4,
			&cleavev1.Supervision{
				Constraints: wire.InlineTable(
					tabletest.Constraints([]constraint.Constraint{{I: 0, J: 1, Kind: constraint.CannotLink}}))}),
	}
})

// products are those of all rows, which is a linear kernel.
func products(points *dataset.Points) []float64 {
	values := make([]float64, 0, points.N*points.N)
	for i := range points.N {
		for j := range points.N {
			sum := 0.0
			for f, v := range points.Row(i) {
				sum += float64(v * points.Row(j)[f])
			}
			values = append(values, sum)
		}
	}
	return values
}

// TestAutoHasTheSameBitsOnAnyNumberOfWorkers runs auto on data of every kind on clusters of 1 and 3 worker
// processes, and in a long run of 2 and 5 too: labels, results and all events must be the same.
func TestAutoHasTheSameBitsOnAnyNumberOfWorkers(t *testing.T) {
	t.Parallel()
	first := map[string][]*cleavev1.Event{}
	for c, workers := range growingCluster(t, testscale.Some([]int{1, 2, 3, 5}, 2)...) {
		watches := map[string]*Watch{}
		jobs := someOf(autoJobs(), 4)
		for name, load := range jobs {
			_, watches[name] = load.run(c)
		}
		for name, load := range jobs {
			what := fmt.Sprintf("%s, %d workers", name, workers)
			load.finish(t, what, watches[name])
			outcome := c.Outcome(watches[name].job)
			if outcome.Result.GetPlan().GetWorkers() != uint32(workers) ||
				(outcome.Result.GetChoice().GetReason() == "") != (name == namedJob) {
				t.Errorf("%s: the plan is %v, the choice %v", what, outcome.Result.GetPlan(),
					outcome.Result.GetChoice())
			}
			if warnings := outcome.Result.GetWarnings(); name == namedJob &&
				(len(warnings) != 1 || warnings[0].GetReason() != "DEFAULT_IS_BETTER") {
				t.Errorf("%s: %v", what, warnings)
			}
			if workers == 1 {
				first[name] = watches[name].Events
				continue
			}
			equalEvents(t, what, watches[name].Events, first[name])
		}
	}
}

func equalEvents(t testing.TB, what string, got, want []*cleavev1.Event) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d events, want %d", what, len(got), len(want))
	}
	for i, e := range got {
		if !proto.Equal(e, want[i]) {
			t.Errorf("%s: event %d is %v, want %v", what, i+1, e, want[i])
		}
	}
}

// longAuto tries ways for a second or more.
var longAuto = sync.OnceValue(func() *workload {
	points, truth, err := synth.Gaussians(500, 4, 4, 4, random(1))
	if err != nil {
		panic(err)
	}
	return autoJob(points, 4, &cleavev1.Supervision{Constraints: supervise(points, truth, 100).constraints})
})

// tried is how many folds of ways have been tried so far.
func tried(w *Watch) (count int) {
	for _, e := range w.Events {
		if e.GetMethodTried() != nil {
			count++
		}
	}
	return count
}

// TestAutoSurvivesKills kills a worker while the ways are tried, then the coordinator: the outcome is the same, and the
// events that were seen before are not repeated or changed.
func TestAutoSurvivesKills(t *testing.T) {
	testscale.LongOnly(t, "TestJobsGoOnAfterAKill kills beside other jobs")
	t.Parallel()
	c, workers := StartCluster(t, 3)
	load := longAuto()
	job, w := load.run(c)
	w.Resumes = true
	w.UntilSolverSteps(2)
	workers[0].Kill()
	w.Until("a way was tried", func(*cleavev1.WatchJobResponse) bool { return tried(w) > 0 })
	w.StillRunning()
	c.Kill()
	c.Restart()
	load.finish(t, "with a worker and the coordinator killed", w)
	if w.Breaks == 0 {
		t.Error("the watch noticed no break")
	}
	sameEvents(t, c, job, w.Events)
	Eventually(t, "the workers are free again", func() (bool, string) {
		for _, each := range c.Workers() {
			if each.GetTiles() > 0 || each.GetTileBytes() > 0 || len(each.GetJobIds()) > 0 {
				return false, each.String()
			}
		}
		return true, ""
	})
}
