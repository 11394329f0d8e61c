package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/picture"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// embeddingFile is written of runs of the spectral family.
const embeddingFile = "embedding.csv"

// spectralReport is about the eigenvectors that were used, in the order of their use. Only
// constrained-spectral has a beta and what it made feasible.
type spectralReport struct {
	Beta                   *float64  `json:"beta,omitempty"`
	Volume                 float64   `json:"volume"`
	FeasibleVectors        *uint32   `json:"feasibleVectors,omitempty"`
	Eigenvalues            []float64 `json:"eigenvalues"`
	Costs                  []float64 `json:"costs,omitempty"`
	ConstraintSatisfaction []float64 `json:"constraintSatisfaction,omitempty"`
	Residuals              []float64 `json:"residuals,omitempty"`
	Products               uint32    `json:"products"`
}

func NewSpectral(p *cleavev1.SpectralReport) *spectralReport {
	if p == nil {
		return nil
	}
	return &spectralReport{
		Beta: p.Beta, Volume: p.GetVolume(), FeasibleVectors: p.FeasibleVectors, Eigenvalues: append([]float64{}, p.GetEigenvalues()...),
		Costs: p.GetCosts(), ConstraintSatisfaction: p.GetConstraintSatisfaction(), Residuals: p.GetResiduals(), Products: p.GetProducts(),
	}
}

// String lists the eigenvalues, of very many only the first.
func (s *spectralReport) String() string {
	const most = 8
	var words []string
	for at, v := range s.Eigenvalues {
		if at == most {
			words = append(words, fmt.Sprintf("... (%d more)", len(s.Eigenvalues)-most))
			break
		}
		words = append(words, Brief(v))
	}
	return strings.Join(words, ", ")
}

// embeddingFiles is embedding.csv, a row for each point that was clustered, by its number in the data file.
func (r *Report) embeddingFiles(complain func(format string, args ...any)) []File {
	e := r.Embedding
	if e == nil {
		return nil
	}
	if bytes := textBytes(e.Values); bytes > maxModelBytes {
		complain("%s was not written: it would take about %s; the coordinator's GetEmbedding has it", embeddingFile, shell.FormatBytes(bytes))
		return nil
	}
	var index []int32
	if r.rows != nil {
		index = r.rows.Kept
	}
	return []File{{embeddingFile, func(w io.Writer) error { return format.WriteEmbedding(w, index, e.Columns, e.Values) }}}
}

// drawResiduals draws how the eigensolver went on, for runs that have no iterations of their own. A
// residual of 0 has no logarithm and leaves a gap.
func (r *Report) drawResiduals(w io.Writer, title string) error {
	plot := picture.ObjectivePlot{Name: "log10 of the largest residual", Title: title}
	for _, step := range r.SolverSteps {
		plot.Iterations = append(plot.Iterations, int(step.GetStep()))
		plot.Values = append(plot.Values, math.Log10(step.GetResidual()))
	}
	return picture.Objective(w, plot)
}
