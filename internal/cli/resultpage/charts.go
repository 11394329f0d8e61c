package resultpage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/render/explain"
	"github.com/cleave-project/cleave/internal/render/page"
	"github.com/cleave-project/cleave/internal/render/picture"
	"github.com/cleave-project/cleave/internal/render/profile"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// clusterMap shows the clusters in two dimensions: points and kernel matrices by their principal components, a small
// graph by a layout of its vertices, and a large one as a graph of its clusters. It returns nil if there are no labels
// or no data.
func (s *sample) clusterMap() *page.Section {
	if len(s.Labels) == 0 || s.scene.Data == nil {
		return nil
	}
	plot := picture.ClustersPlot{
		Labels: s.Labels, K: s.k, Pairs: s.pairs, Classes: s.Classes, Truth: s.trueClass, Sizes: s.all.sizesOf(),
		Noun: s.plural(), Describe: s.describeRow,
		Title:    titled(s.scene.Title, text.Plural(s.k, "cluster")+" of "+s.counted(len(s.all.Labels))),
		Subtitle: s.subtitle(),
	}
	if s.hasConfidence() {
		plot.Fade = func(i int) int { return confidenceLevel(s.Rows.Confidence[i]) }
		plot.FadeName = func(fade int) string { return "confidence " + confidenceLevels[fade].name }
	}
	words := ""
	switch data := s.scene.Data.(type) {
	case *dataset.Points:
		plot.XY, plot.Centers, plot.Axes = picture.Project(s.drawn(data))
		words = "Rows by the two directions in which they differ most (principal components)."
		switch data.D {
		case 1:
			plot.Axes[0] = s.columnName(0)
			words = "Rows by their only column; the height has no meaning and keeps them apart."
		case 2:
			plot.Axes = [2]string{s.columnName(0), s.columnName(1)}
			words = "Rows by their two columns."
		}
		if places := placesOf(plot.XY); data.D > 1 && 2*places <= len(plot.XY) {
			words += fmt.Sprintf(" Rows of equal values lie on top of each other: %s at %s.",
				text.Count(len(plot.XY), "row is", "rows are"), text.Plural(places, "place"))
		}
	case *dataset.Kernel:
		plot.XY, plot.Axes = picture.ProjectKernel(data)
		words = "Rows by the two directions in which they differ most in the space of the kernel."
	case *dataset.SparsePoints:
		if e := s.Embedding; e != nil && e.Rows == len(s.Labels) && e.Columns > 0 {
			plot.XY, _, plot.Axes = picture.Project(coordinates(e), nil)
			words = "Rows by the coordinates that the algorithm computed for them."
			break
		}
		words = "Rows by the two directions in which they differ most (principal components)."
		if s.byDirection(s.spec()) {
			data = profile.Directions(data)
			words = "Rows, scaled to length 1, by the two directions in which they differ most (principal components)."
		}
		plot.XY, plot.Axes = picture.ProjectSparse(data)
	case *dataset.Graph:
		const layoutSeed = 0
		xy, small := picture.LayoutGraph(data, layoutSeed)
		if !small {
			plot.Label = "A disc is a cluster, its area the number of vertices; the width of a line is the weight of " +
				"the edges between two clusters."
			return s.mapSection(plot.Label, plot.ClusterGraph(data), plot.Axes)
		}
		plot.XY, plot.Graph = xy, data
		words = "The vertices of the graph and their edges, placed so that neighbors are near each other."
	}
	plot.Label = "Clusters in two dimensions. " + words
	return s.mapSection(words, plot.Figure(), plot.Axes)
}

// placesOf returns the number of different places.
func placesOf(xy [][2]float64) int {
	places := make(map[[2]float64]bool, len(xy))
	for _, place := range xy {
		places[place] = true
	}
	return len(places)
}

// mapSection shows the clusters in a figure, and lists them.
func (s *sample) mapSection(words string, figure *picture.Figure, axes [2]string) *page.Section {
	return &page.Section{ID: "clusters", Title: "The clusters", Text: []string{words},
		Chart: &page.Chart{Figure: figure, Table: s.placesTable(figure, axes)}}
}

// describeRow returns the tooltip of a row in the map.
func (s *sample) describeRow(i int) string {
	line := fmt.Sprintf("%s, %s", s.inSentence(int32(i)), s.clusterWords(int(s.Labels[i])))
	if s.trueClass != nil && s.trueClass[i] >= 0 {
		line += ", true class " + page.Isolated(page.Short(s.classNames[s.trueClass[i]], maxName))
	}
	if s.hasConfidence() {
		line += ", confidence " + confidenceText(s.Rows.Confidence[i])
	}
	return line
}

// placesTable lists the clusters with the means of their drawn points, along the axes that have a meaning.
func (s *sample) placesTable(figure *picture.Figure, axes [2]string) *page.Table {
	t := page.NewTable("Where the clusters are", "cluster").Numbers("size")
	for _, name := range axes {
		if name != "" {
			t.Numbers("middle, " + name)
		}
	}
	for _, e := range figure.Clusters {
		row := []page.Cell{s.ofCluster(e.Cluster), page.Text(text.Grouped(e.Size))}
		for at, v := range [2]float64{e.X, e.Y} {
			switch {
			case axes[at] == "":
			case e.Drawn:
				row = append(row, page.Text(page.Number(v)))
			default:
				row = append(row, page.Text(""))
			}
		}
		t.Add(row...)
	}
	return t
}

// drawn returns the points in the units that they were clustered in, so that their principal components show what
// mattered, and the centroids among them, if there are any: all distortions but the squared Euclidean one transform the
// points first, as landmarks do. One or two columns are drawn as they are.
func (s *sample) drawn(points *dataset.Points) (rows, centers *dataset.Points) {
	if m := s.Model; m != nil && m.Distortion == metric.SquaredEuclidean && m.Landmarks == nil && m.K == s.k &&
		m.D == points.D {
		centers = &dataset.Points{N: m.K, D: m.D, Values: m.Centroids}
	}
	if points.D <= 2 {
		return points, centers
	}
	if centers != nil {
		scaled, err := s.units.ApplyToRows(centers, 0)
		if err != nil {
			return s.scaled, nil
		}
		centers = scaled
	}
	return s.scaled, centers
}

// subtitle sums the result up in a line, for the file of the map, which stands alone.
func (s *sample) subtitle() string {
	line := fmt.Sprintf("%s %s", s.Result.GetObjectiveName(), text.Brief(s.Result.GetObjective()))
	if s.Result.GetSpectral() == nil && s.Result.GetIterations() > 0 {
		line += " after " + text.Plural(int(s.Result.GetIterations()), "iteration")
	}
	if c := s.Result.GetConstraints(); c.GetTotal() > 0 {
		line += fmt.Sprintf(", %d of %s satisfied", c.GetSatisfied(), text.Plural(int(c.GetTotal()), "constraint"))
	}
	if s.Run.GetEvaluation() != nil {
		line += fmt.Sprintf(", NMI %.3f", s.Run.GetEvaluation().GetNmi())
	}
	return line
}

// columnName returns the name of a column of the points.
func (s *sample) columnName(at int) string {
	if at < len(s.scene.Header) && strings.TrimSpace(s.scene.Header[at]) != "" {
		return s.scene.Header[at]
	}
	return fmt.Sprintf("x%d", at)
}

// maxListedClusters is how many clusters a table lists.
const maxListedClusters = 200

// sizes lists the clusters, with what is known of each in a number.
func (b *builder) sizes() *page.Section {
	if len(b.Labels) == 0 {
		return nil
	}
	sizes := b.sizesOf()
	largest := max(1, slices.Max(sizes))
	t := page.NewTable("Sizes of the clusters", "cluster").Numbers(b.plural()).Words("share")
	means, known := b.sample.clusterSilhouettes()
	if known {
		t.Numbers("mean silhouette")
	}
	for cluster, size := range sizes {
		if cluster == maxListedClusters {
			t.Note = fmt.Sprintf("Shown: the first %d of %s clusters.", cluster, text.Grouped(b.k))
			break
		}
		share := page.ShareBar(page.Percent(float64(size)/float64(len(b.Labels))), float64(size)/float64(largest))
		row := []page.Cell{b.ofCluster(cluster), page.Text(text.Grouped(size)), share}
		if known {
			row = append(row, page.Text(page.Fixed(means[cluster].Mean, 2)))
		}
		t.Add(row...)
	}
	return &page.Section{ID: "sizes", Title: "Sizes", Tables: []*page.Table{t}}
}

// clusterSilhouettes returns the silhouettes of each cluster, in descending order.
func (s *sample) clusterSilhouettes() (clusters []picture.ClusterSilhouette, known bool) {
	if _, known = s.meanSilhouette(); !known {
		return nil, false
	}
	clusters = make([]picture.ClusterSilhouette, s.k)
	for at, i := range s.space.rows {
		c := &clusters[s.Labels[i]]
		c.Values = append(c.Values, s.space.silhouettes[at])
	}
	for cluster := range clusters {
		c := &clusters[cluster]
		c.Cluster, c.Class = cluster, s.clusterClass(cluster)
		slices.SortFunc(c.Values, func(x, y float64) int { return cmp.Compare(y, x) })
		for _, v := range c.Values {
			c.Mean += v / float64(len(c.Values))
		}
	}
	return clusters, true
}

// silhouette shows how well clusters are separated.
func (s *sample) silhouette() *page.Section {
	clusters, known := s.clusterSilhouettes()
	if !known {
		return nil
	}
	mean, _ := s.meanSilhouette()
	below := 0
	for _, v := range s.space.silhouettes {
		if v < 0 {
			below++
		}
	}
	clusters = slices.DeleteFunc(clusters, func(c picture.ClusterSilhouette) bool { return len(c.Values) == 0 })
	words := fmt.Sprintf("The mean silhouette is %s: the clusters %s. Of %s, %s nearer to another cluster than to "+
		"their own, %s.", page.Fixed(mean, 2), separationWords(mean),
		s.counted(len(s.space.rows)), text.GroupedCount(below, "is", "are"), s.space.words)
	c := &page.Chart{Figure: picture.SilhouettePlot{Label: words, Mean: mean, Clusters: clusters}.Figure()}
	if len(s.space.rows) < len(s.all.Labels) {
		c.Note = fmt.Sprintf("Silhouettes of %s of %s, an even sample of each cluster, among each other.",
			text.Grouped(len(s.space.rows)), s.counted(len(s.all.Labels)))
	}
	c.Table = page.NewTable("Silhouettes of the clusters", "cluster").Numbers("mean", "smallest", "largest")
	for _, of := range clusters {
		smallest, largest := of.Values[len(of.Values)-1], of.Values[0]
		c.Table.Add(s.ofCluster(of.Cluster), page.Text(page.Fixed(of.Mean, 2)), page.Text(page.Fixed(smallest, 2)),
			page.Text(page.Fixed(largest, 2)))
	}
	return &page.Section{ID: "separation", Title: "Separation", Text: []string{words}, Chart: c}
}

// maxCourseRows is how many iterations a table lists.
const maxCourseRows = 200

// course shows the objective, or the residuals of an eigensolver where there are no iterations.
func (b *builder) course() *page.Section {
	plot, recorded := objectivePlot(b.Report, "")
	if !recorded {
		return nil
	}
	c := &page.Chart{}
	if history := b.Result.GetHistory(); len(history) > 0 {
		plot.Label = b.describeCourse()
		c.Table = b.courseTable(history)
	} else {
		plot.Label = fmt.Sprintf("%s The eigenvectors took %d steps; the chart shows how far they were from exact.",
			explain.Objective(b.Result, page.Number), b.SolverSteps[len(b.SolverSteps)-1].GetStep())
	}
	if len(plot.Values) > 1 {
		c.Figure = plot.Figure()
	}
	return &page.Section{ID: "objective", Title: "Objective", Text: []string{plot.Label}, Chart: c}
}

// describeCourse says how the objective changed and why the run ended.
func (b *builder) describeCourse() string {
	words := explain.Objective(b.Result, page.Number) + " " + explain.Stopped(b.Result)
	if n := b.spec().GetRestarts(); n > 1 {
		words += fmt.Sprintf(" The chart shows the best of %d starts.", n)
	}
	if len(b.Result.GetShifts()) > 0 {
		words += " Dashed lines are shifts of the diagonal."
	}
	return words
}

// courseTable lists the iterations, or an even sample of many. It returns nil for a single one.
func (b *builder) courseTable(history []*cleavev1.Iteration) *page.Table {
	if len(history) == 1 {
		return nil
	}
	t := page.NewTable("The objective, iteration by iteration").Numbers("iteration", "objective",
		b.plural()+" that moved")
	for _, entry := range choose.At(history, choose.Even[int](len(history), maxCourseRows)) {
		t.Add(page.Text(text.Grouped(int(entry.GetIteration()))), page.Text(report.Exact(entry.GetObjective())),
			page.Text(text.Grouped(int(entry.GetMoved()))))
	}
	return t
}
