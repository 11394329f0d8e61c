package report

import (
	"fmt"
	"io"
	"strings"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// summarizeSpectral describes the eigenvectors that were used; only constrained-spectral has a beta.
func summarizeSpectral(line func(name, format string, args ...any), s *cleavev1.SpectralReport) {
	if s.Beta != nil {
		line("beta", "%s (volume %s)", Brief(s.GetBeta()), Brief(s.GetVolume()))
	}
	if s.FeasibleVectors != nil {
		line("feasible", "%s", text.Plural(int(s.GetFeasibleVectors()), "vector"))
	}
	if s.GetChosen() != cleavev1.CutRule_CUT_RULE_UNSPECIFIED {
		line("chosen", "%s", describeCandidates(s))
	}
	line("eigenvalues", "%s", firstOf(s.GetEigenvalues(), 8, Brief))
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

// embeddingFiles returns embedding.csv: a row for each point that was clustered, with its row number in the data file.
func (r *Report) embeddingFiles(warn func(format string, args ...any)) []File {
	e := r.Embedding
	if e == nil {
		return nil
	}
	if bytes := textBytes(e.Values); bytes > maxTableBytes {
		warn("%s was not written: it would take about %s; the coordinator's GetEmbedding has it", embeddingFile, text.Bytes(bytes))
		return nil
	}
	var index []int32
	if r.Filter != nil {
		index = r.Filter.Kept
	}
	return []File{{embeddingFile, func(w io.Writer) error { return format.WriteEmbedding(w, r.RowIDs, index, e.Columns, e.Values) }}}
}

// restartLog remembers the objectives of the restarts of a job.
type restartLog struct {
	begun    bool
	current  uint32 // from 0 on
	of       uint32 // how many there are; 0 if not known yet
	first    float64
	last     float64 // objective of the current one so far
	any      bool    // the current one has an objective
	rises    bool    // the objective is maximized: it rose within a restart
	best     float64 // of those that have ended
	finished int
}

// begin ends the current restart, if there is one, and begins another.
func (l *restartLog) begin(restart uint32) {
	if l.begun && l.any {
		if l.finished == 0 || l.rises && l.last > l.best || !l.rises && l.last < l.best {
			l.best = l.last
		}
		l.finished++
	}
	l.begun, l.current, l.any = true, restart, false
}

// iteration records the objective of the current restart. Its direction tells whether it is minimized or maximized.
func (l *restartLog) iteration(objective float64) {
	if !l.any {
		l.first, l.any = objective, true
	}
	if l.last = objective; l.finished == 0 {
		l.rises = l.last > l.first
	}
}

// String describes the current restart and the best so far: "restart 7 of 12, best so far 123.4".
func (l restartLog) String() string {
	says := fmt.Sprintf("restart %d", l.current+1)
	if l.of > 0 {
		says += fmt.Sprintf(" of %d", l.of)
	}
	if l.finished > 0 {
		says += ", best so far " + Brief(l.best)
	}
	return says
}
