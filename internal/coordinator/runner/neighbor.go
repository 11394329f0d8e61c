package runner

import (
	"cmp"
	"context"
	"runtime"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/knn"
	"github.com/cleave-project/cleave/internal/clustering/krange"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
	"github.com/cleave-project/cleave/internal/planning"
)

// neighborRunner runs a job on the graph of the nearest neighbors of its rows. The workers find the neighbors; the
// graph is made here, and workers get it as they get any data set, while the job needs it.
type neighborRunner struct {
	problem  *knn.Problem
	spec     clustering.Spec // with neighbors
	data     dataset.Dataset
	bytes    int64
	graphs   Graphs
	outline  Runner // of the same job on a path graph of the rows, for plans and checks before the real graph exists
	maxLanes int
}

func newNeighborRunner(ctx context.Context, data dataset.Dataset, spec clustering.Spec, bytes int64,
	graphs Graphs) (*neighborRunner, error) {
	problem, err := knn.Prepare(data, spec)
	if err != nil {
		return nil, err
	}
	outline, err := problem.Outline()
	if err != nil {
		return nil, err
	}
	onOutline, err := runnerOf(ctx, outline, problem.Spec, problem.MaxGraphBytes())
	if err != nil {
		return nil, err
	}
	return &neighborRunner{problem: problem, spec: spec, data: data, bytes: bytes, graphs: graphs,
		outline: onOutline}, nil
}

func (r *neighborRunner) Objective() string { return r.outline.Objective() }

func (r *neighborRunner) Need() planning.Workload {
	need := r.outline.Need()
	search := r.searchNeed()
	need.Search = &search
	if need.Levels != nil { // of the outline
		levels := *need.Levels
		levels.Entries = 2 * search.Neighbors.Edges()
		need.Levels = &levels
	}
	return need
}

func (r *neighborRunner) searchNeed() planning.Workload {
	need := planning.NeighborWorkload(r.data, r.bytes, r.problem.Count)
	need.Scaled = r.problem.Units != nil
	return need
}

func (r *neighborRunner) OtherNeeds() []planning.Workload { return r.outline.OtherNeeds() }

func (r *neighborRunner) LimitLanes(lanes int) { r.maxLanes = lanes }

func (r *neighborRunner) Execute(ctx context.Context, f *fleet.Fleet, task fleet.Task,
	o clustering.Observer) (*clustering.Result, *fleet.Usage, error) {
	r.problem.Observe(o)
	graph, searched, err := r.graph(ctx, f, task)
	if err != nil {
		return nil, searched, err
	}
	id, bytes, err := r.graphs.AddTemporary(graph)
	if err != nil {
		return nil, searched, err
	}
	defer r.graphs.Release(id)
	onGraph, err := runnerOf(ctx, graph, r.problem.Spec, bytes)
	if err != nil {
		return nil, searched, err
	}
	if several, is := onGraph.(*rangeRunner); is {
		several.origin = krange.Job{Data: r.data, Spec: r.spec}
	}
	if r.maxLanes > 0 {
		onGraph.LimitLanes(r.maxLanes)
	}
	task.DatasetID = id
	task.Need = onGraph.Need()
	result, used, err := onGraph.Execute(ctx, f, task, o)
	if result != nil {
		r.problem.FillResult(result, graph)
	}
	return result, cmp.Or(used, searched), err
}

// graph has the workers find the neighbors of all rows, and makes the graph of them. It also returns what the search
// used, or nil if there was none.
func (r *neighborRunner) graph(ctx context.Context, f *fleet.Fleet,
	task fleet.Task) (*dataset.Graph, *fleet.Usage, error) {
	task.Need = r.searchNeed()
	task.Units = r.problem.Units
	if kernel, given := r.data.(*dataset.Kernel); given {
		task.Diagonal = neighbor.KernelDiagonal(kernel)
	}
	var used *fleet.Usage
	nearest, err := r.problem.Nearest(ctx, func(ctx context.Context) (nearest []int32, err error) {
		nearest, used, err = f.Neighbors(ctx, task)
		return nearest, err
	})
	if err != nil {
		return nil, used, err
	}
	graph, err := r.problem.Graph(ctx, nearest, runtime.GOMAXPROCS(0))
	return graph, used, err
}
