package report

import (
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/render/profile"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// space tells where rows lie among the clusters, as the run compared them.
type space struct {
	words       string // "by distances in the columns"
	graph       bool   // distances are shares of edges; there are no silhouettes
	places      []profile.Place
	rows        []int32 // those that have silhouettes
	silhouettes []float64
}

// Limits of what is computed for a page; larger data is sampled.
const (
	maxPlaceWork      = 2e8 // rows x clusters x columns
	maxSilhouetteWork = 2e8 // rows x rows x columns
	maxSilhouetteRows = 2000
	minSampleRows     = 300
	maxKernelRows     = 1200
)

// compare finds where rows lie in the space that was clustered: by the coordinates that the algorithm computed, by its kernel,
// or by columns in its units and with its metric. It returns nil if that cannot be computed again, as for values that are too
// large; the page leaves those sections out.
func (b *pageBuilder) compare() *space {
	n := len(b.Labels)
	if n == 0 {
		return nil
	}
	if e := b.Embedding; e != nil && e.Rows == n && e.Columns > 0 {
		return b.amongPoints(&dataset.Points{N: n, D: e.Columns, Values: e.Values}, "by distances between the coordinates that were clustered, which the algorithm made of the data")
	}
	switch data := b.scene.Data.(type) {
	case *dataset.Points:
		points, words, err := b.inUnits(data)
		if err != nil {
			return nil
		}
		if k := b.Result.GetKernel(); k != nil && k.GetFunction() != cleavev1.KernelFunction_KERNEL_FUNCTION_LINEAR {
			s, err := b.underKernel(points)
			if err != nil {
				return nil
			}
			return s
		}
		return b.amongPoints(points, words)
	case *dataset.Kernel:
		rows := profile.Sample(b.Labels, b.k, maxSilhouetteRows)
		return &space{
			words: "by distances in the space of the kernel", places: profile.KernelPlaces(data, b.Labels, b.k, rows),
			rows: rows, silhouettes: profile.Silhouettes(profile.InKernel(data), b.Labels, b.k, rows),
		}
	case *dataset.SparsePoints:
		return b.amongSparse(data)
	case *dataset.Graph:
		rows := profile.Sample(b.Labels, b.k, 1<<20)
		return &space{words: "by where the edges of a vertex lead", graph: true, places: profile.GraphPlaces(data, b.Labels, b.k, rows)}
	}
	return nil
}

// amongPoints compares points by Euclidean distance.
func (b *pageBuilder) amongPoints(points *dataset.Points, words string) *space {
	rows := profile.Sample(b.Labels, b.k, max(minSampleRows, maxPlaceWork/(b.k*points.D)))
	few := profile.Sample(b.Labels, b.k, max(minSampleRows, min(maxSilhouetteRows, int(math.Sqrt(maxSilhouetteWork/float64(points.D))))))
	return &space{
		words: words, places: profile.Places(points, b.Labels, b.k, rows),
		rows: few, silhouettes: profile.Silhouettes(profile.Euclidean(points), b.Labels, b.k, few),
	}
}

// underKernel compares a sample of points by the kernel of the run.
func (b *pageBuilder) underKernel(points *dataset.Points) (*space, error) {
	rows := profile.Sample(b.Labels, b.k, maxKernelRows)
	few, labels := &dataset.Points{N: len(rows), D: points.D}, make([]int32, len(rows))
	for at, i := range rows {
		few.Values = append(few.Values, points.Row(int(i))...)
		labels[at] = b.Labels[i]
	}
	of := b.Result.GetKernel()
	spec := kernel.MatrixSpec{
		Function: kernel.FunctionNamed(wire.EnumWord(of.GetFunction())), Rho: of.GetRho(), Gamma: of.GetGamma(), Coef0: of.GetCoef0(),
		Degree: int(of.GetDegree()), Rows: few.N, Columns: few.D,
	}
	bounds, err := kernel.FindBounds(spec, few)
	if err != nil {
		return nil, err
	}
	spec.Grid = kernel.GridFor(bounds.RowSum)
	values, err := kernel.Square(spec, few)
	if err != nil {
		return nil, err
	}
	matrix, all := &dataset.Kernel{N: few.N, Values: values}, profile.Sample(labels, b.k, few.N)
	s := &space{
		words: "by distances in the space of the " + wire.EnumWord(of.GetFunction()) + " kernel", rows: rows,
		places: profile.KernelPlaces(matrix, labels, b.k, all), silhouettes: profile.Silhouettes(profile.InKernel(matrix), labels, b.k, all),
	}
	for at := range s.places {
		s.places[at].Row = rows[s.places[at].Row]
	}
	return s, nil
}

// inUnits converts points to what the run compared: in its units, with its metric, or as directions.
func (b *pageBuilder) inUnits(points *dataset.Points) (*dataset.Points, string, error) {
	scale := wire.ScaleOf(b.Result)
	scaled, _, _, err := clustering.InUnits(points, scale)
	if err != nil {
		return nil, "", err
	}
	points = scaled.(*dataset.Points)
	words := "by distances between rows"
	if scale == clustering.ScaleZscore {
		words += ", with columns of equal variance"
	}
	m := b.Model
	if m == nil || m.Landmarks != nil || m.D != points.D {
		return points, words, nil
	}
	if m.Distortion == metric.Cosine {
		return weighted(points, func(row []float64) {
			if length := math.Sqrt(dot(row, row)); length > 0 {
				for j := range row {
					row[j] /= length
				}
			}
		}), "by the directions of rows", nil
	}
	if m.Metric.Form() == metric.Diagonal {
		weights := m.Metric.Values()
		return weighted(points, func(row []float64) {
			for j := range row {
				row[j] *= math.Sqrt(weights[j])
			}
		}), "by distances between rows, with the weights of columns that were learned", nil
	}
	return points, words, nil
}

// weighted returns a copy of points after calling change with each of its rows.
func weighted(points *dataset.Points, change func(row []float64)) *dataset.Points {
	changed := &dataset.Points{N: points.N, D: points.D, Values: append([]float64(nil), points.Values...)}
	for i := range changed.N {
		change(changed.Row(i))
	}
	return changed
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for j, v := range x {
		sum += float64(v * y[j])
	}
	return sum
}
