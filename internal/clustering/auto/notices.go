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

// journal collects the notices of a run and reports them to its observer.
type journal struct {
	o       clustering.Observer
	notices []clustering.Notice
}

func (j *journal) add(notices ...clustering.Notice) {
	for _, n := range notices {
		j.notices = append(j.notices, n)
		j.o.Observe(n)
	}
}

// leftOut reports how many of n vertices of a graph take no part in its cut.
func (j *journal) leftOut(left, n int) {
	j.add(notice("SMALL_PIECES", "%d of %d vertices are isolated or in components too small to be clusters; "+
		"each component is assigned to the cluster that its constraints favor, "+
		"else to the cluster with the weakest internal connections", left, n))
}

// notice returns a notice that refers to no row or column.
func notice(code, format string, args ...any) clustering.Notice {
	return clustering.Notice{Code: code, Message: fmt.Sprintf(format, args...)}
}

// fewNotice warns that there are too few constraints to compare methods.
func fewNotice(p *Problem) clustering.Notice {
	what := "constraints"
	if len(p.spec.Supervision.Seeds) > 0 {
		what = "pairs of seeds"
	}
	return notice("FEW_CONSTRAINTS", "there are too few %s (%d) to tell which method suits the data; "+
		"with %d or more, methods are compared on held-out ones", what, len(p.supervision.Pairs), heldout.EnoughPairs)
}

// oneKindNotice warns that must-links or cannot-links alone cannot compare methods: a single cluster, or one per point,
// satisfies them all.
func oneKindNotice(p *Problem) clustering.Notice {
	must, cannot := p.supervision.CountPairs()
	what := fmt.Sprintf("all constraints (%d) are must-links", must)
	if must == 0 {
		what = fmt.Sprintf("all constraints (%d) are cannot-links", cannot)
	}
	if seeds := p.spec.Supervision.Seeds; len(seeds) > 0 {
		what = fmt.Sprintf("the seeds (%d) are too few to hold out pairs of both kinds", len(seeds))
		if !slices.ContainsFunc(seeds, func(s constraint.Seed) bool { return s.Label != seeds[0].Label }) {
			what = fmt.Sprintf("the seeds (%d) are all of one class", len(seeds))
		}
	}
	return notice("ONE_KIND_OF_CONSTRAINTS", "%s: they cannot tell which method suits the data, "+
		"so the method is chosen without them and then uses them", what)
}

// unitsNotices warns if a single column decides which rows are near and auto chose the units.
func unitsNotices(p *Problem, chosen clustering.Space) []clustering.Notice {
	unscaled := chosen == clustering.SpaceRows || chosen == clustering.SpaceNeighbors
	points, dense := p.points()
	if !unscaled || !dense || p.spec.Scale != clustering.ScaleDefault {
		return nil
	}
	_, notices := clustering.UnitsOfPoints(points, clustering.ScaleDefault)
	return notices
}

// findSuspects returns what outcomes say about the answer and about the supervision, given the judged one that agrees
// best and all that are of all folds.
func findSuspects(p *Problem, best *outcome, all outcomes) ([]clustering.Notice, []clustering.Suspect) {
	var notices []clustering.Notice
	agreement := best.score.Agreement()
	if agreement < nearChance {
		notices = append(notices,
			notice("NEAR_CHANCE", "the best method has an agreement of %.2f with the held-out %s, "+
				"where 0 is chance: the data says little about the classes that they come from", agreement, p.noun()))
	}
	if agreement < goodAgreement {
		return notices, nil
	}
	// A method is good if it is not clearly worse than the best.
	var good outcomes
	for _, other := range all {
		if p.supervision.Advantage(best.right, other.right) <= minAdvantage {
			good = append(good, other)
		}
	}
	never := func(pair int) bool {
		return !slices.ContainsFunc(good, func(one outcome) bool { return one.right[pair] })
	}
	find := suspectConstraints
	if len(p.supervision.Seeds) > 0 {
		find = suspectSeeds
	}
	against, suspects := find(p, never, all)
	return append(notices, against...), suspects
}

// suspectConstraints names constraints that no good method satisfies when they are held out. Without seeds, all
// held-out pairs are constraints.
func suspectConstraints(p *Problem, never func(pair int) bool, _ outcomes) ([]clustering.Notice, []clustering.Suspect) {
	var against []text.Part
	var suspects []clustering.Suspect
	for i, pair := range p.supervision.Pairs {
		if never(i) {
			against = append(against, text.Link(int(pair.I), int(pair.J), pair.Must))
			suspects = append(suspects, clustering.Suspect{Row: pair.I, Other: pair.J, Must: pair.Must})
		}
	}
	return againstNotices("CONSTRAINTS_AGAINST_DATA",
		"constraints that no good method satisfies when they are held out: ", against, len(p.supervision.Pairs),
		"they are wrong, or lie on the border between two clusters"), suspects
}

// againstNotices lists the supervision that the data contradicts, unless there is none: what it is, which of all there
// are, and what that may mean.
func againstNotices(code, what string, against []text.Part, all int, meaning string) []clustering.Notice {
	if len(against) == 0 {
		return nil
	}
	message := append(text.Message{text.Plain("%s", what)}, text.FirstParts(against, listed)...)
	message = append(message, text.Plain(" (%d of %d); %s", len(against), all, meaning))
	return []clustering.Notice{clustering.NewNotice(code, message...)}
}

// suspectSeeds names seeds that no good method groups with most others of their label. The strength of such a suspect
// is the share of its pairs that methods get wrong, over all methods.
func suspectSeeds(p *Problem, never func(pair int) bool, all outcomes) ([]clustering.Notice, []clustering.Suspect) {
	others := map[int32]int{} // by held-out seed, like the next two
	apart := map[int32]int{}
	wrong := map[int32]int{}
	for i, pair := range p.supervision.Pairs {
		if i < len(p.supervision.Constraints) || !pair.Must {
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
	var suspects []clustering.Suspect
	for _, seed := range p.supervision.Seeds {
		count := others[seed.Point]
		if 2*apart[seed.Point] <= count {
			continue
		}
		against = append(against, text.Row(int(seed.Point)))
		suspects = append(suspects, clustering.Suspect{
			Row: seed.Point, Other: -1, Label: seed.Label,
			Strength: float64(wrong[seed.Point]) / float64(count*len(all)),
		})
	}
	return againstNotices("SEEDS_AGAINST_DATA",
		"seeds that no good method groups with others of their label when they are held out: ", against,
		len(p.supervision.Seeds), "their labels are wrong, or they lie on the border between two clusters"), suspects
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
