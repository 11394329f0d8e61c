package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/render/explain"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// shownMethods is how many methods a summary lists; methods.svg and the page show all.
const shownMethods = 3

// summarizeChoice writes which method was chosen and why, and the held-out accuracy of the best methods. The method
// that would be chosen without constraints is always among them.
func summarizeChoice(line func(name, format string, args ...any), c *cleavev1.Choice) {
	line("method", "%s", explain.MethodText(c.GetChosen()))
	name := "why"
	for _, clause := range clauses(c.GetReason()) {
		line(name, "%s", clause)
		name = ""
	}
	name = "held-out"
	for _, t := range BestMethods(c, shownMethods) {
		mark := ""
		if explain.SameMethod(t.GetMethod(), c.GetChosen()) {
			mark = " (chosen)"
		}
		line(name, "%.2f %s%s", t.GetAgreement(), explain.MethodText(t.GetMethod()), mark)
		name = ""
	}
}

// clauses splits a reason where a semicolon separates two, but not within parentheses.
func clauses(reason string) (all []string) {
	begin := 0
	for at := range reason {
		if strings.HasPrefix(reason[at:], "; ") &&
			strings.Count(reason[begin:at], "(") == strings.Count(reason[begin:at], ")") {
			all = append(all, reason[begin:at])
			begin = at + len("; ")
		}
	}
	if reason != "" {
		all = append(all, reason[begin:])
	}
	return all
}

// BestMethods returns at most limit methods, the best held-out accuracy first. The chosen method and the one that the
// others are compared with are always among them.
func BestMethods(c *cleavev1.Choice, limit int) []*cleavev1.MethodScore {
	var methods []*cleavev1.MethodScore
	for _, t := range c.GetTried() { // a method may be tried again to be fitted to all constraints
		if !slices.ContainsFunc(methods, func(m *cleavev1.MethodScore) bool {
			return explain.SameMethod(m.GetMethod(), t.GetMethod())
		}) {
			methods = append(methods, t)
		}
	}
	slices.SortStableFunc(methods, func(a, b *cleavev1.MethodScore) int {
		return cmp.Compare(b.GetAgreement(), a.GetAgreement())
	})
	base := slices.IndexFunc(c.GetTried(), func(t *cleavev1.MethodScore) bool {
		return t.GetMethod().GetConstraintUse() == cleavev1.ConstraintUse_CONSTRAINT_USE_NONE && t.GetAdvantage() == 0
	})
	for at := len(methods) - 1; at >= 0 && len(methods) > limit; at-- {
		if t := methods[at]; !explain.SameMethod(t.GetMethod(), c.GetChosen()) &&
			(base < 0 || t != c.GetTried()[base]) {
			methods = slices.Delete(methods, at, at+1)
		}
	}
	return methods
}

// ClustersText returns how many clusters a job asks for: "3", or "2..6".
func ClustersText(spec *cleavev1.JobSpec) string {
	if r := spec.GetKRange(); r != nil {
		return fmt.Sprintf("%d..%d", r.GetMin(), r.GetMax())
	}
	return fmt.Sprint(spec.GetK())
}

// KColumn is a kind of score of a number of clusters. Of returns nil for a number that does not have it.
type KColumn struct {
	Name string
	Of   func(*cleavev1.KScore) *float64
}

// KColumns returns the scores that at least one number of clusters has.
func KColumns(h *cleavev1.KSelection) []KColumn {
	return slices.DeleteFunc([]KColumn{
		{"held-out", func(s *cleavev1.KScore) *float64 { return s.Agreement }},
		{"stability", func(s *cleavev1.KScore) *float64 { return s.Stability }},
		{"silhouette", func(s *cleavev1.KScore) *float64 { return s.Silhouette }},
		{"modularity", func(s *cleavev1.KScore) *float64 { return s.Modularity }},
	}, func(c KColumn) bool {
		return !slices.ContainsFunc(h.GetScores(), func(s *cleavev1.KScore) bool { return c.Of(s) != nil })
	})
}

// ConfidenceOfK describes the confidence in a proposal: "likely", "unsure: 2, 3 or 4".
func ConfidenceOfK(h *cleavev1.KSelection) string {
	confidence := wire.EnumWord(h.GetConfidence())
	if h.GetConfidence() != cleavev1.Confidence_CONFIDENCE_UNSURE || len(h.GetPlausible()) < 2 {
		return confidence
	}
	return confidence + ": " + text.Or(h.GetPlausible())
}

// summarizeKSelection writes the scores of every k, in 60 columns, and what is proposed.
func summarizeKSelection(w io.Writer, h *cleavev1.KSelection) error {
	columns := KColumns(h)
	var lines strings.Builder
	line := func(mark, k string, cell func(c KColumn) string, space string) {
		row := fmt.Sprintf("%-2s%3s", mark, k)
		for _, c := range columns {
			row += fmt.Sprintf("  %10s", cell(c))
		}
		lines.WriteString(strings.TrimRight(row+"  "+space, " ") + "\n")
	}
	space := ""
	if h.GetScores()[0].GetSpace() != cleavev1.Space_SPACE_UNSPECIFIED {
		space = "space"
	}
	line("", "k", func(c KColumn) string { return c.Name }, space)
	for _, s := range h.GetScores() {
		mark := ""
		if s.GetK() == h.GetProposed() {
			mark = "*"
		}
		line(mark, fmt.Sprint(s.GetK()), func(c KColumn) string {
			if v := c.Of(s); v != nil {
				return fmt.Sprintf("%.2f", *v)
			}
			return "-"
		}, wire.EnumWord(s.GetSpace()))
	}
	fmt.Fprintf(&lines, "k = %d (%s): %s\n\n", h.GetProposed(), ConfidenceOfK(h), text.OneLine(h.GetReason()))
	_, err := io.WriteString(w, lines.String())
	return err
}
