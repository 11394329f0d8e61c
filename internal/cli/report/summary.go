package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Summarize writes what a person wants to know first, some of the warnings, and the names of the files with the rest.
func Summarize(w io.Writer, r *cleavev1.Result, warnings []*cleavev1.Notice, files []string) error {
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := lineOf(lines)
	if h := r.GetHowMany(); h != nil {
		if err := summarizeHowMany(w, h); err != nil {
			return err
		}
	}
	if r.GetChoice() != nil {
		summarizeChoice(line, r.GetChoice())
	}
	if r.PlainObjective != nil && r.GetPlainObjective() != r.GetObjective() {
		line("objective", "%s %s on the data alone, %s with constraints", r.GetObjectiveName(), Exact(r.GetPlainObjective()), Exact(r.GetObjective()))
	} else {
		line("objective", "%s %s", r.GetObjectiveName(), Exact(r.GetObjective()))
	}
	if s := r.GetSpectral(); s != nil {
		line("products", "%d of the matrix with a vector (%s)", s.GetProducts(), ShortName(r.GetStopReason()))
	} else {
		line("iterations", "%d (%s)", r.GetIterations(), ShortName(r.GetStopReason()))
	}
	line("clusters", "%d of %s: %s", r.GetK(), text.Plural(int(r.GetRows()), "point"), firstOf(r.GetClusterSizes(), 20, formatSize))
	if g := r.GetNeighborGraph(); g != nil {
		line("graph", "%s between points and their %s", text.Plural(int(g.GetEdges()), "edge"), nearest(g))
	}
	if k := r.GetKernel(); k != nil && k.Rho != nil {
		line("rho", "%s", Brief(k.GetRho()))
	}
	if l := r.GetLandmarks(); l != nil {
		line("landmarks", "%s", landmarkText(l))
	}
	if r.GetSigma() != 0 {
		line("sigma", "%s", Brief(r.GetSigma()))
	}
	if r.GetConstraints().GetTotal() > 0 {
		line("constraints", "%s", constraintText(r.GetConstraints()))
	}
	if r.GetInference() != nil {
		line("inference", "%s", inferenceText(r.GetInference()))
	}
	if s := r.GetSpectral(); s != nil {
		summarizeSpectral(line, s)
	}
	if m := r.GetModel().GetMetric(); m > cleavev1.Metric_METRIC_IDENTITY {
		line("metric", "%s", wire.EnumWord(m))
	}
	if r.GetEvaluation() != nil {
		summarizeScores(line, r.GetEvaluation())
	}
	line("time", "%.3g s", r.GetTimings().GetTotal().AsDuration().Seconds())
	answer, table := wire.SplitNotices(warnings)
	for _, notice := range answer {
		line("warning", "%s", notice.GetMessage())
	}
	for _, notice := range table {
		line("table", "%s", notice.GetMessage())
	}
	if len(files) > 0 {
		line("files", "%s", strings.Join(files, " "))
	}
	return lines.Flush()
}

// nearest is the neighbors that points were connected with.
func nearest(g *cleavev1.NeighborGraphReport) string {
	words := "nearest"
	if n := g.GetNeighbors(); n > 1 {
		words = fmt.Sprintf("%d nearest", n)
	}
	if g.GetWeights() == cleavev1.NeighborWeights_NEIGHBOR_WEIGHTS_GAUSSIAN {
		words += ", with gaussian weights"
	}
	return words
}

// SummarizeEvaluation writes the scores of labels, and of their constraints where they are given.
func SummarizeEvaluation(w io.Writer, e *cleavev1.Evaluation, constraints *cleavev1.ConstraintReport) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := lineOf(table)
	summarizeScores(line, e)
	if constraints != nil {
		line("constraints", "%s", constraintText(constraints))
	}
	return table.Flush()
}

// lineOf writes lines of a name and a value.
func lineOf(w io.Writer) func(name, format string, args ...any) {
	return func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
}

func summarizeScores(line func(name, format string, args ...any), e *cleavev1.Evaluation) {
	line("NMI", "%.4f", e.GetNmi())
	line("ARI", "%.4f", e.GetAri())
	line("pairwise F", "%.4f (precision %.4f, recall %.4f)", e.GetPairwiseF(), e.GetPairwisePrecision(), e.GetPairwiseRecall())
	line("purity", "%.4f", e.GetPurity())
}

func constraintText(c *cleavev1.ConstraintReport) string {
	line := fmt.Sprintf("%d of %d satisfied", c.GetSatisfied(), c.GetTotal())
	if c.GetSatisfied() < c.GetTotal() {
		line += fmt.Sprintf(" (violated: %s, %s)",
			text.Plural(int(c.GetMustLinkViolated()), "must-link"), text.Plural(int(c.GetCannotLinkViolated()), "cannot-link"))
	}
	return line
}

func inferenceText(i *cleavev1.InferenceReport) string {
	line := wire.EnumWord(i.GetEngine())
	if i.GetExact() {
		line += ", the best assignment there is"
	}
	if i.LpValue != nil {
		line += ", lower bound " + Brief(i.GetLpValue())
	}
	if i.GetFallbacks() > 0 {
		line += fmt.Sprintf(" (%s left to another engine)", text.Plural(int(i.GetFallbacks()), "component"))
	}
	return line
}

// firstOf lists values, at most so many of them.
func firstOf[T any](values []T, limit int, text func(T) string) string {
	var shown []string
	for _, v := range values[:min(limit, len(values))] {
		shown = append(shown, text(v))
	}
	if len(values) > limit {
		shown = append(shown, fmt.Sprintf("... (%d more)", len(values)-limit))
	}
	return strings.Join(shown, ", ")
}

func formatSize(size uint32) string { return strconv.FormatUint(uint64(size), 10) }

// landmarkText says how well landmarks stand for the kernel matrix.
func landmarkText(l *cleavev1.LandmarkReport) string {
	says := fmt.Sprintf("%d, %s; they leave out %.2g%% of the kernel: the objective is approximate", l.GetCount(), text.Plural(int(l.GetRank()), "feature"), 100*l.GetLost())
	if l.ExactNmi != nil {
		says += fmt.Sprintf("; NMI %.4f with the answer by the matrix", l.GetExactNmi())
	}
	if l.ExactObjective != nil {
		says += ", whose objective is " + Exact(l.GetExactObjective())
	}
	return says
}
