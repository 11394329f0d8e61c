// Package report is what people and programs get to see of a job: its progress on the terminal, the summary
// at its end, and the files of an output folder, with result.json and the pictures. It also reads such a
// folder back, to assign new points.
package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/evaluate"
	"github.com/cleave-project/cleave/internal/fault"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Report is what people and programs get of a job's outcome.
type Report struct {
	*client.Outcome
	rows     *jobflags.RowFilter // nil: all rows of the data file were clustered
	Document *ResultDocument
}

// New reports the outcome of a job of a spec on the rows that a filter kept. constrained says that
// constraints were given, if perhaps none of them.
func New(o *client.Outcome, spec *cleavev1.JobSpec, rows *jobflags.RowFilter, constrained bool) *Report {
	r := &Report{Outcome: o, rows: rows, Document: newDocument(o.Result, constrained)}
	r.Document.Kernel = newKernelReport(spec, r.Document.Rho)
	if head := o.ModelHead; head != nil {
		r.Document.Model = &ModelReport{jobflags.EnumName(head.GetDistortion()), jobflags.EnumName(head.GetMetric()), head.GetColumns()}
	}
	if rows != nil {
		r.Document.Dropped = rows.Dropped()
		r.Document.Warnings = append(r.Document.Warnings, Warning{"MISSING_ROWS", rows.String()})
	}
	return r
}

// Score compares the labels with the truth, if there is one.
func (r *Report) Score(t *jobflags.Truth) error {
	if t == nil {
		return nil
	}
	if len(t.Labels) != len(r.Labels) {
		return fault.Invalid("SIZE_MISMATCH", "the truth has %d labels for %d points; each point needs one", len(t.Labels), len(r.Labels))
	}
	scores, err := evaluate.Compare(r.Labels, t.Labels, t.ScoreOn)
	if err != nil {
		return err
	}
	r.Document.Evaluation = &scores
	return nil
}

// Summarize writes what a person wants to know first, and the files that tell the rest.
func (d *ResultDocument) Summarize(w io.Writer, files []string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(table, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	line("objective", "%s %s", d.ObjectiveName, Exact(d.Objective))
	if d.Spectral != nil {
		line("products", "%d of the matrix with a vector (%s)", d.Spectral.Products, d.StopReason)
	} else {
		line("iterations", "%d (%s)", d.Iterations, d.StopReason)
	}
	line("clusters", "%d of %d points: %s", d.K, d.N, sizes(d.ClusterSizes))
	if d.Rho != nil {
		line("rho", "%s", Brief(*d.Rho))
	}
	if d.Sigma != 0 {
		line("sigma", "%s", Brief(d.Sigma))
	}
	if c := d.Constraints; c != nil {
		line("constraints", "%s", c)
	}
	if i := d.Inference; i != nil {
		line("inference", "%s", i)
	}
	if s := d.Spectral; s != nil {
		if s.Beta != nil {
			line("beta", "%s (volume %s)", Brief(*s.Beta), Brief(s.Volume))
		}
		if s.FeasibleVectors != nil {
			line("feasible", "%s", shell.Plural(int(*s.FeasibleVectors), "vector"))
		}
		line("eigenvalues", "%s", s)
	}
	if m := d.Model; m != nil && m.Metric != "identity" {
		line("metric", "%s", m.Metric)
	}
	if d.Evaluation != nil {
		ScoreLines(line, *d.Evaluation)
	}
	line("time", "%.3g s", d.Timings.Total)
	for _, warning := range d.Warnings {
		line("warning", "%s", warning.Message)
	}
	if len(files) > 0 {
		line("files", "%s", strings.Join(files, " "))
	}
	return table.Flush()
}

func ScoreLines(line func(name, format string, args ...any), scores evaluate.Scores) {
	line("NMI", "%.4f", scores.NMI)
	line("ARI", "%.4f", scores.ARI)
	line("pairwise F", "%.4f (precision %.4f, recall %.4f)", scores.PairwiseF, scores.PairwisePrecision, scores.PairwiseRecall)
	line("purity", "%.4f", scores.Purity)
}

func (c *ConstraintsReport) String() string {
	text := fmt.Sprintf("%d of %d satisfied", c.Satisfied, c.Total)
	if c.Satisfied < c.Total {
		text += fmt.Sprintf(" (violated: %d must-links, %d cannot-links)", c.MustLinkViolated, c.CannotLinkViolated)
	}
	return text
}

func (i *inferenceReport) String() string {
	text := i.Engine
	if i.Exact {
		text += ", the best assignment there is"
	}
	if i.LPValue != nil {
		text += ", lower bound " + Brief(*i.LPValue)
	}
	if i.Fallbacks > 0 {
		text += fmt.Sprintf(" (%s left to another engine)", shell.Plural(int(i.Fallbacks), "component"))
	}
	return text
}

// sizes lists cluster sizes, of very many only the first.
func sizes(clusters []uint32) string {
	const most = 20
	var words []string
	for at, size := range clusters {
		if at == most {
			words = append(words, fmt.Sprintf("... (%d more)", len(clusters)-most))
			break
		}
		words = append(words, strconv.FormatUint(uint64(size), 10))
	}
	return strings.Join(words, ", ")
}
