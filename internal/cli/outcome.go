package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/evaluate"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// outcome is what a job found: its labels, its model or embedding if it has one and it is wanted, and
// result.json.
type outcome struct {
	labels    []int32 // of the rows that were clustered
	left      *selection
	model     *clustering.Model
	embedding *clustering.Embedding
	steps     []*cleavev1.SolverStep // of the eigensolver, with the embedding
	document  *resultDocument
}

// fetch brings the outcome of a job of this spec; the model or embedding, which can be large, only on
// demand.
func (c *client) fetch(ctx context.Context, jobID string, spec *cleavev1.JobSpec, constrained, whole bool) (*outcome, error) {
	response, err := c.jobs.GetResult(ctx, &cleavev1.GetResultRequest{JobId: jobID})
	if err != nil {
		return nil, c.explain(err)
	}
	labels, err := c.labels(ctx, jobID)
	if err != nil {
		return nil, err
	}
	o := &outcome{labels: labels, document: newDocument(response.GetResult(), constrained)}
	o.document.Kernel = newKernelReport(spec, o.document.Rho)
	if whole && response.GetResult().GetEmbedding() != nil {
		if o.embedding, err = c.embedding(ctx, jobID); err != nil {
			return nil, err
		}
		if o.steps, err = c.solverSteps(ctx, jobID); err != nil {
			return nil, err
		}
	}
	if response.GetResult().GetModel() == nil {
		return o, nil
	}
	var head *cleavev1.ModelHead
	if whole {
		if o.model, err = c.model(ctx, jobID); err != nil {
			return nil, err
		}
		head = wire.ModelHead(o.model)
	} else if head, err = c.modelHead(ctx, jobID); err != nil {
		return nil, err
	}
	o.document.Model = &modelReport{enumWord(head.GetDistortion()), enumWord(head.GetMetric()), head.GetColumns()}
	return o, nil
}

// leaveOut notes which rows the job has not seen.
func (o *outcome) leaveOut(left *selection) {
	if left == nil {
		return
	}
	o.left = left
	o.document.Dropped = len(left.place) - len(left.kept)
	o.document.Warnings = append(o.document.Warnings, warning{"MISSING_ROWS", left.String()})
}

// score compares the labels with the truth, if there is one.
func (o *outcome) score(t *truth) error {
	if t == nil {
		return nil
	}
	if len(t.labels) != len(o.labels) {
		return fault.Invalid("SIZE_MISMATCH", "the truth has %d labels for %d points; each point needs one", len(t.labels), len(o.labels))
	}
	scores, err := evaluate.Compare(o.labels, t.labels, t.scoreOn)
	if err != nil {
		return err
	}
	o.document.Evaluation = &scores
	return nil
}

// summarise writes what a person wants to know first, and the files that tell the rest.
func (d *resultDocument) summarise(w io.Writer, files []string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(table, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	line("objective", "%s %s", d.ObjectiveName, exact(d.Objective))
	if d.Spectral != nil {
		line("products", "%d of the matrix with a vector (%s)", d.Spectral.Products, d.StopReason)
	} else {
		line("iterations", "%d (%s)", d.Iterations, d.StopReason)
	}
	line("clusters", "%d of %d points: %s", d.K, d.N, sizes(d.ClusterSizes))
	if d.Rho != nil {
		line("rho", "%s", brief(*d.Rho))
	}
	if d.Sigma != 0 {
		line("sigma", "%s", brief(d.Sigma))
	}
	if c := d.Constraints; c != nil {
		line("constraints", "%s", c)
	}
	if i := d.Inference; i != nil {
		line("inference", "%s", i)
	}
	if s := d.Spectral; s != nil {
		if s.Beta != nil {
			line("beta", "%s (volume %s)", brief(*s.Beta), brief(s.Volume))
		}
		if s.FeasibleVectors != nil {
			line("feasible", "%s", plural(int(*s.FeasibleVectors), "vector"))
		}
		line("eigenvalues", "%s", s)
	}
	if m := d.Model; m != nil && m.Metric != "identity" {
		line("metric", "%s", m.Metric)
	}
	if d.Evaluation != nil {
		scoreLines(line, *d.Evaluation)
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

func scoreLines(line func(name, format string, args ...any), scores evaluate.Scores) {
	line("NMI", "%.4f", scores.NMI)
	line("ARI", "%.4f", scores.ARI)
	line("pairwise F", "%.4f (precision %.4f, recall %.4f)", scores.PairwiseF, scores.PairwisePrecision, scores.PairwiseRecall)
	line("purity", "%.4f", scores.Purity)
}

func (c *constraintsReport) String() string {
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
		text += ", lower bound " + brief(*i.LPValue)
	}
	if i.Fallbacks > 0 {
		text += fmt.Sprintf(" (%s left to another engine)", plural(int(i.Fallbacks), "component"))
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
