package auto

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
)

// HeldOut tells which of the held-out pairs of a problem's supervision the ways have right: in every fold the way that
// agrees best with the pairs of the others. So no pair has a part in choosing what it is compared by.
func HeldOut(ctx context.Context, p *Problem, x Executors) ([]bool, error) {
	r, err := newRun(p, x, clustering.NopObserver{})
	if err != nil {
		return nil, err
	}
	defer r.release()
	if _, err := r.open(ctx, r.names[0]); err != nil {
		return nil, err
	}
	ways, err := r.tryWays(ctx, nil)
	if err != nil {
		return nil, err
	}
	right := make([]bool, len(r.supervision.Pairs))
	for fold := range r.folds {
		best := bestWithout(r, ways, fold)
		for at, pair := range r.supervision.Pairs {
			if pair.Fold == fold {
				right[at] = best[at]
			}
		}
	}
	return right, nil
}

// bestWithout is what the way has right that agrees best with the pairs outside a fold.
func bestWithout(r *run, ways []wayRight, fold int) []bool {
	var best []bool
	most := 0.0
	for _, one := range ways {
		if agreement := r.supervision.AgreementWithout(fold, one.right); best == nil || agreement > most {
			best, most = one.right, agreement
		}
	}
	return best
}
