package auto

import (
	"fmt"
	"math"
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
	// certainWeight is the weight of constraints, and the probability of seeds, that hold; below it they stay soft.
	certainWeight = 1
	// Constraints seem wrong where the answer is good but contradicts more of those that are held out than it should: it agrees
	// with them by informative or more and contradicts between minContradicted and maxContradicted of them; and where it
	// contradicts, between rows that are clearly inside their clusters, at least borderShare of what it contradicts of all:
	// where clusters touch, it is the rows between them that contradict correct constraints. Of 240 draws of correct
	// constraints 12 seemed wrong, most of which hold all the same; of 172 with one in ten wrong that do not contradict each
	// other, 57.
	informative     = 0.3
	minContradicted = 0.08
	maxContradicted = 0.22
	borderShare     = 0.5
	// fewWrong is how many constraints between two clusters say nothing about these.
	fewWrong = 3
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
	if why := r.overruled(labels, margins, right); why == "" {
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
	found := enforce.Apply(r.spec.K, labels, fixed, prices(margins), certain)
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
func (r *run) overruled(labels []int32, margins []float64, right []bool) string {
	if r.given.Len() == 0 || r.options.Enforce == EnforceAlways {
		return ""
	}
	if r.options.Enforce == EnforceNever {
		return "constraints are not enforced"
	}
	if len(r.supervision.Seeds) == 0 && r.supervision.Contradictions > 0 {
		return "constraints contradict each other"
	}
	if wrong := r.wrongShare(labels, margins, right); wrong > 0 {
		return fmt.Sprintf("about %.0f %% of the constraints seem wrong", 100*wrong)
	}
	return ""
}

// wrongShare estimates the share of constraints that are wrong from those that the answer has wrong when it is not shown
// them, between rows that are clearly inside their clusters. Where most constraints between two clusters, or within one, are
// contradicted, it is the answer that is wrong, and they do not count. It is 0 where too little is known.
func (r *run) wrongShare(labels []int32, margins []float64, right []bool) float64 {
	pairs := r.supervision.Pairs[:len(r.supervision.Constraints)]
	if len(pairs) < heldout.EnoughPairs || right == nil || margins == nil || r.supervision.Agreement(right) < informative {
		return 0
	}
	clarity := make([]float64, len(pairs))
	for at, pair := range pairs {
		clarity[at] = min(math.Abs(margins[pair.I]), math.Abs(margins[pair.J]))
	}
	order := slices.Clone(clarity)
	slices.Sort(order)
	type cell struct{ pairs, wrong int }
	cells := make(map[[2]int32]cell) // of clear pairs, by their clusters
	inside, wrong := 0, 0
	for at, pair := range pairs {
		own, other := labels[pair.I], labels[pair.J]
		c := cells[[2]int32{min(own, other), max(own, other)}]
		isClear := clarity[at] >= order[len(order)/2]
		if isClear {
			inside++
			c.pairs++
		}
		if !right[at] {
			wrong++
			if isClear {
				c.wrong++
			}
		}
		cells[[2]int32{min(own, other), max(own, other)}] = c
	}
	clearWrong := 0
	for _, c := range cells {
		if c.wrong < fewWrong || 2*c.wrong <= c.pairs {
			clearWrong += c.wrong
		}
	}
	share, contradicted := float64(clearWrong)/float64(max(1, inside)), float64(wrong)/float64(len(pairs))
	if contradicted < minContradicted || contradicted > maxContradicted || share < borderShare*contradicted {
		return 0
	}
	return share
}

// prices are what changes of labels cost: those of rows that are clearly inside their clusters cost up to twice as much as
// those of rows between clusters.
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

// pairsOf lists the first of many constraints.
func pairsOf(all []constraint.Constraint) string {
	var texts []string
	for _, c := range all {
		texts = append(texts, fmt.Sprintf("%d-%d (%s)", c.I, c.J, strings.TrimSuffix(c.Kind.String(), "-link")))
	}
	return someOf(texts)
}
