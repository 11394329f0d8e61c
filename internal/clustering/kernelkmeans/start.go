package kernelkmeans

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
)

// start returns the start of the paper, unless the user named one.
func (p *Problem) start() clustering.Start {
	switch {
	case p.spec.Start != clustering.StartDefault:
		return p.spec.Start
	case len(p.spec.Seeds) > 0:
		return clustering.StartSeeds
	case p.Constraints.Len() > 0:
		return clustering.StartFarthestFirst
	}
	return clustering.StartKmeansPlusPlus
}

// start computes the first labels; some clusters may be empty.
func (m *method) start(ctx context.Context) error {
	var labels []int32
	var err error
	switch m.p.startOf(m.restart) {
	case clustering.StartLabels:
		return m.load(m.p.spec.InitialLabels)
	case clustering.StartRandom:
		labels = make([]int32, m.p.n)
		for i := range labels {
			labels[i] = int32(m.rng.IntN(m.p.spec.K))
		}
		return m.load(labels)
	case clustering.StartSeeds:
		labels = clustering.Unassigned(m.p.n)
		for _, s := range m.p.spec.Seeds {
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
		if move.From < 0 && !m.isIsolated(int(move.Point)) {
			joining = append(joining, move)
		}
	}
	return m.apply(joining)
}

// kmeansPlusPlus draws k points in kernel space: the first with probability proportional to a_i, each further one to
// a_i times its squared distance to the nearest point drawn before, d(p,q) = K_pp + K_qq - 2 K_pq with K = M / (a a').
func (m *method) kmeansPlusPlus() ([]int32, error) {
	n := m.p.n
	labels := clustering.Unassigned(n)
	chance := append([]float64(nil), m.weights...) // what the next draw is proportional to
	nearest := make([]float64, n)
	for c := range min(m.p.spec.K, m.active) {
		q := clustering.Draw(m.rng.Float64(), chance)
		if q < 0 { // only copies of chosen points are left: take the first that is not chosen
			for q = 0; labels[q] >= 0 || m.isIsolated(q); q++ {
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
			chance[i] = float64(m.weights[i] * nearest[i])
			if labels[i] >= 0 || m.isIsolated(i) {
				chance[i] = 0
			}
		}
	}
	return labels, nil
}

// pairDistance returns d(p,q) in kernel space, given M_pq.
func (m *method) pairDistance(p, q int, affinity float64) float64 {
	ap, aq := m.weights[p], m.weights[q]
	return m.diagonal[p]/float64(ap*ap) + m.diagonal[q]/float64(aq*aq) - 2*affinity/float64(ap*aq)
}

// farthestFirst is Kulis2009 Algorithm 3: k must-link components become the first clusters, the largest first, then
// always the one farthest from all chosen ones by the total distance
//
//	sum over p in candidate, q chosen of a_p a_q d(p,q)
//	= s_chosen sum_p M_pp/a_p + s_candidate sum_q M_qq/a_q - 2 sum_p sum_q M_pq.
//
// It prefers candidates that are cannot-linked to every chosen component. Ties go to the lowest index.
func (m *method) farthestFirst() ([]int32, error) {
	labels := clustering.Unassigned(m.p.n)
	set, components := m.constraints, m.constraints.Components()
	candidates := m.candidates()
	affinity := make([]float64, m.p.n) // of each point to all chosen points
	var chosen []int32
	chosenWeight, chosenDiagonal, chosenPoints := 0.0, 0.0, 0
	taken := make([]bool, len(candidates))
	for len(chosen) < m.p.spec.K {
		best, bestApart, bestScore := -1, false, 0.0
		for at, candidate := range candidates {
			if taken[at] {
				continue
			}
			members := components.Members(candidate)
			score, apart := float64(len(members)), false
			if len(chosen) > 0 {
				weight, diagonal, cross := 0.0, 0.0, 0.0
				for _, p := range members {
					weight += m.weights[p]
					diagonal += m.diagonal[p] / m.weights[p]
					cross += affinity[p]
				}
				score = float64(chosenWeight*diagonal) + float64(weight*chosenDiagonal) - 2*cross
				if m.p.spec.FarthestMean {
					score /= float64(len(members) * chosenPoints)
				}
				apart = true
				for _, other := range chosen {
					apart = apart && set.Apart(candidate, other)
				}
			}
			if best < 0 || (apart && !bestApart) || (apart == bestApart && score > bestScore) {
				best, bestApart, bestScore = at, apart, score
			}
		}
		if best < 0 {
			break // fewer components than clusters: the rest start empty
		}
		taken[best] = true
		members := components.Members(candidates[best])
		for _, p := range members {
			labels[p] = int32(len(chosen))
			chosenWeight += m.weights[p]
			chosenDiagonal += m.diagonal[p] / m.weights[p]
		}
		chosenPoints += len(members)
		chosen = append(chosen, candidates[best])
		if len(chosen) == m.p.spec.K {
			break
		}
		sums, err := m.x.ColumnSum(members)
		if err != nil {
			return nil, err
		}
		for i, v := range sums {
			affinity[i] += v
		}
	}
	return labels, nil
}

// candidates returns the components of at least two points if there are k of them, otherwise all components.
func (m *method) candidates() []int32 {
	components := m.constraints.Components()
	var all, joined []int32
	for c := range int32(components.Count()) {
		if m.isIsolated(int(components.Members(c)[0])) {
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

var _ clustering.Method = (*method)(nil)
var _ Executor = (*Local)(nil)
