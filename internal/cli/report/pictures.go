package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/render/picture"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Scene is what pictures and the page show besides the outcome.
type Scene struct {
	Data        dataset.Dataset // nil: the data are not at hand, and the clusters are not drawn
	Header      []string        // the names of its columns
	Constraints []constraint.Constraint
	Truth       *jobflags.Truth
	Title       string
	// Sample are the points that Data and Table have a row for, of data that are too many; nil: all. The rest is about all points.
	Sample []int32

	// What only report.html shows.

	Spec        *cleavev1.JobSpec // nil: the one of the origin, if there is one
	Table       *table.Table      // the data file as it was given; nil: the data have columns of numbers, or none
	LabelColumn string            // the column of the table that has known classes; "": none has
}

// titled says what is shown, and of what.
func titled(name, shows string) string {
	if name == "" {
		return strings.ToUpper(shows[:1]) + shows[1:]
	}
	return name + ": " + shows
}

func (r *Report) drawObjective(w io.Writer, title string) error {
	plot := picture.ObjectivePlot{Name: "objective (" + r.Result.GetObjectiveName() + ")", Title: titled(title, "the objective as the run went on")}
	for _, entry := range r.Result.GetHistory() {
		plot.Iterations = append(plot.Iterations, int(entry.GetIteration()))
		plot.Values = append(plot.Values, entry.GetObjective())
		plot.Moved = append(plot.Moved, int(entry.GetMoved()))
	}
	for _, shift := range r.Result.GetShifts() {
		plot.Shifts = append(plot.Shifts, int(shift.GetIteration()))
	}
	return picture.Objective(w, plot)
}

// drawClusters draws points, dense or sparse, and kernel matrices by their principal components, a small graph by a layout of
// its vertices, and a large one as a graph of its clusters.
func (r *Report) drawClusters(w io.Writer, s Scene) error {
	all := len(r.Labels)
	r, s = r.sampled(s)
	set, err := constraint.NewSet(len(r.Labels), s.Constraints, constraint.UnitWeight)
	if err != nil {
		return err
	}
	plot := picture.ClustersPlot{
		Labels: r.Labels, K: int(r.Result.GetK()), Pairs: set.Pairs(), Classes: r.classes, Subtitle: r.subtitle(),
		Title: titled(s.Title, text.Plural(int(r.Result.GetK()), "cluster")+" of "+drawnText(s.Data, all)),
	}
	if len(r.Labels) < all {
		plot.Title += fmt.Sprintf(", a sample of %d", len(r.Labels))
	}
	if s.Truth != nil {
		plot.Truth = Ranks(s.Truth.Labels)
	}
	switch data := s.Data.(type) {
	case *dataset.Points:
		points, centers, err := r.asCompared(data)
		if err != nil {
			return err
		}
		plot.XY, plot.Centers, plot.Axes = picture.ProjectWith(points, centers)
		if data.D <= 2 && len(s.Header) == data.D {
			copy(plot.Axes[:], s.Header)
		}
	case *dataset.SparsePoints:
		plot.XY, plot.Axes, _ = r.projectSparse(data, s.Spec)
	case *dataset.Kernel:
		plot.XY, plot.Axes = picture.ProjectKernel(data)
	case *dataset.Graph:
		xy, small := r.layoutGraph(data)
		if !small {
			return picture.ClusterGraph(w, picture.ClusterGraphPlot{
				Graph: data, Labels: plot.Labels, K: plot.K, Pairs: plot.Pairs, Classes: plot.Classes, Title: plot.Title, Subtitle: plot.Subtitle,
			})
		}
		plot.XY, plot.Graph = xy, data
	}
	return picture.Clusters(w, plot)
}

// drawnText counts what was clustered.
func drawnText(data dataset.Dataset, count int) string {
	if _, graph := data.(*dataset.Graph); graph && count != 1 {
		return fmt.Sprintf("%d vertices", count)
	}
	return text.Plural(count, "point")
}

// asCompared gives the points, and the centroids if they can be drawn among them, in the units that they were clustered
// in, so that their principal components show what counted. One or two columns are drawn as they are.
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

func (r *Report) subtitle() string {
	line := fmt.Sprintf("%s %s", r.Result.GetObjectiveName(), Brief(r.Result.GetObjective()))
	if r.Result.GetSpectral() == nil && r.Result.GetIterations() > 0 {
		line += " after " + text.Plural(int(r.Result.GetIterations()), "iteration")
	}
	if c := r.Result.GetConstraints(); c.GetTotal() > 0 {
		line += fmt.Sprintf(", %d of %s satisfied", c.GetSatisfied(), text.Plural(int(c.GetTotal()), "constraint"))
	}
	if r.Result.GetEvaluation() != nil {
		line += fmt.Sprintf(", NMI %.3f", r.Result.GetEvaluation().GetNmi())
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
