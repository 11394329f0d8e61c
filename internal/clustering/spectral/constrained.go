package spectral

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// beliefOperator is Qbar = D^-1/2 Q D^-1/2.
type beliefOperator struct{ *method }

func (b beliefOperator) Rows() int { return b.n }

func (b beliefOperator) Multiply(ctx context.Context, columns [][]float64) ([][]float64, error) {
	products := eigen.Columns(b.n, len(columns))
	return products, b.beliefs.multiply(ctx, products, columns, b.roots)
}

// constrained performs constrained spectral clustering (Wang2014): the cheapest cuts among those that satisfy the
// constraints to at least beta,
//
//	min v' Lbar v  with  v' Qbar v >= beta,  v'v = vol,  v != D^1/2 1        Wang2014 (6)
func (m *method) constrained(ctx context.Context, result *clustering.Result) error {
	k := m.spec.K
	_, pieces := m.components()
	if limit := max(64, 10*k, min(maxNullVectors, maxNullEntries/m.rows())); pieces > limit {
		return invalid.New(invalid.TooManyPieces, "pieces", pieces, "limit", limit)
	}
	eigenvalues, err := m.beliefEigenvalues(ctx)
	if err != nil {
		return err
	}
	beta, feasible, err := m.chooseBeta(ctx, eigenvalues)
	if err != nil {
		return err
	}
	// The cheapest cuts need not have the least lambda, so a small problem is solved for all cuts.
	count := feasible
	if m.rows() > maxExactRows {
		count = min(feasible, k-1+extraCuts)
	}
	cuts, err := eigen.Constrained(ctx, eigen.CutProblem{
		Affinity: m.affinity(), Beliefs: m.kept.Restrict(beliefOperator{m}), Ratio: beta / m.volume, Volume: m.volume,
		Null: m.nullVectors(),
	}, eigen.Wanted{Cuts: k - 1, Among: count}, m.Source(clustering.StreamEigen), m.solverOptions())
	if err != nil {
		return err
	}
	if len(cuts.Values) < k-1 {
		if pieces > 1 { // cuts between them, which cost nothing, do not count
			return invalid.New(invalid.TooFewCutsOfPieces, "found", len(cuts.Values), "needed", k-1, "k", k,
				"beta", beta, "pieces", pieces)
		}
		return invalid.New(invalid.TooFewCuts, "found", len(cuts.Values), "needed", k-1, "k", k, "beta", beta)
	}
	used := k - 1
	report := &clustering.EigenReport{
		Beta: &beta, FeasibleVectors: &feasible, Volume: m.FromUnit(m.volume), Eigenvalues: cuts.Values[:used],
		Residuals: cuts.Residuals[:used], Products: cuts.Products,
	}
	for _, cost := range cuts.Costs[:used] {
		report.Costs = append(report.Costs, m.FromUnit(cost))
	}
	vectors := m.kept.Expand(cuts.Vectors[:used])
	for _, v := range vectors { // u = D^-1/2 v
		for i := range v {
			v[i] *= m.roots[i]
		}
		satisfied, err := m.beliefs.satisfaction(ctx, v)
		if err != nil {
			return err
		}
		report.Satisfaction = append(report.Satisfaction, satisfied)
	}
	result.Spectral.Eigen = report
	m.warnUnconverged(cuts.Converged, report.Residuals)
	m.leastCut = cuts.Floor / m.volume
	return m.discretize(ctx, result, vectors, cuts.Costs)
}

// warnCutsByChance warns if labels hardly depend on the data. If beta demands more than any clustering can satisfy,
// cuts isolate the points with beliefs, or follow accidental patterns of the pairs. The normalized cut of random labels
// is k - 1, and no labels have a lower one than the k - 1 cheapest cuts.
func (m *method) warnCutsByChance(result *clustering.Result) {
	const share = 0.75 // of the way from the least possible cut to that of random labels
	chance := float64(m.spec.K - 1)
	sizes := make([]int, m.spec.K)
	why := ""
	for _, c := range result.Labels {
		sizes[c]++
	}
	if empty := slices.Index(sizes, 0); empty >= 0 {
		why = fmt.Sprintf("cluster %d is empty", empty)
	} else if result.Objective > m.leastCut+float64(share*(chance-m.leastCut)) {
		why = fmt.Sprintf("the labels have a normalized cut of %.3g, near that of random ones (%.3g; the data allows "+
			"%.3g at best)",
			result.Objective, chance, m.leastCut)
	} else {
		return
	}
	beta := *result.Spectral.Eigen.Beta
	smaller := -float64(m.beliefs.count()) // a negative beta is a weight: the lower it is, the more the data counts
	if beta <= smaller {
		smaller = 10 * beta
	}
	m.warn("CUTS_BY_CHANCE", fmt.Sprintf(
		"%s: at beta = %.4g the constraints decide nearly alone, and other points are split by chance. Give more "+
			"constraints, or a smaller beta, such as %.4g",
		why, beta, smaller))
}

const (
	maxExactRows = 2000 // problems of up to this size are solved for all cuts
	extraCuts    = 2    // how many more cuts than necessary larger problems are solved for

	// Every connected component has a null vector. Several dense copies of them are made, and the time grows with the
	// square of their number. Graphs of up to 10 k components, as many as can be large enough for ComponentsAuto, are
	// solved whatever their size.
	maxNullVectors = 1000
	maxNullEntries = 1 << 27 // 1 GiB
)

// discretize computes labels from the relaxed indicators.
func (m *method) discretize(ctx context.Context, result *clustering.Result, vectors [][]float64,
	costs []float64) error {
	if m.spec.K == 2 {
		result.Labels = bySign(vectors[0]) // and the embedding has the sign that it chooses
		result.Spectral.Embedding = embedding.New(vectors, false)
		return nil
	}
	result.Spectral.Embedding = embedding.New(vectors, false)
	rows := slices.Clone(result.Spectral.Embedding.Values)
	columns := len(vectors)
	for i := range rows {
		switch m.options.Discretization {
		case DiscretizeSign: // Wang2014 (15)
			rows[i] = sign(rows[i])
		case DiscretizeWeighted:
			rows[i] /= costs[i%columns]
		}
	}
	found, err := m.kept.Cluster(ctx, rows, columns, m.kmeansSpec())
	result.Labels, result.Runs = found.Labels, found.Runs
	return err
}

// bySign returns label 0 if u_i >= 0, otherwise 1. It first orients u, in place.
func bySign(u []float64) []int32 {
	eigen.Orient(u)
	labels := make([]int32, len(u))
	for i, v := range u {
		if v < 0 {
			labels[i] = 1
		}
	}
	return labels
}

func sign(v float64) float64 {
	if v < 0 {
		return -1
	}
	return 1
}

// beliefEigenvalues returns the eigenvalues of Qbar, descending: all of them, group by group, or only the largest if a
// group is too large. Points without beliefs have the eigenvalue 0.
func (m *method) beliefEigenvalues(ctx context.Context) ([]float64, error) {
	groups := m.beliefs.groups()
	believed := 0
	for at := range groups {
		groups[at] = slices.DeleteFunc(groups[at], m.kept.Left)
	}
	for _, points := range groups {
		if len(points) > maxExactRows {
			count := min(m.rows(), m.spec.K+extraCuts)
			found, err := eigen.Largest(snapshot.Within(ctx, "beliefs"), m.kept.Restrict(beliefOperator{m}), count,
				m.Source(clustering.StreamBeliefs), eigen.Options{Tolerance: 1e-6})
			return found.Values, err
		}
		believed += len(points)
	}
	var eigenvalues []float64
	for _, points := range groups {
		beliefs := eigen.NewSymmetric(len(points))
		for a, i := range points {
			for b := a; b < len(points); b++ {
				j := points[b]
				beliefs.SetSym(a, b, float64(float64(m.beliefs.entry(i, j)*m.roots[i])*m.roots[j]))
			}
		}
		found, err := eigen.DenseEigenvalues(ctx, beliefs)
		if err != nil {
			return nil, err
		}
		eigenvalues = append(eigenvalues, found...)
	}
	eigenvalues = append(eigenvalues, make([]float64, m.rows()-believed)...)
	slices.SortFunc(eigenvalues, func(a, b float64) int { return cmp.Compare(b, a) })
	return eigenvalues, nil
}

// beliefSpectrum holds the eigenvalues of Qbar, the largest first, the volume of the graph, and 1'Q1.
type beliefSpectrum struct {
	eigenvalues   []float64
	volume, total float64
}

// at returns the eigenvalue with the given place, counted from 1.
func (s *beliefSpectrum) at(place int) float64 {
	switch {
	case place < 1:
		return math.Inf(1)
	case place > len(s.eigenvalues):
		return math.Inf(-1)
	}
	return s.eigenvalues[place-1]
}

// feasible counts the vectors that are feasible with beta: in a connected graph, as many as Qbar has eigenvalues above
// beta/vol, minus one if D^1/2 1, which is not a cut, is among them.
func (s *beliefSpectrum) feasible(beta float64) int {
	above := 0
	for _, v := range s.eigenvalues {
		if v > beta/s.volume {
			above++
		}
	}
	if s.total > beta {
		above--
	}
	return above
}

// limit returns the beta just below which k - 1 vectors are feasible.
func (s *beliefSpectrum) limit(k int) float64 {
	if limit := s.at(k-1) * s.volume; limit > s.total {
		return limit
	}
	return s.at(k) * s.volume
}

// chooseBeta resolves beta and counts the vectors that are feasible with it.
func (m *method) chooseBeta(ctx context.Context, eigenvalues []float64) (beta float64, feasible int, err error) {
	k, s := m.spec.K, &beliefSpectrum{eigenvalues, m.volume, m.beliefs.sum()}
	if !m.kept.All() { // 1'Q1 of the included rows
		ones := m.kept.Expand([][]float64{clustering.Ones(m.rows())})
		if s.total, err = m.beliefs.satisfaction(ctx, ones[0]); err != nil {
			return 0, 0, err
		}
	}
	beta = m.betaOf(s)
	if math.IsNaN(beta) || math.IsInf(beta, 0) {
		return 0, 0, invalid.New(invalid.TooFewBeliefs, "k", k)
	}
	feasible = s.feasible(beta)
	if feasible < k-1 {
		return 0, 0, s.infeasible(k, beta, max(0, feasible))
	}
	return beta, feasible, nil
}

// infeasible returns the error of a beta with too few feasible vectors for k clusters.
func (s *beliefSpectrum) infeasible(k int, beta float64, feasible int) error {
	limit := s.limit(k)
	switch {
	case !(limit > 0):
		return invalid.New(invalid.NoBeta, "beta", beta, "feasible", feasible, "k", k, "needed", k-1,
			"largest_beta", limit)
	case beta < s.total && limit > s.total: // the whole graph, which is not a cut, is one of the feasible vectors
		return invalid.New(invalid.BetaOutside, "beta", beta, "feasible", feasible, "k", k, "needed", k-1,
			"least_beta", s.total, "largest_beta", limit)
	}
	return invalid.New(invalid.BetaTooLarge, "beta", beta, "feasible", feasible, "k", k, "needed", k-1,
		"largest_beta", limit)
}

// betaOf returns the beta of the rule.
func (m *method) betaOf(s *beliefSpectrum) float64 {
	k := m.spec.K
	switch {
	case m.options.BetaRule == BetaGiven:
		return m.options.Beta
	case m.options.BetaRule == BetaStrict:
		upper := s.at(k - 1)
		lower := s.at(k)
		if s.total > (upper+lower)/2*s.volume {
			upper = s.at(k)
			lower = s.at(k + 1)
		}
		return (upper + lower) / 2 * s.volume
	case m.options.Transfer: // so that k are above it: the largest belongs to the whole graph, which is not a cut
		return (s.at(k) + s.at(k+1)) / 2 * s.volume
	case k == 2: // Wang2014 (19)
		return float64(s.at(1)*s.volume) * (0.5 + float64(0.4*float64(m.beliefs.count())/(float64(m.n)*float64(m.n))))
	}
	if beta := 0.25 * s.at(k-1) * s.volume; s.feasible(beta) >= k-1 {
		return beta
	}
	return 0.25 * s.limit(k)
}
