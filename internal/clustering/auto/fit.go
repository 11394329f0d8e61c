package auto

import (
	"context"
	"fmt"
	"runtime"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/numeric/parallel"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// task is one fit. Its fields name snapshots, so their order must not change.
type task struct {
	use   clustering.ConstraintUse
	fold  int
	brief bool // with fewer starts, to decide whether the method is worth a full fit
}

// fit runs several tasks in a space.
func (r *run) fit(ctx context.Context, s *space, tasks []task) ([]*answer, error) {
	whole := ctx
	ctx = snapshot.Within(ctx, fmt.Sprint(s.name, " ", tasks))
	if s.levels != nil {
		return r.fitLevels(ctx, s, tasks)
	}
	if s.name == clustering.SpaceMixture {
		return r.fitMixtures(ctx, s, tasks)
	}
	answers, sets := make([]*answer, len(tasks)), make([]*constraint.Set, len(tasks))
	var shared []int // tasks on the rows of s
	var fits [][]*kmeans.Problem
	var apart []func() error // fits of other tasks, which are independent of each other
	later := func(at int, fit func(ctx context.Context) (*answer, error)) {
		apart = append(apart, func() (err error) {
			answers[at], err = r.remembered(ctx, tasks[at], fit)
			return err
		})
	}
	for at, t := range tasks {
		if t.use == clustering.UseNone {
			answers[at] = s.unconstrained
			continue
		}
		shown := r.shown(t)
		set, err := constraint.NewSet(r.n, shown, constraint.UnitWeight)
		if err != nil {
			return nil, err
		}
		sets[at] = set
		switch {
		case t.use == clustering.UseDiscriminant:
			answers[at], err = r.fitDiscriminant(whole, s, t)
		case t.use == clustering.UseSpread:
			answers[at], err = r.fitSpread(ctx, s, t)
		case t.use == clustering.UseWhitened:
			later(at, func(ctx context.Context) (*answer, error) { return r.fitWhitened(ctx, s, t, set) })
		case t.use == clustering.UseCuts:
			err = r.openSpan(whole, s)
			later(at, func(ctx context.Context) (*answer, error) { return r.fitCuts(ctx, s, t, set) })
		case t.use == clustering.UseHard && s.graph != nil && set.Components().Count() < r.n:
			later(at, func(ctx context.Context) (*answer, error) { return r.fitContracted(ctx, s, t, set) })
		default:
			var problems []*kmeans.Problem
			problems, err = r.variants(s.rows, t, s.plain.among(r.n, shown))
			shared, fits = append(shared, at), append(fits, problems)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(shared) > 0 { // workers may compute these while this process computes the others
		apart = append([]func() error{func() error {
			results, err := leastOf(ctx, s.rows, fits)
			for place, result := range results {
				answers[shared[place]] = r.answerOn(s, result, sets[shared[place]])
			}
			return err
		}}, apart...)
	}
	err := parallel.NewPool(runtime.GOMAXPROCS(0)).Run(ctx, r.searches(), len(apart), func(at int) error { return apart[at]() })
	return answers, err
}

// answerOn converts a result of k-means on the rows of a space to an answer.
func (r *run) answerOn(s *space, found *clustering.Result, set *constraint.Set) *answer {
	if s.graph != nil {
		return r.expand(s, s.plain, found, set)
	}
	return &answer{labels: found.Labels, result: found, at: s.plain}
}

// shown returns the constraints of a task. With two clusters, hard constraints imply more than must-links alone do.
func (p *Problem) shown(t task) []constraint.Constraint {
	shown := p.supervision.Shown(t.fold)
	if (t.use == clustering.UseHard || t.use == clustering.UseWhitened) && p.spec.K == 2 {
		return constraint.TwoClusters(p.n, shown)
	}
	return shown
}

// fitContracted fits in the eigenvectors of the graph in which must-linked vertices are merged.
func (r *run) fitContracted(ctx context.Context, s *space, t task, set *constraint.Set) (*answer, error) {
	tolerance := eigenTolerance
	if t.fold != heldout.None {
		tolerance = foldTolerance
	}
	at, err := r.eigenvectors(ctx, s, set, nil, eigen.Options{Tolerance: tolerance, MaxProducts: embedding.MaxProducts})
	if err != nil {
		return nil, err
	}
	w, err := r.localRows(ctx, at)
	if err != nil {
		return nil, err
	}
	problems, err := r.variants(w, t, at.among(r.n, r.shown(t)))
	if err != nil {
		return nil, err
	}
	results, err := leastOf(ctx, w, [][]*kmeans.Problem{problems})
	if err != nil {
		return nil, err
	}
	return r.expand(s, at, results[0], set), nil
}

const (
	// searchBytes limits the memory of concurrent fits.
	searchBytes = 1 << 28
	// whitenedCopies is how many copies of the rows a fit to whitened rows has.
	whitenedCopies = 4
)

// searches returns the number of concurrent fits in this process: eigensolvers, or k-means on whitened rows. The answer
// does not depend on it.
func (p *Problem) searches() int {
	columns := eigen.SearchColumns(p.spec.K, false)
	if points, dense := p.data.(*dataset.Points); dense && points.D <= maxWhitenedColumns {
		columns = max(columns, whitenedCopies*points.D)
	}
	bytes := 8 * int64(p.n) * int64(columns)
	return int(max(1, min(int64(runtime.GOMAXPROCS(0)), searchBytes/max(1, bytes))))
}

// remembered computes the answer to a task, or reads it from a snapshot. Of a fold, only labels are needed, so only
// they are saved. The answer to all constraints is computed anew from the snapshots of its parts.
func (r *run) remembered(ctx context.Context, t task, compute func(ctx context.Context) (*answer, error)) (*answer, error) {
	name := fmt.Sprint(t)
	if t.fold == heldout.None {
		return compute(snapshot.Within(ctx, name))
	}
	labels, err := snapshot.Once(ctx, name, (*snapshot.Writer).Int32s,
		func(reader *snapshot.Reader) []int32 { return reader.Labels(r.n, r.spec.K) },
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
