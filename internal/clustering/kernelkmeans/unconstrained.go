package kernelkmeans

import (
	"context"
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
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
	if len(p.plan.Unconstrained) == 0 {
		return p, nil
	}
	none, err := constraint.NewSet(p.n, nil, constraint.UnitWeight)
	if err != nil {
		return nil, err
	}
	plain := *p
	plain.Constraints, plain.Warnings = none, nil
	plain.spec.Supervision.Constraints, plain.spec.MaxIterations = nil, max(p.spec.MaxIterations, 1)
	plain.plan = clustering.StartPlan{Starts: p.plan.Unconstrained}
	f, err := NewSetup(ctx, &plain, x, clustering.NopObserver{})
	if err != nil {
		return nil, err
	}
	answer, err := clustering.FindUnconstrained(ctx, startedJob{f}, p.n, p.spec.K,
		func(ctx context.Context, found *clustering.Result) (float64, error) {
			return f.leastMerge(ctx, found.Labels)
		})
	if err != nil {
		return nil, err
	}
	cost := answer.Cost
	chosen := *p
	chosen.unconstrained = &answer
	if p.startOpen() {
		chosen.spec.Initialization.Labels = answer.Labels
	}
	if !(cost > 0) { // one cluster, or several of the same points
		cost = 1
	}
	chosen.Constraints = p.Constraints.Reweighted(func(pair constraint.Pair) float64 {
		return pair.Weight * min(cost*((f.matrix.weights[pair.I]+f.matrix.weights[pair.J])/2), p.maxConstraintUnit)
	})
	return &chosen, nil
}

// leastMerge returns the least amount by which J rises when two clusters are merged, or 0 if there are no two.
func (s *Setup) leastMerge(ctx context.Context, labels []int32) (float64, error) {
	k := s.p.spec.K
	members := make([][]int32, k)
	weight := make([]float64, k)
	for i, c := range labels {
		members[c] = append(members[c], int32(i))
		weight[c] += s.matrix.weights[i]
	}
	// Each cluster is compared with those before it, so that one row of Q_cd is enough: k may be in the thousands.
	least := math.Inf(1)
	between := make([]float64, k)
	self := make([]float64, k)
	for from := 0; from < k; from += kernel.MaxLanes {
		sums, err := s.server.x.Matrix().ColumnSums(ctx, members[from:min(k, from+kernel.MaxLanes)])
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
					least = min(least,
						self[c]/weight[c]+self[d]/weight[d]-(self[c]+self[d]+2*between[d])/(weight[c]+weight[d]))
				}
			}
		}
	}
	if math.IsInf(least, 1) {
		return 0, nil
	}
	return least, nil
}

// assignmentOf sets the labels of the first lane and returns them with their sums.
func (s *Setup) assignmentOf(ctx context.Context, labels []int32) (assignment, error) {
	labels = s.matrix.unlabeled(labels)
	self, err := s.server.load(ctx, 0, labels)
	if err != nil {
		return assignment{}, err
	}
	return s.matrix.newAssignment(labels, self), nil
}

// startedJob is a job whose setup is known.
type startedJob struct{ setup *Setup }

func (b startedJob) Notices() []clustering.Notice { return nil }

func (b startedJob) Begin(context.Context, clustering.Observer) (clustering.Setup, error) {
	return b.setup, nil
}
