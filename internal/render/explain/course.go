package explain

import (
	"fmt"
	"math"
	"strconv"
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
	if h := r.GetHistory(); len(h) > 1 {
		all = append(all, e.change(h[0].GetObjective(), h[len(h)-1].GetObjective()))
	} else if len(r.GetClusterSizes()) > 0 && r.GetObjectiveName() != "" {
		all = append(all, fmt.Sprintf("The objective (%s) is %s.", r.GetObjectiveName(), brief(r.GetObjective())))
	}
	if r.GetRestart() > 0 {
		all = append(all, fmt.Sprintf("Of several starts, number %d gave the best answer.", r.GetRestart()+1))
	}
	if shifts := len(r.GetShifts()); shifts > 0 {
		all = append(all, fmt.Sprintf("%s undone by a shift of the diagonal, which is %s at the end.", text.Count(shifts, "step raised the objective and was", "steps raised the objective and were"), brief(r.GetSigma())))
	}
	if s := r.GetSpectral(); s != nil {
		all = append(all, fmt.Sprintf("Computing the eigenvectors took %s.", text.Plural(int(s.GetProducts()), "matrix-vector product")))
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
		return fmt.Sprintf("The run did not converge: it was stopped after %s, the limit%s.", iterations, stillMoving(r))
	case cleavev1.StopReason_STOP_REASON_TOLERANCE:
		return fmt.Sprintf("The run stopped after %s, when the objective improved by no more than the tolerance%s.", iterations, stillMoving(r))
	case cleavev1.StopReason_STOP_REASON_RISE:
		return fmt.Sprintf("The run stopped after %s, because the next step would have raised the objective.", iterations)
	case cleavev1.StopReason_STOP_REASON_CYCLE:
		return fmt.Sprintf("The run did not converge: after %s the labels began to repeat, and the best so far were kept.", iterations)
	case cleavev1.StopReason_STOP_REASON_MAX_PRODUCTS:
		return "The eigenvectors did not converge: the solver reached its limit, and its approximations were clustered."
	case cleavev1.StopReason_STOP_REASON_TIME_LIMIT:
		return fmt.Sprintf("The run reached its time limit after %s; these are its labels so far%s.", iterations, stillMoving(r))
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

// change says how the objective changed, in percent where that makes sense.
func (e *explainer) change(first, last float64) string {
	objective := fmt.Sprintf("The objective (%s)", e.r.GetObjectiveName())
	if first == 0 || (first < 0) != (last < 0) {
		return fmt.Sprintf("%s went from %s to %s.", objective, brief(first), brief(last))
	}
	share := 100 * math.Abs(last-first) / math.Abs(first)
	if share < 0.05 {
		return fmt.Sprintf("%s is %s; it hardly changed, so the start was good already.", objective, brief(last))
	}
	return fmt.Sprintf("%s went from %s to %s, by %s%%.", objective, brief(first), brief(last), strconv.FormatFloat(share, 'g', 2, 64))
}

// mostOf is the share of the time above which a phase is named.
const mostOf = 0.6

func (e *explainer) time() []string {
	t := e.r.GetTimings()
	total := t.GetTotal().AsDuration()
	if total <= 0 {
		return nil
	}
	for _, phase := range []struct {
		name string
		took time.Duration
	}{
		{"reading the data", t.GetLoad().AsDuration()}, {"building the matrix", t.GetBuild().AsDuration()},
		{"finding where to start, including eigenvectors and trials of methods", t.GetInitialize().AsDuration()}, {"iterations", t.GetIterate().AsDuration()},
	} {
		if phase.took.Seconds() > mostOf*total.Seconds() {
			return []string{fmt.Sprintf("It took %s, %.0f%% of it for %s.", seconds(total), 100*phase.took.Seconds()/total.Seconds(), phase.name)}
		}
	}
	return []string{fmt.Sprintf("It took %s.", seconds(total))}
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'g', 3, 64) + " s" }

func brief(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
