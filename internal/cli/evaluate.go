package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/evaluate"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
)

type evaluateFlags struct {
	labels, truth, scoreOn, constraints string
	json                                bool
}

// evaluateDocument is what evaluate --json prints.
type evaluateDocument struct {
	Evaluation  evaluate.Scores           `json:"evaluation"`
	Constraints *report.ConstraintsReport `json:"constraints,omitempty"`
}

func (a *app) evaluateCommand() *cobra.Command {
	f := &evaluateFlags{}
	cmd := &cobra.Command{
		Use:   "evaluate --labels FILE --truth FILE",
		Short: "Score labels against the truth, and count the constraints they satisfy",
		Args:  shell.Flags,
		RunE:  func(*cobra.Command, []string) error { return a.evaluate(f) },
	}
	set := cmd.Flags()
	set.StringVar(&f.labels, "labels", "", "labels to score, in this `FILE` (index,label)")
	set.StringVar(&f.truth, "truth", "", "true labels in this `FILE` (index,label)")
	set.StringVar(&f.scoreOn, "score-on", "", "score only the points listed in this `FILE` (index)")
	set.StringVar(&f.constraints, "constraints", "", "count how many of the constraints in this `FILE` hold (i,j,kind[,weight])")
	set.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

func (a *app) evaluate(f *evaluateFlags) error {
	if f.labels == "" || f.truth == "" {
		return shell.Usage("evaluate needs both --labels FILE and --truth FILE")
	}
	labels, err := format.LoadLabels(f.labels, 0)
	if err != nil {
		return err
	}
	if len(labels) == 0 {
		return fault.Invalid("EMPTY_DATA", "%s: the file has no labels", f.labels)
	}
	truth, err := jobflags.LoadTruth(f.truth, f.scoreOn, len(labels))
	if err != nil {
		return err
	}
	var document evaluateDocument
	if document.Evaluation, err = evaluate.Compare(labels, truth.Labels, truth.ScoreOn); err != nil {
		return err
	}
	if f.constraints != "" {
		constraints, err := format.LoadConstraints(f.constraints, len(labels))
		if err != nil {
			return err
		}
		set, err := constraint.NewSet(len(labels), constraints, constraint.UnitWeight)
		if err != nil {
			return err
		}
		document.Constraints = report.ReportOf(set.Satisfaction(report.Ranks(labels)))
	}
	if f.json {
		return report.PrintJSON(a.stdout, document)
	}
	return a.printEvaluation(document)
}

func (a *app) printEvaluation(d evaluateDocument) error {
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(table, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	report.ScoreLines(line, d.Evaluation)
	if d.Constraints != nil {
		line("constraints", "%s", d.Constraints)
	}
	return table.Flush()
}
