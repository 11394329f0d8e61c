package auto

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/enforce"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/constraint"
)

// Enforcement says whether constraints and seeds hold in the answer, or the data may overrule them.
type Enforcement uint8

// The kinds of enforcement.
const (
	EnforceAuto   Enforcement = iota // they hold, unless constraints contradict each other or too many seem wrong
	EnforceAlways                    // they hold wherever k clusters allow it
	EnforceNever                     // the data may overrule them
)

// String is the name of a kind in the catalog.
func (e Enforcement) String() string { return [...]string{"auto", "always", "never"}[e] }

const (
	// maxWrong is the share of wrong constraints from which on the data may overrule them.
	maxWrong = 0.05
	// certainWeight is the weight of constraints, and the probability of seeds, that hold; below it they stay soft.
	certainWeight = 1
	// borderShare tells constraints that are wrong from clusters that touch: where clusters touch, the pairs of rows that are
	// clearly inside their clusters are contradicted much less often than the others; wrong ones are contradicted everywhere.
	borderShare = 0.5
)

// enforce makes certain constraints and seeds hold in an answer, unless the data may overrule them, and says what it did.
func (r *run) enforce(labels []int32, margins []float64, right []bool) []int32 {
	fixed := slices.Repeat([]int32{enforce.None}, r.n)
	for _, seed := range r.supervision.Seeds {
		if seed.Chance >= certainWeight {
			fixed[seed.Point] = seed.Label
		}
	}
	var certain []constraint.Constraint
	if why := r.overruled(margins, right); why == "" {
		for _, c := range r.supervision.Constraints {
			if c.Weight >= certainWeight {
				certain = append(certain, c)
			}
		}
	} else if violated := r.given.Satisfaction(labels); violated.Satisfied() < violated.Total {
		r.notice(clustering.Notice{Code: "DATA_OVERRULE", Message: fmt.Sprintf(
			"%s, so the data may overrule them: %d of %d are violated; --enforce always makes them hold", why, violated.Total-violated.Satisfied(), violated.Total)})
	}
	if r.options.Enforce == EnforceNever {
		return labels
	}
	found := enforce.Apply(r.spec.K, labels, fixed, certain)
	if found.Changed > 0 {
		r.notice(clustering.Notice{Code: "LABELS_ENFORCED", Message: fmt.Sprintf(
			"%d of %d labels were changed so that what you gave holds; --enforce never leaves them as the data have them", found.Changed, r.n)})
	}
	if len(found.Contradicted) > 0 {
		r.notice(clustering.Notice{Code: "CONSTRAINTS_CONTRADICTED", Message: fmt.Sprintf(
			"%d constraints cannot hold because seeds or other constraints contradict them: %s", len(found.Contradicted), pairsOf(found.Contradicted))})
	}
	if len(found.Unsatisfied) > 0 {
		r.notice(clustering.Notice{Code: "CONSTRAINTS_UNSATISFIED", Message: fmt.Sprintf(
			"no assignment to %d clusters was found that satisfies %d cannot-links: %s", r.spec.K, len(found.Unsatisfied), pairsOf(found.Unsatisfied))})
	}
	return found.Labels
}

// overruled returns why the data may overrule constraints, or "" where constraints hold.
func (r *run) overruled(margins []float64, right []bool) string {
	if r.given.Len() == 0 || r.options.Enforce == EnforceAlways {
		return ""
	}
	if r.options.Enforce == EnforceNever {
		return "constraints are not enforced"
	}
	if len(r.supervision.Seeds) == 0 && r.supervision.Contradictions > 0 {
		return "constraints contradict each other"
	}
	if wrong := r.wrongShare(margins, right); wrong > maxWrong {
		return fmt.Sprintf("about %.0f %% of the constraints seem wrong", 100*wrong)
	}
	return ""
}

// wrongShare estimates the share of constraints that are wrong from those that the answer has wrong when it is not shown
// them. Rows that are clearly inside their clusters count alone: between clusters that touch, correct constraints are
// contradicted too. It is 0 where too little is known.
func (r *run) wrongShare(margins []float64, right []bool) float64 {
	pairs := r.supervision.Pairs[:min(len(r.supervision.Pairs), len(r.supervision.Constraints))]
	if len(pairs) < heldout.EnoughPairs || right == nil || margins == nil {
		return 0
	}
	clarity := make([]float64, len(pairs))
	for at, pair := range pairs {
		clarity[at] = min(margins[pair.I], margins[pair.J])
	}
	order := slices.Clone(clarity)
	slices.Sort(order)
	clear, clearWrong, others, othersWrong := 0, 0, 0, 0
	for at := range pairs {
		wrong := 0
		if !right[at] {
			wrong = 1
		}
		if clarity[at] >= order[len(order)/2] {
			clear, clearWrong = clear+1, clearWrong+wrong
		} else {
			others, othersWrong = others+1, othersWrong+wrong
		}
	}
	share, rest := float64(clearWrong)/float64(max(1, clear)), float64(othersWrong)/float64(max(1, others))
	if share < borderShare*rest {
		return 0
	}
	return share
}

// pairsOf lists the first of many constraints.
func pairsOf(all []constraint.Constraint) string {
	var texts []string
	for _, c := range all {
		texts = append(texts, fmt.Sprintf("%d-%d (%s)", c.I, c.J, strings.TrimSuffix(c.Kind.String(), "-link")))
	}
	return someOf(texts)
}
