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

// outcome is what a method gave: which held-out pairs it has right.
type outcome struct {
	competitor
	right []bool
	folds int // number of folds that it was fitted to: all, or 1 if it fell far behind
	// runs has the labels found in each fold, where they are found independently: without constraints they are all
	// the same, a discriminant labels only some rows, and a mixture knows the probabilities of its labels.
	runs []clustering.Labeling
	// score compares it with the baseline, once it is judged.
	score clustering.MethodScore
}

// outcomes has one outcome for each method that was tried.
type outcomes []outcome

// of returns the outcome of a method that was fitted to all folds, nil if there is none.
func (all outcomes) of(method clustering.Method, folds int) *outcome {
	for i := range all {
		if all[i].method == method && all[i].folds == folds {
			return &all[i]
		}
	}
	return nil
}

// trySpaces finds which pairs the answers without supervision have right.
func trySpaces(ctx context.Context, ss *spaces, names []clustering.Space) (outcomes, error) {
	var all outcomes
	for _, name := range names {
		s, err := ss.open(ctx, name)
		if err != nil {
			return nil, err
		}
		one := outcome{right: ss.p.right(s.unconstrained), folds: ss.p.folds}
		one.method = clustering.Method{Space: name, ConstraintUse: clustering.UseNone}
		all = append(all, one)
		ss.journal.o.Observe(clustering.MethodTried{Trial: ss.p.trial(one.method, one.right, heldout.None)})
	}
	return all, nil
}

// tryUses tries the few uses that compete in a space if there are few constraints, the usual one first. With few rows,
// k-means in the first space follows constraints better than a mixture, so it competes with that.
func tryUses(ctx context.Context, f *fitter, s *space) (outcomes, error) {
	p := f.p
	uses := []clustering.ConstraintUse{p.usualUse(s.name)}
	if s.plain != nil && s.graph != nil && p.spec.K > 1 {
		uses = append(uses, clustering.UseCuts)
	}
	all, err := crossValidate(ctx, f, s, competing(s.name, uses), nil)
	if err != nil || s.name != clustering.SpaceMixture || p.trust() == contradicted {
		return all, err
	}
	first := f.spaces.opened[p.spaces[0]]
	ofRows, err := crossValidate(ctx, f, first, competing(first.name, uses), nil)
	return append(all, ofRows...), err
}

// competing returns the methods of a space with the given uses.
func competing(name clustering.Space, uses []clustering.ConstraintUse) []competitor {
	all := make([]competitor, len(uses))
	for i, use := range uses {
		all[i].method = clustering.Method{Space: name, ConstraintUse: use}
	}
	return all
}

// trials fits methods to all folds but one, for every fold. If fits take long, spaces of neighbors come first, because
// their fits are faster, methods that fall far behind are not fitted to all folds, and nothing more is tried once no
// method could be better.
type trials struct {
	fitter *fitter
	base   []bool // which held-out pairs the baseline has right; nil if every method must be fitted to all folds
	isLong bool   // whether fits take long and base is known
	found  outcomes
	best   *outcome // the best method so far that may replace the baseline
}

// tryMethods returns the outcomes of all methods that were tried, by space and candidate.
func tryMethods(ctx context.Context, f *fitter, names []clustering.Space, base []bool) (outcomes, error) {
	t := &trials{fitter: f, base: base, isLong: base != nil && takesLong(f.p)}
	batches := competitors(f.spaces, names)
	inOrder := batches
	if t.isLong {
		inOrder = neighborsFirst(batches)
	}
	for _, batch := range inOrder {
		if err := t.try(ctx, batch); err != nil {
			return nil, err
		}
	}
	var all outcomes
	for _, one := range slices.Concat(batches...) {
		at := slices.IndexFunc(t.found, func(o outcome) bool { return o.method == one.method })
		if at >= 0 {
			all = append(all, t.found[at])
		}
	}
	return all, nil
}

// takesLong reports whether fits to points take long.
func takesLong(p *Problem) bool {
	points, dense := p.data.(*dataset.Points)
	return dense && p.n*points.D*p.spec.K >= longFit
}

// neighborsFirst returns batches in the order in which they are tried if fits take long: neighbors first, and in a
// space cuts, which are most often the best.
func neighborsFirst(batches [][]competitor) [][]competitor {
	var near, others [][]competitor
	for _, batch := range batches {
		parts := [][]competitor{batch}
		if batch[0].method.ConstraintUse == clustering.UseCuts && len(batch) > 1 {
			parts = [][]competitor{batch[:1], batch[1:]}
		}
		if ofNeighbors(batch[0].method.Space) {
			near = append(near, parts...)
		} else {
			others = append(others, parts...)
		}
	}
	return append(near, others...)
}

// try fits the methods of a batch, unless none of them could be better than the best so far.
func (t *trials) try(ctx context.Context, batch []competitor) error {
	var ahead []bool
	if t.isLong {
		ahead = t.base
	}
	if t.best != nil {
		couldWin := func(c competitor) bool { return 1+c.bonus > t.best.merit() }
		if !slices.ContainsFunc(batch, couldWin) {
			return nil
		}
		ahead = t.best.right
	}
	s, err := t.fitter.spaces.open(ctx, batch[0].method.Space)
	if err != nil {
		return err
	}
	found, err := crossValidate(ctx, t.fitter, s, batch, ahead)
	if err != nil {
		return err
	}
	t.found = append(t.found, found...)
	if !t.isLong {
		return nil
	}
	for _, one := range found {
		if one.folds < t.fitter.p.folds {
			continue
		}
		if judged := one.judged(t.fitter.p, t.base); judged.mayReplace() && judged.betterThan(t.best) {
			t.best = judged
		}
	}
	return nil
}

// crossValidate finds which held-out pairs methods of a space have right. If ahead is not nil, methods that a brief fit
// to the first fold shows hopelessly behind ahead are not fitted to other folds.
func crossValidate(ctx context.Context, f *fitter, s *space, methods []competitor, ahead []bool) (outcomes, error) {
	p := f.p
	all := make(outcomes, len(methods))
	for i, method := range methods {
		all[i] = outcome{competitor: method, folds: p.folds}
	}
	if ahead != nil {
		if err := screen(ctx, f, s, all, ahead); err != nil {
			return nil, err
		}
	}
	var tasks []task
	for _, one := range all {
		if one.folds == p.folds {
			for fold := range p.folds {
				tasks = append(tasks, task{use: one.method.ConstraintUse, fold: fold})
			}
		}
	}
	answers, err := f.fit(ctx, s, tasks)
	if err != nil {
		return nil, err
	}
	for i := range all {
		one := &all[i]
		if one.folds == p.folds {
			own := answers[:p.folds]
			answers = answers[p.folds:]
			one.right = p.right(own...)
			one.runs = foldRuns(one.method, own, p.spec.K)
		}
		for fold := range one.folds {
			f.spaces.journal.o.Observe(clustering.MethodTried{Trial: p.trial(one.method, one.right, fold)})
		}
	}
	return all, nil
}

// foldRuns returns the runs of an outcome, given the answers to each fold.
func foldRuns(m clustering.Method, answers []*answer, k int) []clustering.Labeling {
	alike := m.ConstraintUse == clustering.UseNone
	partial := m.ConstraintUse == clustering.UseDiscriminant
	if alike || partial || m.Space == clustering.SpaceMixture {
		return nil
	}
	var runs []clustering.Labeling
	for _, a := range answers {
		runs = append(runs, clustering.NewLabeling(a.labels, k))
	}
	return runs
}

// screen fits methods briefly to the first fold and sets folds to 1 for those that are hopelessly behind.
func screen(ctx context.Context, f *fitter, s *space, all outcomes, ahead []bool) error {
	var screened []*outcome
	var tasks []task
	for i := range all {
		if all[i].screened {
			screened = append(screened, &all[i])
			tasks = append(tasks, task{use: all[i].method.ConstraintUse, brief: true})
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	answers, err := f.fit(ctx, s, tasks)
	if err != nil {
		return err
	}
	limit := hopeless
	if f.p.supervision.Advantage(ahead, f.p.right(s.unconstrained)) > hopelessSpace {
		limit = 0
	}
	for i, one := range screened {
		one.right = f.p.right(answers[i])
		if behindInFirst(f.p, one.right, ahead) > limit {
			one.folds = 1
		}
	}
	return nil
}

// behindInFirst returns by how many standard errors a method is behind another in the first fold. It returns 0 if the
// fold has too few pairs to tell.
func behindInFirst(p *Problem, right, ahead []bool) float64 {
	first, places := p.supervision.FirstFolds(1)
	if len(first.Pairs) < enoughInFold {
		return 0
	}
	return first.Advantage(choose.At(ahead, places), choose.At(right, places))
}

// HeldOut reports which held-out pairs of the supervision of p auto has right. Each fold is judged by the method that
// agrees best with the pairs of the other folds, so that no pair influences the method it is judged by.
func HeldOut(ctx context.Context, p *Problem, x Executors) ([]bool, error) {
	ss := newSpaces(ctx, p, x, clustering.NopObserver{})
	defer ss.release()
	if _, err := ss.open(ctx, p.spaces[0]); err != nil {
		return nil, err
	}
	methods, err := tryMethods(ctx, newFitter(ss, nil), p.spaces, nil)
	if err != nil {
		return nil, err
	}
	right := make([]bool, len(p.supervision.Pairs))
	for fold := range p.folds {
		agreement := func(one outcome) float64 { return p.supervision.AgreementWithout(fold, one.right) }
		best := slices.MaxFunc(methods, func(a, b outcome) int { return cmp.Compare(agreement(a), agreement(b)) })
		for i, pair := range p.supervision.Pairs {
			if pair.Fold == fold {
				right[i] = best.right[i]
			}
		}
	}
	return right, nil
}
