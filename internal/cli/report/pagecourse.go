package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/render/explain"
	"github.com/cleave-project/cleave/internal/render/page"
	"github.com/cleave-project/cleave/internal/render/picture"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// maxListedClusters is how many clusters a table lists.
const maxListedClusters = 200

// sizes lists the clusters, with what is known of each in a number.
func (b *pageBuilder) sizes() *page.Section {
	if len(b.Labels) == 0 {
		return nil
	}
	sizes := b.sizesOf()
	largest := max(1, slices.Max(sizes))
	t := &page.Table{Caption: "Sizes of the clusters", Columns: []page.Column{{Name: "cluster"}, {Name: b.plural(), Numbers: true}, {Name: "share"}}}
	means, known := b.clusterSilhouettes()
	if known {
		t.Columns = append(t.Columns, page.Column{Name: "mean silhouette", Numbers: true})
	}
	for cluster, size := range sizes {
		if cluster == maxListedClusters {
			t.Note = fmt.Sprintf("Shown: the first %d of %s clusters.", cluster, page.Count(b.k))
			break
		}
		row := []page.Cell{b.ofCluster(cluster), page.Text(page.Count(size)), page.ShareBar(page.Percent(float64(size)/float64(len(b.Labels))), float64(size)/float64(largest))}
		if known {
			row = append(row, page.Text(page.Fixed(means[cluster].Mean, 2)))
		}
		t.Rows = append(t.Rows, row)
	}
	return &page.Section{ID: "sizes", Title: "Sizes", Tables: []*page.Table{t}}
}

// clusterSilhouettes returns the silhouettes of each cluster, in descending order.
func (b *pageBuilder) clusterSilhouettes() (clusters []picture.ClusterSilhouette, known bool) {
	if _, known = b.meanSilhouette(); !known {
		return nil, false
	}
	clusters = make([]picture.ClusterSilhouette, b.k)
	for at, i := range b.space.rows {
		c := &clusters[b.Labels[i]]
		c.Values = append(c.Values, b.space.silhouettes[at])
	}
	for cluster := range clusters {
		c := &clusters[cluster]
		c.Cluster, c.Class = cluster, b.clusterClass(cluster)
		slices.SortFunc(c.Values, func(x, y float64) int { return cmp.Compare(y, x) })
		for _, v := range c.Values {
			c.Mean += v / float64(len(c.Values))
		}
	}
	return clusters, true
}

// silhouette shows how well clusters are separated.
func (b *pageBuilder) silhouette() *page.Section {
	clusters, known := b.clusterSilhouettes()
	if !known {
		return nil
	}
	mean, _ := b.meanSilhouette()
	below := 0
	for _, v := range b.space.silhouettes {
		if v < 0 {
			below++
		}
	}
	clusters = slices.DeleteFunc(clusters, func(c picture.ClusterSilhouette) bool { return len(c.Values) == 0 })
	words := fmt.Sprintf("The mean silhouette is %s: the clusters %s. %s of %s rows are nearer to another cluster than to their own, %s.",
		page.Fixed(mean, 2), separationWords(mean), page.Count(below), page.Count(len(b.space.rows)), b.space.words)
	c := &page.Chart{Figure: picture.SilhouettePlot{Label: words, Mean: mean, Clusters: clusters}.Figure()}
	if len(b.space.rows) < len(b.whole.Labels) {
		c.Note = fmt.Sprintf("Silhouettes of %s of %s, an even sample of each cluster, among each other.", page.Count(len(b.space.rows)), b.counted(len(b.whole.Labels)))
	}
	c.Table = &page.Table{Caption: "Silhouettes of the clusters", Columns: []page.Column{{Name: "cluster"}, {Name: "mean", Numbers: true}, {Name: "smallest", Numbers: true}, {Name: "largest", Numbers: true}}}
	for _, of := range clusters {
		c.Table.Rows = append(c.Table.Rows, []page.Cell{b.ofCluster(of.Cluster), page.Text(page.Fixed(of.Mean, 2)), page.Text(page.Fixed(of.Values[len(of.Values)-1], 2)), page.Text(page.Fixed(of.Values[0], 2))})
	}
	return &page.Section{ID: "separation", Title: "Separation", Text: []string{words}, Chart: c}
}

const (
	maxSolverSteps = 2000 // of an eigensolver that a result keeps
	maxCourseRows  = 200  // iterations that a table lists
)

// objectivePlot returns the objective, or the residuals of an eigensolver where there are no iterations. A residual of 0
// has no logarithm and leaves a gap. It reports whether either was recorded.
func (r *Report) objectivePlot(title string) (plot picture.ObjectivePlot, recorded bool) {
	for _, entry := range r.Result.GetHistory() {
		plot.Iterations = append(plot.Iterations, int(entry.GetIteration()))
		plot.Values = append(plot.Values, entry.GetObjective())
		plot.Moved = append(plot.Moved, int(entry.GetMoved()))
	}
	if len(plot.Values) > 0 {
		plot.Name, plot.Title = "objective ("+r.Result.GetObjectiveName()+")", titled(title, "the objective during the run")
		for _, shift := range r.Result.GetShifts() {
			plot.Shifts = append(plot.Shifts, int(shift.GetIteration()))
		}
		return plot, true
	}
	plot.Name, plot.Step, plot.Title = "log10 of the largest residual", "step", titled(title, "how the eigenvectors converged")
	for _, step := range r.SolverSteps {
		plot.Iterations = append(plot.Iterations, int(step.GetStep()))
		plot.Values = append(plot.Values, math.Log10(step.GetResidual()))
	}
	return plot, len(plot.Values) > 0
}

// course shows the objective, or the residuals of an eigensolver where there are no iterations.
func (b *pageBuilder) course() (*page.Section, error) {
	plot, recorded := b.objectivePlot("")
	if !recorded {
		return nil, nil
	}
	c := &page.Chart{}
	if history := b.Result.GetHistory(); len(history) > 0 {
		plot.Label, c.Table = b.describeCourse(history), b.courseTable(history)
	} else {
		plot.Label = fmt.Sprintf("The objective (%s) is %s. The eigenvectors took %d steps; the chart shows how far they were from exact.", b.Result.GetObjectiveName(), page.Number(b.Result.GetObjective()), b.SolverSteps[len(b.SolverSteps)-1].GetStep())
	}
	s := &page.Section{ID: "objective", Title: "Objective", Text: []string{plot.Label}, Chart: c}
	if len(plot.Values) < 2 {
		return s, nil
	}
	var err error
	c.Figure, err = plot.Figure()
	return s, err
}

// describeCourse says how the objective changed and why the run ended.
func (b *pageBuilder) describeCourse(history []*cleavev1.Iteration) string {
	words := fmt.Sprintf("The objective (%s) is %s.", b.Result.GetObjectiveName(), page.Number(b.Result.GetObjective()))
	if len(history) > 1 {
		words += fmt.Sprintf(" It began at %s.", page.Number(history[0].GetObjective()))
	}
	words += " " + explain.Stopped(b.Result)
	if n := b.spec().GetRestarts(); n > 1 {
		words += fmt.Sprintf(" The chart shows the best of %d starts.", n)
	}
	if len(b.Result.GetShifts()) > 0 {
		words += " Dashed lines are shifts of the diagonal."
	}
	return words
}

// courseTable lists the iterations, or an even sample of many. It returns nil for a single one.
func (b *pageBuilder) courseTable(history []*cleavev1.Iteration) *page.Table {
	if len(history) == 1 {
		return nil
	}
	t := &page.Table{Caption: "The objective, iteration by iteration", Columns: []page.Column{{Name: "iteration", Numbers: true}, {Name: "objective", Numbers: true}, {Name: b.plural() + " that moved", Numbers: true}}}
	for _, entry := range choose.At(history, choose.Even[int](len(history), maxCourseRows)) {
		t.Rows = append(t.Rows, []page.Cell{page.Text(page.Count(int(entry.GetIteration()))), page.Text(Exact(entry.GetObjective())), page.Text(page.Count(int(entry.GetMoved())))})
	}
	return t
}
