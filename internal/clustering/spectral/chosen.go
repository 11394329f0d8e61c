package spectral

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/span"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// choosesByPairs reports whether held-out constraints choose how the others are used. A Q that is given as a whole, as
// beliefs or as another graph, has no pairs to hold out; it uses the rule of the paper.
func (p *Problem) choosesByPairs() bool {
	o := p.options
	return o.Algorithm == Constrained && o.BetaRule == BetaAuto && o.Discretization == DiscretizePlain &&
		len(o.Beliefs) == 0 && !o.Transfer
}

// size returns how many eigenvectors pairs choose from.
func (p *Problem) size() int { return span.Size(p.n, p.spec.K, len(p.pairs)) }

// maxPaperRows is the number of points up to which the rules of the paper are candidates: each has to be solved for
// every fold, from all entries of the matrix.
const maxPaperRows = 800

func (p *Problem) asksPaper() bool { return p.choosesByPairs() && p.n <= maxPaperRows }

// chosen computes the lowest eigenvectors of Lbar and lets the pairs choose coordinates in their span; see package
// span. Package span knows only the included rows, by their numbers among them.
func (m *method) chosen(ctx context.Context, result *clustering.Result) error {
	pairs := m.keptPairs()
	found, err := m.lowest(ctx, span.Size(m.rows(), m.spec.K, len(pairs)))
	if err != nil {
		return err
	}
	m.report(result, found)
	products := found.Products
	var last *clustering.Result // the last trial of a rule of the paper
	problem := &span.Problem{
		K: m.spec.K, Vectors: found.Vectors, Pairs: pairs, Random: m.Random(clustering.StreamHeldOut),
		Starts: m.options.Eigenvectors.KmeansRestarts, Iterations: m.options.Eigenvectors.KmeansMaxIterations,
	}
	for _, v := range found.Values {
		problem.Costs = append(problem.Costs, 1-v)
	}
	if m.asksPaper() {
		problem.Paper = func(ctx context.Context, rule clustering.CutRule, pairs []constraint.Pair) ([]int32, error) {
			trial, err := m.byPaper(ctx, rule, pairs)
			if err != nil || trial == nil {
				return nil, err
			}
			last = trial
			products += trial.Spectral.Eigen.Products
			labels := make([]int32, m.rows())
			for i := range labels {
				labels[i] = trial.Labels[m.kept.Row(i)]
			}
			return labels, nil
		}
	}
	answer, err := span.Choose(snapshot.Without(ctx), problem)
	if err != nil {
		return err
	}
	if answer.Embedding == nil {
		*result = *last
	} else {
		result.Labels, result.Spectral.Embedding = m.ofAllRows(answer)
		result.Runs = answer.Runs
		if !m.kept.All() {
			result.Runs = clustering.LabelingsAmong(m.n, m.kept.Kept(), answer.Runs)
		}
	}
	if len(answer.Candidates) == 1 {
		m.warn("NOTHING_HELD_OUT",
			"fewer than two constraints, or only must-links, cannot show how constraints should be used: "+
				"the eigenvectors ignore them, and labels that violate them are only penalized")
	}
	report, width := result.Spectral.Eigen, answer.Chosen.Width
	if width > 0 {
		report.Eigenvalues, report.Costs, report.Residuals = report.Eigenvalues[:width], report.Costs[:width],
			report.Residuals[:width]
	}
	report.Products, report.Chosen, report.Width, report.Candidates = products, answer.Chosen.Rule, width,
		answer.Candidates
	return nil
}

// keptPairs returns the pairs of included points, by their numbers among them.
func (m *method) keptPairs() []constraint.Pair {
	if m.kept.All() {
		return m.pairs
	}
	return constraint.Among(m.n, m.kept.Kept(), m.pairs)
}

// ofAllRows extends labels and coordinates to all rows: rows that are left out have no label, and coordinates 0.
func (m *method) ofAllRows(answer *span.Answer) ([]int32, *clustering.Embedding) {
	if m.kept.All() {
		return answer.Labels, answer.Embedding
	}
	labels := clustering.Unassigned(m.n)
	for i, c := range answer.Labels {
		labels[m.kept.Row(i)] = c
	}
	return labels, answer.Embedding.Among(m.n, m.kept.Kept())
}

// lowest returns the lowest eigenvectors of Lbar, as the leading ones of I - Lbar. The first is D^1/2 1; in a graph of
// several components a solver could return any other vector that is constant on each of them. Eigenvectors beyond the
// k-th are needed only for their span, and computed roughly: if a graph has no structure besides its clusters, their
// eigenvalues are close together.
func (m *method) lowest(ctx context.Context, count int) (eigen.Eigenpairs, error) {
	trivial := make([]float64, m.rows())
	for i := range trivial {
		trivial[i] = math.Sqrt(m.degrees[m.kept.Row(i)]) / math.Sqrt(m.volume)
	}
	all := eigen.Eigenpairs{Values: []float64{1}, Vectors: [][]float64{trivial}, Residuals: []float64{0},
		Converged: true}
	if count == 1 {
		return all, nil
	}
	found, err := m.shareEigenpairs(nil, count-1, func() (eigen.Eigenpairs, error) {
		k := m.maxClusters()
		options := m.solverOptions()
		most := max(count, span.Size(m.rows(), k, len(m.keptPairs())))
		options.Rough, options.Scale = max(0, most-k), 1 // the eigenvalue of D^1/2 1
		return eigen.Largest(ctx, embedding.Without{Operator: m.affinity(), Vector: trivial}, most-1,
			m.Source(clustering.StreamEigen), options)
	})
	found.Values = append(all.Values, found.Values...)
	found.Vectors = append(all.Vectors, found.Vectors...)
	found.Residuals = append(all.Residuals, found.Residuals...)
	return found, err
}

// byPaper runs constrained spectral clustering with some of the pairs by a rule of the paper. It returns nil if they
// allow no cut, or the graph has too many components.
func (m *method) byPaper(ctx context.Context, rule clustering.CutRule,
	pairs []constraint.Pair) (*clustering.Result, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	whole := slices.Clone(pairs)
	for i, pair := range pairs {
		whole[i].I, whole[i].J = int32(m.kept.Row(int(pair.I))), int32(m.kept.Row(int(pair.J)))
	}
	problem, run := *m.Problem, *m
	q, err := newBeliefs(m.n, beliefsOf(whole), seedBeliefs{})
	if err != nil {
		return nil, err
	}
	run.Problem, problem.beliefs = &problem, q
	problem.options.BetaRule = BetaPaper
	if rule == clustering.CutStrict {
		problem.options.BetaRule = BetaStrict
	}
	result := &clustering.Result{}
	err = run.constrained(ctx, result)
	if hasNoCuts(err) {
		return nil, nil
	}
	return result, err
}

// hasNoCuts reports whether an error says that a beta has too few cuts, or none that can be computed.
func hasNoCuts(err error) bool {
	for _, reason := range []invalid.Reason{invalid.BetaTooLarge, invalid.BetaOutside, invalid.NoBeta,
		invalid.TooFewBeliefs, invalid.TooFewCuts, invalid.TooFewCutsOfPieces, invalid.TooManyPieces} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}
