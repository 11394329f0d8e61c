package explain

import (
	"fmt"
	"slices"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// advice says what to try. It must come last: the other paragraphs find the suspicions.
func (e *explainer) advice() (all []string) {
	r := e.r
	dense := r.GetModel() != nil && r.GetModel().GetLandmarks() == nil || r.GetKernel() != nil
	has := func(s suspicion) bool { return slices.Contains(e.suspicions, s) }
	say := func(when bool, format string, args ...any) {
		if when {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	say(has(unfinished), "Give it more iterations: --max-iterations %d.", max(2*r.GetIterations(), 200))
	say(has(cycled), "Use more restarts, so that one of them converges: --restarts 20.")
	say(has(cutShort), "Give it more time (--timeout), or more workers: cleave plan says what it takes.")
	say(has(eigenvectorsMissing), "Accept less accurate eigenvectors (--tolerance 1e-5), or join loose pieces of the graph (--components join).")
	say(has(emptyClusters), "Ask for fewer clusters: --k %d.", nonEmpty(r.GetClusterSizes()))
	if has(oneHuge) || has(singlePoints) {
		say(true, "Outliers may form clusters of their own: look at the points in the small clusters, and leave them out if they are errors.")
		say(dense && r.Scale == nil, "A few columns with large units may dominate: --scale robust gives all columns the same spread, even if some values are extreme.")
		say(r.GetNeighborGraph() == nil, "Compare points by their nearest neighbors, which finds clusters of any shape: --knn 10.")
	}
	say(has(pointsAtFault), "Check the points that are in several violated constraints, and their constraints.")
	if has(manyViolated) {
		say(r.GetChoice() == nil, "Leave out --algorithm: auto tries several methods, and chooses the one with the best held-out accuracy.")
		say(r.GetChoice() == nil, "If every constraint is certain, --algorithm cop-kmeans violates none, or says that they contradict each other.")
		say(r.GetChoice() != nil, "If every constraint is certain, --enforce always makes them hold, except those that contradict each other.")
	}
	if has(againstData) {
		what := SuspectNoun(r.GetSuspects())
		say(true, "Check the %s that the data contradict, all listed in suspects.csv, and remove or correct the wrong ones.", what)
		say(e.Spec.GetAuto().GetEnforce() != cleavev1.Enforcement_ENFORCEMENT_NEVER, "Let the data overrule wrong %s that you cannot find: --enforce never.", what)
	}
	say(e.warned("CONSTRAINTS_CONTRADICTED"), "Remove the wrong ones of the constraints and seeds that contradict each other: they cannot all hold.")
	say(e.warned("CONSTRAINTS_UNSATISFIED"), "Check the cannot-links that no assignment satisfies, or ask for more clusters: points that must all be apart need a cluster each.")
	say(has(lowAccuracy), "%s", e.given([]string{"Look for other measurements, or check some constraints by hand: no method explains them."})[0])
	say(has(otherNumbers), "Look at the other numbers of clusters that the scores allow: %s.", e.otherLabels())
	say(has(unsurePoints), "Look at the points of low confidence in labels.csv: they lie between clusters, or there are fewer clusters than you asked for.")
	say(has(fewConstraints), "Add constraints: from %d on, auto compares methods by them.", enough)
	say(!e.supervised() && r.GetChoice() != nil, "If you know some pairs that belong together or apart, give them by --constraints: auto compares methods by them.")
	if len(all) == 0 {
		all = append(all, "Nothing looks wrong.")
	}
	return all
}

// warned reports whether a result has a notice.
func (e *explainer) warned(code string) bool {
	return slices.ContainsFunc(e.r.GetWarnings(), func(n *cleavev1.Notice) bool { return n.GetReason() == code })
}

// supervised reports whether anything was known about the points: constraints or seeds.
func (e *explainer) supervised() bool {
	if e.r.GetConstraints().GetTotal() > 0 {
		return true
	}
	for _, t := range e.r.GetChoice().GetTried() {
		if t.GetMustLinks()+t.GetCannotLinks() > 0 {
			return true
		}
	}
	s := e.Spec.GetSupervision()
	return s.GetConstraints() != nil || s.GetSeeds() != nil
}

func nonEmpty(sizes []uint32) int {
	count := 0
	for _, size := range sizes {
		if size > 0 {
			count++
		}
	}
	return count
}
