package experiments

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/render/picture"
)

// rowSupervised is the row of spectral clustering of the affinity with rewards and penalties for
// constraints.
const rowSupervised = "spectral, Kulis"

// loadGraph reads a graph and its classes from a folder of the data.
func (r *runner) loadGraph(name, folder string) (set, error) {
	s := set{name: name}
	_, truth, err := format.LoadTable(filepath.Join(r.Data, folder, "labels.csv"), table.Labels, 0)
	if err != nil {
		return s, err
	}
	if s.data, err = format.LoadGraph(filepath.Join(r.Data, folder, "edges.csv"), len(truth)); err != nil {
		return s, err
	}
	s.truth = truth
	classes := slices.Clone(truth)
	slices.Sort(classes)
	s.k = len(slices.Compact(classes))
	return s, nil
}

// studyGraphs repeats Kulis2009 5.3 for the spectral family: graphs with constraints on half of their vertices.
func studyGraphs(ctx context.Context, r *runner) error {
	methods := []cutMethod{
		autoCut,
		spectralMethod(rowSupervised, spectral.Options{Algorithm: spectral.Spectral}),
		learningCut, kernelCut,
	}
	counts := []int{25, 50, 100, 200}
	r.report.begin("graphs", "Graphs under constraints (after Kulis et al. 2009, section 5.3)",
		"Normalized mutual information on the half of the vertices that gave no constraint, mean of %d runs (least "+
			"to most). The constrained cut is that of Wang et al. (2014) into as many clusters as there are classes, "+
			"with beta auto; *spectral, Kulis* takes the eigenvectors of the affinity with rewards and penalties for "+
			"constraints, and kernel k-means is their normalized cut. "+
			"Expected: all of them use the constraints, with 200 at the latest.", r.Runs)
	plot := picture.CurvesPlot{
		Title:    "Graphs under constraints",
		Subtitle: fmt.Sprintf("mean of %d runs, and the range from the worst to the best", r.Runs),
		X:        "constraints", Y: "normalized mutual information",
	}
	for _, which := range []struct{ name, folder string }{{"Football", "football"}, {"Political books", "polbooks"},
		{"Karate club", "karate"}} {
		s, err := r.loadGraph(which.name, which.folder)
		if err != nil {
			return err
		}
		t := r.report.table(fmt.Sprintf("%s (%d vertices, %d classes)", s.name, s.data.Rows(), s.k),
			"constraints", counts)
		t.Ranges = true
		for _, m := range methods {
			if err := r.graphRow(ctx, t, s, m, true); err != nil {
				return err
			}
		}
		if err := r.graphRow(ctx, t, s, unconstrained, false); err != nil {
			return err
		}
		for _, m := range methods {
			t.compare(m.name, rowUnconstrained, len(counts)-1)
		}
		plot.Panels = append(plot.Panels, t.panel())
	}
	return r.report.draw("graphs.svg", "normalized mutual information against the number of constraints, three graphs",
		plot.Figure().Write)
}

// graphRow fills the row of a method.
func (r *runner) graphRow(ctx context.Context, t *Table, s set, m cutMethod, supervised bool) error {
	infeasible, seconds := 0, numbers{}
	for column, count := range t.Columns {
		cuts, err := r.cell(ctx, r.Runs, func(run int) (cutRun, error) {
			f := newFold(s.data.Rows(), run)
			var list []constraint.Constraint
			if supervised {
				list = f.pairs(s.truth, count)
			}
			return solveCut(ctx, s, m, 0, list, f.test)
		})
		if err != nil {
			return fmt.Errorf("%s, %s: %w", s.name, m.name, err)
		}
		t.put(m.name, column, valuesOf(cuts, nmiOf))
		seconds = append(seconds, valuesOf(cuts, secondsOf)...)
		for _, c := range cuts {
			if !c.found {
				infeasible++
			}
		}
	}
	if infeasible > 0 {
		t.note(fmt.Sprintf("In %d of %d runs no cut was feasible for %s; they count as one cluster.", infeasible,
			r.Runs*len(t.Columns), m.name))
	}
	r.Say("%s, %s: %.2f, %.3f s a run", s.name, m.name, t.cell(m.name, len(t.Columns)-1).mean(), seconds.mean())
	return nil
}
