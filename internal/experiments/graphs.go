package experiments

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering/cut"
	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/picture"
)

// rowSupervised is spectral clustering of the affinity with rewards and penalties for constraints.
const rowSupervised = "spectral, Kulis"

// loadGraph reads a graph and its classes from a folder of the data.
func (l *lab) loadGraph(name, folder string) (set, error) {
	s := set{name: name}
	truth, err := format.LoadLabels(filepath.Join(l.Data, folder, "labels.csv"), 0)
	if err != nil {
		return s, err
	}
	if s.data, err = format.LoadGraph(filepath.Join(l.Data, folder, "edges.csv"), len(truth)); err != nil {
		return s, err
	}
	s.truth = truth
	classes := slices.Clone(truth)
	slices.Sort(classes)
	s.k = len(slices.Compact(classes))
	return s, nil
}

// studyGraphs is Kulis2009 5.3 for the spectral family: graphs under constraints from half of their vertices.
func studyGraphs(ctx context.Context, l *lab) error {
	methods := []cutMethod{
		autoCut,
		spectralMethod(rowSupervised, cut.Options{Algorithm: cut.Spectral}),
		learningCut, kernelCut,
	}
	counts := []int{25, 50, 100, 200}
	l.report.begin("graphs", "Graphs under constraints (after Kulis et al. 2009, section 5.3)",
		"Normalised mutual information on the half of the vertices that gave no constraint, mean of %d runs (least to most). The constrained cut is that of Wang et al. (2014) into as many clusters as there are classes, with beta auto; *spectral, Kulis* takes the eigenvectors of the affinity with rewards and penalties for constraints, and kernel k-means is their normalized cut. "+
			"Expected: all of them use the constraints, with 200 at the latest.", l.Runs)
	plot := picture.CurvesPlot{
		Title: "Graphs under constraints", Subtitle: fmt.Sprintf("mean of %d runs, and the range from the worst to the best", l.Runs),
		X: "constraints", Y: "normalised mutual information",
	}
	for _, which := range []struct{ name, folder string }{{"Football", "football"}, {"Political books", "polbooks"}, {"Karate club", "karate"}} {
		s, err := l.loadGraph(which.name, which.folder)
		if err != nil {
			return err
		}
		t := l.report.table(fmt.Sprintf("%s (%d vertices, %d classes)", s.name, s.data.Rows(), s.k), "constraints", counts)
		t.Ranges = true
		for _, m := range methods {
			if err := l.graphRow(ctx, t, s, m, true); err != nil {
				return err
			}
		}
		if err := l.graphRow(ctx, t, s, unconstrained, false); err != nil {
			return err
		}
		for _, m := range methods {
			t.compare(m.name, rowUnconstrained, len(counts)-1)
		}
		plot.Panels = append(plot.Panels, t.panel())
	}
	return l.report.draw("graphs.svg", "normalised mutual information against the number of constraints, three graphs", func(w io.Writer) error { return picture.Curves(w, plot) })
}

// graphRow fills the row of a method.
func (l *lab) graphRow(ctx context.Context, t *Table, s set, m cutMethod, supervised bool) error {
	without, seconds := 0, numbers{}
	for column, count := range t.Columns {
		cuts, err := l.cell(ctx, l.Runs, func(run int) (cutRun, error) {
			f := folds(s.data.Rows(), run)
			var list []constraint.Constraint
			if supervised {
				list = f.pairs(s.truth, count)
			}
			return solveCut(ctx, s, m, 0, list, f.test)
		})
		if err != nil {
			return fmt.Errorf("%s, %s: %w", s.name, m.name, err)
		}
		t.put(m.name, column, each(cuts, nmiOf))
		seconds = append(seconds, each(cuts, secondsOf)...)
		for _, c := range cuts {
			if !c.found {
				without++
			}
		}
	}
	if without > 0 {
		t.note(fmt.Sprintf("In %d of %d runs no cut was feasible for %s; they count as one cluster.", without, l.Runs*len(t.Columns), m.name))
	}
	l.progress("%s, %s: %.2f, %.3f s a run", s.name, m.name, t.cell(m.name, len(t.Columns)-1).mean(), seconds.mean())
	return nil
}
