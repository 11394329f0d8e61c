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

// noticeFew warns that there are too few constraints to compare methods.
func (r *run) noticeFew(pairs int) {
	what := "constraints"
	if len(r.spec.Supervision.Seeds) > 0 {
		what = "pairs of seeds"
	}
	r.warn("FEW_CONSTRAINTS",
		"there are too few %s (%d) to tell which method suits the data; with %d or more, methods are compared on held-out ones", what, pairs, heldout.EnoughPairs)
}

// noticeOneKind warns that must-links or cannot-links alone cannot compare methods: a single cluster, or one per point,
// satisfies them all.
func (r *run) noticeOneKind(must, cannot int) {
	what := fmt.Sprintf("all constraints (%d) are must-links", must)
	if must == 0 {
		what = fmt.Sprintf("all constraints (%d) are cannot-links", cannot)
	}
	if seeds := r.spec.Supervision.Seeds; len(seeds) > 0 {
		what = fmt.Sprintf("the seeds (%d) are too few to hold out pairs of both kinds", len(seeds))
		if !slices.ContainsFunc(seeds, func(s constraint.Seed) bool { return s.Label != seeds[0].Label }) {
			what = fmt.Sprintf("the seeds (%d) are all of one class", len(seeds))
		}
	}
	r.warn("ONE_KIND_OF_CONSTRAINTS",
		"%s: they cannot tell which method suits the data, so the method is chosen without them and then uses them", what)
}

// noticeLeftOut reports how many vertices of a graph take no part in its cut.
func (r *run) noticeLeftOut(left int) {
	r.warn("SMALL_PIECES",
		"%d of %d vertices are isolated or in components too small to be clusters; each component is assigned to the cluster that its constraints favor, else to the cluster with the weakest internal connections", left, r.n)
}

// noticeUnits warns if a single column decides which rows are near and auto chose the units.
func (r *run) noticeUnits(chosen clustering.Space) {
	if chosen != clustering.SpaceRows && chosen != clustering.SpaceNeighbors || r.spec.Scale != clustering.ScaleDefault {
		return
	}
	if _, notices, err := clustering.UnitsOf(r.data, clustering.ScaleDefault); err == nil {
		r.notice(notices...)
	}
}

// noticeTrials reports what the trials say about the answer and about the constraints. If every
// method was dropped after its first fold, best is nil, there are no outcomes, and it reports nothing.
func (r *run) noticeTrials(best *clustering.MethodScore, outcomes []outcome) {
	if best == nil {
		return
	}
	if best.Agreement() < nearChance {
		r.warn("NEAR_CHANCE",
			"the best method has an agreement of %.2f with the held-out %s, where 0 is chance: the data says little about the classes that they come from", best.Agreement(), r.noun())
	}
	if best.Agreement() < goodAgreement {
		return
	}
	// A method is good if it is not clearly worse than the best.
	var good [][]bool
	at := slices.IndexFunc(outcomes, func(one outcome) bool { return one.method == best.Method })
	for _, other := range outcomes {
		if r.supervision.Advantage(outcomes[at].right, other.right) <= minAdvantage {
			good = append(good, other.right)
		}
	}
	never := func(pair int) bool {
		return !slices.ContainsFunc(good, func(right []bool) bool { return right[pair] })
	}
	if len(r.supervision.Seeds) > 0 {
		r.noticeSeeds(never, outcomes)
	} else {
		r.noticeConstraints(never)
	}
}

// noticeConstraints names constraints that no good method satisfies when they are held out. Without seeds, all held-out
// pairs are constraints.
func (r *run) noticeConstraints(never func(pair int) bool) {
	var against []text.Part
	for i, pair := range r.supervision.Pairs {
		if !never(i) {
			continue
		}
		against = append(against, text.Link(int(pair.I), int(pair.J), pair.Must))
		r.suspects = append(r.suspects, clustering.Suspect{Row: pair.I, Other: pair.J, Must: pair.Must})
	}
	r.noticeAgainst("CONSTRAINTS_AGAINST_DATA", "constraints that no good method satisfies when they are held out: ", against, len(r.supervision.Pairs),
		"they are wrong, or lie on the border between two clusters")
}

// noticeAgainst lists the supervision that the data contradicts, unless there is none: what it is, which of all there
// are, and what that may mean.
func (r *run) noticeAgainst(code, what string, against []text.Part, all int, meaning string) {
	if len(against) > 0 {
		message := append(text.Message{text.Plain("%s", what)}, text.FirstParts(against, listed)...)
		r.notice(clustering.NewNotice(code, append(message, text.Plain(" (%d of %d); %s", len(against), all, meaning))...))
	}
}

// noticeSeeds names seeds that no good method groups with most others of their label. The strength of such a suspect is
// the share of its pairs that methods get wrong, over all methods.
func (r *run) noticeSeeds(never func(pair int) bool, all []outcome) {
	others, apart, wrong := map[int32]int{}, map[int32]int{}, map[int32]int{} // by held-out seed
	for i, pair := range r.supervision.Pairs {
		if i < len(r.supervision.Constraints) || !pair.Must {
			continue
		}
		others[pair.I]++
		if never(i) {
			apart[pair.I]++
		}
		for _, one := range all {
			if !one.right[i] {
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
	r.noticeAgainst("SEEDS_AGAINST_DATA", "seeds that no good method groups with others of their label when they are held out: ", against, len(r.supervision.Seeds),
		"their labels are wrong, or they lie on the border between two clusters")
}

// clarityOf returns a function that maps a row to the share of rows with smaller margins, in magnitude.
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

// withStrengths sorts suspects by how clearly the data contradicts them. The strength of a pair is the clarity of its
// less clear row.
func withStrengths(suspects []clustering.Suspect, margins []float64) []clustering.Suspect {
	clarity := clarityOf(margins)
	all := slices.Clone(suspects)
	for i := range all {
		if all[i].Other >= 0 {
			all[i].Strength = min(clarity(all[i].Row), clarity(all[i].Other))
		}
	}
	slices.SortStableFunc(all, func(a, b clustering.Suspect) int { return cmp.Compare(b.Strength, a.Strength) })
	return all
}
