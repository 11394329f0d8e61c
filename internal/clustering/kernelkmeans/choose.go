package kernelkmeans

import (
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
)

// withUnconstrained returns the problem with its unconstrained answer, if the user left choices open. The answer serves
// as a start and provides the unit of constraint weights.
//
// The reward of a must-link is divided by the weight s of its cluster (Kulis2009 (5)), so a pair gains most as a
// cluster of its own: w, compared with 2w/s in a cluster of usual size. Since there are k clusters, two others would
// have to be merged for it. So the unit is the cost of merging the two nearest clusters of the unconstrained answer,
//
//	min over c, d of  Q_c/s_c + Q_d/s_d - (Q_c + Q_d + 2 Q_cd)/(s_c + s_d),
//
// times the mean weight of the two points: the most that constraints can weigh without creating clusters that consist
// of them alone. It does not depend on the number of constraints.
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
	f, err := NewSetup(ctx, &free, x, clustering.NopObserver{})
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
		return pair.Weight * min(cost*((f.weights[pair.I]+f.weights[pair.J])/2), p.maxConstraintUnit)
	})
	return &chosen, nil
}

func (p *Problem) needsUnconstrained() bool { return p.spec.Choose && p.Constraints.Len() > 0 }

// Runs returns how many runs a job takes: its restarts, and those for the unconstrained answer.
func (p *Problem) Runs() int {
	if p.needsUnconstrained() {
		return 2 * p.Restarts()
	}
	return p.Restarts()
}

// leastMerge returns the least amount by which J rises when two clusters are merged, or 0 if there are no two.
func (s *Setup) leastMerge(ctx context.Context, labels []int32) (float64, error) {
	k := s.p.spec.K
	members, weight := make([][]int32, k), make([]float64, k)
	for i, c := range labels {
		members[c] = append(members[c], int32(i))
		weight[c] += s.weights[i]
	}
	// Each cluster is compared with those before it, so that one row of Q_cd is enough: k may be in the thousands.
	least, between, self := math.Inf(1), make([]float64, k), make([]float64, k)
	for from := 0; from < k; from += kernel.MaxLanes {
		sums, err := s.x.ColumnSums(ctx, members[from:min(k, from+kernel.MaxLanes)])
		if err != nil {
			return 0, err
		}
		for at, sum := range sums {
			c := from + at
			if weight[c] == 0 {
				continue
			}
			clear(between)
			for i, d := range labels {
				between[d] += sum[i]
			}
			self[c] = between[c]
			for d := range c {
				if weight[d] > 0 {
					least = min(least, self[c]/weight[c]+self[d]/weight[d]-(self[c]+self[d]+2*between[d])/(weight[c]+weight[d]))
				}
			}
		}
	}
	if math.IsInf(least, 1) {
		return 0, nil
	}
	return least, nil
}

// assignmentOf loads labels, before any lane has labels of its own, and returns them with their sums.
func (s *Setup) assignmentOf(ctx context.Context, labels []int32) (assignment, error) {
	labels = s.unlabeled(labels)
	self, err := s.x.Load(ctx, append(labels[:len(labels):len(labels)], clustering.Unassigned((s.lanes-1)*s.p.n)...))
	if err != nil {
		return assignment{}, err
	}
	return s.newAssignment(labels, self[:s.p.spec.K]), nil
}

// begun wraps a setup as a job.
type begun struct{ *Setup }

func (b begun) Notices() []clustering.Notice { return nil }

func (b begun) Begin(context.Context, clustering.Observer) (clustering.Setup, error) {
	return b.Setup, nil
}

// mixesStarts reports whether each restart has a different start.
func (p *Problem) mixesStarts() bool {
	return p.spec.Choose && p.spec.Start == clustering.StartDefault && len(p.spec.Seeds) == 0
}

// maxSpectralStart bounds n k for a spectral start that the user did not ask for, to limit the coordinator's memory.
const maxSpectralStart = 1 << 20

// StartsSpectral reports whether a start needs eigenvectors.
func (p *Problem) StartsSpectral() bool {
	if p.mixesStarts() {
		return p.graph == nil && p.n*p.spec.K <= maxSpectralStart
	}
	return p.start() == clustering.StartSpectral
}

// startOf returns the start of a restart. If starts differ, the first is the unconstrained answer. On graphs all others
// are those of package multilevel; otherwise they are a spectral start, then alternately random labels and k-means++.
// Farthest-first is not among them: it begins at must-link components, and so finds clusters that consist of nothing
// else if they are worth only a little more than others.
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

// unite moves all points of a must-link component to the cluster that most of them are in, the first of equals. Two
// linked points in different clusters would attract each other and, moving simultaneously, only swap places.
func (m *method) unite() error {
	if !m.p.mixesStarts() || m.p.Constraints.Len() == 0 {
		return nil
	}
	components := m.constraints.Components() // in which isolated points are alone
	var moves []labeling.Move
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
				moves = append(moves, labeling.Move{Point: i, From: m.labels[i], To: most})
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
