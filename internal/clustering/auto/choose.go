package auto

import (
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/text"
)

// choose chooses a method and returns its answer to all supervision.
func (r *run) choose(ctx context.Context) (*answer, *clustering.Choice, error) {
	base, choice, err := r.chooseSpace(ctx)
	if err != nil {
		return nil, nil, err
	}
	r.baseline = base.unconstrained.labels
	r.findStrays(r.baseline)
	must, cannot := r.supervision.CountPairs()
	switch {
	case len(r.supervision.TrainingConstraints(heldout.None)) == 0:
		return base.unconstrained, choice, nil
	case must == 0 || cannot == 0: // a few seeds may leave a single one in each fold, so that there is no pair to hold out
		r.noticeOneKind(must, cannot)
		choice.Chosen.ConstraintUse = r.defaultUse(base)
	case must+cannot < heldout.EnoughPairs:
		err = r.chooseByFew(ctx, base, choice)
	default:
		err = r.chooseByFolds(ctx, base, choice)
	}
	if err != nil {
		return nil, nil, err
	}
	s, err := r.open(ctx, choice.Chosen.Space)
	if err != nil {
		return nil, nil, err
	}
	answers, err := r.fit(ctx, s, []task{{use: choice.Chosen.ConstraintUse, fold: heldout.None}})
	if err != nil {
		return nil, nil, err
	}
	if note := answers[0].note; note != "" {
		choice.Reason = append(choice.Reason, text.Plain("; %s", note))
	}
	return answers[0], choice, nil
}

// chooseSpace chooses the space of the baseline, the answer without supervision. K-means on the first space is the
// usual choice.
func (r *run) chooseSpace(ctx context.Context) (*space, *clustering.Choice, error) {
	first, err := r.open(ctx, r.openable[0])
	if err != nil {
		return nil, nil, err
	}
	choice := &clustering.Choice{Chosen: clustering.Method{Space: first.name, ConstraintUse: clustering.UseNone}}
	if r.discriminants { // only classifiers compete, so no other space is opened
		return first, choice, nil
	}
	switch {
	case first.name == clustering.SpaceLevels:
		choice.Reason = reason("graphs are cut from coarse to fine")
	case first.name == clustering.SpaceGraph:
		if left := r.n - len(first.plain.kept); left > 0 {
			r.noticeLeftOut(left)
		}
		choice.Reason = reason("edges with negative weights cannot be cut, so eigenvectors of the graph are used")
	case first.name == clustering.SpaceNeighbors:
		choice.Reason = reason("sparse rows are compared by their nearest neighbors")
	case len(r.openable) == 1 || !ofNeighbors(r.openable[1]):
		choice.Reason = reason("finding nearest neighbors would take too long, so k-means is used")
	default:
		return r.chooseByCut(ctx, first, choice)
	}
	return first, choice, nil
}

// chooseByCut prefers the eigenvectors of the neighbor graph to k-means if k-means cuts through that graph. Where it
// does not, a mixture may continue from k-means.
func (r *run) chooseByCut(ctx context.Context, first *space, choice *clustering.Choice) (*space, *clustering.Choice, error) {
	near, err := r.open(ctx, r.openable[1])
	if err != nil {
		return nil, nil, err
	}
	// Neither is a lower bound: the k-means labels may have the smaller cut.
	own, spectral := normalizedCut(near.graph, first.unconstrained.labels, r.spec.K), normalizedCut(near.graph, near.unconstrained.labels, r.spec.K)
	switch {
	case r.n < minClusterSize*r.spec.K:
		choice.Reason = reason("clusters of %s on average are too small for nearest neighbors to tell them apart, so k-means is used", text.Plural(r.n/r.spec.K, "point"))
	case own > float64(cutRatio*spectral):
		if column := sharpColumn(near.graph, r.data); column >= 0 {
			choice.Reason = text.Message{text.Plain("nearest neighbors nearly always have the same value in column "), text.Column(column), text.Plain(", which has few values, so k-means is used")}
			return first, choice, nil
		}
		choice.Chosen.Space = near.name
		choice.Reason = reason("k-means cuts through the nearest-neighbor graph: its normalized cut is %.3g, versus %.3g for spectral clustering", own, spectral)
		return near, choice, nil
	default:
		choice.Reason = reason("k-means does not cut through the nearest-neighbor graph: its normalized cut is %.3g, versus %.3g for spectral clustering", own, spectral)
	}
	return r.chooseMixture(ctx, first, choice)
}

// defaultUse returns how constraints are used if methods are not compared. A mixture has no soft constraints.
func (r *run) defaultUse(s *space) clustering.ConstraintUse {
	switch {
	case s.name != clustering.SpaceLevels && r.supervision.Contradictions == 0 && r.options.Enforce != EnforceNever:
		return clustering.UseHard
	case s.name == clustering.SpaceMixture:
		return clustering.UseNone
	}
	return clustering.UseSoft
}

// chooseByFew chooses a method if there are few constraints: the space first, then the use.
func (r *run) chooseByFew(ctx context.Context, base *space, choice *clustering.Choice) error {
	base, right, err := r.spaceByFew(ctx, base, choice)
	if err != nil {
		return err
	}
	r.noticeFew(len(r.supervision.Pairs))
	return r.useByFew(ctx, base, right, choice)
}

// spaceByFew compares the answers without constraints in all spaces, by all pairs, and returns the best space and which
// pairs its answer has right. A space replaces the best one so far only if it is clearly better than that.
func (r *run) spaceByFew(ctx context.Context, base *space, choice *clustering.Choice) (*space, []bool, error) {
	best := r.right(base.unconstrained)
	for _, name := range r.openable {
		s, err := r.open(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		right := r.right(s.unconstrained)
		tried := r.tried(clustering.Method{Space: name, ConstraintUse: clustering.UseNone}, right, best)
		choice.Tried = append(choice.Tried, tried)
		r.o.Observe(clustering.MethodTried{Trial: tried.Trial})
		if tried.Advantage > minAdvantageFew {
			base, best = s, right
			choice.Reason = reason("its agreement with the %s, which it did not use, is %.2f: %.2g standard errors better than the default choice", r.noun(), tried.Agreement(), tried.Advantage)
		}
	}
	return base, best, nil
}

// useByFew decides whether to use the constraints in a space. It uses them unless cross-validation shows that they make
// the answer worse than the one without them, which has the given pairs right. If the space is the mixture, k-means
// with hard constraints replaces it if that agrees better with held-out constraints.
func (r *run) useByFew(ctx context.Context, base *space, right []bool, choice *clustering.Choice) error {
	uses := []clustering.ConstraintUse{r.defaultUse(base)}
	if base.plain != nil && base.graph != nil && r.spec.K > 1 {
		uses = append(uses, clustering.UseCuts)
	}
	outcomes, err := r.crossValidate(ctx, base, uses, nil)
	if err != nil {
		return err
	}
	if base.name == clustering.SpaceMixture && r.supervision.Contradictions == 0 { // with few rows, k-means follows constraints better
		ofRows, err := r.crossValidate(ctx, r.opened[r.openable[0]], uses, nil)
		if err != nil {
			return err
		}
		outcomes = append(outcomes, ofRows...)
	}
	var tried clustering.MethodScore
	for i, outcome := range outcomes {
		one := r.tried(outcome.method, outcome.right, right)
		choice.Tried = append(choice.Tried, one)
		if i == 0 || one.Agreement() > tried.Agreement() {
			tried = one
		}
	}
	choice.Chosen = tried.Method
	if tried.Advantage < clearlyWorse {
		choice.Chosen = clustering.Method{Space: base.name, ConstraintUse: clustering.UseNone}
		choice.Reason = append(choice.Reason, text.Plain("; %s are ignored, because an answer fitted to some of them agrees less with the others (%.2f)", r.noun(), tried.Agreement()))
	}
	return nil
}

// chooseByFolds chooses the method that agrees best with held-out supervision, if it may replace the baseline.
func (r *run) chooseByFolds(ctx context.Context, base *space, choice *clustering.Choice) error {
	right := r.right(base.unconstrained)
	if len(r.supervision.Seeds) == 0 && !slices.Contains(right, false) { // no method could agree better
		choice.Tried = append(choice.Tried, r.tried(choice.Chosen, right, right))
		choice.Reason = append(reason("it satisfies every constraint even without using them; "), choice.Reason...)
		return nil
	}
	outcomes, err := r.tryMethods(ctx, right)
	if err != nil {
		return err
	}
	r.chooseFrom(outcomes, right, choice)
	return nil
}

// chooseFrom chooses among the methods that were tried. The slice right tells which pairs the baseline has right.
func (r *run) chooseFrom(outcomes []outcome, right []bool, choice *clustering.Choice) {
	found := r.compare(outcomes, right)
	choice.Tried = found.scores
	without := r.trial(choice.Chosen, right, heldout.None).Agreement()
	switch taken, fallback := found.taken, found.fallback; {
	case taken != nil:
		choice.Chosen, choice.Reason = taken.Method, r.reasonFor(taken, found.scores, without)
	case fallback != nil && r.mayBeFallback(*fallback):
		choice.Chosen = fallback.Method
		choice.Reason = append(reason("no other method scores clearly better on held-out %s (this one %.2f, ignoring them %.2f); ", r.noun(), fallback.Agreement(), without), choice.Reason...)
	case found.best == nil:
		choice.Reason = append(reason("every method that uses the %s did clearly worse on held-out ones than ignoring them (%.2f); ", r.noun(), without), choice.Reason...)
	default:
		choice.Reason = append(reason("ignoring the %s scores as well on held-out ones (%.2f) as using them; ", r.noun(), without), choice.Reason...)
	}
	r.noticeTrials(found.best, found.complete)
}

// comparison ranks the methods that were tried.
type comparison struct {
	scores   []clustering.MethodScore // of all methods
	complete []outcome                // of the methods that were fitted to all folds; only these are ranked
	best     *clustering.MethodScore  // nil if complete is empty
	taken    *clustering.MethodScore  // the best that may replace the baseline; nil if there is none
	fallback *clustering.MethodScore  // soft constraints on levels, used if taken is nil; nil if not tried
}

// compare ranks methods. The slice base tells which pairs the baseline has right.
func (r *run) compare(outcomes []outcome, base []bool) *comparison {
	c := &comparison{}
	for _, one := range outcomes {
		if one.folds < r.folds {
			c.scores = append(c.scores, r.triedFirst(one, base))
			continue
		}
		score := r.tried(one.method, one.right, base)
		c.scores, c.complete = append(c.scores, score), append(c.complete, one)
		if one.method == (clustering.Method{Space: clustering.SpaceLevels, ConstraintUse: clustering.UseSoft}) {
			c.fallback = &score
		}
		if r.better(&score, c.best) {
			c.best = &score
		}
		if r.mayReplace(score) && r.better(&score, c.taken) {
			c.taken = &score
		}
	}
	return c
}

// reasonFor explains why a method replaces the baseline, which agrees with held-out supervision by without.
func (r *run) reasonFor(taken *clustering.MethodScore, scores []clustering.MethodScore, without float64) text.Message {
	if len(r.supervision.Seeds) == 0 {
		if r.trusted() {
			return reason("it agrees best with held-out constraints (%.2f); %d constraints follow from others and none contradicts them, so all are taken as certain", taken.Agreement(), r.supervision.Checked)
		}
		return reason("its agreement with held-out constraints is %.2f, versus %.2f if they are ignored: %.2g standard errors better", taken.Agreement(), without, taken.Advantage)
	}
	best := taken.Agreement()
	for _, other := range scores {
		best = max(best, other.Agreement())
	}
	if best > taken.Agreement() {
		return reason("a classifier scores %.2f on held-out labels and the best other method %.2f, but fitted to all %d labels the classifier should do better",
			taken.Agreement(), best, len(r.supervision.Seeds))
	}
	return reason("it agrees best with held-out labels (%.2f; ignoring them %.2f)", taken.Agreement(), without)
}

// noun returns what the user gave: "constraints", or "seeds" if there are only seeds.
func (r *run) noun() string {
	if len(r.spec.Supervision.Seeds) > 0 && r.given.Len() == 0 {
		return "seeds"
	}
	return "constraints"
}

// reason returns a message that refers to no row or column.
func reason(format string, args ...any) text.Message {
	return text.Message{text.Plain(format, args...)}
}

// findStrays estimates the share of wrong constraints by stray must-links, given an answer that has not seen the
// constraints. The share stays 0 if chance, or clusters that overlap, could explain them.
func (r *run) findStrays(labels []int32) {
	if len(r.supervision.Seeds) > 0 || r.spec.K < minStrayClusters || len(r.supervision.Constraints) < heldout.EnoughPairs {
		return
	}
	stray, among := r.supervision.StrayMustLinks(labels)
	if least := float64(stray) - float64(minAdvantage*math.Sqrt(float64(stray))); among >= minStrayAmong && least >= float64(minStrayShare*float64(among)) {
		r.strayShare = float64(stray) / float64(among)
	}
}
