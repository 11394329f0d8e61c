package auto

import (
	"cmp"
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/choose"
)

// outcome records which held-out pairs a method has right.
type outcome struct {
	method clustering.Method
	right  []bool
	folds  int // number of folds it was fitted to: all, or 1 if it fell far behind
}

// trials fits methods to all folds but one, for every fold. If fits take long, spaces of eigenvectors come first,
// because their fits are faster, methods that fall far behind are not fitted to all folds, and nothing more is tried
// once no method could be better.
type trials struct {
	*run
	base   []bool // which held-out pairs the baseline has right; nil if every method must be fitted to all folds
	isLong bool   // whether fits take long and base is known
	found  map[clustering.Method]outcome
	best   *clustering.MethodScore // the best method so far that may replace the baseline
}

// tryMethods returns the outcomes of all methods that were tried, by space and candidate.
func (r *run) tryMethods(ctx context.Context, base []bool) ([]outcome, error) {
	t := &trials{run: r, base: base, isLong: base != nil && r.takesLong(), found: map[clustering.Method]outcome{}}
	methods := r.methods()
	for _, b := range t.inOrder(methods) {
		if err := t.try(ctx, b); err != nil {
			return nil, err
		}
	}
	var all []outcome
	for _, b := range methods {
		for _, use := range b.uses {
			if one, tried := t.found[clustering.Method{Space: b.space, ConstraintUse: use}]; tried {
				all = append(all, one)
			}
		}
	}
	return all, nil
}

// takesLong reports whether fits to points take long.
func (r *run) takesLong() bool {
	points, dense := r.data.(*dataset.Points)
	return dense && r.n*points.D*r.spec.K >= longFit
}

// inOrder returns the order in which methods are tried. If fits take long, neighbors come first, and in a batch cuts,
// which are most often the best.
func (t *trials) inOrder(methods []batch) []batch {
	if !t.isLong {
		return methods
	}
	var near, others []batch
	for _, b := range methods {
		parts := []batch{b}
		if b.uses[0] == clustering.UseCuts && len(b.uses) > 1 {
			parts = []batch{{b.space, b.uses[:1]}, {b.space, b.uses[1:]}}
		}
		if ofNeighbors(b.space) {
			near = append(near, parts...)
		} else {
			others = append(others, parts...)
		}
	}
	return append(near, others...)
}

// try fits the methods of a batch, unless none of them could be better than the best so far.
func (t *trials) try(ctx context.Context, b batch) error {
	ahead := t.base
	switch {
	case !t.isLong:
		ahead = nil
	case t.best != nil && !slices.ContainsFunc(b.uses, func(use clustering.ConstraintUse) bool { return 1+t.bonus(use) > t.merit(t.best) }):
		return nil
	case t.best != nil:
		ahead = t.found[t.best.Method].right
	}
	s, err := t.open(ctx, b.space)
	if err != nil {
		return err
	}
	outcomes, err := t.crossValidate(ctx, s, b.uses, ahead)
	if err != nil {
		return err
	}
	for _, one := range outcomes {
		t.found[one.method] = one
		if t.base == nil || one.folds < t.folds {
			continue
		}
		if score := t.tried(one.method, one.right, t.base); t.mayReplace(score) && t.better(&score, t.best) {
			t.best = &score
		}
	}
	return nil
}

// crossValidate finds which held-out pairs each use of constraints in a space has right. If ahead is not nil, uses
// that a brief fit to the first fold shows hopelessly behind ahead are not fitted to other folds.
func (r *run) crossValidate(ctx context.Context, s *space, uses []clustering.ConstraintUse, ahead []bool) ([]outcome, error) {
	outcomes := make([]outcome, len(uses))
	for i, use := range uses {
		outcomes[i] = outcome{method: clustering.Method{Space: s.name, ConstraintUse: use}, folds: r.folds}
	}
	if ahead != nil {
		if err := r.screen(ctx, s, outcomes, ahead); err != nil {
			return nil, err
		}
	}
	var tasks []task
	for _, one := range outcomes {
		if one.folds == r.folds {
			for fold := range r.folds {
				tasks = append(tasks, task{use: one.method.ConstraintUse, fold: fold})
			}
		}
	}
	answers, err := r.fit(ctx, s, tasks)
	if err != nil {
		return nil, err
	}
	for i := range outcomes {
		one := &outcomes[i]
		if one.folds == r.folds {
			own := answers[:r.folds]
			answers = answers[r.folds:]
			one.right = r.right(own...)
			r.heldOut[one.method] = one.right
			r.rememberFolds(one.method, own)
		}
		for fold := range one.folds {
			r.o.Observe(clustering.MethodTried{Trial: r.trial(one.method, one.right, fold)})
		}
	}
	return outcomes, nil
}

// screen fits methods briefly to the first fold and sets folds to 1 for those that are hopelessly behind.
func (r *run) screen(ctx context.Context, s *space, outcomes []outcome, ahead []bool) error {
	var places []int
	var tasks []task
	for i, one := range outcomes {
		if s.name != clustering.SpaceMixture && candidateOf(one.method.ConstraintUse).screened {
			places, tasks = append(places, i), append(tasks, task{use: one.method.ConstraintUse, brief: true})
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	answers, err := r.fit(ctx, s, tasks)
	if err != nil {
		return err
	}
	limit := hopeless
	if r.supervision.Advantage(ahead, r.right(s.unconstrained)) > hopelessSpace {
		limit = 0
	}
	for i, place := range places {
		one := &outcomes[place]
		if one.right = r.right(answers[i]); r.behindInFirst(one.right, ahead) > limit {
			one.folds = 1
		}
	}
	return nil
}

// behindInFirst returns by how many standard errors a method is behind another in the first fold. It returns 0 if the
// fold has too few pairs to tell.
func (r *run) behindInFirst(right, ahead []bool) float64 {
	first, places := r.supervision.FirstFolds(1)
	if len(first.Pairs) < enoughInFold {
		return 0
	}
	return first.Advantage(choose.At(ahead, places), choose.At(right, places))
}

// tried returns the score of a method over all folds.
func (r *run) tried(method clustering.Method, right, base []bool) clustering.MethodScore {
	return clustering.MethodScore{Trial: r.trial(method, right, heldout.None), Advantage: r.supervision.Advantage(right, base)}
}

// triedFirst returns the score of a method over the folds that it was fitted to.
func (r *run) triedFirst(one outcome, base []bool) clustering.MethodScore {
	first, places := r.supervision.FirstFolds(one.folds)
	right := choose.At(one.right, places)
	return clustering.MethodScore{Trial: first.Trial(one.method, right, one.folds, heldout.None), Advantage: first.Advantage(right, choose.At(base, places))}
}

// right reports for every held-out pair whether the answers have it right. There is one answer per fold, or one for
// all.
func (r *run) right(answers ...*answer) []bool {
	labels := make([][]int32, len(answers))
	for i, a := range answers {
		labels[i] = a.labels
	}
	return r.supervision.Correct(labels...)
}

// trial counts what is right in a fold, or in all folds if fold is heldout.None.
func (r *run) trial(method clustering.Method, right []bool, fold int) clustering.Trial {
	return r.supervision.Trial(method, right, r.folds, fold)
}

// HeldOut reports which held-out pairs of the supervision of p auto has right. Each fold is judged by the method that
// agrees best with the pairs of the other folds, so that no pair influences the method it is judged by.
func HeldOut(ctx context.Context, p *Problem, x Executors) ([]bool, error) {
	r, err := newRun(ctx, p, x, clustering.NopObserver{})
	if err != nil {
		return nil, err
	}
	defer r.release()
	if _, err := r.open(ctx, r.openable[0]); err != nil {
		return nil, err
	}
	methods, err := r.tryMethods(ctx, nil)
	if err != nil {
		return nil, err
	}
	right := make([]bool, len(r.supervision.Pairs))
	for fold := range r.folds {
		agreement := func(one outcome) float64 { return r.supervision.AgreementWithout(fold, one.right) }
		best := slices.MaxFunc(methods, func(a, b outcome) int { return cmp.Compare(agreement(a), agreement(b)) })
		for i, pair := range r.supervision.Pairs {
			if pair.Fold == fold {
				right[i] = best.right[i]
			}
		}
	}
	return right, nil
}
