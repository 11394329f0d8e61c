package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/shell"
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

// Scene is what a picture of the clusters shows besides the outcome.
type Scene struct {
	Data        dataset.Dataset // nil: it is not here, and there is no such picture
	Header      []string        // the names of its columns
	Constraints []constraint.Constraint
	Truth       *jobflags.Truth
	Title       string
}

// Files are what --out writes: labels.csv, the model or embedding, the pictures, and result.json last. A picture
// that cannot be drawn is left out: it must not cost the result. complain hears why.
func (r *Report) Files(s Scene, complain func(format string, args ...any)) []File {
	files := []File{{LabelsFile, func(w io.Writer) error { return format.WriteLabels(w, r.rows.Restore(r.Labels)) }}}
	files = append(files, r.modelFiles(s.Header, complain)...)
	files = append(files, r.embeddingFiles(complain)...)
	add := func(name string, draw func(w io.Writer) error) {
		var drawn bytes.Buffer
		if err := draw(&drawn); err != nil {
			complain("%s could not be drawn: %v", name, err)
			return
		}
		files = append(files, File{name, copyOf(&drawn)})
	}
	switch {
	case r.Document.Spectral == nil || len(r.Document.History) > 0:
		add(objectiveFile, func(w io.Writer) error { return r.drawObjective(w, s.Title) })
	case len(r.SolverSteps) > 0:
		add(objectiveFile, func(w io.Writer) error { return r.drawResiduals(w, s.Title) })
	}
	switch s.Data.(type) {
	case nil:
		complain("clusters.svg was not drawn: it needs the data file (--data, --graph or --kernel-matrix)")
	case *dataset.SparsePoints:
		complain("clusters.svg was not drawn: only dense points are, and these are sparse")
	default:
		add(clustersFile, func(w io.Writer) error { return r.drawClusters(w, s) })
	}
	return append(files, File{ResultFile, func(w io.Writer) error { return PrintJSON(w, r.Document) }})
}

func copyOf(b *bytes.Buffer) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b.Bytes())
		return err
	}
}

func (r *Report) drawObjective(w io.Writer, title string) error {
	plot := picture.ObjectivePlot{Name: r.Document.ObjectiveName, Title: title}
	for _, entry := range r.Document.History {
		plot.Iterations = append(plot.Iterations, int(entry.Iteration))
		plot.Values = append(plot.Values, entry.Objective)
		plot.Moved = append(plot.Moved, int(entry.Moved))
	}
	for _, shift := range r.Document.Shifts {
		plot.Shifts = append(plot.Shifts, int(shift.Iteration))
	}
	return picture.Objective(w, plot)
}

// drawClusters draws points by their principal components, a kernel matrix by its own, a small
// graph by its layout and a large one as a graph of its clusters.
func (r *Report) drawClusters(w io.Writer, s Scene) error {
	set, err := constraint.NewSet(len(r.Labels), s.Constraints, constraint.UnitWeight)
	if err != nil {
		return err
	}
	plot := picture.ClustersPlot{
		Labels: r.Labels, K: int(r.Document.K), Pairs: set.Pairs(), Title: s.Title, Subtitle: r.subtitle(),
	}
	if s.Truth != nil {
		plot.Truth = Ranks(s.Truth.Labels)
	}
	switch data := s.Data.(type) {
	case *dataset.Points:
		plot.XY, plot.Centres, plot.Axes = picture.ProjectWith(data, r.centroids())
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

func (r *Report) subtitle() string {
	d := r.Document
	text := fmt.Sprintf("%s %s", d.ObjectiveName, Brief(d.Objective))
	if d.Spectral == nil {
		text += " after " + shell.Plural(int(d.Iterations), "iteration")
	}
	if d.Constraints != nil {
		text += fmt.Sprintf(", %d of %d constraints satisfied", d.Constraints.Satisfied, d.Constraints.Total)
	}
	if d.Evaluation != nil {
		text += fmt.Sprintf(", NMI %.3f", d.Evaluation.NMI)
	}
	return text
}

// Ranks replaces labels by their places among the sorted distinct ones.
func Ranks(labels []int64) []int32 {
	distinct := slices.Compact(slices.Sorted(slices.Values(labels)))
	ranked := make([]int32, len(labels))
	for i, label := range labels {
		at, _ := slices.BinarySearch(distinct, label)
		ranked[i] = int32(at)
	}
	return ranked
}
