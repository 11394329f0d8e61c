package eigen

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// CutProblem is the generalized eigenvalue problem Wang2014 (13): Lbar v = lambda B v with Lbar = I - Affinity and
// B = Beliefs - Ratio I.
type CutProblem struct {
	Affinity Operator    // D^-1/2 A D^-1/2
	Beliefs  Operator    // Qbar = D^-1/2 Q D^-1/2
	Ratio    float64     // beta / vol
	Volume   float64     // vol, the sum of A
	Null     [][]float64 // the null space of Lbar: D^1/2 1 on each connected component, 0 elsewhere
}

// Cuts holds feasible solutions of a CutProblem, sorted by Costs.
type Cuts struct {
	Values    []float64   // lambda, finite and above 1e-8
	Vectors   [][]float64 // v with v'v = vol, and with a positive entry of largest magnitude
	Costs     []float64   // v' Lbar v
	Residuals []float64   // |Lbar v - lambda B v| / |v|
	Floor     float64     // approximate total cost of the wanted number of cheapest cuts, feasible or not
	Work
	Converged bool
}

const (
	minLambda    = 1e-8  // below it are trivial solutions, as in Wang2014's algorithm
	denseRows    = 2000  // problems of up to this many rows are solved from all their entries
	negligibleMu = 1e-11 // relative to the largest |mu|: smaller eigenvalues are 0 except for rounding
)

// Wanted selects feasible solutions: the Cuts cheapest ones of the Among with the least lambda. Solutions with a small
// lambda are not always cheap.
type Wanted struct {
	Cuts  int
	Among int
}

// Constrained returns feasible solutions in order of cost, fewer than wanted if no more are feasible. To find the
// cheapest of all, Among must be at least the number of feasible ones. Small problems are solved exactly, large ones by
// the search that Largest uses, where the tolerance applies to Residuals.
func Constrained(ctx context.Context, p CutProblem, wanted Wanted, source *rand.PCG, options Options) (Cuts, error) {
	n := p.Affinity.Rows()
	switch {
	case p.Beliefs.Rows() != n:
		return Cuts{}, fmt.Errorf("%w: the belief matrix has %d rows, the graph %d", errProblem, p.Beliefs.Rows(), n)
	case wanted.Cuts < 1 || wanted.Cuts > wanted.Among || wanted.Among > n:
		return Cuts{}, fmt.Errorf("%w: %d cuts among %d candidates in a graph of %d vertices", errCount, wanted.Cuts,
			wanted.Among, n)
	case math.IsNaN(p.Ratio) || math.IsInf(p.Ratio, 0) || !(p.Volume > 0) || math.IsInf(p.Volume, 0):
		return Cuts{}, fmt.Errorf("%w: beta is %g times the volume %g", errProblem, p.Ratio, p.Volume)
	case len(p.Null) == 0 || len(p.Null) > n:
		return Cuts{}, fmt.Errorf("%w: %d were given for a graph of %d vertices", errNullVectors, len(p.Null), n)
	}
	return p.solve(ctx, wanted, source, options, n <= denseRows)
}

// solve reduces the problem and solves it. If clusters are hardly connected, such as distant clusters under a Gaussian
// kernel, Lbar maps further vectors nearly to 0. Their tiny lambdas are not solutions and would ruin the precision of
// all others, so solve adds these vectors to the null vectors.
func (p CutProblem) solve(ctx context.Context, wanted Wanted, source *rand.PCG, options Options,
	exact bool) (Cuts, error) {
	var work Work
	for round := 0; ; round++ {
		ctx := snapshot.Within(ctx, fmt.Sprint("reduction ", round))
		r, err := reduce(ctx, p, &work)
		if err != nil {
			return Cuts{}, err
		}
		if p.Affinity.Rows() == len(r.excluded) {
			return Cuts{Work: work, Converged: true}, nil
		}
		var found Cuts
		var nearlyNull [][]float64
		if exact {
			found, nearlyNull, err = r.solveFromEntries(ctx, wanted, source, &work)
		} else {
			found, nearlyNull, err = r.solveIteratively(ctx, wanted, source, options, &work)
		}
		if err != nil || len(nearlyNull) == 0 {
			return found.cheapest(wanted.Cuts, work), err
		}
		p.Null = append(slices.Clone(p.Null), nearlyNull...)
	}
}

// cheapest returns the first count cuts.
func (c Cuts) cheapest(count int, work Work) Cuts {
	count = min(count, len(c.Values))
	return Cuts{c.Values[:count], c.Vectors[:count], c.Costs[:count], c.Residuals[:count], c.Floor, work, c.Converged}
}

// cuts turns solutions of B_S w = mu Lbar w into solutions of the problem, and computes their costs and residuals.
func (r *reduction) cuts(ctx context.Context, mu []float64, w [][]float64, work *Work) (Cuts, error) {
	n := r.Affinity.Rows()
	if len(w) == 0 {
		return Cuts{}, nil
	}
	lw, bw, err := r.both(ctx, work, w)
	if err != nil {
		return Cuts{}, err
	}
	v := r.lift(mu, w, lw, bw)
	for _, x := range v {
		normalize(x)
		Orient(x)
	}
	lv, bv, err := r.both(ctx, work, v)
	if err != nil {
		return Cuts{}, err
	}
	var all Cuts
	for j, x := range v {
		lambda := 1 / mu[j]
		all.Costs = append(all.Costs, float64(r.Volume*dot(x, lv[j])))
		all.Values = append(all.Values, lambda)
		subtractMultiple(lv[j], bv[j], lambda)
		all.Residuals = append(all.Residuals, length(lv[j]))
		for i := range n {
			x[i] *= math.Sqrt(r.Volume)
		}
	}
	order := byValue(all.Costs)
	return Cuts{
		Values: choose.At(all.Values, order), Vectors: choose.At(v, order),
		Costs: choose.At(all.Costs, order), Residuals: choose.At(all.Residuals, order),
	}, nil
}

// byValue returns the indices of values, the least value first, and equal ones in order.
func byValue(values []float64) []int {
	order := choose.All[int](len(values))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	return order
}

// solveFromEntries solves the reduced problem from the entries of both matrices.
func (r *reduction) solveFromEntries(ctx context.Context, wanted Wanted, source *rand.PCG,
	work *Work) (found Cuts, nearlyNull [][]float64, err error) {
	n := r.Affinity.Rows()
	laplacian := make([][]float64, 0, n)
	beliefs := make([][]float64, 0, n)
	for from := 0; from < n; from += unitsPerCall {
		l, b, err := r.products(ctx, work, unitVectors(n, from))
		if err != nil {
			return Cuts{}, nil, err
		}
		laplacian = append(laplacian, l...)
		beliefs = append(beliefs, b...)
	}
	// On the excluded vectors the pencil is (0, I), so they appear with mu = 0.
	laplacian = r.within(laplacian)
	beliefs = r.within(beliefs)
	for _, z := range r.excluded {
		for i, x := range z {
			subtractMultiple(laplacian[i], z, -x)
		}
	}
	var least float64
	form := symmetricOf(laplacian)
	mu, solutions, err := generalized(ctx, symmetricOf(beliefs), form, func(mu []float64) int {
		least = float64(negligibleMu * max(math.Abs(mu[0]), math.Abs(mu[n-1])))
		return sort.Search(n, func(i int) bool { return mu[i] <= least })
	})
	if err != nil {
		return Cuts{}, nil, err
	}
	if max(math.Abs(mu[0]), math.Abs(mu[n-1])) >= 1/minLambda {
		values, vectors, err := LeadingEigenpairs(ctx, form, all)
		if err != nil {
			return Cuts{}, nil, err
		}
		if near := slices.IndexFunc(values, func(v float64) bool { return v < minLambda }); near >= 0 {
			return Cuts{}, columnsOf(vectors, near, n), nil
		}
	}
	var values []float64
	var vectors [][]float64
	for j, x := range ColumnsOf(solutions) { // only those with mu above least
		if mu[j] < 1/minLambda && len(values) < wanted.Among {
			normalize(x)
			values = append(values, mu[j])
			vectors = append(vectors, x)
		}
	}
	project(n, vectors, r.excluded)
	found, err = r.cuts(ctx, values, vectors, work)
	if err != nil {
		return Cuts{}, nil, err
	}
	found.Converged = true
	lowest, err := r.lowest(ctx, wanted.Cuts, source, Options{Tolerance: 1e-2, MaxProducts: 20 * (wanted.Cuts + 2)},
		work)
	found.Floor = r.costFloor(wanted.Cuts, lowest)
	return found, nil, err
}

// within computes P M P, where P projects to the complement of the excluded vectors.
func (r *reduction) within(m [][]float64) [][]float64 {
	n := len(m)
	project(n, m, r.excluded)
	m = transposed(m, n)
	project(n, m, r.excluded)
	return m
}

// solveIteratively searches for the largest mu. It first finds the lowest eigenvectors of Lbar, from which it makes
// a surrogate for Lbar; the start and the corrections of the search come from the surrogate.
func (r *reduction) solveIteratively(
	ctx context.Context, wanted Wanted, source *rand.PCG, options Options, work *Work,
) (found Cuts, nearlyNull [][]float64, err error) {
	const (
		roughly = 1e-3 // residuals that are good enough for a surrogate
		rounds  = 12   // of products for it: eigenvectors beyond the graph's clusters are hard to find, and useless
	)
	n := r.Affinity.Rows()
	count := min(wanted.Among, n-len(r.excluded))
	options = options.withDefaults()
	before := func(p Progress) { // reports a search that comes before the main one
		p.Rounds += work.Rounds
		p.Products += work.Products
		options.Observe(p)
	}
	lowest, err := r.lowest(snapshot.Within(ctx, "lowest"), count+2, source, Options{
		Tolerance: roughly, MaxProducts: min(options.MaxProducts, rounds*(count+2)), Observe: before,
	}, work)
	if err != nil {
		return Cuts{}, nil, err
	}
	if 1-lowest.Values[0] < roughly*roughly {
		nearlyNull, err = r.nearlyNull(ctx, count+2, source, Options{MaxProducts: options.MaxProducts, Observe: before},
			work)
		if err != nil || len(nearlyNull) > 0 {
			return Cuts{}, nearlyNull, err
		}
	}
	approximation := &surrogate{r, lowest}
	start, err := approximation.startVectors(ctx, count, source, before)
	if err != nil {
		return Cuts{}, nil, err
	}
	p := r.pencil()
	p.correct = approximation.correct
	p.mayBeRough = func(mu []float64, x [][]float64, forms []float64) []bool {
		return r.notCheapest(wanted.Cuts, mu, x, forms)
	}
	s := newSearch(p, count, options, source)
	s.work = *work
	recorded := newRecorder(snapshot.Open(ctx, "search"), source, options.Observe)
	err = recorded.run(ctx, s, func() error {
		s.candidates = start
		return nil
	})
	if err != nil {
		return Cuts{}, nil, err
	}
	*work = s.work
	var values []float64
	var vectors [][]float64
	for j, w := range s.vectors() {
		if mu := s.values[j]; mu > 0 && mu < 1/minLambda {
			values = append(values, mu)
			vectors = append(vectors, w)
		}
	}
	found, err = r.cuts(ctx, values, vectors, work)
	found.Converged = s.converged == count
	found.Floor = r.costFloor(wanted.Cuts, lowest)
	return found, nil, err
}

// nearlyNull returns those of the lowest eigenvectors of Lbar whose eigenvalues are as good as 0.
func (r *reduction) nearlyNull(ctx context.Context, count int, source *rand.PCG, options Options,
	work *Work) (null [][]float64, err error) {
	options.Tolerance = minLambda / 10
	sharp, err := r.lowest(snapshot.Within(ctx, "sharp"), count, source, options, work)
	for j, v := range sharp.Vectors {
		if 1-sharp.Values[j] < minLambda && sharp.Residuals[j] < minLambda {
			null = append(null, v)
		}
	}
	return null, err
}

// pencil returns the problem B_S w = mu Lbar w.
func (r *reduction) pencil() *pencil {
	return &pencil{
		rows: r.Affinity.Rows(), excluded: r.excluded,
		products: func(ctx context.Context, w *Work, x [][]float64) (ax, bx [][]float64, err error) {
			bx, ax, err = r.products(ctx, w, x)
			return ax, bx, err
		},
		assess: func(mu, residual float64) float64 {
			// The residual of the problem is lambda times this one. Once a value is certainly negative, its pair counts
			// as converged: its vector is not feasible, so it is not used.
			const surely = 1e-4
			if mu < 0 && residual < -float64(surely*mu) {
				return 0
			}
			return residual / math.Abs(mu)
		},
	}
}

// notCheapest marks the pairs that are not among the cheapest few, by the costs w'Lbar w / v'v of v = w + Z c,
// where forms are w'Lbar w and w has length 1.
func (r *reduction) notCheapest(few int, mu []float64, w [][]float64, forms []float64) []bool {
	costs := make([]float64, len(mu))
	shares := r.shares(w)
	for j := range mu {
		square := 1.0
		for i := range r.null {
			square += float64(shares.At(i, j) * shares.At(i, j))
		}
		costs[j] = forms[j] / square
		if mu[j] <= 0 {
			costs[j] = math.Inf(1)
		}
	}
	others := make([]bool, len(mu))
	for _, j := range byValue(costs)[min(few, len(costs)):] {
		others[j] = true
	}
	return others
}

// costFloor returns the total cost of the cheapest cuts. Cuts between connected components cost nothing.
func (r *reduction) costFloor(cuts int, lowest Eigenpairs) float64 {
	total := 0.0
	for _, value := range lowest.Values[:max(0, min(cuts-len(r.null)+1, len(lowest.Values)))] {
		total += 1 - value
	}
	return float64(r.Volume * total)
}

// lowest finds the lowest eigenvectors of Lbar besides its null vectors. They are the largest of the affinity.
func (r *reduction) lowest(ctx context.Context, count int, source *rand.PCG, options Options,
	work *Work) (Eigenpairs, error) {
	found, err := largest(ctx, r.Affinity, r.null, min(count, r.Affinity.Rows()-len(r.null)), source, options)
	work.Rounds += found.Rounds
	work.Products += found.Products
	return found, err
}
