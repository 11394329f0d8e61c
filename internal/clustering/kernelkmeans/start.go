package kernelkmeans

import (
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/component"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/multilevel"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/parallel"
)

// start computes the first labels; some clusters may be empty.
func (m *method) start(ctx context.Context) error {
	var labels []int32
	var err error
	switch m.p.plan.Starts[m.restart] {
	case clustering.StartLabels:
		return m.load(m.p.spec.Initialization.Labels)
	case clustering.StartRandom:
		rng := m.p.Random(uint64(m.restart))
		labels = make([]int32, m.p.n)
		for i := range labels {
			labels[i] = int32(rng.IntN(m.p.spec.K))
		}
		return m.load(labels)
	case clustering.StartSeeds:
		labels = clustering.Unassigned(m.p.n)
		for _, s := range m.p.spec.Supervision.Seeds {
			labels[s.Index] = s.Label
		}
	case clustering.StartSpectral:
		labels, err = m.spectralStart(ctx)
	case clustering.StartMultilevel:
		labels, err = m.multilevelStart(ctx)
	case clustering.StartFarthestFirst:
		labels, err = m.farthestFirst()
	default:
		labels, err = m.kmeansPlusPlus()
	}
	if err != nil {
		return err
	}
	return m.joinNearest(labels)
}

// joinNearest assigns every point without a label to the nearest cluster, by the distances d_ic to the labeled points.
// If no point has a label, all begin in the first cluster.
func (m *method) joinNearest(labels []int32) error {
	labels = m.matrix.unlabeled(labels)
	if len(labels) > 0 && slices.Max(labels) < 0 {
		return m.load(make([]int32, m.p.n))
	}
	if err := m.load(labels); err != nil {
		return err
	}
	moves, err := m.x.Assign(m.stats())
	if err != nil {
		return err
	}
	joining := moves[:0]
	for _, move := range moves {
		if move.From < 0 && !m.matrix.isIsolated(int(move.Point)) {
			joining = append(joining, move)
		}
	}
	return m.apply(joining)
}

// kmeansPlusPlus draws k points in kernel space: the first with probability proportional to a_i, each further one to
// a_i times its squared distance to the nearest point drawn before, d(p,q) = K_pp + K_qq - 2 K_pq with K = M / (a a').
func (m *method) kmeansPlusPlus() ([]int32, error) {
	n := m.p.n
	rng := m.p.Random(uint64(m.restart))
	labels := clustering.Unassigned(n)
	chance := append([]float64(nil), m.matrix.weights...) // what the next draw is proportional to
	nearest := make([]float64, n)
	for c := range min(m.p.spec.K, m.matrix.active) {
		q := clustering.Draw(rng.Float64(), chance)
		if q < 0 { // only copies of chosen points are left: take the first that is not chosen
			for q = 0; labels[q] >= 0 || m.matrix.isIsolated(q); q++ {
			}
		}
		labels[q] = int32(c)
		column, err := m.x.ColumnSum([]int32{int32(q)})
		if err != nil {
			return nil, err
		}
		for i := range n {
			d := max(0, m.pairDistance(i, q, column[i]))
			if c == 0 || d < nearest[i] {
				nearest[i] = d
			}
			chance[i] = float64(m.matrix.weights[i] * nearest[i])
			if labels[i] >= 0 || m.matrix.isIsolated(i) {
				chance[i] = 0
			}
		}
	}
	return labels, nil
}

// pairDistance returns d(p,q) in kernel space, given M_pq.
func (m *method) pairDistance(p, q int, affinity float64) float64 {
	ap, aq := m.matrix.weights[p], m.matrix.weights[q]
	return m.matrix.diagonal[p]/float64(ap*ap) + m.matrix.diagonal[q]/float64(aq*aq) - 2*affinity/float64(ap*aq)
}

// farthestFirst implements Kulis2009 Algorithm 3: k must-link components become the first clusters, the largest first,
// then always the one farthest from all chosen ones by the total distance
//
//	sum over p in candidate, q chosen of a_p a_q d(p,q)
//	= s_chosen sum_p M_pp/a_p + s_candidate sum_q M_qq/a_q - 2 sum_p sum_q M_pq.
//
// It prefers candidates that are cannot-linked to every chosen component. Ties go to the lowest index.
func (m *method) farthestFirst() ([]int32, error) {
	labels := clustering.Unassigned(m.p.n)
	candidates := m.candidates()
	chosen := &chosenSet{affinity: make([]float64, m.p.n)}
	taken := make([]bool, len(candidates))
	for len(chosen.components) < m.p.spec.K {
		best, bestApart, bestScore := -1, false, 0.0
		for i, candidate := range candidates {
			if taken[i] {
				continue
			}
			score, apart := m.scoreCandidate(chosen, candidate)
			if best < 0 || (apart && !bestApart) || (apart == bestApart && score > bestScore) {
				best, bestApart, bestScore = i, apart, score
			}
		}
		if best < 0 {
			break // fewer components than clusters: the rest start empty
		}
		taken[best] = true
		members := m.matrix.constraints.Components().Members(candidates[best])
		for _, p := range members {
			labels[p] = int32(len(chosen.components))
			chosen.weight += m.matrix.weights[p]
			chosen.diagonal += m.matrix.diagonal[p] / m.matrix.weights[p]
		}
		chosen.points += len(members)
		chosen.components = append(chosen.components, candidates[best])
		if len(chosen.components) == m.p.spec.K {
			break
		}
		sums, err := m.x.ColumnSum(members)
		if err != nil {
			return nil, err
		}
		for i, v := range sums {
			chosen.affinity[i] += v
		}
	}
	return labels, nil
}

// chosenSet holds the components that farthestFirst has chosen, and sums over their points.
type chosenSet struct {
	components       []int32
	weight, diagonal float64 // sums of a_q and of M_qq/a_q
	points           int
	affinity         []float64 // of each point of the data to all chosen points
}

// scoreCandidate returns the distance of a component from all chosen ones, or its size if there are none, and whether
// it is cannot-linked to each of them.
func (m *method) scoreCandidate(chosen *chosenSet, candidate int32) (score float64, apart bool) {
	members := m.matrix.constraints.Components().Members(candidate)
	if len(chosen.components) == 0 {
		return float64(len(members)), false
	}
	weight, diagonal, cross := 0.0, 0.0, 0.0
	for _, p := range members {
		weight += m.matrix.weights[p]
		diagonal += m.matrix.diagonal[p] / m.matrix.weights[p]
		cross += chosen.affinity[p]
	}
	score = float64(chosen.weight*diagonal) + float64(weight*chosen.diagonal) - 2*cross
	if m.p.spec.Initialization.FarthestMean {
		score /= float64(len(members) * chosen.points)
	}
	return score, !slices.ContainsFunc(chosen.components, func(other int32) bool {
		return !m.matrix.constraints.Apart(candidate, other)
	})
}

// candidates returns the components of at least two points if there are k of them, otherwise all components.
func (m *method) candidates() []int32 {
	components := m.matrix.constraints.Components()
	var all, joined []int32
	for c := range int32(components.Count()) {
		if m.matrix.isIsolated(int(components.Members(c)[0])) {
			continue
		}
		all = append(all, c)
		if len(components.Members(c)) >= 2 {
			joined = append(joined, c)
		}
	}
	if len(joined) >= m.p.spec.K {
		return joined
	}
	return all
}

// startTolerance is the tolerance of residuals if eigenvectors are only a start.
const startTolerance = 1e-5

// spectralStart computes the first labels by k-means on the k leading eigenvectors of diag(a)^-1/2 M diag(a)^-1/2, the
// relaxation of the objective (Kulis2009 4.3). Small pieces of a graph, each of which would have its own eigenvector,
// are left out and get no label yet.
func (m *method) spectralStart(ctx context.Context) ([]int32, error) {
	factors := make([]float64, m.p.n)
	for i, a := range m.matrix.weights {
		if a > 0 { // else the point is isolated
			factors[i] = 1 / math.Sqrt(a)
		}
	}
	kept := m.largePieces()
	k := min(m.p.spec.K, kept.Size(m.p.n))
	if k == 0 {
		return clustering.Unassigned(m.p.n), nil
	}
	options := embedding.NewReporter(m.o).SolverOptions(startTolerance)
	pairs, err := eigen.Largest(ctx, kept.Restrict(embedding.NewScaled(m.setup.server.x.Matrix(), factors)), k,
		m.p.Source(clustering.StreamEigen), options)
	if err != nil {
		return nil, err
	}
	e := embedding.New(kept.Expand(pairs.Vectors), m.p.Objective == ObjectiveNormalizedCut)
	found, err := kept.Cluster(ctx, e.Values, e.Columns, clustering.Spec{K: k, Seed: m.p.spec.Seed})
	return found.Labels, err
}

// largePieces returns all points except isolated ones and those in small pieces of the graph.
func (m *method) largePieces() embedding.Subset {
	left := make([]bool, m.p.n)
	copy(left, m.matrix.isolated)
	if m.p.graph != nil {
		pieces := m.p.Pieces(m.matrix.constraints.Components())
		keep := pieces.Included(m.p.spec.K)
		for i, c := range pieces.Piece {
			left[i] = left[i] || !keep[c]
		}
	}
	return embedding.NewSubset(left)
}

// VectorsPerProduct returns how many vectors the matrix is multiplied with at a time.
func (p *Problem) VectorsPerProduct() int {
	if p.StartsSpectral() {
		return embedding.ProductsAtOnce
	}
	return 1
}

// multilevelStart computes the first labels from the graph, which the coordinator has in any case. Small pieces, which
// would be clusters at no cost, are left out and then join the others.
func (m *method) multilevelStart(ctx context.Context) ([]int32, error) {
	large := m.largePieces()
	keep := make([]bool, m.p.n)
	for i := range keep {
		keep[i] = !large.Left(int32(i))
	}
	labels := clustering.Unassigned(m.p.n)
	k := min(m.p.spec.K, large.Size(m.p.n))
	if k == 0 {
		return labels, nil
	}
	g, rows := m.multilevelGraph(keep).Build()
	options := multilevel.Options{K: k, Threads: parallel.Threads(ctx), Level: func(l multilevel.Level) {
		m.o.Observe(clustering.LevelStarted(l))
	}}
	if components := m.matrix.constraints.Components(); components.Count() < m.p.n {
		options.Together, options.Groups = choose.Numbers(rows, m.p.n, components.Of)
	}
	found, err := multilevel.Cluster(ctx, g, options, *m.p.Source(uint64(m.restart)))
	if err != nil {
		return nil, err
	}
	if rows == nil {
		return found.Labels, nil
	}
	for at, i := range rows {
		labels[i] = found.Labels[at]
	}
	component.Attach(labels, m.p.spec.K, m.p.graph, m.matrix.constraints)
	return labels, nil
}

// multilevelGraph returns M with its weights.
func (m *method) multilevelGraph(keep []bool) multilevel.Matrix {
	matrix := multilevel.Matrix{Graph: m.p.graph, Scale: m.p.Matrix.Scale, Keep: keep, Diagonal: m.matrix.diagonal,
		Mass: m.matrix.rowWeights()}
	for _, pair := range m.matrix.constraints.Pairs() {
		matrix.Entries = append(matrix.Entries, dataset.Edge{Source: pair.I, Target: pair.J,
			Weight: signedWeight(pair)})
		if pair.Kind == constraint.CannotLink {
			matrix.Apart = append(matrix.Apart, [2]int32{pair.I, pair.J})
		}
	}
	if m.p.Objective == ObjectiveRatioCut {
		// The associations of A - D are negative. Adding the mean degree to the diagonal makes them positive and does
		// not change the differences between labelings.
		mean := 0.0
		for _, d := range m.matrix.diagonal {
			mean -= d / float64(m.p.n)
		}
		matrix.Diagonal = slices.Clone(m.matrix.diagonal)
		for i := range matrix.Diagonal {
			matrix.Diagonal[i] += mean
		}
	}
	return matrix
}

// unite moves all points of a must-link component to the cluster that most of them are in, the first of equals. Two
// linked points in different clusters would attract each other and, moving simultaneously, only swap places.
func (m *method) unite() error {
	if !m.p.startOpen() || m.p.Constraints.Len() == 0 {
		return nil
	}
	components := m.matrix.constraints.Components() // in which isolated points are alone
	var moves []labeling.Move
	counts := make([]int, m.p.spec.K)
	for component := range int32(components.Count()) {
		members := components.Members(component)
		if len(members) < 2 {
			continue
		}
		clear(counts)
		most := m.now.labels[members[0]]
		for _, i := range members {
			counts[m.now.labels[i]]++
		}
		for c, count := range counts {
			if count > counts[most] || count == counts[most] && int32(c) < most {
				most = int32(c)
			}
		}
		for _, i := range members {
			if m.now.labels[i] != most {
				moves = append(moves, labeling.Move{Point: i, From: m.now.labels[i], To: most})
			}
		}
	}
	if len(moves) == 0 {
		return nil
	}
	slices.SortFunc(moves, func(a, b labeling.Move) int { return int(a.Point) - int(b.Point) })
	if err := m.apply(moves); err != nil {
		return err
	}
	return m.fillEmpty()
}
