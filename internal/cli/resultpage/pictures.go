package resultpage

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/render/explain"
	"github.com/cleave-project/cleave/internal/render/page"
	"github.com/cleave-project/cleave/internal/render/picture"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// The files that the package makes.
const (
	PageFile      = "report.html"
	clustersFile  = "clusters.svg"
	objectiveFile = "objective.svg"
	methodsFile   = "methods.svg"
	kFile         = "k.svg"
)

// Files returns the pictures of a result and its page. It leaves out what cannot be drawn, and warns about it.
func Files(r *report.Report, s report.Scene, warn func(format string, args ...any)) (files []report.File) {
	add := func(name string, write func(w io.Writer) error) {
		files = append(files, report.File{Name: name, Write: write})
	}
	if plot, recorded := objectivePlot(r, s.Title); recorded {
		add(objectiveFile, plot.Figure().Write)
	}
	if len(r.Result.GetChoice().GetTried()) > 0 {
		add(methodsFile, methodsFigure(r.Result.GetChoice(), s.Title).Write)
	}
	if r.Result.GetKSelection() != nil {
		add(kFile, kSelectionFigure(r.Result.GetKSelection(), s.Title).Write)
	}
	b, err := newBuilder(r, s)
	if err != nil {
		warn("%s and %s could not be drawn: %v", clustersFile, PageFile, err)
		return files
	}
	switch {
	case s.Data == nil:
		warn("%s was not drawn: it needs the data file (--data, --graph or --kernel-matrix)", clustersFile)
	case b.clusters == nil:
		warn("%s was not drawn: there are no labels", clustersFile)
	default:
		add(clustersFile, b.clusters.Chart.Figure.Write)
	}
	add(PageFile, b.write)
	return files
}

// maxTitleName limits the name of the data in the title of a picture, so that there is room for what the picture shows.
const maxTitleName = 40

// titled returns the title of a picture: the name of the data, if there is one, and what the picture shows.
func titled(name, shows string) string {
	if name == "" {
		return upperFirst(shows)
	}
	return page.Short(name, maxTitleName) + ": " + shows
}

// objectivePlot returns the objective, or the residuals of an eigensolver where there are no iterations. A residual of
// 0 has no logarithm and leaves a gap. It reports whether either was recorded.
func objectivePlot(r *report.Report, title string) (plot picture.ObjectivePlot, recorded bool) {
	for _, entry := range r.Result.GetHistory() {
		plot.Iterations = append(plot.Iterations, int(entry.GetIteration()))
		plot.Values = append(plot.Values, entry.GetObjective())
		plot.Moved = append(plot.Moved, int(entry.GetMoved()))
	}
	if len(plot.Values) > 0 {
		plot.Name = "objective (" + r.Result.GetObjectiveName() + ")"
		plot.Title = titled(title, "the objective during the run")
		for _, shift := range r.Result.GetShifts() {
			plot.Shifts = append(plot.Shifts, int(shift.GetIteration()))
		}
		return plot, true
	}
	plot.Name = "log10 of the largest residual"
	plot.Step = "step"
	plot.Title = titled(title, "how the eigenvectors converged")
	for _, step := range r.SolverSteps {
		plot.Iterations = append(plot.Iterations, int(step.GetStep()))
		plot.Values = append(plot.Values, math.Log10(step.GetResidual()))
	}
	return plot, len(plot.Values) > 0
}

// methodsFigure draws the held-out accuracy of the methods, the best first.
func methodsFigure(choice *cleavev1.Choice, title string) *picture.Figure {
	plot := picture.BarsPlot{
		Title:    titled(title, "methods that were tried"),
		Subtitle: strings.TrimSuffix(explain.Sentence(choice.GetReason()), "."),
		Axis:     "held-out accuracy (1: all right, 0: chance)",
	}
	for _, t := range report.BestMethods(choice, len(choice.GetTried())) {
		plot.Bars = append(plot.Bars, picture.Bar{
			Name: explain.MethodText(t.GetMethod()), Share: min(1, max(0, t.GetAgreement())),
			Bold: explain.SameMethod(t.GetMethod(), choice.GetChosen()),
		})
	}
	return plot.Figure()
}

// kSelectionFigure draws the scores over the numbers of clusters.
func kSelectionFigure(h *cleavev1.KSelection, title string) *picture.Figure {
	plot := picture.CurvesPlot{
		Title:    titled(title, "how many clusters"),
		Subtitle: fmt.Sprintf("dashed: k = %d is proposed (%s)", h.GetProposed(), report.ConfidenceOfK(h)),
		X:        "number of clusters k", Y: "score, 1 at best", WholeX: true,
	}
	panel := picture.CurvesPanel{Title: h.GetReason(), Mark: float64(h.GetProposed())}
	for _, c := range report.KColumns(h) {
		panel.Curves = append(panel.Curves, kCurves(h, c)...)
	}
	plot.Panels = []picture.CurvesPanel{panel}
	return plot.Figure()
}

// kCurves returns the curves of a score. Silhouettes of different spaces cannot be compared, so each space has a
// curve.
func kCurves(h *cleavev1.KSelection, c report.KColumn) (curves []picture.Curve) {
	for _, s := range h.GetScores() {
		v := c.Of(s)
		name := kNames[c.Name]
		if v == nil {
			continue
		}
		if space := wire.EnumWord(s.GetSpace()); c.Name == "silhouette" && space != "" {
			name += " (" + space + ")"
		}
		at := slices.IndexFunc(curves, func(of picture.Curve) bool { return of.Name == name })
		if at < 0 {
			at = len(curves)
			curves = append(curves, picture.Curve{Name: name})
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
}
