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
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/numeric/parallel"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// task is one fit: how constraints enter, and the fold that is held out; heldout.None: none is.
type task struct {
	use   clustering.ConstraintUse
	fold  int
	brief bool // from fewer starts, to see whether a way is worth more
}

// fit answers several tasks in a space.
func (r *run) fit(ctx context.Context, s *space, tasks []task) ([]*answer, error) {
	whole := ctx
	ctx = snapshot.Within(ctx, fmt.Sprint(s.name, " ", tasks))
	if s.levels != nil {
		return r.fitLevels(ctx, s, tasks)
	}
	answers, sets := make([]*answer, len(tasks)), make([]*constraint.Set, len(tasks))
	var shared, contracted []int // tasks in the space's own rows, and those whose coordinates depend on must-links
	var fits [][]*kmeans.Problem
	for at, t := range tasks {
		if t.use == clustering.UseNone {
			answers[at] = s.alone
			continue
		}
		shown := r.shown(t)
		var err error
		if sets[at], err = constraint.NewSet(r.n, shown, constraint.UnitWeight); err != nil {
			return nil, err
		}
		if t.use == clustering.UseDiscriminant {
			if answers[at], err = r.fitDiscriminant(whole, s, t); err != nil {
				return nil, err
			}
			continue
		}
		if t.use == clustering.UseSpread {
			if answers[at], err = r.fitSpread(ctx, s, t); err != nil {
				return nil, err
			}
			continue
		}
		if t.use == clustering.UseCuts {
			if err := r.openSpan(whole, s); err != nil {
				return nil, err
			}
			answers[at], err = r.remembered(ctx, t, func(ctx context.Context) (*answer, error) { return r.fitCuts(ctx, s, t, sets[at]) })
			if err != nil {
				return nil, err
			}
			continue
		}
		if t.use == clustering.UseHard && s.graph != nil && sets[at].Components().Count() < r.n {
			contracted = append(contracted, at)
			continue
		}
		problems, err := r.variants(s.rows, t, s.plain.among(r.n, shown))
		if err != nil {
			return nil, err
		}
		shared, fits = append(shared, at), append(fits, problems)
	}
	results, err := leastOf(ctx, s.rows, fits)
	if err != nil {
		return nil, err
	}
	for place, at := range shared {
		answers[at] = &answer{labels: results[place].Labels, result: results[place], at: s.plain}
		if s.graph != nil {
			answers[at] = r.expand(s, s.plain, results[place], sets[at])
		}
	}
	err = parallel.NewPool(runtime.GOMAXPROCS(0)).Run(ctx, r.searches(), len(contracted), func(place int) (err error) {
		at := contracted[place]
		answers[at], err = r.remembered(ctx, tasks[at], func(ctx context.Context) (*answer, error) {
			return r.fitContracted(ctx, s, tasks[at], sets[at])
		})
		return err
	})
	return answers, err
}

// shown are the constraints of a task. Where there are two clusters, hard constraints imply more than what must-links
// alone do.
func (r *run) shown(t task) []constraint.Constraint {
	shown := r.supervision.Shown(t.fold)
	if t.use == clustering.UseHard && r.spec.K == 2 {
		return constraint.TwoClusters(r.n, shown)
	}
	return shown
}

// fitContracted fits in the eigenvectors of the graph whose must-linked vertices are one.
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

// searchBytes is the memory that searches for eigenvectors may take side by side.
const searchBytes = 1 << 28

// searches is how many searches for eigenvectors run side by side. The answer does not depend on it.
func (p *Problem) searches() int {
	bytes := 8 * int64(p.n) * int64(eigen.SearchColumns(p.spec.K, false))
	return int(max(1, min(int64(runtime.GOMAXPROCS(0)), searchBytes/max(1, bytes))))
}

// remembered answers a task, once. Of a fold only labels are asked for, so that these are all that is kept of it; the answer
// to all constraints is made again of its parts.
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
