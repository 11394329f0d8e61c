package auto

import (
	"context"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/clustering/multilevel"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// fitter fits methods to supervision.
type fitter struct {
	p       *Problem
	spaces  *spaces
	labels  []int32               // of the baseline; nil if there is none
	forests map[int]*model.Forest // the key is the fold that is held out
}

func newFitter(ss *spaces, labels []int32) *fitter {
	return &fitter{p: ss.p, spaces: ss, labels: labels, forests: map[int]*model.Forest{}}
}

// task is one fit of a method in a space.
type task struct {
	use   clustering.ConstraintUse
	fold  int  // the fold that is held out; heldout.None to fit to all supervision
	brief bool // with fewer starts, to decide whether the method is worth a full fit
}

// nameIn returns the name of the task's snapshot. No other task of the run has it, because every task is fitted once;
// snapshot.Memory.Repeated tells if that is not so.
func (t task) nameIn(s *space) string {
	return fmt.Sprintf("%s, %s, fold %d, brief %t", s.name, t.use, t.fold, t.brief)
}

// fit runs several tasks in a space and returns their answers in the same order.
func (f *fitter) fit(ctx context.Context, s *space, tasks []task) ([]*answer, error) {
	answers := make([]*answer, len(tasks))
	onRows := &rowFits{}     // tasks on the rows of s, which share their executor
	var alone []func() error // the other tasks, which are independent of each other
	for at, t := range tasks {
		var err error
		switch t.use {
		case clustering.UseNone:
			answers[at] = s.unconstrained
			continue
		case clustering.UseDiscriminant:
			answers[at], err = f.fitDiscriminant(ctx, s, t)
		case clustering.UseSpread:
			answers[at], err = f.fitSpread(ctx, s, t)
		default:
			var fit func(context.Context) (*answer, error)
			fit, err = f.prepareTask(ctx, s, t, at, onRows)
			if fit != nil {
				alone = append(alone, func() (err error) {
					answers[at], err = f.remembered(ctx, t.nameIn(s), t.fold, fit)
					return err
				})
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if len(onRows.places) > 0 { // workers may compute these while this process computes the others
		batch := snapshot.Within(ctx, "batch of "+tasks[onRows.places[0]].nameIn(s))
		alone = slices.Insert(alone, 0, func() error { return f.fitOnRows(batch, s, onRows, answers) })
	}
	err := parallel.Run(ctx, f.fitsAtOnce(s), len(alone), func(at int) error { return alone[at]() })
	return answers, err
}

// fitsAtOnce returns the number of fits in a space that run at the same time. If it is 1, each uses all threads.
func (f *fitter) fitsAtOnce(s *space) int {
	switch {
	case s.name == clustering.SpaceMixture:
		return 1
	case s.name == clustering.SpaceLevels && len(s.graph.Column) > multilevel.SideBySideEntries:
		return 1
	case s.name == clustering.SpaceLevels:
		return f.spaces.threads
	}
	return min(f.spaces.threads, f.p.searches())
}

// rowFits is tasks that run together on the rows of a space.
type rowFits struct {
	places []int // among the tasks
	sets   []*constraint.Set
	fits   [][]*kmeans.Problem
}

// prepareTask returns the fit of a task that is independent of the others. It adds a task on the rows of the space to
// onRows instead, and returns nil.
func (f *fitter) prepareTask(
	ctx context.Context, s *space, t task, at int, onRows *rowFits,
) (func(context.Context) (*answer, error), error) {
	shown := f.p.shown(t)
	set, err := constraint.NewSet(f.p.n, shown, constraint.UnitWeight)
	if err != nil {
		return nil, err
	}
	switch {
	case s.name == clustering.SpaceLevels:
		return func(ctx context.Context) (*answer, error) { return f.fitLevels(ctx, s, set) }, nil
	case s.name == clustering.SpaceMixture:
		return func(ctx context.Context) (*answer, error) { return f.fitMixture(ctx, s, set, shown) }, nil
	case t.use == clustering.UseWhitened:
		return func(ctx context.Context) (*answer, error) { return f.fitWhitened(ctx, s, t, set) }, nil
	case t.use == clustering.UseCuts:
		return func(ctx context.Context) (*answer, error) { return f.fitCuts(ctx, s, t, set) }, f.openSpan(ctx, s)
	case t.use == clustering.UseHard && s.graph != nil && set.Components().Count() < f.p.n:
		return func(ctx context.Context) (*answer, error) { return f.fitContracted(ctx, s, t, set) }, nil
	}
	problems, err := f.variants(s.rows, t, s.plain.among(f.p.n, shown))
	onRows.places = append(onRows.places, at)
	onRows.sets = append(onRows.sets, set)
	onRows.fits = append(onRows.fits, problems)
	return nil, err
}

// fitOnRows runs tasks on the rows of a space and sets their answers.
func (f *fitter) fitOnRows(ctx context.Context, s *space, batch *rowFits, answers []*answer) error {
	results, err := leastOf(ctx, s.rows, batch.fits)
	for at, found := range results {
		if s.plain != nil {
			answers[batch.places[at]] = f.spaces.expand(s, s.plain, found, batch.sets[at])
		} else {
			answers[batch.places[at]] = f.spaces.newAnswer(found.Labels, found, f.spaces.newRater(s))
		}
	}
	return err
}

// fitMixture fits a mixture with constraints. One in which a cluster becomes empty counts as that without constraints.
func (f *fitter) fitMixture(
	ctx context.Context, s *space, set *constraint.Set, shown []constraint.Constraint,
) (*answer, error) {
	found, err := f.spaces.findMixture(ctx, s, set, shown)
	if found == nil {
		return s.unconstrained, err
	}
	return f.spaces.mixtureAnswer(found, s.units), err
}

// fitLevels cuts the graph with constraints.
func (f *fitter) fitLevels(ctx context.Context, s *space, set *constraint.Set) (*answer, error) {
	threads := 1
	if f.fitsAtOnce(s) == 1 {
		threads = f.spaces.threads
	}
	found, _, err := f.spaces.cutLevels(ctx, s, set, threads, nil)
	return found, err
}

// shown returns the constraints of a task. With two clusters, hard constraints imply more than must-links alone do.
func (p *Problem) shown(t task) []constraint.Constraint {
	shown := p.supervision.TrainingConstraints(t.fold)
	if (t.use == clustering.UseHard || t.use == clustering.UseWhitened) && p.spec.K == 2 {
		return constraint.TwoClusters(p.n, shown)
	}
	return shown
}

// fitContracted fits in the eigenvectors of the graph in which must-linked vertices are merged.
func (f *fitter) fitContracted(ctx context.Context, s *space, t task, set *constraint.Set) (*answer, error) {
	tolerance := eigenTolerance
	if t.fold != heldout.None {
		tolerance = foldTolerance
	}
	options := eigen.Options{Tolerance: tolerance, MaxProducts: embedding.MaxProducts}
	at, err := f.spaces.eigenvectors(ctx, s, set, nil, options)
	if err != nil {
		return nil, err
	}
	found, err := f.fitLocally(ctx, t, at)
	if err != nil {
		return nil, err
	}
	return f.spaces.expand(s, at, found, set), nil
}

// fitLocally runs a task on coordinates in this process.
func (f *fitter) fitLocally(ctx context.Context, t task, at *coordinates) (*clustering.Result, error) {
	w, err := f.spaces.localRows(ctx, at)
	if err != nil {
		return nil, err
	}
	problems, err := f.variants(w, t, at.among(f.p.n, f.p.shown(t)))
	if err != nil {
		return nil, err
	}
	// Named apart from the run without constraints in localRows.
	results, err := leastOf(snapshot.Within(ctx, "variants"), w, [][]*kmeans.Problem{problems})
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

// remembered computes the answer to a task, or reads it from a snapshot. Of a fold, only labels are needed, so only
// they are saved. The answer to all constraints is computed anew from the snapshots of its parts.
func (f *fitter) remembered(
	ctx context.Context, name string, fold int, compute func(ctx context.Context) (*answer, error),
) (*answer, error) {
	if fold == heldout.None {
		return compute(snapshot.Within(ctx, name))
	}
	labels, err := snapshot.Once(ctx, name, (*snapshot.Writer).Int32s,
		func(reader *snapshot.Reader) []int32 { return reader.Labels(f.p.n, f.p.spec.K) },
		func(ctx context.Context) ([]int32, error) {
			found, err := compute(ctx)
			if err != nil {
				return nil, err
			}
			return found.labels, nil
		})
	if err != nil {
		return nil, err
	}
	return &answer{labels: labels}, nil
}
