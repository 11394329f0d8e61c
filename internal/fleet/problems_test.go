package fleet_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/planning"
)

// killer is an observer that kills a worker, and starts another, at an early iteration.
type killer struct {
	kill func()
	left int
}

func (k *killer) Observe(e clustering.Event) {
	if _, is := e.(clustering.IterationDone); !is {
		return
	}
	if k.left--; k.left == 0 {
		k.kill()
	}
}

// Several problems with their restarts side by side, on any number of workers of which one is killed on the way, have
// the results that each has alone in one process.
func TestProblemsSideBySideOnWorkers(t *testing.T) {
	data := randomPoints(t, 500, 4, 3)
	var constraints []constraint.Constraint
	for i := range int32(40) {
		kind := constraint.CannotLink
		if i%3 == 0 {
			kind = constraint.MustLink
		}
		constraints = append(constraints, constraint.Constraint{I: i, J: 499 - i, Kind: kind})
	}
	first, err := kmeans.Prepare(data, clustering.Spec{K: 4, Restarts: 5, MaxIterations: 20,
		Algorithm: &kmeans.Options{Algorithm: kmeans.Kmeans}})
	if err != nil {
		t.Fatal(err)
	}
	problems := []*kmeans.Problem{first}
	for seed, algorithm := range []kmeans.Algorithm{kmeans.PCKmeans, kmeans.MPCKmeans, kmeans.CopKmeans,
		kmeans.HMRFKmeans} {
		p, err := first.WithSpec(clustering.Spec{
			K: 4, Restarts: 1 + seed, MaxIterations: 20, Seed: uint64(seed),
			Supervision: clustering.Supervision{Constraints: constraints},
			Algorithm:   &kmeans.Options{Algorithm: algorithm},
		})
		if err != nil {
			t.Fatal(err)
		}
		problems = append(problems, p)
	}
	var want []*clustering.Result
	for _, p := range problems {
		x, err := kmeans.NewLocal(t.Context(), p, data, 1)
		if err != nil {
			t.Fatal(err)
		}
		result, err := kmeans.Run(t.Context(), p, x, clustering.NopObserver{})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, result)
	}
	for _, workers := range []int{1, 2, 3, 5} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			victim := c.startWorker("victim")
			for w := range workers - 1 {
				c.startWorker(fmt.Sprint("w", w))
			}
			id, size := c.datasets.put(t, data)
			e, err := c.fleet.NewKMeansExecutor(c.ctx, fleet.Task{JobID: "job", DatasetID: id, Vectors: first.Vectors,
				Need: planning.Workload{
					DatasetBytes: size, K: 4, Lanes: kmeans.Lanes(problems...),
					Vectors: &planning.Vectors{Rows: 500, Columns: 4, Width: 4},
				}})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Release()
			observer := &killer{left: 3, kill: func() {
				victim.kill()
				c.startWorker("next")
			}}
			got, err := kmeans.RunAll(c.ctx, problems, e, func(int) clustering.Observer { return observer })
			if err != nil || observer.left > 0 {
				t.Fatal(err, observer.left)
			}
			for p := range want {
				if !reflect.DeepEqual(got[p], want[p]) {
					t.Errorf("problem %d: %+v, want %+v", p, got[p], want[p])
				}
			}
		})
	}
}
