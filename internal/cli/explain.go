package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/render/explain"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func (a *app) explainCommand() *cobra.Command {
	var constraints string
	cmd := &cobra.Command{
		Use:   "explain JOB|DIR",
		Short: "Say in sentences what a job or a folder of run has found, why, and what to try",
		Args:  cobra.ArbitraryArgs,
	}
	server := addServerFlag(cmd.Flags())
	cmd.Flags().StringVar(&constraints, "constraints", "", "the constraints of the run in DIR, in this `FILE`, to name those that it violates")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && isFolder(args[0]) {
			if *server != "" {
				return shell.Usage("--server goes with a job; the folder %s is read here", args[0])
			}
			return a.explainFolder(cmd.Context(), args[0], constraints)
		}
		if constraints != "" {
			return shell.Usage("--constraints goes with a folder; the coordinator has those of its jobs")
		}
		return a.onJobNoFolder(cmd.Context(), *server, args, func(c *client.Client, jobID string) error { return a.explainJob(cmd.Context(), c, jobID) })
	}
	return cmd
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// explainFolder explains what a run wrote. Constraints that it violates are named if they are in a file that flags name, or in
// one that the run has recorded.
func (a *app) explainFolder(ctx context.Context, folder, constraints string) error {
	result, err := report.ReadResult(folder)
	if err != nil {
		return err
	}
	facts := explain.Facts{Result: result, Spec: result.GetOrigin().GetSpec()}
	if result.GetRows() == 0 {
		return a.printExplanation(explain.Answer(facts))
	}
	r, err := report.ReadLabels(folder, result)
	if err != nil {
		return err
	}
	facts.Classes = r.Classes()
	switch held := result.GetConstraints(); {
	case constraints != "":
		facts.Constraints, err = constraintsOf(r, constraints)
	case held.GetSatisfied() < held.GetTotal():
		facts.Constraints = a.recordedConstraints(ctx, folder, r)
		facts.Unknown = facts.Constraints == nil
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

// constraintsOf reads constraints between the points of a report.
func constraintsOf(r *report.Report, path string) ([]constraint.Constraint, error) {
	_, list, err := format.LoadNamed(path, table.Constraints, r.Filter().FileRows(len(r.Labels)), r.Naming())
	return r.Filter().Constraints(list), err
}

// recordedConstraints are those of the run in a folder, nil where they cannot be found again: its file of constraints, if it is
// what it was, or those that the run made of classes.
func (a *app) recordedConstraints(ctx context.Context, folder string, r *report.Report) []constraint.Constraint {
	origin := r.Result.GetOrigin()
	for _, input := range origin.GetInputs() {
		if input.GetFlag() != "constraints" {
			continue
		}
		path := jobflags.Within(origin.GetDirectory(), input.GetPath())
		if hash, _, err := hashFile(path); err != nil || hash == "" || hash != input.GetSha256() {
			return nil
		}
		list, err := constraintsOf(r, path)
		if err != nil {
			return nil
		}
		return list
	}
	s, err := a.recordedScene(ctx, folder, r)
	if err != nil {
		return nil
	}
	return s.Constraints
}

// explainJob explains a job of a coordinator, in whatever state it is.
func (a *app) explainJob(ctx context.Context, c *client.Client, jobID string) error {
	response, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobID})
	if err != nil {
		return err
	}
	job, spec := response.GetJob(), response.GetSpec()
	switch job.GetState() {
	case cleavev1.JobState_JOB_STATE_SUCCEEDED, cleavev1.JobState_JOB_STATE_CANCELLED:
	default:
		return a.printExplanation([]explain.Paragraph{withoutAnswer(job)})
	}
	outcome, err := c.Fetch(ctx, jobID, client.Labels)
	if err != nil {
		return err
	}
	sayByNames(outcome, table.NewIDs(outcome.IDs), nil, nil)
	facts := explain.Facts{Result: outcome.Result, Labels: outcome.Labels, IDs: outcome.IDs, Spec: spec}
	facts.Constraints, err = wire.ReadTableOfRows(spec.GetSupervision().GetConstraints(), "constraints", rowsOf(outcome), c.FetchTables(ctx), table.Constraints)
	if err != nil && !fault.Is(err, "TABLE_NOT_FOUND") { // without those that were deleted, none are named
		return err
	}
	return a.printExplanation(explain.Answer(facts))
}

// withoutAnswer says why a job has no answer, and what to do.
func withoutAnswer(j *cleavev1.Job) explain.Paragraph {
	id := j.GetJobId()
	says := func(sentences ...string) explain.Paragraph {
		return explain.Paragraph{Topic: "Where it stands", Sentences: sentences}
	}
	switch j.GetState() {
	case cleavev1.JobState_JOB_STATE_FAILED:
		return says(fmt.Sprintf("Job %s failed: %s.", id, strings.TrimSuffix(cmp.Or(j.GetError().GetMessage(), "for a reason that it did not tell"), ".")))
	case cleavev1.JobState_JOB_STATE_RUNNING:
		return says(fmt.Sprintf("Job %s is running and has made %s.", id, text.Plural(int(j.GetIterations()), "iteration")),
			fmt.Sprintf("cleave watch %s shows how it goes on; cleave cancel %s ends it with the labels so far.", id, id))
	}
	return says(fmt.Sprintf("Job %s waits for its turn or for workers.", id), "cleave limits and cleave workers show what there is.")
}

// printExplanation writes paragraphs under their topics.
func (a *app) printExplanation(all []explain.Paragraph) error {
	width := min(cmp.Or(shell.Width(a.stdout, a.env), 80), 100)
	var out strings.Builder
	for at, p := range all {
		if at > 0 {
			fmt.Fprintln(&out)
		}
		fmt.Fprintln(&out, p.Topic)
		for _, sentence := range p.Sentences {
			mark := "- "
			for _, line := range text.Wrap(sentence, width-4) {
				fmt.Fprintf(&out, "  %s%s\n", mark, line)
				mark = "  "
			}
		}
	}
	_, err := fmt.Fprint(a.stdout, out.String())
	return err
}
