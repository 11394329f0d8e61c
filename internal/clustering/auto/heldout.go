package auto

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
)

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
