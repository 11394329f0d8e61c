package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/render/page"
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

// clusterSilhouettes are the silhouettes of each cluster, the largest first.
func (b *pageBuilder) clusterSilhouettes() (clusters []page.ClusterSilhouette, known bool) {
	if _, known = b.meanSilhouette(); !known {
		return nil, false
	}
	clusters = make([]page.ClusterSilhouette, b.k)
	for at, i := range b.space.rows {
		c := &clusters[b.Labels[i]]
		c.Values = append(c.Values, b.space.silhouettes[at])
	}
	for cluster := range clusters {
		c := &clusters[cluster]
		c.Cluster, c.Class = cluster, b.clusterClass(cluster)
		slices.SortFunc(c.Values, func(x, y float64) int {
			if x > y {
				return -1
			}
			return 1
		})
		for _, v := range c.Values {
			c.Mean += v / float64(len(c.Values))
		}
	}
	return clusters, true
}

// silhouette shows how well clusters are separated.
func (b *pageBuilder) silhouette() *page.Silhouette {
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
	s := &page.Silhouette{Mean: mean, Clusters: slices.DeleteFunc(slices.Clone(clusters), func(c page.ClusterSilhouette) bool { return len(c.Values) == 0 })}
	s.Text = fmt.Sprintf("The mean silhouette is %s: the clusters %s. %s of %s rows are nearer to another cluster than to their own, %s.",
		page.Fixed(mean, 2), separationWords(mean), page.Count(below), page.Count(len(b.space.rows)), b.space.words)
	if len(b.space.rows) < len(b.whole.Labels) {
		s.Note = fmt.Sprintf("Silhouettes of %s of %s, an even sample of each cluster, among each other.", page.Count(len(b.space.rows)), b.counted(len(b.whole.Labels)))
	}
	s.Table = &page.Table{Caption: "Silhouettes of the clusters", Columns: []page.Column{{Name: "cluster"}, {Name: "mean", Numbers: true}, {Name: "smallest", Numbers: true}, {Name: "largest", Numbers: true}}}
	for _, c := range s.Clusters {
		s.Table.Rows = append(s.Table.Rows, []page.Cell{b.ofCluster(c.Cluster), page.Text(page.Fixed(c.Mean, 2)), page.Text(page.Fixed(c.Values[len(c.Values)-1], 2)), page.Text(page.Fixed(c.Values[0], 2))})
	}
	return s
}

// maxCourse is how many steps of a run are drawn, and maxCourseRows how many are listed.
const (
	maxCourse     = 2000
	maxCourseRows = 200
)

// course shows the objective, or the residuals of an eigensolver where there are no iterations.
func (b *pageBuilder) course() *page.Course {
	history := b.Result.GetHistory()
	if len(history) == 0 {
		return b.residuals()
	}
	c := &page.Course{Name: "objective", Step: "iteration"}
	last := history[len(history)-1]
	c.Text = fmt.Sprintf("The objective (%s) is %s after %s; %s.", b.Result.GetObjectiveName(), page.Number(b.Result.GetObjective()), text.Plural(int(b.Result.GetIterations()), "iteration"), stopWords(b.Result.GetStopReason()))
	if first := history[0]; first != last {
		c.Text += fmt.Sprintf(" It began at %s.", page.Number(first.GetObjective()))
	}
	if n := b.spec().GetRestarts(); n > 1 {
		c.Text += fmt.Sprintf(" Shown is the best of %d starts.", n)
	}
	for _, entry := range evenly(history, maxCourse) {
		c.Steps = append(c.Steps, int(entry.GetIteration()))
		c.Values = append(c.Values, entry.GetObjective())
	}
	for _, shift := range b.Result.GetShifts() {
		c.Shifts = append(c.Shifts, int(shift.GetIteration()))
	}
	if len(c.Shifts) > 0 {
		c.Text += " Dashed lines are shifts of the diagonal."
	}
	c.Table = &page.Table{Caption: "The objective, iteration by iteration", Columns: []page.Column{{Name: "iteration", Numbers: true}, {Name: "objective", Numbers: true}, {Name: b.plural() + " that moved", Numbers: true}}}
	for _, entry := range evenly(history, maxCourseRows) {
		c.Table.Rows = append(c.Table.Rows, []page.Cell{page.Text(page.Count(int(entry.GetIteration()))), page.Text(Exact(entry.GetObjective())), page.Text(page.Count(int(entry.GetMoved())))})
	}
	if len(history) == 1 {
		c.Table = nil
	}
	return c
}

// residuals are the progress of an eigensolver.
func (b *pageBuilder) residuals() *page.Course {
	if len(b.SolverSteps) == 0 {
		return nil
	}
	c := &page.Course{Name: "log10 of the largest residual", Step: "step"}
	c.Text = fmt.Sprintf("The objective (%s) is %s. Eigenvectors were found in %d steps; shown is how far they were from being exact.", b.Result.GetObjectiveName(), page.Number(b.Result.GetObjective()), b.SolverSteps[len(b.SolverSteps)-1].GetStep())
	for _, step := range evenly(b.SolverSteps, maxCourse) {
		c.Steps = append(c.Steps, int(step.GetStep()))
		c.Values = append(c.Values, math.Log10(step.GetResidual()))
	}
	return c
}

// stopWords say why a run ended.
func stopWords(reason cleavev1.StopReason) string {
	switch reason {
	case cleavev1.StopReason_STOP_REASON_CONVERGED:
		return "no further step would have changed it"
	case cleavev1.StopReason_STOP_REASON_MAX_ITERATIONS:
		return "the limit of iterations ended the run"
	case cleavev1.StopReason_STOP_REASON_TOLERANCE:
		return "it hardly improved any more"
	case cleavev1.StopReason_STOP_REASON_RISE:
		return "a step would have made it worse"
	case cleavev1.StopReason_STOP_REASON_CYCLE:
		return "labels began to repeat"
	case cleavev1.StopReason_STOP_REASON_CANCELLED:
		return "the run was cancelled"
	case cleavev1.StopReason_STOP_REASON_TIME_LIMIT:
		return "the time limit ended the run"
	}
	return "it ended by " + strings.ToLower(strings.ReplaceAll(ShortName(reason), "_", " "))
}
