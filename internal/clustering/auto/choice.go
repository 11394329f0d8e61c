package auto

import (
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/text"
)

// decision is the method that was chosen, with what the outcomes say about the supervision.
type decision struct {
	choice   clustering.Choice
	outcomes outcomes
	notices  []clustering.Notice
	suspects []clustering.Suspect // their strengths are not set yet if they are pairs
}

// takeBaseline decides for the baseline.
func takeBaseline(b *baseline) decision {
	return decision{choice: clustering.Choice{Chosen: b.method(), Reason: b.reason}}
}

// takeUsual decides for the usual use of the supervision in the space of the baseline, because constraints of one kind
// cannot compare methods.
func takeUsual(p *Problem, b *baseline) decision {
	d := takeBaseline(b)
	d.choice.Chosen.ConstraintUse = p.usualUse(b.space.name)
	d.notices = append(d.notices, oneKindNotice(p))
	return d
}

// takeSatisfied decides for a baseline that satisfies all constraints. No method could agree better.
func takeSatisfied(p *Problem, b *baseline, right []bool) decision {
	d := takeBaseline(b)
	d.choice.Tried = []clustering.MethodScore{p.score(b.method(), right, right)}
	d.choice.Reason = append(reason("it satisfies every constraint even without using them; "), b.reason...)
	return d
}

// chooseSpaceByFew chooses a space by the pairs that the answers without supervision have right. A space replaces the
// best one so far only if it is clearly better than that.
func chooseSpaceByFew(p *Problem, b *baseline, bySpace outcomes) (choice clustering.Choice, right []bool) {
	choice = takeBaseline(b).choice
	right = p.right(b.space.unconstrained)
	for _, one := range bySpace {
		score := p.score(one.method, one.right, right)
		choice.Tried = append(choice.Tried, score)
		if score.Advantage > minAdvantageFew {
			choice.Chosen = one.method
			right = one.right
			choice.Reason = reason("its agreement with the %s, which it did not use, is %.2f: "+
				"%.2g standard errors better than the default choice", p.noun(), score.Agreement(), score.Advantage)
		}
	}
	return choice, right
}

// chooseUseByFew decides whether to use the constraints, given the choice of the space and the pairs that its answer
// has right. The best use is taken unless its outcome shows that it makes the answer worse.
func chooseUseByFew(p *Problem, choice clustering.Choice, right []bool, byUse outcomes) decision {
	var best clustering.MethodScore
	for i, one := range byUse {
		score := p.score(one.method, one.right, right)
		choice.Tried = append(choice.Tried, score)
		if i == 0 || score.Agreement() > best.Agreement() {
			best = score
		}
	}
	if best.Advantage < clearlyWorse {
		choice.Reason = append(choice.Reason, text.Plain(
			"; %s are ignored, because an answer fitted to some of them agrees less with the others (%.2f)",
			p.noun(), best.Agreement()))
	} else {
		choice.Chosen = best.Method
	}
	return decision{choice: choice, outcomes: byUse}
}

// judged returns an outcome with its score against the pairs that the baseline has right.
func (o outcome) judged(p *Problem, base []bool) *outcome {
	if o.folds < p.folds {
		o.score = p.scoreFirst(o.method, o.folds, o.right, base)
	} else {
		o.score = p.score(o.method, o.right, base)
	}
	return &o
}

// mayReplace reports whether a judged method is good enough to replace the baseline.
func (o *outcome) mayReplace() bool { return o.bar(o.score.Advantage) }

// merit is the agreement of a judged method with held-out supervision, plus its bonus.
func (o *outcome) merit() float64 { return o.score.Agreement() + o.bonus }

// betterThan reports whether a judged method has more merit than another, which may be nil. Of equals, one that uses
// constraints wins.
func (o *outcome) betterThan(other *outcome) bool {
	if other == nil {
		return true
	}
	own := o.merit()
	others := other.merit()
	return own > others || own == others && other.method.ConstraintUse == clustering.UseNone
}

// ranking ranks the methods that were tried.
type ranking struct {
	scores   []clustering.MethodScore // of all methods
	complete outcomes                 // of the methods that were fitted to all folds; only these are ranked
	best     *outcome                 // nil if complete is empty
	taken    *outcome                 // the best that may replace the baseline; nil if there is none
	fallback *outcome                 // soft constraints on levels, used if taken is nil; nil if not tried
}

// rank ranks methods. The slice base tells which pairs the baseline has right.
func rank(p *Problem, all outcomes, base []bool) ranking {
	var r ranking
	for _, one := range all {
		found := one.judged(p, base)
		r.scores = append(r.scores, found.score)
		if one.folds < p.folds {
			continue
		}
		r.complete = append(r.complete, one)
		if one.method == (clustering.Method{Space: clustering.SpaceLevels, ConstraintUse: clustering.UseSoft}) {
			r.fallback = found
		}
		if found.betterThan(r.best) {
			r.best = found
		}
		if found.mayReplace() && found.betterThan(r.taken) {
			r.taken = found
		}
	}
	return r
}

// chooseByFolds chooses the method that agrees best with held-out supervision, if it may replace the baseline. The
// slice right tells which pairs the baseline has right.
func chooseByFolds(p *Problem, b *baseline, right []bool, all outcomes) decision {
	d := takeBaseline(b)
	d.outcomes = all
	r := rank(p, all, right)
	d.choice.Tried = r.scores
	without := p.trial(b.method(), right, heldout.None).Agreement()
	switch {
	case r.taken != nil:
		d.choice.Chosen = r.taken.method
		d.choice.Reason = reasonFor(p, r.taken.score, r.scores, without)
	case r.fallback != nil && mayBeFallback(p, b, r.fallback.score):
		d.choice.Chosen = r.fallback.method
		d.choice.Reason = append(reason("no other method scores clearly better on held-out %s "+
			"(this one %.2f, ignoring them %.2f); ", p.noun(), r.fallback.score.Agreement(), without), b.reason...)
	case r.best == nil:
		d.choice.Reason = append(reason("every method that uses the %s did clearly worse on held-out ones than "+
			"ignoring them (%.2f); ", p.noun(), without), b.reason...)
	default:
		d.choice.Reason = append(reason("ignoring the %s scores as well on held-out ones (%.2f) as using them; ",
			p.noun(), without), b.reason...)
	}
	if r.best != nil {
		d.notices, d.suspects = findSuspects(p, r.best, r.complete)
	}
	return d
}

// mayBeFallback reports whether soft constraints on levels, which hardly differ from the baseline, are good enough if
// no method may replace it.
func mayBeFallback(p *Problem, b *baseline, score clustering.MethodScore) bool {
	switch {
	case b.strayShare > 0:
		return false
	case p.trust() == contradicted:
		return score.Advantage >= 0
	}
	return score.Advantage >= clearlyWorse
}

// reasonFor explains why a method replaces the baseline, which agrees with held-out supervision by without.
func reasonFor(
	p *Problem, taken clustering.MethodScore, scores []clustering.MethodScore, without float64,
) text.Message {
	if len(p.supervision.Seeds) == 0 {
		if p.trust() == confirmed {
			return reason("it agrees best with held-out constraints (%.2f); %d constraints follow from "+
				"others and none "+
				"contradicts them, so all are taken as certain", taken.Agreement(), p.supervision.Checked)
		}
		return reason("its agreement with held-out constraints is %.2f, versus %.2f if they are ignored: "+
			"%.2g standard errors better", taken.Agreement(), without, taken.Advantage)
	}
	best := taken.Agreement()
	for _, other := range scores {
		best = max(best, other.Agreement())
	}
	if best > taken.Agreement() {
		return reason("a classifier scores %.2f on held-out labels and the best other method %.2f, "+
			"but fitted to all %d labels the classifier should do better",
			taken.Agreement(), best, len(p.supervision.Seeds))
	}
	return reason("it agrees best with held-out labels (%.2f; ignoring them %.2f)", taken.Agreement(), without)
}

// reason returns a message that refers to no row or column.
func reason(format string, args ...any) text.Message {
	return text.Message{text.Plain(format, args...)}
}

// allRight reports whether an answer has all pairs right.
func allRight(right []bool) bool { return !slices.Contains(right, false) }
