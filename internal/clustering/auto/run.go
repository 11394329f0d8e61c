package auto

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/neighbor"
)

// maxProducts is after how many products the search for eigenvectors returns its best so far.
const maxProducts = 20_000

// Problem is a spec checked against its data.
type Problem struct {
	Warnings []clustering.Notice

	spec      clustering.Spec
	data      dataset.Dataset
	n         int
	neighbors int
	folds     int
	given     *constraint.Set // the constraints of the user, without seeds
}

// Prepare checks a spec against the data.
func Prepare(data dataset.Dataset, spec clustering.Spec) (*Problem, error) {
	if err := clustering.Validate(data.Rows(), spec); err != nil {
		return nil, err
	}
	o := spec.Algorithm.(*Options)
	p := &Problem{spec: spec, data: data, n: data.Rows(), neighbors: cmp.Or(o.Neighbors, DefaultNeighbors), folds: cmp.Or(o.Folds, DefaultFolds)}
	var err error
	if p.given, err = clustering.NewConstraintSet(p.n, spec, constraint.UnitWeight); err != nil {
		return nil, err
	}
	if notice, conflicting := clustering.ConflictNotice(p.given); conflicting {
		p.Warnings = append(p.Warnings, notice)
	}
	return p, nil
}

// run is a problem on its executors.
type run struct {
	*Problem
	executors   Executors
	o           clustering.Observer
	threads     int
	reporter    *embedding.Reporter
	supervision *supervision
	contradicts bool // some constraints are wrong: they contradict each other
	spaces      []*space
	opened      map[clustering.Space]*space
	releases    []func()
}

// Run runs a problem.
func Run(ctx context.Context, p *Problem, x Executors, o clustering.Observer) (*clustering.Result, error) {
	r := &run{
		Problem: p, executors: x, o: o, threads: runtime.GOMAXPROCS(0), reporter: embedding.NewReporter(o),
		supervision: newSupervision(p.spec, p.folds, p.spec.Random(clustering.StreamFolds)),
		opened:      map[clustering.Space]*space{},
	}
	defer func() {
		for _, release := range r.releases {
			release()
		}
	}()
	for _, notice := range p.Warnings {
		o.Notice(notice)
	}
	o.Phase(clustering.PhaseInitialize)
	all, err := constraint.NewSet(r.n, r.supervision.shown(-1, 1), constraint.UnitWeight)
	if err != nil {
		return nil, err
	}
	r.contradicts = all.CountConflicts() > 0
	found, choice, err := r.choose(ctx)
	if err != nil {
		return nil, err
	}
	return r.report(found, choice), nil
}

// report turns the answer into the result.
func (r *run) report(found *answer, choice *clustering.Choice) *clustering.Result {
	result := *found.result
	result.Labels, result.Choice, result.Warnings = found.labels, choice, r.Warnings
	r.o.Phase(clustering.PhaseIterate)
	for _, entry := range result.History {
		r.o.Iteration(result.Restart, entry)
	}
	if found.at != nil {
		result.Model = nil
	}
	result.ClusterSizes = make([]int, r.spec.K)
	for _, c := range result.Labels {
		result.ClusterSizes[c]++
	}
	result.Satisfaction = r.given.Satisfaction(result.Labels)
	return &result
}

// open makes a space, once.
func (r *run) open(ctx context.Context, name clustering.Space) (*space, error) {
	if s, opened := r.opened[name]; opened {
		return s, nil
	}
	var units *dataset.Units
	if points, dense := r.data.(*dataset.Points); dense && (name == clustering.SpaceStandardized || name == clustering.SpaceStandardizedNeighbors) {
		units = dataset.StandardUnits(points)
	}
	var s *space
	var err error
	switch name {
	case clustering.SpaceRows, clustering.SpaceStandardized:
		s, err = r.openRows(ctx, name, units)
	case clustering.SpaceGraph:
		s, err = r.openGraph(ctx, name, nil, r.data.(*dataset.Graph))
	case clustering.SpaceNeighbors, clustering.SpaceStandardizedNeighbors:
		var nearest []int32
		if nearest, err = r.executors.Neighbors(ctx, units, r.neighbors); err != nil {
			return nil, err
		}
		var g *dataset.Graph
		if g, err = neighbor.Graph(r.n, min(r.neighbors, r.n-1), nearest); err != nil {
			return nil, err
		}
		s, err = r.openGraph(ctx, name, units, g)
	default:
		err = fmt.Errorf("auto: there is no space %d", name)
	}
	r.opened[name] = s
	return s, err
}

// oneAtATime lets several searches for eigenvectors share an executor.
type oneAtATime struct {
	embedding.Multiplier
	mu sync.Mutex
}

func (m *oneAtATime) Multiply(ctx context.Context, x [][]float64) ([][]float64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Multiplier.Multiply(ctx, x)
}
