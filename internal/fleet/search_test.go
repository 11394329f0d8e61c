package fleet_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/planning"
)

// deadly is an executor that kills a worker in the middle of a chain: after its candidates were found.
type deadly struct {
	*fleet.Executor
	kill func()
	left int
}

func (d *deadly) Measure() kernelkmeans.Measurer { return d }

func (d *deadly) Blocks(ctx context.Context, blocks []kernel.Block) ([]kernelkmeans.BlockSums, error) {
	d.left--
	if d.left == 0 {
		d.kill()
	}
	return d.Executor.Blocks(ctx, blocks)
}

// Local search, of restarts side by side, has the same answer on any number of workers as in one process, also if a
// worker is killed in the middle of a chain.
func TestLocalSearchOnWorkers(t *testing.T) {
	var constraints []constraint.Constraint
	for i := range int32(40) {
		kind := constraint.CannotLink
		if i%3 == 0 {
			kind = constraint.MustLink
		}
		constraints = append(constraints, constraint.Constraint{I: i, J: 499 - i, Kind: kind})
	}
	for name, data := range map[string]dataset.Dataset{"points": randomPoints(t, 500, 4, 3),
		"graph": graphProblem(t, 500, 3000, 5).data} {
		spec := clustering.Spec{
			K: 4, Restarts: 5, MaxIterations: 200,
			Initialization: clustering.Initialization{Start: clustering.StartRandom},
			Supervision:    clustering.Supervision{Constraints: constraints},
			Algorithm:      &kernelkmeans.Options{OnRise: kernelkmeans.RiseIgnore, KeepBest: true, LocalSearch: 20},
		}
		p, err := kernelkmeans.Prepare(data, spec)
		if err != nil {
			t.Fatal(err)
		}
		local, err := kernelkmeans.NewLocal(t.Context(), p, data, 1)
		if err != nil {
			t.Fatal(err)
		}
		want, err := kernelkmeans.Run(t.Context(), p, local, clustering.NopObserver{})
		if err != nil {
			t.Fatal(err)
		}
		for _, workers := range []int{1, 2, 3, 5} {
			t.Run(fmt.Sprint(name, "-", workers), func(t *testing.T) {
				t.Parallel()
				c := newCluster(t)
				victim := c.startWorker("victim")
				for w := range workers - 1 {
					c.startWorker(fmt.Sprint("w", w))
				}
				id, size := c.datasets.put(t, data)
				e, err := c.fleet.NewExecutor(c.ctx, fleet.Task{JobID: "job", DatasetID: id, Need: planning.Workload{
					DatasetBytes: size, K: spec.K, Lanes: p.Lanes(),
					Matrix: &planning.Matrix{
						Spec: p.Matrix, Block: p.Candidates(), SparseEntries: 2 * int64(p.Constraints.Len()),
					},
				}})
				if err != nil {
					t.Fatal(err)
				}
				defer e.Release()
				x := &deadly{Executor: e, left: 3, kill: func() {
					victim.kill()
					c.startWorker("next")
				}}
				got, err := kernelkmeans.Run(c.ctx, p, x, clustering.NopObserver{})
				if err != nil || x.left > 0 {
					t.Fatal(err, x.left)
				}
				many := []kernel.Block{{Points: make([]int32, p.Candidates()+1)}}
				if _, err := e.Blocks(c.ctx, many); err == nil {
					t.Error("a block of more points than were planned is taken")
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%v after %d iterations, want %v after %d", got.Objective, got.Iterations, want.Objective,
						want.Iterations)
				}
			})
		}
	}
}
