package report

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/render/explain"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// PrintPlan describes how a job would run.
func PrintPlan(w io.Writer, job *jobflags.Job, plan *cleavev1.Plan) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := lineOf(table)
	what, columns := "matrix", job.Points
	switch family := wire.Algorithm(job.Spec).Family; {
	case family == catalog.KMeansFamily, family == catalog.AutoFamily && job.Columns > 0 &&
		job.Spec.GetNeighborGraph() == nil, plan.GetStorage() == cleavev1.PlanStorage_PLAN_STORAGE_VECTORS:
		what, columns = "points", job.Columns
	}
	if plan.GetTiles() == 0 {
		return printCoordinatorPlan(w, job, plan)
	}
	line(what, "%d x %d in %s of %s", job.Points, columns, text.Plural(int(plan.GetTiles()), "tile"),
		text.Plural(int(plan.GetTileRows()), "row"))
	line("storage", "%s: %d stored (%s), %d computed when needed", wire.PlanStorageName(plan.GetStorage()),
		plan.GetStoredTiles(), text.Bytes(plan.GetTileBytes()), plan.GetComputedTiles())
	line("memory", "%s on %s", text.Bytes(plan.GetBytes()), text.Plural(int(plan.GetWorkers()), "worker"))
	if plan.GetCoordinatorBytes() > 0 {
		line("coordinator", "%s for %s, besides the data", text.Bytes(plan.GetCoordinatorBytes()),
			strings.Join(coordinatorHolds(job, plan), " and "))
	}
	if plan.GetSnapshotBytes() > 0 {
		line("snapshots", "%s of the coordinator's memory, so that the job survives its restart",
			text.Bytes(plan.GetSnapshotBytes()))
	}
	if plan.GetProducts() > 0 {
		line("products", "about %d matrix-vector products (assumed)", plan.GetProducts())
	}
	line("passes", "about %.3g over the %s", plan.GetPasses(), what)
	line("time", "about %s", text.Roughly(plan.GetPredictedTime().AsDuration().Seconds()))
	line("why", "%s", plan.GetExplanation())
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(table, "\nWORKER\tTHREADS\tMEMORY\tUSES\tSTORED\tCOMPUTED")
	for _, s := range plan.GetShares() {
		memory := "unlimited"
		if s.GetMemoryBytes() > 0 {
			memory = text.Bytes(s.GetMemoryBytes())
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%d\t%d\n", text.OneLine(s.GetName()), s.GetThreads(), memory,
			text.Bytes(s.GetBytes()), s.GetStoredTiles(), s.GetComputedTiles())
	}
	return table.Flush()
}

// printCoordinatorPlan describes a job that runs without workers.
func printCoordinatorPlan(w io.Writer, j *jobflags.Job, p *cleavev1.Plan) error {
	_, err := fmt.Fprintf(w, "graph        %d vertices\ncoordinator  %s, besides the data\ntime         about "+
		"%s\nwhy          %s\n",
		j.Points, text.Bytes(p.GetCoordinatorBytes()), text.Roughly(p.GetPredictedTime().AsDuration().Seconds()),
		text.OneLine(p.GetExplanation()))
	return err
}

// coordinatorHolds lists what the coordinator needs memory for.
func coordinatorHolds(j *jobflags.Job, p *cleavev1.Plan) (what []string) {
	if j.Spec.GetNeighborGraph() != nil {
		what = append(what, "the graph of neighbors")
	}
	if p.GetProducts() > 0 {
		what = append(what, "eigenvectors")
	}
	if j.Spec.GetKernelKmeans().GetLandmarks() > 0 {
		what = append(what, "landmarks")
	}
	if j.Spec.GetKRange() != nil {
		what = append(what, "the results of every k")
	}
	switch family := wire.Algorithm(j.Spec).Family; {
	case len(what) > 0:
	case family == catalog.KMeansFamily && j.Spec.GetSupervision().GetConstraints() != nil:
		what = append(what, "distances of constrained points")
	case family == catalog.KMeansFamily:
		what = append(what, "a sample of the rows")
	default:
		what = append(what, "graphs of merged vertices")
	}
	return what
}

// Summarize writes the summary of a run, some of its warnings, and the names of its files.
func (r *Report) Summarize(w io.Writer, warnings []*cleavev1.Notice, files []string) error {
	result := r.Result
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := lineOf(lines)
	if h := result.GetKSelection(); h != nil {
		if err := summarizeKSelection(w, h); err != nil {
			return err
		}
	}
	if result.GetChoice() != nil {
		summarizeChoice(line, result.GetChoice())
	}
	if result.PlainObjective != nil && result.GetPlainObjective() != result.GetObjective() {
		line("objective", "%s %s on the data alone, %s with constraints", result.GetObjectiveName(),
			Exact(result.GetPlainObjective()), Exact(result.GetObjective()))
	} else {
		line("objective", "%s %s", result.GetObjectiveName(), Exact(result.GetObjective()))
	}
	if s := result.GetSpectral(); s != nil {
		line("products", "%d matrix-vector products (%s)", s.GetProducts(), wire.EnumWord(result.GetStopReason()))
	} else if result.GetIterations() > 0 || result.GetStopReason() != cleavev1.StopReason_STOP_REASON_CONVERGED {
		line("iterations", "%d (%s)", result.GetIterations(), wire.EnumWord(result.GetStopReason()))
	}
	line("clusters", "%d of %s: %s", result.GetK(), text.Plural(int(result.GetRows()), "point"), r.sizesText())
	if g := result.GetNeighborGraph(); g != nil {
		line("graph", "%s; each point is connected to its %s", text.Plural(int(g.GetEdges()), "edge"), nearest(g))
	}
	if k := result.GetKernel(); k != nil && k.Rho != nil {
		line("rho", "%s", text.Brief(k.GetRho()))
	}
	if l := result.GetLandmarks(); l != nil {
		line("landmarks", "%s", landmarkText(l))
	}
	if result.GetSigma() != 0 {
		line("sigma", "%s", text.Brief(result.GetSigma()))
	}
	if result.GetConstraints().GetTotal() > 0 {
		line("constraints", "%s", constraintText(result.GetConstraints()))
	}
	if len(result.GetSuspects()) > 0 {
		line("suspects", "%s", r.suspectText(len(files) > 0))
	}
	if result.GetInference() != nil {
		line("inference", "%s", inferenceText(result.GetInference()))
	}
	if s := result.GetSpectral(); s != nil {
		summarizeSpectral(line, s)
	}
	if m := result.GetModel().GetMetric(); m > cleavev1.Metric_METRIC_IDENTITY {
		line("metric", "%s", wire.EnumWord(m))
	}
	if r.Run.GetEvaluation() != nil {
		summarizeScores(line, r.Run.GetEvaluation())
	}
	line("time", "%.3g s", result.GetTimings().GetTotal().AsDuration().Seconds())
	answer, table := wire.SplitNotices(wire.WithoutSuspects(result, warnings))
	for _, notice := range answer {
		line("warning", "%s", notice.GetMessage())
	}
	for _, notice := range table {
		line("table", "%s", notice.GetMessage())
	}
	if len(files) > 0 {
		line("files", "%s", listFiles(files))
	}
	return lines.Flush()
}

// sizesText lists the sizes of the first clusters with their classes: at most 20, and as many as fit on a few lines.
func (r *Report) sizesText() string {
	var sizes []string
	room, shown := 160, 0
	for cluster, size := range r.Result.GetClusterSizes() {
		sizes = append(sizes, fmt.Sprint(size))
		if cluster < len(r.Classes) && r.Classes[cluster] != "" {
			sizes[cluster] += " " + r.Classes[cluster]
		}
		if room -= len(sizes[cluster]); room >= 0 && shown < 20 {
			shown++
		}
	}
	return text.First(sizes, max(shown, 1))
}

// listFiles lists files by their names after the folder that they are in, or by their paths if there are several
// folders.
func listFiles(files []string) string {
	folder := filepath.Dir(files[0])
	names := make([]string, len(files))
	for at, file := range files {
		if filepath.Dir(file) != folder {
			return strings.Join(files, " ")
		}
		names[at] = filepath.Base(file)
	}
	return folder + ": " + strings.Join(names, " ")
}

// nearest describes the neighbors that points were connected with.
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

// lineOf returns a function that writes lines of a name and a value, which is escaped by text.OneLine.
func lineOf(w io.Writer) func(name, format string, args ...any) {
	return func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", name, text.OneLine(fmt.Sprintf(format, args...)))
	}
}

func summarizeScores(line func(name, format string, args ...any), e *cleavev1.Evaluation) {
	line("NMI", "%.4f", e.GetNmi())
	line("ARI", "%.4f", e.GetAri())
	line("pairwise F", "%.4f (precision %.4f, recall %.4f)", e.GetPairwiseF(), e.GetPairwisePrecision(),
		e.GetPairwiseRecall())
	line("purity", "%.4f", e.GetPurity())
}

func constraintText(c *cleavev1.ConstraintReport) string {
	line := fmt.Sprintf("%d of %d satisfied", c.GetSatisfied(), c.GetTotal())
	if c.GetSatisfied() < c.GetTotal() {
		line += fmt.Sprintf(" (violated: %s)", strings.Join(explain.Violated(c), ", "))
	}
	return line
}

// inferenceText names the engine that assigned points under constraints, and what it guarantees.
func inferenceText(i *cleavev1.InferenceReport) string {
	line := wire.EnumWord(i.GetEngine())
	if i.GetExact() {
		line += ", exact"
	}
	if i.LpValue != nil {
		line += ", lower bound " + text.Brief(i.GetLpValue())
	}
	if i.GetFallbacks() > 0 {
		line += fmt.Sprintf(" (%s left to another engine)", text.Plural(int(i.GetFallbacks()), "component"))
	}
	return line
}

// landmarkText says how well landmarks approximate the kernel matrix.
func landmarkText(l *cleavev1.LandmarkReport) string {
	line := fmt.Sprintf("%d, %s; they miss %s of the kernel, so the objective is approximate", l.GetCount(),
		text.Plural(int(l.GetRank()), "feature"), text.Percent(l.GetLost()))
	if l.ExactNmi != nil {
		line += fmt.Sprintf("; NMI %.4f against the answer from the full matrix", l.GetExactNmi())
	}
	if l.ExactObjective != nil {
		line += ", whose objective is " + Exact(l.GetExactObjective())
	}
	return line
}

// PrintJSON writes a document with indentation.
func PrintJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}

// PrintMessage writes a message of the API as JSON. protojson varies its white space on purpose; encoding/json
// makes it stable.
func PrintMessage(w io.Writer, message proto.Message) error {
	text, err := protojson.Marshal(message)
	if err != nil {
		return err
	}
	return PrintJSON(w, json.RawMessage(text))
}

// ShortName returns the value of an enum without its prefix: RUNNING for JOB_STATE_RUNNING.
func ShortName(value interface {
	fmt.Stringer
	protoreflect.Enum
}) string {
	prefix := strings.TrimSuffix(string(value.Descriptor().Values().ByNumber(0).Name()), "UNSPECIFIED")
	return strings.TrimPrefix(value.String(), prefix)
}

// FormatTime writes a time in the local time zone; it returns "" for nil.
func FormatTime(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Local().Format(time.DateTime)
}

// Exact writes a number so that it reads back the same.
func Exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// EventLines writes the numbered events of a job as lines of JSON. Live progress is not among them.
type EventLines struct {
	client.Silent
	Events, Warnings io.Writer
}

// Item writes an event.
func (l *EventLines) Item(item *cleavev1.WatchJobResponse) {
	if item.GetEvent() == nil {
		return
	}
	text, err := protojson.Marshal(item.GetEvent())
	if err == nil {
		text, err = json.Marshal(json.RawMessage(text)) // protojson varies its white space
	}
	if err != nil {
		l.Warn("event %d cannot be written as JSON: %v", item.GetEvent().GetSequence(), err)
		return
	}
	fmt.Fprintf(l.Events, "%s\n", text)
}

// Warn writes a line of text.
func (l *EventLines) Warn(format string, args ...any) {
	fmt.Fprintln(l.Warnings, text.OneLine(fmt.Sprintf(format, args...)))
}

// summarizeSpectral describes the eigenvectors that were used; only constrained-spectral has a beta.
func summarizeSpectral(line func(name, format string, args ...any), s *cleavev1.SpectralReport) {
	if s.Beta != nil {
		line("beta", "%s (volume %s)", text.Brief(s.GetBeta()), text.Brief(s.GetVolume()))
	}
	if s.FeasibleVectors != nil {
		line("feasible", "%s", text.Plural(int(s.GetFeasibleVectors()), "vector"))
	}
	if s.GetChosen() != cleavev1.CutRule_CUT_RULE_UNSPECIFIED {
		line("chosen", "%s", describeCandidates(s))
	}
	var values []string
	for _, v := range s.GetEigenvalues() {
		values = append(values, text.Brief(v))
	}
	line("eigenvalues", "%s", text.First(values, 8))
}

// describeCandidates names the rule that the constraints chose, the share of held-out constraints that each finalist
// violated, and the rules that were not finalists.
func describeCandidates(s *cleavev1.SpectralReport) string {
	var compared, others []string
	for _, c := range s.GetCandidates() {
		name := wire.EnumWord(c.GetRule())
		if c.Violated != nil {
			compared = append(compared, fmt.Sprintf("%s %.1f%%", name, 100*c.GetViolated()))
		} else if c.GetRule() != cleavev1.CutRule_CUT_RULE_UNCONSTRAINED {
			others = append(others, name)
		}
	}
	what := wire.EnumWord(s.GetChosen())
	if s.GetWidth() > 0 {
		what += " of " + text.Plural(int(s.GetWidth()), "eigenvector")
	}
	if len(compared) > 0 {
		what += "; held-out constraints violated: " + strings.Join(compared, ", ")
	}
	if len(others) > 0 {
		what += "; not clearly better on held-out constraints: " + strings.Join(others, ", ")
	}
	return what
}
