package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/picture"
)

// The pictures: clusters are not drawn of all data, and a course not of runs that were done at once.
const (
	clustersFile  = "clusters.svg"
	objectiveFile = "objective.svg"
)

// scene is what a picture of the clusters shows besides the outcome.
type scene struct {
	data        dataset.Dataset // nil: it is not here, and there is no such picture
	header      []string        // the names of its columns
	constraints []constraint.Constraint
	truth       *truth
	title       string
}

// files are what --out writes: labels.csv, the model or embedding, the pictures, and result.json last. A picture
// that cannot be drawn is left out: it must not cost the result. complain hears why.
func (o *outcome) files(s scene, complain func(format string, args ...any)) []outputFile {
	files := []outputFile{{labelsFile, func(w io.Writer) error { return format.WriteLabels(w, o.left.restore(o.labels)) }}}
	files = append(files, o.modelFiles(s.header, complain)...)
	files = append(files, o.embeddingFiles(complain)...)
	add := func(name string, draw func(w io.Writer) error) {
		var drawn bytes.Buffer
		if err := draw(&drawn); err != nil {
			complain("%s could not be drawn: %v", name, err)
			return
		}
		files = append(files, outputFile{name, copyOf(&drawn)})
	}
	switch {
	case o.document.Spectral == nil || len(o.document.History) > 0:
		add(objectiveFile, func(w io.Writer) error { return o.drawObjective(w, s.title) })
	case len(o.steps) > 0:
		add(objectiveFile, func(w io.Writer) error { return o.drawResiduals(w, s.title) })
	}
	switch s.data.(type) {
	case nil:
		complain("clusters.svg was not drawn: it needs the data file (--data, --graph or --kernel-matrix)")
	case *dataset.SparsePoints:
		complain("clusters.svg was not drawn: only dense points are, and these are sparse")
	default:
		add(clustersFile, func(w io.Writer) error { return o.drawClusters(w, s) })
	}
	return append(files, outputFile{resultFile, func(w io.Writer) error { return printJSON(w, o.document) }})
}

func copyOf(b *bytes.Buffer) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b.Bytes())
		return err
	}
}

func (o *outcome) drawObjective(w io.Writer, title string) error {
	plot := picture.ObjectivePlot{Name: o.document.ObjectiveName, Title: title}
	for _, entry := range o.document.History {
		plot.Iterations = append(plot.Iterations, int(entry.Iteration))
		plot.Values = append(plot.Values, entry.Objective)
		plot.Moved = append(plot.Moved, int(entry.Moved))
	}
	for _, shift := range o.document.Shifts {
		plot.Shifts = append(plot.Shifts, int(shift.Iteration))
	}
	return picture.Objective(w, plot)
}

// drawClusters draws points by their principal components, a kernel matrix by its own, a small
// graph by its layout and a large one as a graph of its clusters.
func (o *outcome) drawClusters(w io.Writer, s scene) error {
	set, err := constraint.NewSet(len(o.labels), s.constraints, constraint.UnitWeight)
	if err != nil {
		return err
	}
	plot := picture.ClustersPlot{
		Labels: o.labels, K: int(o.document.K), Pairs: set.Pairs(), Title: s.title, Subtitle: o.subtitle(),
	}
	if s.truth != nil {
		plot.Truth = ranks(s.truth.labels)
	}
	switch data := s.data.(type) {
	case *dataset.Points:
		plot.XY, plot.Centres, plot.Axes = picture.ProjectWith(data, o.centroids())
	case *dataset.Kernel:
		plot.XY, plot.Axes = picture.ProjectKernel(data)
	case *dataset.Graph:
		const layoutSeed = 0
		xy, small := picture.LayoutGraph(data, layoutSeed)
		if !small {
			return picture.ClusterGraph(w, picture.ClusterGraphPlot{
				Graph: data, Labels: plot.Labels, K: plot.K, Pairs: plot.Pairs, Title: plot.Title, Subtitle: plot.Subtitle,
			})
		}
		plot.XY, plot.Graph = xy, data
	}
	return picture.Clusters(w, plot)
}

func (o *outcome) subtitle() string {
	d := o.document
	text := fmt.Sprintf("%s %s", d.ObjectiveName, brief(d.Objective))
	if d.Spectral == nil {
		text += " after " + plural(int(d.Iterations), "iteration")
	}
	if d.Constraints != nil {
		text += fmt.Sprintf(", %d of %d constraints satisfied", d.Constraints.Satisfied, d.Constraints.Total)
	}
	if d.Evaluation != nil {
		text += fmt.Sprintf(", NMI %.3f", d.Evaluation.NMI)
	}
	return text
}

// ranks replaces labels by their places among the sorted distinct ones.
func ranks(labels []int64) []int32 {
	distinct := slices.Compact(slices.Sorted(slices.Values(labels)))
	ranked := make([]int32, len(labels))
	for i, label := range labels {
		at, _ := slices.BinarySearch(distinct, label)
		ranked[i] = int32(at)
	}
	return ranked
}
