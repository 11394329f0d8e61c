package auto

import (
	"context"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/enforce"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/text"
)

// Enforcement is whether constraints and seeds hold in the answer or the data may overrule them.
type Enforcement uint8

// The kinds of enforcement.
const (
	EnforceAuto   Enforcement = iota // they hold unless constraints contradict each other or too many seem wrong
	EnforceAlways                    // they hold wherever k clusters allow it
	EnforceNever                     // the data may overrule them
)

// String returns the name in the catalog.
func (e Enforcement) String() string { return text.Name(e, "auto", "always", "never") }

// Whether supervision seems wrong, holds in the answer, and is reported.
const (
	// Constraints of at least this weight, and seeds of at least this probability, hold; others stay soft.
	certainWeight = 1
	// Constraints are wrong if, of minStrayAmong or more between separated clusters, at least minStrayShare are
	// must-links, after minAdvantage standard errors are subtracted. Fewer than minStrayClusters clusters may all
	// overlap, so that must-links between them prove nothing. Of draws on 9 sets with 10 to 42 classes, this finds 67
	// of 90 with one pair in ten wrong, and none of 94 with correct ones.
	minStrayShare    = 0.04
	minStrayAmong    = 30
	minStrayClusters = 8
	// Constraints also seem wrong if the data separates the clusters, but every good method contradicts the same
	// held-out constraints and the answer violates some constraints: the best method agrees by at least informative;
	// the answer contradicts at most maxContradicted; the methods that agree by at least nearlyBest of the best all
	// contradict minContradicted or more, the same ones; and the answer violates at least minViolated. Of 122 draws
	// with one pair in ten wrong on 25 sets, none contradicting others, 80 seem wrong; of 182 with correct pairs, 11.
	informative     = 0.4
	nearlyBest      = 0.75
	minContradicted = 0.06
	maxContradicted = 0.25
	minViolated     = 0.05
	// nearChance is the agreement with held-out constraints below which an answer means little, and goodAgreement that
	// from which the data can contradict single constraints.
	nearChance    = 0.1
	goodAgreement = 0.6
	// listed is the maximum number of constraints or seeds that a notice names.
	listed = 5
)

// respect enforces the supervision in a result and lists what the data contradicts.
func respect(ctx context.Context, j *journal, p *Problem, base *baseline, d decision, found *answer,
	result *clustering.Result) error {
	var margins []float64
	if result.Rows != nil {
		margins = result.Rows.Margin
	}
	result.Auto.Suspects = withStrengths(d.suspects, margins)
	labels, err := enforceIn(ctx, j, p, result.Labels, margins, overruled(p, base, d, found, result.Labels))
	if err != nil || slices.Equal(labels, result.Labels) {
		return err
	}
	result.Labels = labels
	result.CountSizes(p.spec.K)
	return found.rate(ctx, result)
}

// enforceIn changes labels so that certain constraints and seeds hold, and reports it. If overruled is not "", it is
// why the data may overrule constraints.
func enforceIn(ctx context.Context, j *journal, p *Problem, labels []int32, margins []float64, overruled string) (
	[]int32, error) {
	var certain []constraint.Constraint
	if overruled == "" {
		for _, c := range p.supervision.Constraints {
			if c.Weight >= certainWeight {
				certain = append(certain, c)
			}
		}
	} else if held := p.given.Satisfaction(labels); held.Satisfied() < held.Total {
		j.add(notice("DATA_OVERRULE", "%s, so the data may overrule them (violated: %d of %d); "+
			"use --enforce always to make them hold", overruled, held.Total-held.Satisfied(), held.Total))
	}
	if p.options.Enforce == EnforceNever {
		return labels, nil
	}
	fixed := slices.Repeat([]int32{enforce.None}, p.n)
	for _, seed := range p.supervision.Seeds {
		if seed.Chance >= certainWeight {
			fixed[seed.Point] = seed.Label
		}
	}
	found, err := enforce.Apply(ctx, p.spec.K, labels, fixed, prices(margins), certain)
	if err != nil {
		return nil, err
	}
	j.add(enforcedNotices(p, found)...)
	return found.Labels, nil
}

// enforcedNotices says how many labels were changed and what cannot hold.
func enforcedNotices(p *Problem, found enforce.Result) []clustering.Notice {
	var all []clustering.Notice
	if found.Changed > 0 {
		labels := text.Count(found.Changed,
			fmt.Sprintf("of %d labels was", p.n), fmt.Sprintf("of %d labels were", p.n))
		all = append(all, notice("LABELS_ENFORCED", "%s changed so that your constraints and seeds hold; "+
			"use --enforce never to keep the labels that the data suggests", labels))
	}
	if count := len(found.Contradicted); count > 0 {
		what := text.Plain("%s: ", text.Count(count,
			"constraint cannot hold because seeds or other constraints contradict it",
			"constraints cannot hold because seeds or other constraints contradict them"))
		message := append(text.Message{what}, firstLinks(found.Contradicted)...)
		all = append(all, clustering.NewNotice("CONSTRAINTS_CONTRADICTED", message...))
	}
	if count := len(found.Unsatisfied); count > 0 {
		what := text.Plain("no assignment to %d clusters was found that satisfies %s: ",
			p.spec.K, text.Plural(count, "cannot-link"))
		message := append(text.Message{what}, firstLinks(found.Unsatisfied)...)
		all = append(all, clustering.NewNotice("CONSTRAINTS_UNSATISFIED", message...))
	}
	return all
}

// overruled returns why the data may overrule constraints in an answer with the given labels, or "" if they hold.
func overruled(p *Problem, base *baseline, d decision, found *answer, labels []int32) string {
	switch {
	case p.given.Len() == 0 || p.options.Enforce == EnforceAlways:
		return ""
	case p.options.Enforce == EnforceNever:
		return "constraints are not enforced"
	case len(p.supervision.Seeds) == 0 && p.trust() == contradicted:
		return "constraints contradict each other"
	}
	if wrong := max(base.strayShare, wrongShare(p, d, found, labels)); wrong > 0 {
		return fmt.Sprintf("about %.0f%% of the constraints seem wrong", 100*wrong)
	}
	return ""
}

// wrongShare estimates the share of wrong constraints as those that every good method contradicts when they are held
// out. It returns 0 if constraints seem right or too little is known.
func wrongShare(p *Problem, d decision, found *answer, labels []int32) float64 {
	pairs := len(p.supervision.Constraints)
	if pairs < heldout.EnoughPairs {
		return 0
	}
	var right []bool
	if chosen := d.outcomes.of(d.choice.Chosen, p.folds); chosen != nil {
		right = chosen.right
	} else if d.choice.Chosen.ConstraintUse == clustering.UseNone { // the answer has seen no pair
		right = p.right(found)
	} else {
		return 0
	}
	if contradictedBy(pairs, right) > maxContradicted {
		return 0
	}
	held := p.given.Satisfaction(labels)
	if float64(held.Total-held.Satisfied()) < float64(minViolated*float64(held.Total)) {
		return 0
	}
	best := 0.0
	for _, one := range d.outcomes {
		if one.folds == p.folds {
			best = max(best, p.supervision.Agreement(one.right))
		}
	}
	if best < informative {
		return 0
	}
	anyRight := make([]bool, pairs) // whether some good method has the pair right
	for _, one := range d.outcomes {
		if one.folds < p.folds || p.supervision.Agreement(one.right) < float64(nearlyBest*best) {
			continue
		}
		for i := range anyRight {
			anyRight[i] = anyRight[i] || one.right[i]
		}
	}
	if share := contradictedBy(pairs, anyRight); share >= minContradicted {
		return share
	}
	return 0
}

// contradictedBy returns the share of the constraints, which are the first pairs, that an answer has wrong.
func contradictedBy(pairs int, right []bool) float64 {
	wrong := 0
	for _, one := range right[:pairs] {
		if !one {
			wrong++
		}
	}
	return float64(wrong) / float64(pairs)
}

// prices returns the costs of changing labels. A row that is clearly inside its cluster costs up to twice as much as a
// row between clusters.
func prices(margins []float64) []float64 {
	if margins == nil {
		return nil
	}
	clarity := clarityOf(margins)
	all := make([]float64, len(margins))
	for i := range all {
		all[i] = 1 + clarity(int32(i))
	}
	return all
}

// firstLinks lists the first few constraints.
func firstLinks(all []constraint.Constraint) text.Message {
	var links []text.Part
	for _, c := range all {
		links = append(links, text.Link(int(c.I), int(c.J), c.Kind == constraint.MustLink))
	}
	return text.FirstParts(links, listed)
}
