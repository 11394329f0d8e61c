package clustering

import (
	"fmt"

	"github.com/cleave-project/cleave/internal/text"
)

// AnswerNotices returns warnings about answers that are probably not what the user wanted. It looks only at the result,
// so it works for all algorithms.
func AnswerNotices(r *Result) []Notice {
	var notices []Notice
	for _, find := range []func(*Result) (code, message string){worseThanUnconstrained, singletons, manyViolated} {
		if code, message := find(r); code != "" {
			notices = append(notices, Notice{Code: code, Message: message})
		}
	}
	return notices
}

// worseThanUnconstrained warns if the objective is worse than without constraints by more than rounding explains.
func worseThanUnconstrained(r *Result) (code, message string) {
	if !(r.BehindUnconstrained > 1e-9*max(r.Objective, -r.Objective)) {
		return "", ""
	}
	return "WORSE_THAN_UNCONSTRAINED", fmt.Sprintf(
		"ignoring the constraints gives a better objective, even with their costs (by %.4g): the start was poor; "+
			"leave out --init, or use more --restarts",
		r.BehindUnconstrained)
}

// singletons warns of clusters with a single point, unless there are so few points, at most two per cluster, that such
// clusters are to be expected.
func singletons(r *Result) (code, message string) {
	var alone []int
	for c, size := range r.ClusterSizes {
		if size == 1 {
			alone = append(alone, c)
		}
	}
	if len(alone) == 0 || len(r.Labels) <= 2*len(r.ClusterSizes) {
		return "", ""
	}
	clusters := "one cluster has"
	if len(alone) > 1 {
		clusters = fmt.Sprintf("%d clusters have", len(alone))
	}
	return "SINGLETON_CLUSTERS",
		fmt.Sprintf("%s a single point: %s; check whether it is an outlier, or held apart by constraints; fewer "+
			"clusters may fit better",
			clusters, text.First(alone, 10))
}

// fewConstraints is the number of constraints below which manyViolated cannot tell violations from chance.
const fewConstraints = 10

// manyViolated warns if more constraints are violated than random labels with the same cluster sizes would violate. Two
// random points share a cluster with probability q = sum_c n_c (n_c - 1) / (n (n - 1)), so chance violates a share of
// 1 - q of the must-links and q of the cannot-links.
func manyViolated(r *Result) (code, message string) {
	s, n := r.Satisfaction, float64(len(r.Labels))
	if s.Total < fewConstraints || n < 2 {
		return "", ""
	}
	together := 0.0
	for _, size := range r.ClusterSizes {
		together += float64(size) * float64(size-1) / (n * (n - 1))
	}
	chance := float64((1-together)*float64(s.MustLinks)) + float64(together*float64(s.Total-s.MustLinks))
	if violated := s.Total - s.Satisfied(); float64(violated) <= chance {
		return "", ""
	}
	return "MANY_VIOLATED", fmt.Sprintf(
		"the labels violate %d of %s, and random labels of the same sizes would violate about %.0f: the constraints "+
			"contradict the data, or they are about something that the clustered columns do not show",
		s.Total-s.Satisfied(), text.Plural(s.Total, "constraint"), chance)
}
