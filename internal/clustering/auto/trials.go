package auto

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/choose"
)

const (
	// If fits take long, a method that is more than hopeless standard errors behind the best one after a fold of at
	// least enoughInFold pairs is not fitted to the other folds. About 2% of equally good methods fall so far behind. If
	// the answer of its space without constraints is more than hopelessSpace behind, being behind in the fold suffices.
	hopeless      = 2.0
	hopelessSpace = 3.0
	enoughInFold  = 100
	// longFit is the number of rows x columns x clusters from which a fit takes long.
	longFit = 1 << 20
)

// outcome records which held-out pairs a method has right.
type outcome struct {
	method clustering.Method
	right  []bool
	folds  int // number of folds it was fitted to: all, or 1 if it fell far behind
}

// tryMethods fits every method to all folds. The slice base tells which pairs the answer without constraints has right.
// If fits take long, spaces of eigenvectors come first, because their fits are faster, methods that fall far behind are
// not fitted to all folds, and nothing more is tried once no method could be better. If base is nil, all methods are
// fitted to all folds.
func (r *run) tryMethods(ctx context.Context, base []bool) ([]outcome, error) {
	methods := r.methods()
	order := slices.Clone(r.spaces)
	isLong := base != nil && r.takesLong()
	if isLong {
		slices.SortStableFunc(order, func(a, b clustering.Space) int { return rank(a) - rank(b) })
	}
	found := map[clustering.Method]outcome{}
	var best *clustering.MethodScore // the best method that may replace the answer without constraints
	for _, name := range order {
		if len(methods[name]) == 0 || isLong && best != nil && r.merit(best) >= r.mostMerit(methods[name]) {
			continue
		}
		s, err := r.open(ctx, name)
		if err != nil {
			return nil, err
		}
		groups := [][]clustering.ConstraintUse{methods[name]}
		if isLong && len(methods[name]) > 0 && methods[name][0] == clustering.UseCuts { // most often the best
			groups = [][]clustering.ConstraintUse{methods[name][:1], methods[name][1:]}
		}
		for _, uses := range groups {
			if isLong && best != nil && r.merit(best) >= r.mostMerit(uses) {
				continue
			}
			var ahead []bool
			switch {
			case isLong && best != nil:
				ahead = found[best.Method].right
			case isLong:
				ahead = base
			}
			outcomes, err := r.crossValidate(ctx, s, uses, ahead)
			if err != nil {
				return nil, err
			}
			for _, one := range outcomes {
				found[one.method] = one
				if base == nil || one.folds < r.folds {
					continue
				}
				if tried := r.tried(one.method, one.right, base); r.mayReplace(tried) && r.better(&tried, best) {
					best = &tried
				}
			}
		}
	}
	var all []outcome
	for _, name := range r.spaces {
		for _, use := range methods[name] {
			if one, tried := found[clustering.Method{Space: name, ConstraintUse: use}]; tried {
				all = append(all, one)
			}
		}
	}
	return all, nil
}

// rank orders spaces by the time of a fit.
func rank(name clustering.Space) int {
	if ofNeighbors(name) {
		return 0
	}
	return 1
}

// takesLong reports whether fits to points take long.
func (r *run) takesLong() bool {
	points, dense := r.data.(*dataset.Points)
	return dense && r.n*points.D*r.spec.K >= longFit
}

// crossValidate finds which held-out pairs each use of constraints in a space has right. If ahead is not nil, uses that
// a brief fit to the first fold shows hopelessly behind ahead are not fitted to other folds.
func (r *run) crossValidate(ctx context.Context, s *space, uses []clustering.ConstraintUse, ahead []bool) ([]outcome, error) {
	outcomes := make([]outcome, len(uses))
	for at, use := range uses {
		outcomes[at] = outcome{method: clustering.Method{Space: s.name, ConstraintUse: use}, folds: r.folds}
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
	for at := range outcomes {
		one := &outcomes[at]
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
	for at, one := range outcomes {
		if s.name != clustering.SpaceMixture && mayBeBrief(one.method) {
			places, tasks = append(places, at), append(tasks, task{use: one.method.ConstraintUse, brief: true})
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
	for at, place := range places {
		one := &outcomes[place]
		if one.right = r.right(answers[at]); r.behindInFirst(one.right, ahead) > limit {
			one.folds = 1
		}
	}
	return nil
}

// mayBeBrief reports whether a method can be screened: it has several starts, which a brief fit reduces to one. Other
// methods are fast, and a discriminant is not judged by its agreement alone.
func mayBeBrief(w clustering.Method) bool {
	switch w.ConstraintUse {
	case clustering.UseSoft, clustering.UseHard, clustering.UseMetric, clustering.UseWhitened:
		return true
	}
	return false
}

// behindInFirst returns by how many standard errors a method is behind another in the first fold. It returns 0 if the
// fold has too few pairs to tell.
func (r *run) behindInFirst(right, ahead []bool) float64 {
	some, places := r.supervision.First(1)
	if len(some.Pairs) < enoughInFold {
		return 0
	}
	return some.Advantage(choose.At(ahead, places), choose.At(right, places))
}

// tried returns the score of a method over all folds.
func (r *run) tried(method clustering.Method, right, base []bool) clustering.MethodScore {
	return clustering.MethodScore{Trial: r.trial(method, right, heldout.None), Advantage: r.supervision.Advantage(right, base)}
}

// triedFirst returns the score of a method over the folds that it was fitted to.
func (r *run) triedFirst(one outcome, base []bool) clustering.MethodScore {
	some, places := r.supervision.First(one.folds)
	right := choose.At(one.right, places)
	return clustering.MethodScore{Trial: some.Trial(one.method, right, one.folds, heldout.None), Advantage: some.Advantage(right, choose.At(base, places))}
}

// right reports for every held-out pair whether the answers have it right. There is one answer per fold, or one for
// all.
func (r *run) right(answers ...*answer) []bool {
	labels := make([][]int32, len(answers))
	for at, a := range answers {
		labels[at] = a.labels
	}
	return r.supervision.Right(labels...)
}

// trial counts what is right in a fold, or in all folds if fold is heldout.None.
func (r *run) trial(method clustering.Method, right []bool, fold int) clustering.Trial {
	return r.supervision.Trial(method, right, r.folds, fold)
}

// HeldOut reports which held-out pairs of the supervision of p auto has right. Each fold is judged by the method that
// agrees best with the pairs of the other folds, so that no pair influences the method it is judged by.
func HeldOut(ctx context.Context, p *Problem, x Executors) ([]bool, error) {
	r, err := newRun(p, x, clustering.NopObserver{})
	if err != nil {
		return nil, err
	}
	defer r.release()
	if _, err := r.open(ctx, r.spaces[0]); err != nil {
		return nil, err
	}
	methods, err := r.tryMethods(ctx, nil)
	if err != nil {
		return nil, err
	}
	right := make([]bool, len(r.supervision.Pairs))
	for fold := range r.folds {
		best := bestWithout(r, methods, fold)
		for at, pair := range r.supervision.Pairs {
			if pair.Fold == fold {
				right[at] = best[at]
			}
		}
	}
	return right, nil
}

// bestWithout returns what the method has right that agrees best with the pairs outside a fold.
func bestWithout(r *run, methods []outcome, fold int) []bool {
	var best []bool
	most := 0.0
	for _, one := range methods {
		if agreement := r.supervision.AgreementWithout(fold, one.right); best == nil || agreement > most {
			best, most = one.right, agreement
		}
	}
	return best
}
