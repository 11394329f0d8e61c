package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/screen"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/render/explain"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func (a *app) explainCommand() *cobra.Command {
	var server, constraints string
	const short = "Explain the result of a job, or of a run in a folder, in plain sentences, with hints on what to try"
	cmd, set := argsCommand("explain JOB|DIR", short, func(ctx context.Context, args []string) error {
		return a.onFolderOrJob(ctx, server, constraints, args, func(folder string) error {
			if server != "" {
				return shell.Usage("--server requires a job; the folder %s is read here", folder)
			}
			return a.explainFolder(ctx, folder, constraints)
		}, func(c *client.Client, jobID string) error {
			return a.explainJob(ctx, c, jobID)
		})
	})
	cmd.ValidArgsFunction = firstOnly(orFiles(a.jobIDs()))
	addServerFlag(set, &server)
	set.StringVar(&constraints, "constraints", "",
		"the constraints of the run in this `FILE`, to name the violated ones")
	return cmd
}

// explainFolder explains the result in the folder of a run. It names violated constraints if a flag names their file,
// or if they can be found again from what the run recorded.
func (a *app) explainFolder(ctx context.Context, folder, constraints string) error {
	result, run, err := report.ReadResult(folder)
	if err != nil {
		return err
	}
	facts := explain.Facts{Result: result, Run: run, Spec: run.GetOrigin().GetSpec()}
	if result.GetRows() == 0 {
		return a.printExplanation(explain.Answer(facts))
	}
	r, err := report.ReadLabels(folder, result, run)
	if err != nil {
		return err
	}
	facts.Classes = r.Classes
	switch held := result.GetConstraints(); {
	case constraints != "":
		facts.Constraints, err = constraintsOf(r, constraints)
	case held.GetSatisfied() < held.GetTotal():
		facts.Constraints, err = a.recordedConstraints(ctx, folder, r)
		facts.ConstraintsUnknown = facts.Constraints == nil
	}
	if err != nil {
		return err
	}
	facts.Labels, facts.IDs = r.Labels, r.PointNames()
	if r.Rows != nil {
		facts.Confidence = r.Rows.Confidence
	}
	return a.printExplanation(explain.Answer(facts))
}

// constraintsOf reads constraints between the points of a report from a file.
func constraintsOf(r *report.Report, path string) ([]constraint.Constraint, error) {
	_, list, err := format.LoadNamed(format.Input{Path: path}, table.Constraints, r.Filter.FileRows(len(r.Labels)),
		r.Naming())
	return r.Filter.Constraints(list), err
}

// recordedConstraints returns the constraints of the run in a folder: those of its file, if the file has not changed,
// or those that the run made of classes. It returns nil if they cannot be found, and an error only if ctx has ended.
func (a *app) recordedConstraints(ctx context.Context, folder string,
	r *report.Report) ([]constraint.Constraint, error) {
	files, changed, err := recordedFiles(ctx, r.Run.GetOrigin(), "constraints")
	var scene report.Scene
	switch {
	case err != nil || len(changed) > 0:
		return nil, err
	case len(files) > 0:
		scene.Constraints, err = constraintsOf(r, files[0])
	default:
		scene, err = a.recordedScene(ctx, folder, r)
	}
	if err != nil {
		return nil, ctx.Err()
	}
	return scene.Constraints, nil
}

// explainJob explains a job of a coordinator in any state.
func (a *app) explainJob(ctx context.Context, c *client.Client, jobID string) error {
	response, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobID})
	if err != nil {
		return err
	}
	job := response.GetJob()
	spec := response.GetSpec()
	switch job.GetState() {
	case cleavev1.JobState_JOB_STATE_SUCCEEDED, cleavev1.JobState_JOB_STATE_CANCELLED:
	default:
		return a.printExplanation([]explain.Paragraph{unfinished(job)})
	}
	outcome, err := c.Fetch(ctx, jobID, client.Scores)
	if err != nil {
		return err
	}
	r := reportOf(&jobflags.Loaded{}, outcome)
	facts := explain.Facts{Result: r.Result, Labels: r.Labels, IDs: r.PointNames(), Spec: spec}
	if r.Rows != nil {
		facts.Confidence = r.Rows.Confidence
	}
	facts.Classes, err = jobClasses(ctx, c, spec, wire.Recipe(r.Result.GetRecipe()), func() (*client.Outcome, error) {
		return outcome, nil
	})
	if err != nil {
		return err
	}
	facts.Constraints, err = wire.ReadTable(spec.GetSupervision().GetConstraints(), "constraints", rowsOf(outcome),
		c.FetchTables(ctx), table.Constraints)
	if err != nil && !fault.Is(err, wire.TableNotFound) { // deleted constraints are not named
		return err
	}
	return a.printExplanation(explain.Answer(facts))
}

// unfinished explains a job without a result.
func unfinished(j *cleavev1.Job) explain.Paragraph {
	id := j.GetJobId()
	say := func(sentences ...string) explain.Paragraph {
		return explain.Paragraph{Topic: "Status", Sentences: sentences}
	}
	switch j.GetState() {
	case cleavev1.JobState_JOB_STATE_FAILED:
		return say(fmt.Sprintf("Job %s failed: %s.", id,
			strings.TrimSuffix(cmp.Or(j.GetError().GetMessage(), "for an unknown reason"), ".")))
	case cleavev1.JobState_JOB_STATE_RUNNING:
		return say(fmt.Sprintf("Job %s is running and has made %s.", id,
			text.Plural(int(j.GetIterations()), "iteration")),
			fmt.Sprintf("cleave watch %s shows its progress; cleave cancel %s ends it and keeps the labels so far.",
				id, id))
	}
	return say(fmt.Sprintf("Job %s is waiting for its turn or for workers.", id),
		"See cleave limits and cleave workers.")
}

// printExplanation prints paragraphs under their topics.
func (a *app) printExplanation(all []explain.Paragraph) error {
	width := min(cmp.Or(screen.Width(a.stdout, a.env), 80), 100)
	var out strings.Builder
	for at, p := range all {
		if at > 0 {
			fmt.Fprintln(&out)
		}
		fmt.Fprintln(&out, p.Topic)
		for _, sentence := range p.Sentences {
			mark := "- "
			for _, line := range text.Wrap(text.OneLine(sentence), width-4) {
				fmt.Fprintf(&out, "  %s%s\n", mark, line)
				mark = "  "
			}
		}
	}
	_, err := fmt.Fprint(a.stdout, out.String())
	return err
}

type evaluateFlags struct {
	labels, truth, scoreOn, constraints string
	json                                bool
}

func (a *app) evaluateCommand() *cobra.Command {
	f := &evaluateFlags{}
	cmd, set := flagsCommand("evaluate --labels FILE --truth FILE",
		"Score labels against the truth, and count satisfied constraints",
		func(context.Context) error { return a.evaluate(f) })
	cmd.SuggestFor = []string{"score", "test"}
	set.StringVar(&f.labels, "labels", "",
		"labels to score, in this `FILE` (index or id, label); rows with the label -1 have no cluster and "+
			"are not scored")
	set.StringVar(&f.truth, "truth", "", "true labels in this `FILE` (index or id, label)")
	set.StringVar(&f.scoreOn, "score-on", "", "score only the points listed in this `FILE` (index)")
	set.StringVar(&f.constraints, "constraints", "",
		"count how many of the constraints in this `FILE` are satisfied (i,j,kind[,weight])")
	set.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// evaluate prints the scores of labels against the truth. Rows without a cluster (label -1) are left out of the
// labels, the truth and the constraints alike.
func (a *app) evaluate(f *evaluateFlags) error {
	if f.labels == "" || f.truth == "" {
		return shell.Usage("evaluate needs both --labels FILE and --truth FILE")
	}
	labels, naming, err := jobflags.LoadRunLabels(f.labels)
	if err != nil {
		return err
	}
	if len(labels) == 0 {
		return fault.Invalid("EMPTY_DATA", "%s: the file has no labels", f.labels)
	}
	filter := jobflags.FilterOfLabels(labels)
	if len(filter.Kept) == 0 {
		return fault.Invalid("EMPTY_DATA", "%s: no row has a cluster: all labels are -1", f.labels)
	}
	truth, err := a.loadTruth(truthFlags{f.truth, f.scoreOn}, filter, len(labels), naming)
	if err != nil {
		return err
	}
	var constraints []constraint.Constraint
	if f.constraints != "" {
		if _, constraints, err = format.LoadNamed(format.Input{Path: f.constraints}, table.Constraints, len(labels),
			naming); err != nil {
			return err
		}
	}
	if filter.Dropped() > 0 { // as in the run that wrote them
		a.warn("%s", text.Count(filter.Dropped(), "row has no cluster (label -1) and is not scored",
			"rows have no cluster (label -1) and are not scored"))
		labels = choose.At(labels, filter.Kept)
		constraints = filter.Constraints(constraints)
	}
	compared, err := evaluate.Compare(labels, truth.Labels, truth.ScoreOn)
	if err != nil {
		return err
	}
	scores := wire.EvaluationProto(compared)
	satisfied := (*cleavev1.ConstraintReport)(nil)
	if f.constraints != "" {
		set, err := constraint.NewSet(len(labels), constraints, constraint.UnitWeight)
		if err != nil {
			return wire.OnField(err, "") // they are not those of a spec
		}
		satisfied = wire.ConstraintReportProto(set.Satisfaction(evaluate.Ranks(labels)))
	}
	if f.json {
		return a.printEvaluationJSON(scores, satisfied)
	}
	return report.SummarizeEvaluation(a.folded(), scores, satisfied)
}

// printEvaluationJSON prints the fields evaluation and constraints of result.json.
func (a *app) printEvaluationJSON(scores *cleavev1.Evaluation, constraints *cleavev1.ConstraintReport) (err error) {
	var document struct {
		Evaluation  json.RawMessage `json:"evaluation"`
		Constraints json.RawMessage `json:"constraints,omitempty"`
	}
	if document.Evaluation, err = report.WithZeros(scores); err != nil {
		return err
	}
	if constraints != nil {
		if document.Constraints, err = report.WithZeros(constraints); err != nil {
			return err
		}
	}
	return report.PrintJSON(a.stdout, document)
}
