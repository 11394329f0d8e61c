package explain

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// listed is how many constraints, points or clusters a sentence names.
const listed = 5

// constraints says how many constraints are satisfied, and names the worst of the others.
func (e *explainer) constraints() (all []string) {
	c := e.r.GetConstraints()
	if c.GetTotal() == 0 {
		return nil
	}
	if all = append(all, Satisfied(c)); c.GetSatisfied() < c.GetTotal() {
		all = append(all, e.worst()...)
	}
	return all
}

// Satisfied says in a sentence how many constraints an answer satisfies.
func Satisfied(c *cleavev1.ConstraintReport) string {
	total := text.GroupedCount(int(c.GetTotal()), "constraint is", "constraints are")
	violated := c.GetTotal() - c.GetSatisfied()
	switch {
	case violated > 0:
		verb := "are"
		if violated == 1 {
			verb = "is"
		}
		return fmt.Sprintf("%s of %s satisfied; %s %s violated.", text.Grouped(int(c.GetSatisfied())), total,
			strings.Join(Violated(c), " and "), verb)
	case c.GetTotal() == 1:
		return "The constraint is satisfied."
	}
	return fmt.Sprintf("All %s satisfied.", total)
}

// Violated counts the violated constraints of each kind that has some: "1 must-link", "2 cannot-links".
func Violated(c *cleavev1.ConstraintReport) (kinds []string) {
	if must := c.GetMustLinkViolated(); must > 0 {
		kinds = append(kinds, text.Plural(int(must), "must-link"))
	}
	if cannot := c.GetCannotLinkViolated(); cannot > 0 {
		kinds = append(kinds, text.Plural(int(cannot), "cannot-link"))
	}
	return kinds
}

// worst names the heaviest violated constraints, and the points that are in several of them.
func (e *explainer) worst() (all []string) {
	if e.ConstraintsUnknown {
		return []string{"The violated ones cannot be named without their file. Pass it with --constraints."}
	}
	violated := e.signs.violated
	if len(violated) == 0 {
		return nil
	}
	var named []string
	for _, c := range violated[:min(listed, len(violated))] {
		named = append(named, e.describe(c))
	}
	lead := "The violated ones are"
	switch {
	case len(violated) <= listed:
	case weight(violated[0]) > weight(violated[len(violated)-1]):
		lead = "The heaviest are"
	default:
		lead = fmt.Sprintf("The first %d of them are", listed)
	}
	all = append(all, fmt.Sprintf("%s %s.", lead, strings.Join(named, ", ")))
	var points []string
	for _, p := range e.signs.atFault[:min(listed, len(e.signs.atFault))] {
		points = append(points, fmt.Sprintf("%s (%d of its %d)", e.point(p.point), p.violated, p.all))
	}
	if points != nil {
		all = append(all,
			fmt.Sprintf("These points are in several violated constraints each, so the points themselves may be "+
				"wrong: %s.", strings.Join(points, ", ")))
	}
	return all
}

// describe names a constraint: "must a-b of weight 7". A weight that was not given is not mentioned.
func (e *explainer) describe(c constraint.Constraint) string {
	kind := "cannot"
	if c.Kind == constraint.MustLink {
		kind = "must"
	}
	line := fmt.Sprintf("%s %s-%s", kind, e.point(c.I), e.point(c.J))
	if c.Weighted {
		line += " of weight " + text.Brief(c.Weight)
	}
	return line
}

// point returns the id of a point, or its number.
func (e *explainer) point(i int32) string { return NameIn(e.IDs, uint32(i)) }

// SuspectKind returns the kind of a suspect: must, cannot or seed.
func SuspectKind(s *cleavev1.Suspect) string {
	switch {
	case s.Other == nil:
		return "seed"
	case s.GetMustLink():
		return "must"
	}
	return "cannot"
}

// SuspectNoun returns what suspects are called together: seeds, constraints, or both.
func SuspectNoun(all []*cleavev1.Suspect) string {
	seeds := 0
	for _, s := range all {
		if s.Other == nil {
			seeds++
		}
	}
	switch seeds {
	case len(all):
		return "seeds"
	case 0:
		return "constraints"
	}
	return "seeds and constraints"
}

// SuspectCount counts the suspects of a result: "12 of 400 constraints". The result does not tell how many seeds there
// were.
func SuspectCount(r *cleavev1.Result) string {
	all := r.GetSuspects()
	what := SuspectNoun(all)
	if total := r.GetConstraints().GetTotal(); what == "constraints" && int(total) >= len(all) {
		return fmt.Sprintf("%d of %s", len(all), text.Plural(int(total), "constraint"))
	}
	if len(all) == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	return fmt.Sprintf("%d %s", len(all), what)
}

// SuspectText describes a suspect: "17-204 (must, 0.98)". Points and classes without a name are known by their
// numbers.
func SuspectText(s *cleavev1.Suspect, names, classes []string) string {
	if s.Other == nil {
		return fmt.Sprintf("%s (%s, %.2f)", NameIn(names, s.GetRow()), NameIn(classes, s.GetLabel()), s.GetStrength())
	}
	between := "-"
	if names != nil {
		between = " and "
	}
	return fmt.Sprintf("%s%s%s (%s, %.2f)", NameIn(names, s.GetRow()), between, NameIn(names, s.GetOther()),
		SuspectKind(s), s.GetStrength())
}

// NameIn returns the name of a number, or the number if it has none.
func NameIn(names []string, number uint32) string {
	if int(number) < len(names) && names[number] != "" {
		return names[number]
	}
	return strconv.FormatUint(uint64(number), 10)
}

// Contradicted says in a sentence what it means that the data contradicts the suspects of a result.
func Contradicted(r *cleavev1.Result) string {
	held := "they are"
	reason := "either these are wrong, or their points lie on the border between two clusters"
	if len(r.GetSuspects()) == 1 {
		held = "it is"
		reason = "either it is wrong, or its points lie on the border between two clusters"
		if r.GetSuspects()[0].Other == nil {
			reason = "either it is wrong, or its point lies on the border between two clusters"
		}
	}
	return fmt.Sprintf("The best methods get %s wrong when %s held out: %s.", SuspectCount(r), held, reason)
}

// suspects says which seeds and constraints the data contradicts.
func (e *explainer) suspects() []string {
	all := e.r.GetSuspects()
	if len(all) == 0 {
		return nil
	}
	var named []string
	for _, s := range all[:min(listed, len(all))] {
		named = append(named, SuspectText(s, e.IDs, e.Classes))
	}
	lead := "They are"
	if len(all) > listed {
		lead = "The clearest are"
	}
	if len(all) == 1 {
		lead = "It is"
	}
	return []string{
		Contradicted(e.r),
		fmt.Sprintf("%s %s; the number is how clearly the data contradicts it, from 0 to 1.", lead,
			strings.Join(named, ", ")),
	}
}
