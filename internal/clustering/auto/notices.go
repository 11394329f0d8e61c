package auto

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/text"
)

// noticeFew says that there are too few constraints to compare ways by.
func (r *run) noticeFew(pairs int) {
	what := "constraints"
	if len(r.spec.Seeds) > 0 {
		what = "pairs of seeds"
	}
	r.notice(clustering.Notice{Code: "FEW_CONSTRAINTS", Message: fmt.Sprintf(
		"too few %s (%d) to tell which way suits the data; from %d on, ways are compared by what they have right of those that they are not shown", what, pairs, heldout.EnoughPairs)})
}

// noticeOneKind says that must-links or cannot-links alone cannot tell ways apart: putting all points together, or all
// apart, satisfies them.
func (r *run) noticeOneKind(must, cannot int) {
	what := fmt.Sprintf("all constraints (%d) are must-links", must)
	if must == 0 {
		what = fmt.Sprintf("all constraints (%d) are cannot-links", cannot)
	}
	if seeds := r.spec.Seeds; len(seeds) > 0 {
		what = fmt.Sprintf("the seeds (%d) are too few to hold out pairs of both kinds", len(seeds))
		if !slices.ContainsFunc(seeds, func(s constraint.Seed) bool { return s.Label != seeds[0].Label }) {
			what = fmt.Sprintf("the seeds (%d) are all of one class", len(seeds))
		}
	}
	r.notice(clustering.Notice{Code: "ONE_KIND_OF_CONSTRAINTS", Message: what +
		": they cannot tell which way suits the data, and are used in the way that is taken without them"})
}

// noticeLeftOut says how many vertices of a graph have no part in its cut.
func (r *run) noticeLeftOut(left int) {
	r.notice(clustering.Notice{Code: "SMALL_PIECES", Message: fmt.Sprintf(
		"%d of %d vertices are isolated or in pieces too small to be clusters; each piece joins the cluster that its constraints speak for, or the loosest one", left, r.n)})
}

// noticeUnits warns where one column decides what is near, if units were for auto to choose.
func (r *run) noticeUnits(chosen clustering.Space) {
	if chosen != clustering.SpaceRows && chosen != clustering.SpaceNeighbors || r.spec.Scale != clustering.ScaleDefault {
		return
	}
	_, notices, err := clustering.UnitsOf(r.data, clustering.ScaleDefault)
	if err != nil {
		return // not of points
	}
	for _, notice := range notices {
		r.notice(notice)
	}
}

const (
	// nearChance is the agreement with held-out constraints below which an answer says little.
	nearChance = 0.1
	// goodAgreement is the one from which on the data can speak against single constraints.
	goodAgreement = 0.6
	// listed is how many constraints or seeds a notice names.
	listed = 5
)

// noticeTrials says what the held-out constraints tell of the answer, and the answers of the constraints.
func (r *run) noticeTrials(best *clustering.TriedWay, rights []wayRight) {
	if best.Agreement() < nearChance {
		r.notice(clustering.Notice{Code: "NEAR_CHANCE", Message: fmt.Sprintf(
			"the best way agrees with the held-out constraints by %.2f, and 0 is chance: the data say little about the classes that the constraints come from", best.Agreement())})
	}
	if best.Agreement() < goodAgreement {
		return
	}
	// A way is good if it is not clearly worse than the best.
	var good [][]bool
	at := slices.IndexFunc(rights, func(one wayRight) bool { return one.way == best.Way })
	for _, other := range rights {
		if r.supervision.Advantage(rights[at].right, other.right) <= leastAdvantage {
			good = append(good, other.right)
		}
	}
	never := func(pair int) bool {
		return !slices.ContainsFunc(good, func(right []bool) bool { return right[pair] })
	}
	if len(r.supervision.Seeds) > 0 {
		r.noticeSeeds(never, rights)
	} else {
		r.noticeConstraints(never)
	}
}

// noticeConstraints names constraints that no good way has right.
func (r *run) noticeConstraints(never func(pair int) bool) {
	var against []text.Part
	for at, pair := range r.supervision.Pairs {
		if !never(at) {
			continue
		}
		against = append(against, text.Link(int(pair.I), int(pair.J), pair.Must))
		r.suspects = append(r.suspects, clustering.Suspect{Row: pair.I, Other: pair.J, Must: pair.Must})
	}
	if len(against) > 0 {
		message := append(text.Message{text.Plain("constraints that no good way has right when it is not shown them: ")}, text.FirstParts(against, listed)...)
		r.notice(clustering.NewNotice("CONSTRAINTS_AGAINST_DATA", append(message, text.Plain(
			" (%d of %d); they are wrong, or between clusters that touch", len(against), len(r.supervision.Pairs)))...))
	}
}

// noticeSeeds names seeds that no good way puts with most others of their label. What is wrong of such a seed over all ways is
// its strength as a suspect.
func (r *run) noticeSeeds(never func(pair int) bool, all []wayRight) {
	others, apart, wrong := map[int32]int{}, map[int32]int{}, map[int32]int{} // by the seed that is held out
	for at, pair := range r.supervision.Pairs {
		if at < len(r.supervision.Constraints) || !pair.Must {
			continue
		}
		others[pair.I]++
		if never(at) {
			apart[pair.I]++
		}
		for _, one := range all {
			if !one.right[at] {
				wrong[pair.I]++
			}
		}
	}
	var against []text.Part
	for _, seed := range r.supervision.Seeds {
		if count := others[seed.Point]; 2*apart[seed.Point] > count {
			against = append(against, text.Row(int(seed.Point)))
			r.suspects = append(r.suspects, clustering.Suspect{
				Row: seed.Point, Other: -1, Label: seed.Label, Strength: float64(wrong[seed.Point]) / float64(count*len(all)),
			})
		}
	}
	if len(against) > 0 {
		message := append(text.Message{text.Plain("seeds that no good way puts with their label when it is not shown it: ")}, text.FirstParts(against, listed)...)
		r.notice(clustering.NewNotice("SEEDS_AGAINST_DATA", append(message, text.Plain(
			" (%d of %d); their labels are wrong, or they are between clusters that touch", len(against), len(r.supervision.Seeds)))...))
	}
}

// clarityOf returns a function that tells the share of all rows that are less clearly inside a cluster than one of them, by
// the sizes of their margins.
func clarityOf(margins []float64) func(row int32) float64 {
	var order []float64
	for _, m := range margins {
		if !math.IsNaN(m) {
			order = append(order, math.Abs(m))
		}
	}
	slices.Sort(order)
	return func(row int32) float64 {
		if len(order) == 0 || math.IsNaN(margins[row]) {
			return 0
		}
		less, _ := slices.BinarySearch(order, math.Abs(margins[row]))
		return float64(less) / float64(len(order))
	}
}

// withStrengths orders suspects by how clearly the data speak against them: of a pair, by how clearly both rows are inside
// clusters, whichever these are.
func withStrengths(suspects []clustering.Suspect, margins []float64) []clustering.Suspect {
	clarity := clarityOf(margins)
	all := slices.Clone(suspects)
	for at := range all {
		if all[at].Other >= 0 {
			all[at].Strength = min(clarity(all[at].Row), clarity(all[at].Other))
		}
	}
	slices.SortStableFunc(all, func(a, b clustering.Suspect) int { return cmp.Compare(b.Strength, a.Strength) })
	return all
}
