package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/render/explain"
	"github.com/cleave-project/cleave/internal/render/picture"
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

// ClustersText returns how many clusters a job asks for: "3", or "2..6".
func ClustersText(spec *cleavev1.JobSpec) string {
	if r := spec.GetKRange(); r != nil {
		return fmt.Sprintf("%d..%d", r.GetMin(), r.GetMax())
	}
	return fmt.Sprint(spec.GetK())
}

// kColumn is a kind of score. of returns nil for a number of clusters that does not have it.
type kColumn struct {
	name string
	of   func(*cleavev1.KScore) *float64
}

// kColumns returns the scores that at least one number of clusters has.
func kColumns(h *cleavev1.KSelection) []kColumn {
	var known []kColumn
	for _, c := range []kColumn{
		{"held-out", func(s *cleavev1.KScore) *float64 { return s.Agreement }},
		{"stability", func(s *cleavev1.KScore) *float64 { return s.Stability }},
		{"silhouette", func(s *cleavev1.KScore) *float64 { return s.Silhouette }},
		{"modularity", func(s *cleavev1.KScore) *float64 { return s.Modularity }},
		{"eigengap", func(s *cleavev1.KScore) *float64 { return s.Eigengap }},
	} {
		for _, s := range h.GetScores() {
			if c.of(s) != nil {
				known = append(known, c)
				break
			}
		}
	}
	return known
}

// confidenceOfK describes the confidence in a proposal: "likely", "unsure: 2, 3 or 4".
func confidenceOfK(h *cleavev1.KSelection) string {
	confidence := wire.EnumWord(h.GetConfidence())
	if h.GetConfidence() != cleavev1.Confidence_CONFIDENCE_UNSURE || len(h.GetPlausible()) < 2 {
		return confidence
	}
	var ks []string
	for _, k := range h.GetPlausible() {
		ks = append(ks, fmt.Sprint(k))
	}
	return confidence + ": " + strings.Join(ks[:len(ks)-1], ", ") + " or " + ks[len(ks)-1]
}

// summarizeKSelection writes the scores of every k, in 60 columns, and what is proposed.
func summarizeKSelection(w io.Writer, h *cleavev1.KSelection) error {
	columns := kColumns(h)
	var text strings.Builder
	line := func(mark, k string, cell func(c kColumn) string, space string) {
		row := fmt.Sprintf("%-2s%3s", mark, k)
		for _, c := range columns {
			row += fmt.Sprintf("  %10s", cell(c))
		}
		text.WriteString(strings.TrimRight(row+"  "+space, " ") + "\n")
	}
	space := ""
	if h.GetScores()[0].GetSpace() != cleavev1.Space_SPACE_UNSPECIFIED {
		space = "space"
	}
	line("", "k", func(c kColumn) string { return c.name }, space)
	for _, s := range h.GetScores() {
		mark := ""
		if s.GetK() == h.GetProposed() {
			mark = "*"
		}
		line(mark, fmt.Sprint(s.GetK()), func(c kColumn) string {
			if v := c.of(s); v != nil {
				return fmt.Sprintf("%.2f", *v)
			}
			return "-"
		}, wire.EnumWord(s.GetSpace()))
	}
	fmt.Fprintf(&text, "k = %d (%s): %s\n\n", h.GetProposed(), confidenceOfK(h), h.GetReason())
	_, err := io.WriteString(w, text.String())
	return err
}

// drawKSelection draws the scores over the numbers of clusters.
func (r *Report) drawKSelection(w io.Writer, title string) error {
	h := r.Result.GetKSelection()
	plot := picture.CurvesPlot{
		Title: "How many clusters: " + title, Subtitle: fmt.Sprintf("dashed: k = %d is proposed (%s)", h.GetProposed(), confidenceOfK(h)),
		X: "number of clusters k", Y: "score, 1 at best", WholeX: true,
	}
	panel := picture.CurvesPanel{Title: h.GetReason(), Mark: float64(h.GetProposed())}
	for _, c := range kColumns(h) {
		panel.Curves = append(panel.Curves, kCurves(h, c)...)
	}
	plot.Panels = []picture.CurvesPanel{panel}
	return picture.Write(w, plot.Figure)
}

// kCurves returns the curves of a score. Silhouettes of different spaces cannot be compared, so each space has a
// curve.
func kCurves(h *cleavev1.KSelection, c kColumn) (curves []picture.Curve) {
	for _, s := range h.GetScores() {
		v, name := c.of(s), kNames[c.name]
		if v == nil {
			continue
		}
		if space := wire.EnumWord(s.GetSpace()); c.name == "silhouette" && space != "" {
			name += " (" + space + ")"
		}
		at := slices.IndexFunc(curves, func(of picture.Curve) bool { return of.Name == name })
		if at < 0 {
			at, curves = len(curves), append(curves, picture.Curve{Name: name})
		}
		curves[at].X, curves[at].Mean = append(curves[at].X, float64(s.GetK())), append(curves[at].Mean, *v)
	}
	return curves
}

// kNames explains the scores in a legend.
var kNames = map[string]string{
	"held-out":   "held-out accuracy",
	"stability":  "stability: the worst cluster, from a part of the data",
	"silhouette": "silhouette",
	"modularity": "modularity",
	"eigengap":   "eigengap: how far the next eigenvalue falls",
}
