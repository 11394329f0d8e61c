package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/render/page"
	"github.com/cleave-project/cleave/internal/render/picture"
	"github.com/cleave-project/cleave/internal/render/profile"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// titled says what a picture shows, and of which data.
func titled(name, shows string) string {
	if name == "" {
		return upperFirst(shows)
	}
	return name + ": " + shows
}

// clusterMap shows the clusters in two dimensions: points and kernel matrices by their principal components, a small graph
// by a layout of its vertices, and a large one as a graph of its clusters. It returns nil if there are no labels or no data.
func (b *pageBuilder) clusterMap() (*page.Section, error) {
	if len(b.Labels) == 0 || b.scene.Data == nil {
		return nil, nil
	}
	plot := picture.ClustersPlot{
		Labels: b.Labels, K: b.k, Pairs: b.pairs, Classes: b.Classes, Sizes: b.sizesOf(), Noun: b.plural(), Describe: b.describeRow,
		Title:    titled(b.scene.Title, text.Plural(b.k, "cluster")+" of "+b.counted(len(b.whole.Labels))),
		Subtitle: b.subtitle(),
	}
	if b.scene.Truth != nil {
		plot.Truth = Ranks(b.scene.Truth.Labels)
	}
	if b.hasConfidence() {
		plot.Fade = func(i int) int { return confidenceLevel(b.Rows.Confidence[i]) }
		plot.FadeName = func(fade int) string { return "confidence " + confidenceLevels[fade].name }
	}
	words := ""
	switch data := b.scene.Data.(type) {
	case *dataset.Points:
		points, centers, err := b.asCompared(data)
		if err != nil {
			return nil, err
		}
		plot.XY, plot.Centers, plot.Axes = picture.ProjectWith(points, centers)
		words = "Rows by the two directions in which they differ most (principal components)."
		switch data.D {
		case 1:
			plot.Axes[0], words = b.columnName(0), "Rows by their only column; the height has no meaning and keeps them apart."
		case 2:
			plot.Axes, words = [2]string{b.columnName(0), b.columnName(1)}, "Rows by their two columns."
		}
		if places := placesOf(plot.XY); data.D > 1 && 2*places <= len(plot.XY) {
			words += fmt.Sprintf(" Rows of equal values lie on top of each other: %s at %s.", text.Count(len(plot.XY), "row is", "rows are"), text.Plural(places, "place"))
		}
	case *dataset.Kernel:
		plot.XY, plot.Axes = picture.ProjectKernel(data)
		words = "Rows by the two directions in which they differ most in the space of the kernel."
	case *dataset.SparsePoints:
		if e := b.Embedding; e != nil && e.Rows == len(b.Labels) && e.Columns > 0 {
			plot.XY, plot.Axes = picture.Project(&dataset.Points{N: e.Rows, D: e.Columns, Values: e.Values})
			words = "Rows by the coordinates that the algorithm computed for them."
			break
		}
		words = "Rows by the two directions in which they differ most (principal components)."
		if b.byDirection(b.spec()) {
			data = profile.Directions(data)
			words = "Rows, scaled to length 1, by the two directions in which they differ most (principal components)."
		}
		plot.XY, plot.Axes = picture.ProjectSparse(data)
	case *dataset.Graph:
		const layoutSeed = 0
		xy, small := picture.LayoutGraph(data, layoutSeed)
		if !small {
			return b.discMap(data, plot)
		}
		plot.XY, plot.Graph = xy, data
		words = "The vertices of the graph and their edges, placed so that neighbors are near each other."
	}
	plot.Label = "Clusters in two dimensions. " + words
	figure, err := plot.Figure()
	return b.mapSection(words, figure, plot.Axes), err
}

// placesOf returns the number of different places.
func placesOf(xy [][2]float64) int {
	places := make(map[[2]float64]bool, len(xy))
	for _, place := range xy {
		places[place] = true
	}
	return len(places)
}

// mapSection shows the clusters in a figure, and lists them. It returns nil if there is no figure.
func (b *pageBuilder) mapSection(words string, figure *picture.Figure, axes [2]string) *page.Section {
	if figure == nil {
		return nil
	}
	return &page.Section{ID: "clusters", Title: "The clusters", Text: []string{words}, Chart: &page.Chart{Figure: figure, Table: b.placesTable(figure, axes)}}
}

// discMap shows a graph that is too large for its vertices.
func (b *pageBuilder) discMap(graph *dataset.Graph, plot picture.ClustersPlot) (*page.Section, error) {
	const words = "A disc is a cluster, its area the number of vertices; the width of a line is the weight of the edges between two clusters."
	figure, err := picture.ClusterGraphPlot{
		Graph: graph, Labels: plot.Labels, K: plot.K, Pairs: plot.Pairs, Classes: plot.Classes, Title: plot.Title, Subtitle: plot.Subtitle, Label: words,
	}.Figure()
	return b.mapSection(words, figure, [2]string{}), err
}

// describeRow returns the tooltip of a row in the map.
func (b *pageBuilder) describeRow(i int) string {
	says := fmt.Sprintf("%s, %s", b.inSentence(int32(i)), b.clusterWords(int(b.Labels[i])))
	if b.scene.Truth != nil {
		says += ", true class " + page.Isolated(page.Short(className(b.scene.Truth, i), maxName))
	}
	if b.hasConfidence() {
		says += ", confidence " + confidenceText(b.Rows.Confidence[i])
	}
	return says
}

// placesTable lists the clusters with the means of their drawn points, along the axes that have a meaning.
func (b *pageBuilder) placesTable(figure *picture.Figure, axes [2]string) *page.Table {
	t := &page.Table{Caption: "Where the clusters are", Columns: []page.Column{{Name: "cluster"}, {Name: "size", Numbers: true}}}
	for _, name := range axes {
		if name != "" {
			t.Columns = append(t.Columns, page.Column{Name: "middle, " + name, Numbers: true})
		}
	}
	for _, e := range figure.Clusters {
		row := []page.Cell{b.ofCluster(e.Cluster), page.Text(page.Count(e.Size))}
		for at, v := range [2]float64{e.X, e.Y} {
			switch {
			case axes[at] == "":
			case e.Drawn:
				row = append(row, page.Text(page.Number(v)))
			default:
				row = append(row, page.Text(""))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// asCompared converts the points, and the centroids if they can be drawn among them, to the units that they were clustered
// in, so that their principal components show what mattered. One or two columns are drawn as they are.
func (r *Report) asCompared(points *dataset.Points) (rows, centers *dataset.Points, err error) {
	centers = r.centroids()
	if points.D <= 2 {
		return points, centers, nil
	}
	scaled, units, _, err := clustering.InUnits(points, wire.ScaleOf(r.Result))
	if err != nil {
		return nil, nil, err
	}
	if centers == nil {
		return scaled.(*dataset.Points), nil, nil
	}
	scaledCenters, err := units.Apply(centers)
	if err != nil {
		return nil, nil, err
	}
	return scaled.(*dataset.Points), scaledCenters.(*dataset.Points), nil
}

func (b *pageBuilder) subtitle() string {
	line := fmt.Sprintf("%s %s", b.Result.GetObjectiveName(), Brief(b.Result.GetObjective()))
	if b.Result.GetSpectral() == nil && b.Result.GetIterations() > 0 {
		line += " after " + text.Plural(int(b.Result.GetIterations()), "iteration")
	}
	if c := b.Result.GetConstraints(); c.GetTotal() > 0 {
		line += fmt.Sprintf(", %d of %s satisfied", c.GetSatisfied(), text.Plural(int(c.GetTotal()), "constraint"))
	}
	if b.Run.GetEvaluation() != nil {
		line += fmt.Sprintf(", NMI %.3f", b.Run.GetEvaluation().GetNmi())
	}
	return line
}

// Ranks replaces each label by its place among the distinct labels in ascending order.
func Ranks(labels []int64) []int32 {
	distinct := slices.Compact(slices.Sorted(slices.Values(labels)))
	ranked := make([]int32, len(labels))
	for i, label := range labels {
		at, _ := slices.BinarySearch(distinct, label)
		ranked[i] = int32(at)
	}
	return ranked
}

// columnName returns the name of a column of the points.
func (b *pageBuilder) columnName(at int) string {
	if at < len(b.scene.Header) && strings.TrimSpace(b.scene.Header[at]) != "" {
		return b.scene.Header[at]
	}
	return fmt.Sprintf("x%d", at)
}
