package auto

import (
	"context"
	"fmt"
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/dataset"
)

const (
	// enough is how many pairs it takes to compare ways by folds.
	enough = 50
	// cutRatio is by how much k-means must cut the graph of neighbors more than its eigenvectors do for these to be taken,
	// and minClusterSize how large clusters must be on average.
	cutRatio       = 1.5
	minClusterSize = 50
	// A way replaces another if it is better by so many standard errors: by folds, and by few or contradictory constraints.
	leastAdvantage       = 1.0
	leastAdvantageUnsure = 1.5
)

// choose finds the way and its answer.
func (r *run) choose(ctx context.Context) (*answer, *clustering.Choice, error) {
	base, reason, err := r.chooseSpace(ctx)
	if err != nil {
		return nil, nil, err
	}
	must, cannot := r.supervision.kinds()
	choice := &clustering.Choice{Chosen: clustering.Way{Space: base.name, Use: clustering.UseNone}, Reason: reason}
	switch {
	case must+cannot == 0:
	case must == 0 || cannot == 0:
		choice.Chosen.Use = clustering.UseHard
	case must+cannot < enough:
		if base, err = r.chooseByFew(ctx, base, choice); err != nil {
			return nil, nil, err
		}
	default:
		if err := r.chooseByFolds(ctx, base, choice); err != nil {
			return nil, nil, err
		}
	}
	s, err := r.open(ctx, choice.Chosen.Space)
	if err != nil {
		return nil, nil, err
	}
	answers, err := r.fit(ctx, s, choice.Chosen.Use, []int{-1})
	if err != nil {
		return nil, nil, err
	}
	return answers[0], choice, nil
}

// names are the spaces of the data, the one that is taken without constraints and neighbors first.
func (r *run) names() []clustering.Space {
	switch data := r.data.(type) {
	case *dataset.Graph:
		return []clustering.Space{clustering.SpaceGraph}
	case *dataset.Points:
		if dataset.EvenlySpread(data) {
			return []clustering.Space{clustering.SpaceRows, clustering.SpaceNeighbors, clustering.SpaceStandardized, clustering.SpaceStandardizedNeighbors}
		}
		return []clustering.Space{clustering.SpaceStandardized, clustering.SpaceStandardizedNeighbors, clustering.SpaceRows, clustering.SpaceNeighbors}
	}
	return []clustering.Space{clustering.SpaceNeighbors}
}

// chooseSpace chooses the space of the answer without constraints.
func (r *run) chooseSpace(ctx context.Context) (*space, string, error) {
	names := r.names()
	first, err := r.open(ctx, names[0])
	if err != nil || len(names) == 1 {
		return first, "", err
	}
	near, err := r.open(ctx, names[1])
	if err != nil {
		return nil, "", err
	}
	ratio := normalizedCut(near.graph, first.alone, r.spec.K) / max(normalizedCut(near.graph, near.alone, r.spec.K), 1e-12)
	if ratio > cutRatio && r.n >= minClusterSize*r.spec.K {
		return near, fmt.Sprintf("k-means cuts the graph of nearest neighbors %.3g times as much as its eigenvectors do", ratio), nil
	}
	return first, fmt.Sprintf("k-means cuts the graph of nearest neighbors only %.3g times as much as its eigenvectors do", ratio), nil
}

// right tells of every held-out pair whether the labels of its fold have it right.
func (r *run) right(answers []*answer) []bool {
	right := make([]bool, len(r.supervision.held))
	for at, pair := range r.supervision.held {
		labels := answers[pair.fold].labels
		right[at] = (labels[pair.i] == labels[pair.j]) == pair.must
	}
	return right
}

// advantage is by how many standard errors one way has more pairs right than another, must-links and cannot-links
// counting alike: sum d / sqrt(sum d^2) with d = (right - other) / (number of pairs of the kind).
func (r *run) advantage(right, other []bool) float64 {
	must, cannot := r.supervision.kinds()
	sum, squares := 0.0, 0.0
	for at, pair := range r.supervision.held {
		if right[at] == other[at] {
			continue
		}
		d := 1 / float64(cannot)
		if pair.must {
			d = 1 / float64(must)
		}
		squares += float64(d * d)
		if !right[at] {
			d = -d
		}
		sum += d
	}
	if squares == 0 {
		return 0
	}
	return sum / math.Sqrt(squares)
}

// trial counts what is right.
func (r *run) trial(way clustering.Way, right []bool, fold int) clustering.Trial {
	t := clustering.Trial{Way: way, Folds: r.folds}
	for at, pair := range r.supervision.held {
		switch {
		case fold >= 0 && pair.fold != fold:
		case pair.must:
			t.MustLinks++
			if right[at] {
				t.MustLinksRight++
			}
		default:
			t.CannotLinks++
			if right[at] {
				t.CannotLinksRight++
			}
		}
	}
	if fold >= 0 {
		t.Fold = fold + 1
	}
	return t
}

// same are the answers of a way that looks at no constraints.
func (r *run) same(s *space) []*answer {
	answers := make([]*answer, r.folds)
	for fold := range answers {
		answers[fold] = &answer{s.alone, s.rows.alone, s.plain}
	}
	return answers
}

// chooseByFew compares the spaces' answers without constraints by all pairs.
func (r *run) chooseByFew(ctx context.Context, base *space, choice *clustering.Choice) (*space, error) {
	best := r.right(r.same(base))
	for _, name := range r.names() {
		s, err := r.open(ctx, name)
		if err != nil {
			return nil, err
		}
		right := r.right(r.same(s))
		advantage := r.advantage(right, best)
		choice.Trials = append(choice.Trials, clustering.TriedWay{Trial: r.trial(clustering.Way{Space: name, Use: clustering.UseNone}, right, -1), Advantage: advantage})
		if advantage > leastAdvantageUnsure {
			base, best = s, right
		}
	}
	choice.Chosen = clustering.Way{Space: base.name, Use: clustering.UseHard}
	return base, nil
}

// chooseByFolds compares the ways by what they have right of the constraints that they were not shown.
func (r *run) chooseByFolds(ctx context.Context, base *space, choice *clustering.Choice) error {
	baseWay := clustering.Way{Space: base.name, Use: clustering.UseNone}
	baseRight := r.right(r.same(base))
	folds := make([]int, r.folds)
	for fold := range folds {
		folds[fold] = fold
	}
	least := leastAdvantage
	if r.contradicts {
		least = leastAdvantageUnsure
	}
	var bestTrial *clustering.TriedWay
	for _, way := range r.ways() {
		s, err := r.open(ctx, way.Space)
		if err != nil {
			return err
		}
		answers, err := r.fit(ctx, s, way.Use, folds)
		if err != nil {
			return err
		}
		right := r.right(answers)
		for fold := range folds {
			r.o.Trial(r.trial(way, right, fold))
		}
		tried := clustering.TriedWay{Trial: r.trial(way, right, -1), Advantage: r.advantage(right, baseRight)}
		choice.Trials = append(choice.Trials, tried)
		if bestTrial == nil || tried.Share() > bestTrial.Share() {
			bestTrial = &tried
		}
	}
	choice.Chosen = baseWay
	if bestTrial.Advantage > least {
		choice.Chosen = bestTrial.Way
	}
	return nil
}

// ways are those that folds compare. Where constraints contradict each other some of them are wrong; then none is
// taken for certain.
func (r *run) ways() []clustering.Way {
	var ways []clustering.Way
	for _, name := range r.names() {
		ways = append(ways, clustering.Way{Space: name, Use: clustering.UseNone}, clustering.Way{Space: name, Use: clustering.UseSoft})
		if !r.contradicts {
			ways = append(ways, clustering.Way{Space: name, Use: clustering.UseHard})
		}
	}
	if _, dense := r.data.(*dataset.Points); dense && !r.contradicts {
		ways = append(ways, clustering.Way{Space: r.names()[0], Use: clustering.UseMetric})
	}
	return ways
}
