package explain

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// course says why the run stopped, how the objective changed, and where the time went.
func (e *explainer) course() (all []string) {
	r := e.r
	if len(r.GetClusterSizes()) > 0 {
		all = append(all, Stopped(r))
	}
	if len(r.GetHistory()) > 1 || len(r.GetClusterSizes()) > 0 && r.GetObjectiveName() != "" {
		all = append(all, Objective(r, text.Brief))
	}
	if r.GetRestart() > 0 {
		all = append(all, fmt.Sprintf("Of several starts, number %d gave the best answer.", r.GetRestart()+1))
	}
	if shifts := len(r.GetShifts()); shifts > 0 {
		all = append(all, fmt.Sprintf("%s undone by a shift of the diagonal, which is %s at the end.",
			text.Count(shifts, "step raised the objective and was", "steps raised the objective and were"),
			text.Brief(r.GetSigma())))
	}
	if s := r.GetSpectral(); s != nil {
		all = append(all, fmt.Sprintf("Computing the eigenvectors took %s.", text.Plural(int(s.GetProducts()),
			"matrix-vector product")))
	}
	return append(all, e.time()...)
}

// Stopped says in a sentence why a run ended.
func Stopped(r *cleavev1.Result) string {
	iterations := text.Plural(int(r.GetIterations()), "iteration")
	switch r.GetStopReason() {
	case cleavev1.StopReason_STOP_REASON_CONVERGED:
		if r.GetIterations() == 0 {
			return "The run converged."
		}
		return fmt.Sprintf("The run converged: after %s, no point moved.", iterations)
	case cleavev1.StopReason_STOP_REASON_MAX_ITERATIONS:
		return fmt.Sprintf("The run did not converge: it was stopped after %s, the limit%s.", iterations,
			stillMoving(r))
	case cleavev1.StopReason_STOP_REASON_TOLERANCE:
		return fmt.Sprintf("The run stopped after %s, when the objective improved by no more than the tolerance%s.",
			iterations, stillMoving(r))
	case cleavev1.StopReason_STOP_REASON_RISE:
		return fmt.Sprintf("The run stopped after %s, because the next step would have raised the objective.",
			iterations)
	case cleavev1.StopReason_STOP_REASON_CYCLE:
		return fmt.Sprintf("The run did not converge: after %s the labels began to repeat, and the best so far "+
			"were kept.", iterations)
	case cleavev1.StopReason_STOP_REASON_MAX_PRODUCTS:
		return "The eigenvectors did not converge: the solver reached its limit, and its approximations were clustered."
	case cleavev1.StopReason_STOP_REASON_TIME_LIMIT:
		return fmt.Sprintf("The run reached its time limit after %s; these are its labels so far%s.", iterations,
			stillMoving(r))
	case cleavev1.StopReason_STOP_REASON_CANCELLED:
		return fmt.Sprintf("The run was canceled after %s; these are its labels so far%s.", iterations, stillMoving(r))
	}
	return fmt.Sprintf("The run ended after %s.", iterations)
}

// stillMoving says how many points the last iteration moved.
func stillMoving(r *cleavev1.Result) string {
	history := r.GetHistory()
	if len(history) == 0 || history[len(history)-1].GetMoved() == 0 {
		return ""
	}
	return fmt.Sprintf("; the last one still moved %s", text.Plural(int(history[len(history)-1].GetMoved()), "point"))
}

// Objective says in a sentence what the objective is and, if the run has several iterations, how it changed, in percent
// if that is less than 100. The number function writes its values.
func Objective(r *cleavev1.Result, number func(float64) string) string {
	objective := fmt.Sprintf("The objective (%s)", r.GetObjectiveName())
	history := r.GetHistory()
	if len(history) < 2 {
		return fmt.Sprintf("%s is %s.", objective, number(r.GetObjective()))
	}
	first := history[0].GetObjective()
	last := history[len(history)-1].GetObjective()
	by := math.Abs(last - first)
	change := "fell"
	if last > first {
		change = "rose"
	}
	switch {
	case by <= 0.0005*math.Abs(first):
		return fmt.Sprintf("%s is %s; it hardly changed after the first iteration.", objective, number(last))
	case by < math.Abs(first):
		return fmt.Sprintf("%s %s by %s, from %s to %s.", objective, change, text.Percent(by/math.Abs(first)),
			number(first), number(last))
	}
	return fmt.Sprintf("%s %s from %s to %s.", objective, change, number(first), number(last))
}

// Phase is something that a run spent time on: "trying 20 methods".
type Phase struct {
	Name string
	Took time.Duration
}

// Phases returns the phases of a run that took time, in order. Their sum may be less than the total: a job also waits.
//
// Two of the four mean different things. Auto computes everything until the answer is chosen while it initializes, and
// only scores it afterwards. The spectral family computes its eigenvectors in what others spend on iterations.
func Phases(r *cleavev1.Result) []Phase {
	initialize, iterate := "first labels", "iterations"
	switch tried := len(r.GetChoice().GetTried()); {
	case r.GetKSelection() != nil:
		initialize = "finding clusters"
		iterate = "comparing numbers of clusters"
	case tried > 0:
		initialize = "trying " + text.Plural(tried, "method")
		iterate = "scoring the answer"
	case r.GetChoice() != nil:
		initialize, iterate = "finding the clusters", "scoring the answer"
	case r.GetSpectral() != nil:
		iterate = "computing eigenvectors and clustering them"
	}
	t := r.GetTimings()
	return slices.DeleteFunc([]Phase{
		{"loading the data", t.GetLoad().AsDuration()}, {"building tiles", t.GetBuild().AsDuration()},
		{initialize, t.GetInitialize().AsDuration()}, {iterate, t.GetIterate().AsDuration()},
	}, func(p Phase) bool { return p.Took <= 0 })
}

// A phase is named if it took more than mostOf of the time, without a percentage from nearlyAll on.
const mostOf, nearlyAll = 0.6, 0.995

// time says how long the run took, and what took most of it.
func (e *explainer) time() []string {
	total := e.r.GetTimings().GetTotal().AsDuration()
	if total <= 0 {
		return nil
	}
	for _, phase := range Phases(e.r) {
		switch share := phase.Took.Seconds() / total.Seconds(); {
		case share >= nearlyAll:
			return []string{fmt.Sprintf("It took %s, nearly all of it for %s.", text.Seconds(total.Seconds()),
				phase.Name)}
		case share > mostOf:
			return []string{fmt.Sprintf("It took %s, %.0f%% of it for %s.", text.Seconds(total.Seconds()),
				100*share, phase.Name)}
		}
	}
	return []string{fmt.Sprintf("It took %s.", text.Seconds(total.Seconds()))}
}
