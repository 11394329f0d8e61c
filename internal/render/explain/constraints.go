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
	manyShare = 0.1 // of the constraints: more violated ones are many
	listed    = 5   // constraints, points or clusters that a sentence names
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

// worst names the heaviest violated constraints, and the points that are in several of them.
func (e *explainer) worst() (all []string) {
	violated := e.violated()
	if e.Unknown {
		return []string{"Which ones is unknown: their file has changed, or is gone. Give it by --constraints."}
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
		lead = "The heaviest are"
	default:
		lead = fmt.Sprintf("The first %d of them are", listed)
	}
	all = append(all, fmt.Sprintf("%s %s.", lead, strings.Join(named, ", ")))
	if points := e.atFault(violated); len(points) > 0 {
		all = append(all, fmt.Sprintf("Some points are in several violated ones, so these points may be wrong rather than all their partners: %s.", strings.Join(points, ", ")))
		e.suspect(pointsAtFault)
	}
	return all
}

// violated returns the constraints that the labels violate.
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

// point returns the id of a point, or its number.
func (e *explainer) point(i int32) string {
	if int(i) < len(e.IDs) {
		return e.IDs[i]
	}
	return strconv.Itoa(int(i))
}

// atFault lists points with at least three violated constraints that are more than half of all they have.
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
