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

// maxSpectralStart bounds n k for a spectral start that the user did not ask for, to limit the coordinator's memory.
const maxSpectralStart = 1 << 20

// startPlan says how the restarts of a problem begin.
//
//	start                starts of the restarts
//	named, or by seeds   this one, once if it leaves nothing to chance
//	open, on a graph     the answer without constraints, then those of package multilevel
//	open otherwise       the answer without constraints, a spectral start, then alternately random labels and k-means++
//
// Farthest-first is not among those of an open start: it begins at must-link components, and so finds clusters that
// consist of nothing else if they are worth only a little more than others. In a sparse graph most vertices are equally
// far from all clusters of a few vertices, so starts other than multilevel fail.
type startPlan struct {
	starts []clustering.Start // of each restart
	mixed  bool               // whether the start is open
	// unconstrained is the number of runs without constraints, which go first; 0 if their answer is not needed.
	unconstrained int
	// spectral and multilevel tell whether a start, also one of a run without constraints, needs eigenvectors or the
	// levels of a graph.
	spectral, multilevel bool
}

// planStarts returns the plan for the spec.
func (p *Problem) planStarts() (plan startPlan) {
	start, runs := p.startKind(), p.spec.Runs()
	plan.mixed = p.spec.Choose && p.spec.Start == clustering.StartDefault && len(p.spec.Seeds) == 0
	plan.spectral, plan.multilevel = start == clustering.StartSpectral, start == clustering.StartMultilevel
	if plan.mixed {
		plan.multilevel = p.graph != nil
		plan.spectral = p.graph == nil && p.n*p.spec.K <= maxSpectralStart
	}
	if !plan.mixed && !start.Random() || plan.multilevel && p.spec.Restarts == 0 { // multilevel tries many starts itself
		runs = 1
	}
	if p.spec.Choose && p.Constraints.Len() > 0 {
		if plan.unconstrained = runs; plan.multilevel && p.spec.Restarts == 0 {
			runs = 2
		}
	}
	if !plan.mixed {
		plan.starts = slices.Repeat([]clustering.Start{start}, runs)
		return plan
	}
	if plan.unconstrained > 0 {
		plan.starts = append(plan.starts, clustering.StartLabels)
	}
	rest := []clustering.Start{clustering.StartRandom, clustering.StartKmeansPlusPlus}
	if plan.multilevel {
		rest = []clustering.Start{clustering.StartMultilevel}
	} else if plan.spectral {
		plan.starts = append(plan.starts, clustering.StartSpectral)
	}
	plan.starts = append(plan.starts, slices.Repeat(rest, runs)...)[:runs]
	return plan
}

// startKind returns the start of the paper, unless the user named one.
func (p *Problem) startKind() clustering.Start {
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

// Restarts returns the number of restarts, 1 if the start does not depend on chance.
func (p *Problem) Restarts() int { return len(p.plan.starts) }

// Runs returns how many runs a job takes: its restarts, and those for the unconstrained answer.
func (p *Problem) Runs() int { return p.Restarts() + p.plan.unconstrained }

// StartsSpectral reports whether a start needs eigenvectors.
func (p *Problem) StartsSpectral() bool { return p.plan.spectral }

// StartsMultilevel reports whether a run begins with the labels of package multilevel.
func (p *Problem) StartsMultilevel() bool { return p.plan.multilevel }

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
	if p.plan.unconstrained == 0 {
		return p, nil
	}
	none, err := constraint.NewSet(p.n, nil, constraint.UnitWeight)
	if err != nil {
		return nil, err
	}
	free := *p
	free.Constraints, free.Warnings = none, nil
	free.spec.Constraints, free.spec.MaxIterations = nil, max(p.spec.MaxIterations, 1)
	free.plan = free.planStarts()
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
	chosen.unconstrained = answer.labels
	if p.plan.mixed {
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

// unite moves all points of a must-link component to the cluster that most of them are in, the first of equals. Two
// linked points in different clusters would attract each other and, moving simultaneously, only swap places.
func (m *method) unite() error {
	if !m.p.plan.mixed || m.p.Constraints.Len() == 0 {
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
