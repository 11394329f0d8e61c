package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/render/page"
	"github.com/cleave-project/cleave/internal/render/picture"
	"github.com/cleave-project/cleave/internal/wire"
)

// kText describes the number of clusters that is being run.
func kText(k *cleavev1.KStarted) string {
	return fmt.Sprintf("k = %d of %d..%d", k.GetK(), k.GetMin(), k.GetMax())
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

// kCurves returns the curves of a score. Silhouettes of different spaces cannot be compared, so each space has a curve.
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

// kLabelFiles returns the labels for the numbers of clusters that are not proposed.
func (r *Report) kLabelFiles() (files []File) {
	for _, s := range r.Result.GetKSelection().GetScores() {
		labels, fetched := r.KLabels[int(s.GetK())]
		if !fetched || s.GetK() == r.Result.GetKSelection().GetProposed() {
			continue
		}
		files = append(files, File{fmt.Sprintf("labels-k%d.csv", s.GetK()), func(w io.Writer) error {
			rows := format.LabelRows{IDs: r.RowIDs, Labels: r.Filter.Restore(labels)}
			if r.ClassesFor != nil {
				rows.Classes = r.ClassesFor(labels)
			}
			return format.WriteLabelRows(w, rows)
		}})
	}
	return files
}

// howMany shows how the number of clusters was found. It returns nil if it was given.
func (b *pageBuilder) howMany() *page.Section {
	h := b.Result.GetKSelection()
	if h == nil {
		return nil
	}
	scores := h.GetScores()
	s := &page.Section{ID: "many", Title: "How many clusters", Text: []string{fmt.Sprintf("%d clusters are proposed (%s): %s.", h.GetProposed(), confidenceOfK(h), strings.TrimSuffix(h.GetReason(), "."))}}
	if len(scores) == 0 {
		return s
	}
	columns := kColumns(h)
	t := &page.Table{Caption: "Scores of every number of clusters, 1 at best", Columns: []page.Column{{Name: "clusters"}}}
	for _, c := range columns {
		t.Columns = append(t.Columns, page.Column{Name: kNames[c.name]})
	}
	spaces := scores[0].GetSpace() != cleavev1.Space_SPACE_UNSPECIFIED
	if spaces {
		t.Columns = append(t.Columns, page.Column{Name: "compared by"})
	}
	for _, score := range scores {
		name := page.Text(page.Count(int(score.GetK())))
		if score.GetK() == h.GetProposed() {
			name.Text += " (proposed)"
		}
		row := []page.Cell{name}
		for _, c := range columns {
			if v := c.of(score); v != nil {
				row = append(row, page.ShareBar(page.Fixed(*v, 2), *v))
			} else {
				row = append(row, page.Text(""))
			}
		}
		if spaces {
			row = append(row, page.Text(wire.EnumWord(score.GetSpace())))
		}
		t.Rows = append(t.Rows, row)
	}
	s.Tables = []*page.Table{t}
	return s
}
