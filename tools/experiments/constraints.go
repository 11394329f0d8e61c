package experiments

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// method is a column of a table.
type method struct {
	name string
	spec func() clustering.Spec
}

// vectorMethod returns a method of the k-means family.
func vectorMethod(name string, v kmeans.Options) method {
	return method{name, func() clustering.Spec { return clustering.Spec{Algorithm: &v} }}
}

// maxSampleSize is the size of the samples of the larger sets, as in the papers.
const maxSampleSize = 320

// studyConstraints repeats Basu2003 Figures 1 to 4: pairwise F on the test half against the number of
// constraints, for k-means, PC, M and MPC.
func studyConstraints(ctx context.Context, r *runner) error {
	sets, err := r.vectors()
	if err != nil {
		return err
	}
	methods := []method{
		vectorMethod("k-means", kmeans.Options{Algorithm: kmeans.Kmeans}),
		vectorMethod("PC", kmeans.Options{Algorithm: kmeans.PCKmeans}),
		vectorMethod("M", kmeans.Options{Algorithm: kmeans.MKmeans}),
		vectorMethod("MPC, basu2003", kmeans.Options{Algorithm: kmeans.MPCKmeans}),
		vectorMethod("MPC, bilenko2004", kmeans.Options{Algorithm: kmeans.MPCKmeans, Penalty: metric.Bilenko2004}),
	}
	counts := []int{0, 50, 100, 200, 400}
	r.report.begin("constraints", "Search and similarity: k-means, PC, M and MPC (Basu et al. 2003, section 4)",
		"Pairwise F on the half of the points without constraints, mean of %d runs (standard deviation). MPC is "+
			"expected to be at least PC and M, and all of them at least k-means, when there are many constraints.",
		r.Runs)
	for _, s := range sets {
		t := r.report.table(s.name, "constraints", counts)
		for _, m := range methods {
			for column, count := range counts {
				cell := numbers{}
				for run := range r.Runs {
					f, err := r.solveFold(ctx, s, m, count, run)
					if err != nil {
						return err
					}
					cell = append(cell, f.scores.PairwiseF)
				}
				t.put(m.name, column, cell)
			}
			r.Say("%s, %s: %.2f with %d constraints", s.name, m.name, t.cell(m.name, len(counts)-1).mean(),
				counts[len(counts)-1])
		}
		last := len(counts) - 1
		t.compare("MPC, basu2003", "PC", last)
		t.compare("MPC, basu2003", "M", last)
		t.compare("PC", "k-means", last)
		t.compare("M", "k-means", last)
	}
	return nil
}

// solveFold runs a method with a number of constraints.
func (r *runner) solveFold(ctx context.Context, s set, m method, count, run int) (outcome, error) {
	s = s.sample(maxSampleSize, run)
	f := newFold(s.data.Rows(), run)
	spec := m.spec()
	spec.Seed = uint64(run)
	if spec.Algorithm.(*kmeans.Options).Algorithm != kmeans.Kmeans {
		spec.Supervision.Constraints = f.pairs(s.truth, count)
	}
	return r.solve(ctx, s, spec, f.test)
}
