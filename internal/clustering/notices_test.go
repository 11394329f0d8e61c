package clustering

import (
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/constraint"
)

func TestAnswerNotices(t *testing.T) {
	half := []int{50, 50} // two points share a cluster with a probability of 49/99
	for name, c := range map[string]struct {
		result Result
		codes  []string
	}{
		"good": {Result{ClusterSizes: half,
			Satisfaction: constraint.Satisfaction{Total: 40, MustLinks: 20}}, nil},
		"as many as by chance": {Result{ClusterSizes: half,
			Satisfaction: constraint.Satisfaction{Total: 40, MustLinks: 20, MustLinkViolated: 10,
				CannotLinkViolated: 10}}, nil},
		"more than by chance": {Result{ClusterSizes: half,
			Satisfaction: constraint.Satisfaction{Total: 40, MustLinks: 20, MustLinkViolated: 11,
				CannotLinkViolated: 10}}, []string{"MANY_VIOLATED"}},
		"too few to tell": {Result{ClusterSizes: half,
			Satisfaction: constraint.Satisfaction{Total: 4, MustLinks: 4, MustLinkViolated: 4}}, nil},
		"one large cluster": {Result{ClusterSizes: []int{99, 1},
			Satisfaction: constraint.Satisfaction{Total: 20, CannotLinkViolated: 20}},
			[]string{"SINGLETON_CLUSTERS", "MANY_VIOLATED"}},
		"few points": {Result{ClusterSizes: []int{1, 1, 2}}, nil},
		"rounding":   {Result{ClusterSizes: half, Objective: -1e6, BehindUnconstrained: 1e-4}, nil},
		"worse than it could be": {Result{ClusterSizes: half, Objective: -10, BehindUnconstrained: 1},
			[]string{"WORSE_THAN_UNCONSTRAINED"}},
	} {
		for _, size := range c.result.ClusterSizes {
			c.result.Labels = append(c.result.Labels, make([]int32, size)...)
		}
		var codes []string
		for _, notice := range AnswerNotices(&c.result) {
			codes = append(codes, notice.Code)
		}
		if !slices.Equal(codes, c.codes) {
			t.Errorf("%s: the notices are %v, want %v", name, codes, c.codes)
		}
	}
}
