package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/render/page"
	"github.com/cleave-project/cleave/internal/render/picture"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// maxListedClusters is how many clusters a table lists.
const maxListedClusters = 200

// sizes lists the clusters, with what is known of each in a number.
func (b *pageBuilder) sizes() *page.Table {
	if len(b.Labels) == 0 {
		return nil
	}
	sizes, largest := b.sizesOf(), 1
	largest = max(largest, slices.Max(sizes))
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
	return t
}

// clusterSilhouettes returns the silhouettes of each cluster, the largest first.
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
func (b *pageBuilder) silhouette() *page.Chart {
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
	s := &page.Chart{}
	s.Text = fmt.Sprintf("The mean silhouette is %s: the clusters %s. %s of %s rows are nearer to another cluster than to their own, %s.",
		page.Fixed(mean, 2), separationWords(mean), page.Count(below), page.Count(len(b.space.rows)), b.space.words)
	if len(b.space.rows) < len(b.whole.Labels) {
		s.Note = fmt.Sprintf("Silhouettes of %s of %s, an even sample of each cluster, among each other.", page.Count(len(b.space.rows)), b.counted(len(b.whole.Labels)))
	}
	s.Figure = picture.SilhouettePlot{Label: s.Text, Mean: mean, Clusters: clusters}.Figure()
	s.Table = &page.Table{Caption: "Silhouettes of the clusters", Columns: []page.Column{{Name: "cluster"}, {Name: "mean", Numbers: true}, {Name: "smallest", Numbers: true}, {Name: "largest", Numbers: true}}}
	for _, c := range clusters {
		s.Table.Rows = append(s.Table.Rows, []page.Cell{b.ofCluster(c.Cluster), page.Text(page.Fixed(c.Mean, 2)), page.Text(page.Fixed(c.Values[len(c.Values)-1], 2)), page.Text(page.Fixed(c.Values[0], 2))})
	}
	return s
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
func (b *pageBuilder) course() (*page.Chart, error) {
	plot, recorded := b.objectivePlot("")
	if !recorded {
		return nil, nil
	}
	c := &page.Chart{}
	if history := b.Result.GetHistory(); len(history) > 0 {
		b.describeCourse(c, history)
	} else {
		c.Text = fmt.Sprintf("The objective (%s) is %s. The eigenvectors took %d steps; the chart shows how far they were from exact.", b.Result.GetObjectiveName(), page.Number(b.Result.GetObjective()), b.SolverSteps[len(b.SolverSteps)-1].GetStep())
	}
	if len(plot.Values) < 2 {
		return c, nil
	}
	plot.Label = c.Text
	var err error
	c.Figure, err = plot.Figure()
	return c, err
}

// describeCourse adds the text and the table of the iterations.
func (b *pageBuilder) describeCourse(c *page.Chart, history []*cleavev1.Iteration) {
	c.Text = fmt.Sprintf("The objective (%s) is %s after %s; %s.", b.Result.GetObjectiveName(), page.Number(b.Result.GetObjective()), text.Plural(int(b.Result.GetIterations()), "iteration"), stopWords(b.Result.GetStopReason()))
	if len(history) > 1 {
		c.Text += fmt.Sprintf(" It began at %s.", page.Number(history[0].GetObjective()))
	}
	if n := b.spec().GetRestarts(); n > 1 {
		c.Text += fmt.Sprintf(" The chart shows the best of %d starts.", n)
	}
	if len(b.Result.GetShifts()) > 0 {
		c.Text += " Dashed lines are shifts of the diagonal."
	}
	if len(history) == 1 {
		return
	}
	c.Table = &page.Table{Caption: "The objective, iteration by iteration", Columns: []page.Column{{Name: "iteration", Numbers: true}, {Name: "objective", Numbers: true}, {Name: b.plural() + " that moved", Numbers: true}}}
	for _, entry := range choose.At(history, choose.Even[int](len(history), maxCourseRows)) {
		c.Table.Rows = append(c.Table.Rows, []page.Cell{page.Text(page.Count(int(entry.GetIteration()))), page.Text(Exact(entry.GetObjective())), page.Text(page.Count(int(entry.GetMoved())))})
	}
}

// stopWords says why a run ended.
func stopWords(reason cleavev1.StopReason) string {
	switch reason {
	case cleavev1.StopReason_STOP_REASON_CONVERGED:
		return "no further step would have changed it"
	case cleavev1.StopReason_STOP_REASON_MAX_ITERATIONS:
		return "the limit of iterations ended the run"
	case cleavev1.StopReason_STOP_REASON_TOLERANCE:
		return "it had almost stopped improving"
	case cleavev1.StopReason_STOP_REASON_RISE:
		return "a step would have made it worse"
	case cleavev1.StopReason_STOP_REASON_CYCLE:
		return "labels began to repeat"
	case cleavev1.StopReason_STOP_REASON_CANCELLED:
		return "the run was canceled"
	case cleavev1.StopReason_STOP_REASON_TIME_LIMIT:
		return "the time limit ended the run"
	}
	return "it ended by " + strings.ToLower(strings.ReplaceAll(ShortName(reason), "_", " "))
}
