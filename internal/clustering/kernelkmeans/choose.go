package kernelkmeans

import (
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/kernel"
)

// withUnconstrained is the problem with its unconstrained answer, where what the user left open is chosen. The answer is a
// start, and the weights of constraints are multiples of a unit that comes from it.
//
// The reward of a must-link is divided by the weight s of its cluster (Kulis2009 (5)), so that a pair has most of it as a
// cluster of its own: w, where a cluster of usual size gives it 2w/s. As there are k clusters, that is paid for by
// merging two of the others. So the unit is what merging the two nearest clusters of the unconstrained answer costs,
//
//	min over c, d of  Q_c/s_c + Q_d/s_d - (Q_c + Q_d + 2 Q_cd)/(s_c + s_d),
//
// times the mean weight of the two points: the most that constraints can weigh without clusters that consist of them
// alone. It does not depend on how many constraints there are.
func (p *Problem) withUnconstrained(ctx context.Context, x Executor) (*Problem, error) {
	if !p.needsUnconstrained() {
		return p, nil
	}
	none, err := constraint.NewSet(p.n, nil, constraint.UnitWeight)
	if err != nil {
		return nil, err
	}
	free := *p
	free.Constraints, free.Warnings = none, nil
	free.spec.Constraints, free.spec.MaxIterations = nil, max(p.spec.MaxIterations, 1)
	f, err := NewFamily(ctx, &free, x, clustering.NopObserver{})
	if err != nil {
		return nil, err
	}
	answer, err := f.unconstrained(ctx)
	if err != nil {
		return nil, err
	}
	cost := answer.cost
	chosen := *p
	chosen.free = answer.labels
	if p.mixesStarts() {
		chosen.spec.InitialLabels = answer.labels
	}
	if !(cost > 0) { // one cluster, or several of the same points
		cost = 1
	}
	chosen.Constraints = p.Constraints.Reweighted(func(pair constraint.Pair) float64 {
		return pair.Weight * min(cost*((f.weights[pair.I]+f.weights[pair.J])/2), p.maxUnit)
	})
	return &chosen, nil
}

func (p *Problem) needsUnconstrained() bool { return p.spec.Choose && p.Constraints.Len() > 0 }

// Runs is how many runs a job takes: its restarts, and those of the unconstrained answer.
func (p *Problem) Runs() int {
	if p.needsUnconstrained() {
		return 2 * p.Restarts()
	}
	return p.Restarts()
}

// leastMerge is by how much J rises at least when two clusters become one; 0: there are no two.
func (f *Family) leastMerge(ctx context.Context, labels []int32) (float64, error) {
	k := f.p.spec.K
	members, weight := make([][]int32, k), make([]float64, k)
	for i, c := range labels {
		members[c] = append(members[c], int32(i))
		weight[c] += f.weights[i]
	}
	between := make([]float64, k*k) // Q_cd
	for from := 0; from < k; from += kernel.MaxLanes {
		sums, err := f.x.ColumnSums(ctx, members[from:min(k, from+kernel.MaxLanes)])
		if err != nil {
			return 0, err
		}
		for at, sum := range sums {
			for i, d := range labels {
				between[(from+at)*k+int(d)] += sum[i]
			}
		}
	}
	least := math.Inf(1)
	for c := range k {
		for d := range c {
			if weight[c] == 0 || weight[d] == 0 {
				continue
			}
			own, other := between[c*k+c], between[d*k+d]
			least = min(least, own/weight[c]+other/weight[d]-(own+other+2*between[c*k+d])/(weight[c]+weight[d]))
		}
	}
	if math.IsInf(least, 1) {
		return 0, nil
	}
	return least, nil
}

// labelingOf is labels with their sums, before any lane has labels of its own.
func (f *Family) labelingOf(ctx context.Context, labels []int32) (labeling, error) {
	labels = f.unlabeled(labels)
	self, err := f.x.Load(ctx, append(labels[:len(labels):len(labels)], clustering.Unassigned((f.lanes-1)*f.p.n)...))
	if err != nil {
		return labeling{}, err
	}
	return f.newLabeling(labels, self[:f.p.spec.K]), nil
}

// begun is a family as a job.
type begun struct{ *Family }

func (b begun) Notices() []clustering.Notice { return nil }

func (b begun) Begin(context.Context, clustering.Observer) (clustering.Family, error) {
	return b.Family, nil
}

// mixesStarts tells whether each restart has a start of its own.
func (p *Problem) mixesStarts() bool {
	return p.spec.Choose && p.spec.Start == clustering.StartDefault && len(p.spec.Seeds) == 0
}

// maxSpectralStart bounds n k for a spectral start that nobody asked for: eigenvectors of more values take the
// coordinator's memory.
const maxSpectralStart = 1 << 20

// StartsSpectral tells whether eigenvectors are needed for a start.
func (p *Problem) StartsSpectral() bool {
	if p.mixesStarts() {
		return p.graph == nil && p.n*p.spec.K <= maxSpectralStart
	}
	return p.start() == clustering.StartSpectral
}

// startOf is how a restart begins. Where each has a start of its own they are the unconstrained answer and then, on graphs,
// always those of package multilevel; otherwise a spectral start, and by turns random labels and k-means++. Farthest-first is not among them: it begins at must-link components
// and so finds the clusters that consist of nothing else, if they are worth only a little more than others.
func (p *Problem) startOf(restart int) clustering.Start {
	if !p.mixesStarts() {
		return p.start()
	}
	var starts []clustering.Start
	if p.free != nil {
		starts = append(starts, clustering.StartLabels)
	}
	if p.graph != nil && restart >= len(starts) {
		return clustering.StartMultilevel
	}
	if p.StartsSpectral() {
		starts = append(starts, clustering.StartSpectral)
	}
	if restart < len(starts) {
		return starts[restart]
	}
	return [...]clustering.Start{clustering.StartRandom, clustering.StartKmeansPlusPlus}[(restart-len(starts))%2]
}

// unite gives all points of a must-link component the cluster that most of them have; of equal ones the first. Two linked
// points in different clusters would be drawn to each other, and by moving at once just change places.
func (m *method) unite(ctx context.Context) error {
	if !m.p.mixesStarts() || m.p.Constraints.Len() == 0 {
		return nil
	}
	components := m.constraints.Components() // in which isolated points are alone
	var moves []kernel.Move
	counts := make([]int, m.p.spec.K)
	for component := range int32(components.Count()) {
		members := components.Members(component)
		if len(members) < 2 {
			continue
		}
		clear(counts)
		most := m.labels[members[0]]
		for _, i := range members {
			counts[m.labels[i]]++
		}
		for c, count := range counts {
			if count > counts[most] || count == counts[most] && int32(c) < most {
				most = int32(c)
			}
		}
		for _, i := range members {
			if m.labels[i] != most {
				moves = append(moves, kernel.Move{Point: i, From: m.labels[i], To: most})
			}
		}
	}
	if len(moves) == 0 {
		return nil
	}
	slices.SortFunc(moves, func(a, b kernel.Move) int { return int(a.Point) - int(b.Point) })
	if err := m.apply(ctx, moves); err != nil {
		return err
	}
	return m.fillEmpty(ctx)
}
