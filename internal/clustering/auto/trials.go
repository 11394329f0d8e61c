package auto

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

const (
	// Where a fit takes long, a way that is behind the best one by more than hopeless standard errors after a fold of enoughInFold
	// pairs or more is not fitted to the others. Of ways that are as good as another about one in a thousand is so far behind.
	hopeless     = 3.0
	enoughInFold = 100
	// longFit is from how many rows x columns x clusters on a fit takes long.
	longFit = 1 << 20
)

// wayRight is a way and which of the held-out pairs it has right.
type wayRight struct {
	way   clustering.Method
	right []bool
	folds int // that it was fitted to: all of them, or the first where it fell far behind
}

// tryWays fits every way to all folds. Where a fit takes long, spaces of eigenvectors come first, as they take less, and ways
// that fall far behind are not fitted to all. Base is which pairs the answer without constraints has right; nil: all ways are fitted to
// all folds.
func (r *run) tryWays(ctx context.Context, base []bool) ([]wayRight, error) {
	ways := r.ways()
	order := slices.Clone(r.names)
	isLong := base != nil && r.takesLong()
	if isLong {
		slices.SortStableFunc(order, func(a, b clustering.Space) int { return rank(a) - rank(b) })
	}
	found := map[clustering.Method]wayRight{}
	var best *clustering.MethodScore // that may replace the answer without constraints
	for _, name := range order {
		s, err := r.open(ctx, name)
		if err != nil {
			return nil, err
		}
		groups := [][]clustering.ConstraintUse{ways[name]}
		if isLong && len(ways[name]) > 0 && ways[name][0] == clustering.UseCuts { // which is the best more often than others
			groups = [][]clustering.ConstraintUse{ways[name][:1], ways[name][1:]}
		}
		for _, uses := range groups {
			var ahead []bool
			switch {
			case isLong && best != nil:
				ahead = found[best.Method].right
			case isLong:
				ahead = base
			}
			rights, err := r.crossValidate(ctx, s, uses, ahead)
			if err != nil {
				return nil, err
			}
			for _, one := range rights {
				found[one.way] = one
				if base == nil || one.folds < r.folds {
					continue
				}
				if tried := r.tried(one.way, one.right, base); r.mayReplace(tried) && r.better(&tried, best) {
					best = &tried
				}
			}
		}
	}
	var all []wayRight
	for _, name := range r.names {
		for _, use := range ways[name] {
			all = append(all, found[clustering.Method{Space: name, ConstraintUse: use}])
		}
	}
	return all, nil
}

// rank orders spaces by what fits take in them.
func rank(name clustering.Space) int {
	if ofNeighbors(name) {
		return 0
	}
	return 1
}

// takesLong tells whether fits to points take long.
func (r *run) takesLong() bool {
	points, dense := r.data.(*dataset.Points)
	return dense && r.n*points.D*r.spec.K >= longFit
}

// crossValidate tells for each use of constraints in a space which held-out pairs it has right. Uses that are hopelessly behind
// ahead, which may be nil, by a brief fit to the first fold are fitted to no other.
func (r *run) crossValidate(ctx context.Context, s *space, uses []clustering.ConstraintUse, ahead []bool) ([]wayRight, error) {
	rights := make([]wayRight, len(uses))
	for at, use := range uses {
		rights[at] = wayRight{way: clustering.Method{Space: s.name, ConstraintUse: use}, folds: r.folds}
	}
	if ahead != nil {
		if err := r.screen(ctx, s, rights, ahead); err != nil {
			return nil, err
		}
	}
	var tasks []task
	for _, one := range rights {
		if one.folds == r.folds {
			for fold := range r.folds {
				tasks = append(tasks, task{use: one.way.ConstraintUse, fold: fold})
			}
		}
	}
	answers, err := r.fit(ctx, s, tasks)
	if err != nil {
		return nil, err
	}
	for at := range rights {
		one := &rights[at]
		if one.folds == r.folds {
			own := answers[:r.folds]
			answers = answers[r.folds:]
			one.right = r.right(own...)
			r.heldOut[one.way] = one.right
			r.rememberFolds(one.way, own)
		}
		for fold := range one.folds {
			r.o.Trial(r.trial(one.way, one.right, fold))
		}
	}
	return rights, nil
}

// screen fits ways briefly to the first fold, and sets the folds of those that are hopelessly behind to 1.
func (r *run) screen(ctx context.Context, s *space, rights []wayRight, ahead []bool) error {
	var places []int
	var tasks []task
	for at, one := range rights {
		if mayBeBrief(one.way) {
			places, tasks = append(places, at), append(tasks, task{use: one.way.ConstraintUse, brief: true})
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	answers, err := r.fit(ctx, s, tasks)
	if err != nil {
		return err
	}
	for at, place := range places {
		one := &rights[place]
		if one.right = r.right(answers[at]); r.isHopeless(one.right, ahead) {
			one.folds = 1
		}
	}
	return nil
}

// mayBeBrief tells whether a way has fits from several starts, of which a brief one has fewer. Ways that hardly take any time have no
// need of it, and a discriminant is chosen by more than what it has right.
func mayBeBrief(w clustering.Method) bool {
	return w.ConstraintUse == clustering.UseSoft || w.ConstraintUse == clustering.UseHard || w.ConstraintUse == clustering.UseMetric
}

// isHopeless tells whether a way is so far behind another in the first fold that it cannot be chosen.
func (r *run) isHopeless(right, ahead []bool) bool {
	some, places := r.supervision.First(1)
	if len(some.Pairs) < enoughInFold {
		return false
	}
	return some.Advantage(picked(ahead, places), picked(right, places)) > hopeless
}

// picked returns the values at some places.
func picked(values []bool, places []int) []bool {
	some := make([]bool, len(places))
	for i, place := range places {
		some[i] = values[place]
	}
	return some
}

// tried is a way with its score over all folds.
func (r *run) tried(way clustering.Method, right, base []bool) clustering.MethodScore {
	return clustering.MethodScore{Trial: r.trial(way, right, heldout.None), Advantage: r.supervision.Advantage(right, base)}
}

// triedFirst is a way with its score over the folds that it was fitted to.
func (r *run) triedFirst(one wayRight, base []bool) clustering.MethodScore {
	some, places := r.supervision.First(one.folds)
	right := picked(one.right, places)
	return clustering.MethodScore{Trial: some.Trial(one.way, right, one.folds, heldout.None), Advantage: some.Advantage(right, picked(base, places))}
}

// right tells of every held-out pair whether the answers have it right.
func (r *run) right(answers ...*answer) []bool {
	labels := make([][]int32, len(answers))
	for at, a := range answers {
		labels[at] = a.labels
	}
	return r.supervision.Right(labels...)
}

// trial counts what is right in a fold, or in all of them.
func (r *run) trial(way clustering.Method, right []bool, fold int) clustering.Trial {
	return r.supervision.Trial(way, right, r.folds, fold)
}
