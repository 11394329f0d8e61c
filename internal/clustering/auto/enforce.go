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

// enforce changes labels so that certain constraints and seeds hold, unless the data may overrule them, and reports it.
func (r *run) enforce(ctx context.Context, labels []int32, margins []float64, right []bool) ([]int32, error) {
	fixed := slices.Repeat([]int32{enforce.None}, r.n)
	for _, seed := range r.supervision.Seeds {
		if seed.Chance >= certainWeight {
			fixed[seed.Point] = seed.Label
		}
	}
	var certain []constraint.Constraint
	if why := r.overruled(labels, right); why == "" {
		for _, c := range r.supervision.Constraints {
			if c.Weight >= certainWeight {
				certain = append(certain, c)
			}
		}
	} else if violated := r.given.Satisfaction(labels); violated.Satisfied() < violated.Total {
		r.warn("DATA_OVERRULE",
			"%s, so the data may overrule them (violated: %d of %d); use --enforce always to make them hold", why, violated.Total-violated.Satisfied(), violated.Total)
	}
	if r.options.Enforce == EnforceNever {
		return labels, nil
	}
	found, err := enforce.Apply(ctx, r.spec.K, labels, fixed, prices(margins), certain)
	if err != nil {
		return nil, err
	}
	if found.Changed > 0 {
		r.warn("LABELS_ENFORCED",
			"%s changed so that your constraints and seeds hold; use --enforce never to keep the labels that the data suggests",
			text.Count(found.Changed, fmt.Sprintf("of %d labels was", r.n), fmt.Sprintf("of %d labels were", r.n)))
	}
	if len(found.Contradicted) > 0 {
		r.notice(clustering.NewNotice("CONSTRAINTS_CONTRADICTED", append(text.Message{text.Plain(
			"%s: ", text.Count(len(found.Contradicted), "constraint cannot hold because seeds or other constraints contradict it",
				"constraints cannot hold because seeds or other constraints contradict them"))}, firstLinks(found.Contradicted)...)...))
	}
	if len(found.Unsatisfied) > 0 {
		r.notice(clustering.NewNotice("CONSTRAINTS_UNSATISFIED", append(text.Message{text.Plain(
			"no assignment to %d clusters was found that satisfies %s: ", r.spec.K, text.Plural(len(found.Unsatisfied), "cannot-link"))}, firstLinks(found.Unsatisfied)...)...))
	}
	return found.Labels, nil
}

// overruled returns why the data may overrule constraints, or "" if constraints hold.
func (r *run) overruled(labels []int32, right []bool) string {
	if r.given.Len() == 0 || r.options.Enforce == EnforceAlways {
		return ""
	}
	if r.options.Enforce == EnforceNever {
		return "constraints are not enforced"
	}
	if len(r.supervision.Seeds) == 0 && r.supervision.Contradictions > 0 {
		return "constraints contradict each other"
	}
	if wrong := max(r.strayShare, r.wrongShare(labels, right)); wrong > 0 {
		return fmt.Sprintf("about %.0f%% of the constraints seem wrong", 100*wrong)
	}
	return ""
}

// wrongShare estimates the share of wrong constraints as those that every good method contradicts when they are held
// out. It returns 0 if constraints seem right or too little is known.
func (r *run) wrongShare(labels []int32, right []bool) float64 {
	pairs := len(r.supervision.Constraints)
	if pairs < heldout.EnoughPairs || right == nil || contradictedBy(pairs, right) > maxContradicted {
		return 0
	}
	if held := r.given.Satisfaction(labels); float64(held.Total-held.Satisfied()) < float64(minViolated*float64(held.Total)) {
		return 0
	}
	best := 0.0
	for _, one := range r.heldOut {
		best = max(best, r.supervision.Agreement(one))
	}
	if best < informative {
		return 0
	}
	anyRight := make([]bool, pairs) // whether some good method has the pair right
	for _, one := range r.heldOut {
		if r.supervision.Agreement(one) < float64(nearlyBest*best) {
			continue
		}
		for i := range anyRight {
			anyRight[i] = anyRight[i] || one[i]
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
