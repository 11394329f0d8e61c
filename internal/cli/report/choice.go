package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/render/explain"
	"github.com/cleave-project/cleave/internal/render/picture"
)

// triedText says which method was tried, and on which fold of the constraints.
func triedText(t *cleavev1.MethodTried) string {
	line := "tried " + explain.MethodName(t.GetMethod())
	if t.GetFold() > 0 {
		line += fmt.Sprintf(": fold %d of %d", t.GetFold(), t.GetFolds())
	}
	return line
}

// triedLine also says how many held-out constraints the method predicted.
func triedLine(t *cleavev1.MethodTried) string {
	line := triedText(t)
	for _, kind := range []struct {
		name       string
		all, right uint32
	}{{"must-links", t.GetMustLinks(), t.GetMustLinksRight()}, {"cannot-links", t.GetCannotLinks(), t.GetCannotLinksRight()}} {
		if kind.all > 0 {
			line += fmt.Sprintf(", %d of %d %s right", kind.right, kind.all, kind.name)
		}
	}
	return line
}

// shownMethods is how many methods a summary lists; methods.svg and the page show all.
const shownMethods = 3

// summarizeChoice writes which method was chosen and why, and the held-out accuracy of the best methods. The method that
// would be chosen without constraints is always among them.
func summarizeChoice(line func(name, format string, args ...any), c *cleavev1.Choice) {
	line("method", "%s", explain.MethodText(c.GetChosen()))
	name := "why"
	for _, clause := range clauses(c.GetReason()) {
		line(name, "%s", clause)
		name = ""
	}
	name = "held-out"
	for _, t := range bestMethods(c, shownMethods) {
		mark := ""
		if explain.SameMethod(t.GetMethod(), c.GetChosen()) {
			mark = " (chosen)"
		}
		line(name, "%.2f %s%s", t.GetAgreement(), explain.MethodName(t.GetMethod()), mark)
		name = ""
	}
}

// clauses splits a reason where a semicolon separates two, but not within parentheses.
func clauses(reason string) (all []string) {
	begin := 0
	for at := range reason {
		if strings.HasPrefix(reason[at:], "; ") && strings.Count(reason[begin:at], "(") == strings.Count(reason[begin:at], ")") {
			all, begin = append(all, reason[begin:at]), at+len("; ")
		}
	}
	if reason != "" {
		all = append(all, reason[begin:])
	}
	return all
}

// bestMethods returns at most limit methods, the best held-out accuracy first. The chosen method and the one that the
// others are compared with are always among them.
func bestMethods(c *cleavev1.Choice, limit int) []*cleavev1.MethodScore {
	var methods []*cleavev1.MethodScore
	for _, t := range c.GetTried() { // a method may be tried again to be fitted to all constraints
		if !slices.ContainsFunc(methods, func(m *cleavev1.MethodScore) bool { return explain.SameMethod(m.GetMethod(), t.GetMethod()) }) {
			methods = append(methods, t)
		}
	}
	slices.SortStableFunc(methods, func(a, b *cleavev1.MethodScore) int { return cmp.Compare(b.GetAgreement(), a.GetAgreement()) })
	base := slices.IndexFunc(c.GetTried(), func(t *cleavev1.MethodScore) bool {
		return t.GetMethod().GetConstraintUse() == cleavev1.ConstraintUse_CONSTRAINT_USE_NONE && t.GetAdvantage() == 0
	})
	for at := len(methods) - 1; at >= 0 && len(methods) > limit; at-- {
		if t := methods[at]; !explain.SameMethod(t.GetMethod(), c.GetChosen()) && (base < 0 || t != c.GetTried()[base]) {
			methods = slices.Delete(methods, at, at+1)
		}
	}
	return methods
}

// drawMethods draws the held-out accuracy of the methods, the best first.
func (r *Report) drawMethods(w io.Writer, title string) error {
	choice := r.Result.GetChoice()
	plot := picture.BarsPlot{
		Title: titled(title, "methods that were tried"), Subtitle: strings.TrimSuffix(explain.Sentence(choice.GetReason()), "."),
		Axis: "held-out accuracy (1: all right, 0: chance)",
	}
	for _, t := range bestMethods(choice, len(choice.GetTried())) {
		plot.Bars = append(plot.Bars, picture.Bar{Name: explain.MethodName(t.GetMethod()), Share: min(1, max(0, t.GetAgreement())), Bold: explain.SameMethod(t.GetMethod(), choice.GetChosen())})
	}
	return picture.Write(w, plot.Figure)
}
