package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

type evaluateFlags struct {
	labels, truth, scoreOn, constraints string
	json                                bool
}

func (a *app) evaluateCommand() *cobra.Command {
	f := &evaluateFlags{}
	cmd := &cobra.Command{
		Use:   "evaluate --labels FILE --truth FILE",
		Short: "Score labels against the truth, and count the constraints they satisfy",
		Args:  shell.FlagsOnly,
		RunE:  func(*cobra.Command, []string) error { return a.evaluate(f) },
	}
	set := cmd.Flags()
	set.StringVar(&f.labels, "labels", "", "labels to score, in this `FILE` (index or id, label)")
	set.StringVar(&f.truth, "truth", "", "true labels in this `FILE` (index or id, label)")
	set.StringVar(&f.scoreOn, "score-on", "", "score only the points listed in this `FILE` (index)")
	set.StringVar(&f.constraints, "constraints", "", "count how many of the constraints in this `FILE` hold (i,j,kind[,weight])")
	set.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

func (a *app) evaluate(f *evaluateFlags) error {
	if f.labels == "" || f.truth == "" {
		return shell.Usage("evaluate needs both --labels FILE and --truth FILE")
	}
	labels, naming, err := jobflags.LoadAnswer(f.labels)
	if err != nil {
		return err
	}
	if len(labels) == 0 {
		return fault.Invalid("EMPTY_DATA", "%s: the file has no labels", f.labels)
	}
	truth, err := jobflags.LoadTruth(f.truth, f.scoreOn, len(labels), naming)
	if err != nil {
		return err
	}
	compared, err := evaluate.Compare(labels, truth.Labels, truth.ScoreOn)
	if err != nil {
		return err
	}
	scores, satisfied := wire.EvaluationProto(compared), (*cleavev1.ConstraintReport)(nil)
	if f.constraints != "" {
		_, constraints, err := format.LoadNamed(f.constraints, table.Constraints, len(labels), naming)
		if err != nil {
			return err
		}
		set, err := constraint.NewSet(len(labels), constraints, constraint.UnitWeight)
		if err != nil {
			return err
		}
		satisfied = wire.ConstraintReportProto(set.Satisfaction(report.Ranks(labels)))
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
