package clustering

import "slices"

// StartPlan says how the restarts of a problem begin.
type StartPlan struct {
	Starts []Start // of each restart
	// Unconstrained has the starts of the runs without constraints, which go first. It is empty if their answer is not
	// needed.
	Unconstrained []Start
}

// Runs returns how many runs a job takes: its restarts, and those without constraints.
func (p StartPlan) Runs() int { return len(p.Starts) + len(p.Unconstrained) }

// Includes reports whether a run, also one without constraints, begins with the start.
func (p StartPlan) Includes(s Start) bool {
	return slices.Contains(p.Starts, s) || slices.Contains(p.Unconstrained, s)
}

// StartRule is a row of a table of plans.
type StartRule struct {
	When          bool    // whether the rule holds
	Unconstrained []Start // of the runs without constraints, if their answer is needed
	Starts        []Start // of each restart
}

// PlanStarts returns the plan of the first rule that holds. The last rule must hold.
func PlanStarts(needsUnconstrained bool, rules []StartRule) StartPlan {
	rule := rules[slices.IndexFunc(rules, func(r StartRule) bool { return r.When })]
	plan := StartPlan{Starts: rule.Starts}
	if needsUnconstrained {
		plan.Unconstrained = rule.Unconstrained
	}
	return plan
}

// ByTurns returns n starts: those of first, then the others by turns.
func ByTurns(n int, first []Start, others ...Start) []Start {
	return slices.Concat(first, slices.Repeat(others, n))[:n]
}
