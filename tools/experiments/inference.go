package experiments

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/inference"
)

// studyInference repeats Bilenko2004 section 4: HMRF-KMeans with three inference engines against the number
// of constraints.
func studyInference(ctx context.Context, r *runner) error {
	sets, err := r.vectors()
	if err != nil {
		return err
	}
	counts := []int{10, 20, 50, 100, 200, 400}
	engines := []inference.Engine{inference.ICM, inference.BP, inference.LP}
	r.report.begin("inference", "Three inference engines: ICM, belief propagation, linear programming (Bilenko and "+
		"Basu 2004, section 4)",
		"HMRF-KMeans; pairwise F on the half of the points without constraints, mean of %d runs (standard "+
			"deviation). BP and LP are expected to beat ICM when constraints are few, the gap to close as they grow, "+
			"and ICM to be at least 10 times as fast: that depends on the solvers, and ours first settle what can be "+
			"settled cheaply (labels that cannot be optimal, trees, a bound that meets its labels) before they pass "+
			"messages or solve a linear program.", r.Runs)
	for _, s := range sets {
		t := r.report.table(s.name, "constraints", counts)
		seconds := map[inference.Engine]numbers{}
		exact := map[inference.Engine]int{}
		for _, engine := range engines {
			m := vectorMethod(engine.String(), kmeans.Options{Algorithm: kmeans.HMRFKmeans, Inference: engine})
			for column, count := range counts {
				cell := numbers{}
				for run := range r.Runs {
					o, err := r.solveFold(ctx, s, m, count, run)
					if err != nil {
						return err
					}
					cell = append(cell, o.scores.PairwiseF)
					seconds[engine] = append(seconds[engine], o.seconds)
					if o.result.Inference.Exact {
						exact[engine]++
					}
				}
				t.put(engine.String(), column, cell)
			}
			r.Say("%s, %v: %.3f s a run", s.name, engine, seconds[engine].mean())
		}
		for column, count := range counts {
			if count == 20 || count == 400 {
				t.compare("bp", "icm", column)
				t.compare("lp", "icm", column)
			}
		}
		icm := seconds[inference.ICM].mean()
		for _, engine := range engines[1:] {
			times := seconds[engine].mean() / icm
			t.Findings = append(t.Findings, Finding{
				What: fmt.Sprintf("icm at least 10 times as fast as %v", engine), Holds: times >= 10,
				Detail: fmt.Sprintf("%.1f times", times),
			})
		}
		t.note(fmt.Sprintf("A run takes %.4f s with ICM, %.4f s with BP (%.1f times), %.4f s with LP (%.1f times). "+
			"The last assignment of the constrained points was exact in %d, %d and %d of %d runs.",
			icm, seconds[inference.BP].mean(), seconds[inference.BP].mean()/icm, seconds[inference.LP].mean(),
			seconds[inference.LP].mean()/icm,
			exact[inference.ICM], exact[inference.BP], exact[inference.LP], r.Runs*len(counts)))
	}
	return nil
}
