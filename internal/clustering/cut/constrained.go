package cut

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/spectral"
)

// beliefOperator is Qbar = D^-1/2 Q D^-1/2.
type beliefOperator struct{ *method }

func (b beliefOperator) Rows() int { return b.n }

func (b beliefOperator) Multiply(_ context.Context, columns [][]float64) ([][]float64, error) {
	products := make([][]float64, len(columns))
	for v := range columns {
		products[v] = make([]float64, b.n)
	}
	b.beliefs.multiply(products, columns, b.roots)
	return products, nil
}

// constrained is constrained spectral clustering (Wang2014): the cheapest cuts among those that satisfy
// the constraints to at least beta,
//
//	min v' Lbar v  with  v' Qbar v >= beta,  v'v = vol,  v != D^1/2 1        Wang2014 (6)
func (r *method) constrained(ctx context.Context, result *clustering.Result) error {
	eigenvalues, err := r.beliefEigenvalues(ctx)
	if err != nil {
		return err
	}
	beta, feasible, err := r.chooseBeta(eigenvalues)
	if err != nil {
		return err
	}
	k := r.spec.K
	// The cheapest cuts need not have the least lambda: a small problem is solved for all of them.
	count := feasible
	if r.n > exactSpectral {
		count = min(feasible, k-1+furtherCuts)
	}
	cuts, err := spectral.Constrained(ctx, spectral.Problem{
		Affinity: r.affinity(), Beliefs: beliefOperator{r}, Ratio: beta / r.volume, Volume: r.volume, Null: r.nullVectors(),
	}, spectral.Wanted{Cuts: k - 1, Among: count}, r.Random(clustering.StreamEigen), r.solverOptions())
	if err != nil {
		return err
	}
	if len(cuts.Values) < k-1 {
		remedy := "give a smaller beta"
		if _, count := r.components(); count > 1 {
			remedy = fmt.Sprintf("the graph has %d connected components, and cuts between them, which cost nothing, do not count: --components join connects them", count)
		}
		return fault.Invalid("TOO_FEW_CUTS", "only %d of the %d cuts that %d clusters need were found at beta = %.6g; %s",
			len(cuts.Values), k-1, k, beta, remedy)
	}
	used := k - 1
	report := &clustering.EigenReport{
		Beta: &beta, FeasibleVectors: &feasible, Volume: r.volume, Eigenvalues: cuts.Values[:used], Costs: cuts.Costs[:used],
		Residuals: cuts.Residuals[:used], Products: cuts.Products,
	}
	vectors := cuts.Vectors[:used]
	for _, v := range vectors { // u = D^-1/2 v
		for i := range v {
			v[i] *= r.roots[i]
		}
		report.Satisfaction = append(report.Satisfaction, satisfaction(r.beliefs, v))
	}
	result.Eigen = report
	r.warnUnconverged(cuts.Converged, report.Residuals)
	r.floor = cuts.Floor / r.volume
	return r.discretize(ctx, result, vectors, report.Costs)
}

// warnOfChance says that the data have no say in labels: cuts gather on the points with beliefs, or follow the
// chance that pairs were drawn by, where beta asks for more than a clustering can satisfy. The normalized cut
// of random labels is k - 1, and no labels have less than the k - 1 cheapest cuts cost.
func (r *method) warnCutsByChance(result *clustering.Result) {
	const share = 0.75 // of the way from the least to chance
	chance := float64(r.spec.K - 1)
	why := ""
	sizes := make([]int, r.spec.K)
	for _, c := range result.Labels {
		sizes[c]++
	}
	if empty := slices.Index(sizes, 0); empty >= 0 {
		why = fmt.Sprintf("cluster %d is empty", empty)
	} else if result.Objective > r.floor+float64(share*(chance-r.floor)) {
		why = fmt.Sprintf("the labels have a normalized cut of %.3g, near that of random ones (%.3g; the data allow %.3g at best)",
			result.Objective, chance, r.floor)
	} else {
		return
	}
	beta := *result.Eigen.Beta
	smaller := -float64(r.beliefs.count()) // below 0 beta is a weight: the less, the more the data count
	if beta <= smaller {
		smaller = 10 * beta
	}
	r.family.Warn(r.o, "CUTS_BY_CHANCE", fmt.Sprintf(
		"%s: at beta = %.4g the constraints decide nearly alone, and other points are split by chance. Give more constraints, or a smaller beta, such as %.4g",
		why, beta, smaller))
}

const (
	exactSpectral = 2000 // problems up to here are solved for all cuts
	furtherCuts   = 2    // that larger ones are solved for, beside the ones they need
)

// discretize makes labels of the relaxed indicators.
func (r *method) discretize(ctx context.Context, result *clustering.Result, vectors [][]float64, costs []float64) error {
	if r.spec.K == 2 {
		result.Labels = bySign(vectors[0]) // which also turns it
		result.Embedding = embedding.New(vectors, false)
		return nil
	}
	result.Embedding = embedding.New(vectors, false)
	rows, columns := slices.Clone(result.Embedding.Values), len(vectors)
	for at := range rows {
		switch r.options.Discretization {
		case DiscretizeSign: // Wang2014 (15)
			rows[at] = sign(rows[at])
		case DiscretizeWeighted:
			rows[at] /= costs[at%columns]
		}
	}
	labels, err := embedding.Cluster(ctx, rows, columns, r.rowsSpec())
	result.Labels = labels
	return err
}

// bySign is label 0 where u_i >= 0 and 1 where it is below, with u turned so that its entry of largest
// magnitude, the first of equals, is positive.
func bySign(u []float64) []int32 {
	largest := 0.0
	for _, v := range u {
		if math.Abs(v) > math.Abs(largest) {
			largest = v
		}
	}
	if largest < 0 {
		for i := range u {
			u[i] = -u[i]
		}
	}
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

// beliefEigenvalues are those of Qbar, descending: all of them, group by group, or, where a group of points is
// large, the largest. Points without beliefs have the eigenvalue 0.
func (r *method) beliefEigenvalues(ctx context.Context) ([]float64, error) {
	groups, believed := r.beliefs.groups(), 0
	for _, points := range groups {
		if len(points) > exactSpectral {
			found, err := spectral.Largest(ctx, beliefOperator{r}, min(r.n, r.spec.K+furtherCuts), r.Random(clustering.StreamBeliefs), spectral.Options{Tolerance: 1e-6})
			return found.Values, err
		}
		believed += len(points)
	}
	var eigenvalues []float64
	for _, points := range groups {
		size := len(points)
		values := make([]float64, size*size)
		for a, i := range points {
			for b, j := range points {
				values[a*size+b] = float64(float64(r.beliefs.entry(i, j)*r.roots[i]) * r.roots[j])
			}
		}
		eigenvalues = append(eigenvalues, spectral.Values(size, values)...)
	}
	eigenvalues = append(eigenvalues, make([]float64, r.n-believed)...)
	slices.SortFunc(eigenvalues, func(a, b float64) int { return cmp.Compare(b, a) })
	return eigenvalues, nil
}

// chooseBeta resolves beta and tells how many vectors are feasible with it: for a connected graph, the
// eigenvalues of Qbar above beta/vol, less one if D^1/2 1, which is no cut, is among them.
func (r *method) chooseBeta(eigenvalues []float64) (beta float64, feasible int, err error) {
	k, total := r.spec.K, r.beliefs.sum()
	at := func(place int) float64 { // the place-th largest eigenvalue, from 1 on
		if place > len(eigenvalues) {
			return math.Inf(-1)
		}
		return eigenvalues[place-1]
	}
	count := func(beta float64) int {
		above := 0
		for _, v := range eigenvalues {
			if v > beta/r.volume {
				above++
			}
		}
		if total > beta {
			above--
		}
		return above
	}
	// The largest beta at which k - 1 vectors are feasible: just below this.
	limit := at(k-1) * r.volume
	if !(limit > total) {
		limit = at(k) * r.volume
	}
	switch {
	case r.options.BetaRule == BetaGiven:
		beta = r.options.Beta
	case r.options.BetaRule == BetaStrict:
		upper, lower := at(k-1), at(k)
		if total > (upper+lower)/2*r.volume {
			upper, lower = at(k), at(k+1)
		}
		beta = (upper + lower) / 2 * r.volume
	case r.options.Transfer: // below the k-th largest eigenvalue: the largest is that of the whole graph
		beta = (at(k) + at(k+1)) / 2 * r.volume
	case k == 2: // Wang2014 (19)
		beta = float64(at(1)*r.volume) * (0.5 + float64(0.4*float64(r.beliefs.count())/(float64(r.n)*float64(r.n))))
	default:
		if beta = 0.25 * at(k-1) * r.volume; count(beta) < k-1 {
			beta = 0.25 * limit
		}
	}
	const field = "spec.constrained_spectral.beta"
	if math.IsNaN(beta) || math.IsInf(beta, 0) {
		return 0, 0, fault.Invalid("INFEASIBLE_BETA", "there are too few beliefs for %d clusters: the matrix of beliefs has too few positive eigenvalues", k).OnField(field)
	}
	if feasible = count(beta); feasible < k-1 {
		usable := fmt.Sprintf("the largest usable beta is just below %.6g", limit)
		switch {
		case !(limit > 0):
			usable = fmt.Sprintf("no beta above 0 does: there are too few beliefs for so many clusters, or they say apart more than together (largest usable beta %.6g)", limit)
		case beta < total && limit > total: // where the whole graph, which is no cut, satisfies more
			usable = fmt.Sprintf("a beta from %.6g to just below %.6g would do", total, limit)
		}
		f := fault.Invalid("INFEASIBLE_BETA", "beta = %.6g leaves %d feasible vectors, and %d clusters need %d; %s",
			beta, max(0, feasible), k, k-1, usable).With("largest_beta", fmt.Sprint(limit)).OnField(field)
		return 0, 0, f
	}
	return beta, feasible, nil
}
