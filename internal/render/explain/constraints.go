package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/text"
)

const (
	// manyShare is the share of violated constraints from which on they are many.
	manyShare = 0.1
	// listed is how many constraints or points a sentence names.
	listed = 5
)

func (e *explainer) constraints() (all []string) {
	c := e.r.GetConstraints()
	if c.GetTotal() == 0 {
		return nil
	}
	violated := int(c.GetTotal() - c.GetSatisfied())
	if violated == 0 {
		return []string{fmt.Sprintf("All %d are satisfied.", c.GetTotal())}
	}
	all = append(all, fmt.Sprintf("%d of %d are satisfied; %s and %s are violated.", c.GetSatisfied(), c.GetTotal(),
		text.Plural(int(c.GetMustLinkViolated()), "must-link"), text.Plural(int(c.GetCannotLinkViolated()), "cannot-link")))
	if float64(violated) > manyShare*float64(c.GetTotal()) {
		e.suspect(manyViolated)
	}
	return append(all, e.worst()...)
}

// worst names the violated constraints that count most, and the points that are in several of them.
func (e *explainer) worst() (all []string) {
	violated := e.violated()
	if e.Unknown {
		return []string{"Which ones cannot be told: their file has changed, or is not there any more. Give it by --constraints."}
	}
	if len(violated) == 0 {
		return nil
	}
	slices.SortStableFunc(violated, func(a, b constraint.Constraint) int { return cmp.Compare(weight(b), weight(a)) })
	var named []string
	for _, c := range violated[:min(listed, len(violated))] {
		named = append(named, e.describe(c))
	}
	lead := "The violated ones are"
	switch {
	case len(violated) <= listed:
	case weight(violated[0]) > weight(violated[len(violated)-1]):
		lead = "Those that weigh most are"
	default:
		lead = fmt.Sprintf("The first %d of them are", listed)
	}
	all = append(all, fmt.Sprintf("%s %s.", lead, strings.Join(named, ", ")))
	if points := e.atFault(violated); len(points) > 0 {
		all = append(all, fmt.Sprintf("Some points are in several violated ones, so that they, and not all their partners, may be what is wrong: %s.", strings.Join(points, ", ")))
		e.suspect(pointsAtFault)
	}
	return all
}

// violated are the constraints that the labels violate.
func (e *explainer) violated() (violated []constraint.Constraint) {
	for _, c := range e.Constraints {
		if int(max(c.I, c.J)) >= len(e.Labels) {
			continue
		}
		if together := e.Labels[c.I] == e.Labels[c.J]; together != (c.Kind == constraint.MustLink) {
			violated = append(violated, c)
		}
	}
	return violated
}

func weight(c constraint.Constraint) float64 {
	if c.Weighted {
		return c.Weight
	}
	return 1
}

func (e *explainer) describe(c constraint.Constraint) string {
	kind := "cannot"
	if c.Kind == constraint.MustLink {
		kind = "must"
	}
	says := fmt.Sprintf("%s %s-%s", kind, e.point(c.I), e.point(c.J))
	if c.Weighted {
		says += " of weight " + brief(c.Weight)
	}
	return says
}

// point is what a point is called.
func (e *explainer) point(i int32) string {
	if int(i) < len(e.IDs) {
		return e.IDs[i]
	}
	return strconv.Itoa(int(i))
}

// atFault are points of which at least three constraints are violated, and more than half of all they have.
func (e *explainer) atFault(violated []constraint.Constraint) (named []string) {
	wrong, all := map[int32]int{}, map[int32]int{}
	for _, c := range violated {
		wrong[c.I]++
		wrong[c.J]++
	}
	for _, c := range e.Constraints {
		all[c.I]++
		all[c.J]++
	}
	var points []int32
	for point, count := range wrong {
		if count >= 3 && 2*count > all[point] {
			points = append(points, point)
		}
	}
	slices.SortFunc(points, func(a, b int32) int { return cmp.Or(cmp.Compare(wrong[b], wrong[a]), cmp.Compare(a, b)) })
	for _, point := range points[:min(listed, len(points))] {
		named = append(named, fmt.Sprintf("%s (%d of its %d)", e.point(point), wrong[point], all[point]))
	}
	return named
}
