package report

import (
	"io"
	"path/filepath"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/forest"
	"github.com/cleave-project/cleave/internal/clustering/mixture"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// modelFiles returns the files of the model. They have the columns of the data, and its header if there is one:
//   - centroids.csv has a row for each cluster.
//   - metric.csv has one row of weights for a diagonal metric, or the rows of the matrix for a full one.
//   - units.csv has a row of what is subtracted from scaled columns, and a row of what they are divided by.
//   - mixture.csv has the means, variances and triangles of a mixture of Gaussians, in the units; see cleavev1.MixtureHead.
//   - landmarks.csv and projection.csv have the landmarks and the matrix that make features of points; then centroids.csv
//     has means of features.
//
// Of a classifier, landmarks.csv has the known rows that it was fitted to and projection.csv their coefficients, a column for
// each cluster; forest.csv has the nodes of its trees, see cleavev1.ForestHead; centroids.csv has the means of the columns,
// which are not a part of the model.
func (r *Report) modelFiles(s Scene, warn func(format string, args ...any)) []File {
	if r.Model == nil {
		return nil
	}
	var files []File
	add := func(name string, values []float64, columns int, header []string) {
		if bytes := textBytes(values); bytes > maxTableBytes {
			warn("%s was not written: it would take about %s; the coordinator's GetModel has it", name, text.Bytes(bytes))
			return
		}
		rows := &dataset.Points{N: len(values) / columns, D: columns, Values: values}
		files = append(files, File{name, func(w io.Writer) error { return format.WritePoints(w, header, rows) }})
	}
	columns, header := r.Model.Columns(), s.Header
	switch l := r.Model.Landmarks; {
	case l != nil && byClassifier(r.Result):
		if means := r.columnMeans(s); means != nil {
			add(centroidsFile, means, columns, header)
		}
		add(landmarksFile, l.Points.Values, columns, header)
		projection, trees := byCluster(r.Model)
		add(projectionFile, projection, r.Model.K, nil)
		if trees != nil {
			add(forestFile, trees.Values(), forest.ValueColumns, []string{"column", "threshold"})
		}
	case l != nil: // centroids are means of features, which have no names
		add(centroidsFile, r.Model.Centroids, r.Model.D, nil)
		add(landmarksFile, l.Points.Values, columns, header)
		add(projectionFile, l.Projection, r.Model.D, nil)
	default:
		add(centroidsFile, r.Model.Centroids, columns, header)
	}
	if r.Model.Metric.Form() != metric.Identity {
		add(metricFile, r.Model.Metric.Values(), columns, header)
	}
	if r.Model.Mixture != nil {
		add(mixtureFile, r.Model.Mixture.Values(), columns, header)
	}
	if r.Model.Units != nil {
		add(unitsFile, slices.Concat(r.Model.Units.Center, r.Model.Units.Scale), columns, header)
	}
	return files
}

// textBytes estimates the size of numbers as text: most have 17 digits, a sign, a point and a comma.
func textBytes(values []float64) uint64 {
	bytes := uint64(0)
	for _, v := range values {
		if v == 0 {
			bytes += 2
		} else {
			bytes += 20
		}
	}
	return bytes
}

// centroids returns the centroids of the model if they can be drawn among the points, else nil. All distortions but the
// squared Euclidean one transform the points first, as landmarks do.
func (r *Report) centroids() *dataset.Points {
	if r.Model == nil || r.Model.Distortion != metric.SquaredEuclidean || r.Model.Landmarks != nil {
		return nil
	}
	return &dataset.Points{N: r.Model.K, D: r.Model.D, Values: r.Model.Centroids}
}

// LoadModel reads the model that a result describes from its folder, and returns the names of its columns.
func LoadModel(folder string, result *cleavev1.Result) (*clustering.Model, []string, error) {
	head := result.GetModel()
	var names []string
	if steps := wire.Recipe(result.GetRecipe()); steps != nil {
		names = steps.Names()
	}
	distortion := metric.Distortion(head.GetDistortion()) // the same numbers
	if distortion < metric.SquaredEuclidean || distortion > metric.IDivergence {
		return nil, nil, fault.Invalid("BAD_MODEL", "%s: the distortion of the model is missing or unknown", filepath.Join(folder, ResultFile))
	}
	if byClassifier(result) && head.GetLandmarks() != nil {
		return loadClassifier(folder, head, names)
	}
	centroids, header, err := loadTable(folder, centroidsFile, names, int(head.GetK()), int(head.GetColumns()))
	if err != nil {
		return nil, nil, err
	}
	m := &clustering.Model{K: centroids.N, D: centroids.D, Centroids: centroids.Values, Distortion: distortion}
	if of := head.GetLandmarks(); of != nil {
		if m.Landmarks, header, err = loadLandmarks(folder, of, m.D, names); err != nil {
			return nil, nil, err
		}
	}
	if m.Metric, err = loadMetric(folder, head.GetMetric(), m.D, names); err == nil && head.GetScaled() {
		m.Units, err = loadUnits(folder, m.Columns(), names)
	}
	if err == nil && head.GetMixture() != nil {
		m.Mixture, err = loadMixture(folder, head, names)
	}
	if err != nil {
		return nil, nil, err
	}
	return m, header, nil
}

// loadTable reads a table of a model, which must have the given size.
func loadTable(folder, name string, names []string, rows, columns int) (*dataset.Points, []string, error) {
	path := filepath.Join(folder, name)
	points, header, err := format.LoadPointsOf(path, names)
	if err != nil {
		return nil, nil, err
	}
	if points.N != rows || points.D != columns {
		return nil, nil, fault.Invalid("SIZE_MISMATCH", "%s: the file has %s of %s; according to %s there must be %d of %d", path,
			text.Plural(points.N, "row"), text.Plural(points.D, "column"), ResultFile, rows, columns)
	}
	return points, header, nil
}

// loadMixture reads the mixture of a model.
func loadMixture(folder string, head *cleavev1.ModelHead, names []string) (*mixture.Mixture, error) {
	if err := wire.CheckMixture(head); err != nil {
		return nil, fault.Invalid("BAD_MODEL", "%s: %v", filepath.Join(folder, ResultFile), err)
	}
	rows := mixture.ValueRows(uint64(head.GetK()), uint64(head.GetColumns()))
	points, _, err := loadTable(folder, mixtureFile, names, int(rows), int(head.GetColumns()))
	if err != nil {
		return nil, err
	}
	m, err := mixture.New(head.GetMixture().GetShares(), points.D, points.Values)
	return m, fault.Wrap(err, "%s", filepath.Join(folder, mixtureFile))
}

// loadLandmarks reads the landmarks and their projection to features, and returns the names of the columns.
func loadLandmarks(folder string, head *cleavev1.LandmarkHead, rank int, names []string) (*clustering.Landmarks, []string, error) {
	points, header, err := loadTable(folder, landmarksFile, names, int(head.GetCount()), int(head.GetColumns()))
	if err != nil {
		return nil, nil, err
	}
	projection, _, err := loadTable(folder, projectionFile, nil, points.N, rank)
	if err != nil {
		return nil, nil, err
	}
	landmarks, err := wire.NewLandmarks(head, points, projection.Values)
	if err != nil {
		return nil, nil, fault.Invalid("BAD_MODEL", "%s: %v", filepath.Join(folder, ResultFile), err)
	}
	return landmarks, header, nil
}

// loadForest reads the decision trees of a classifier of k groups.
func loadForest(folder string, head *cleavev1.ForestHead, k, columns int) (*clustering.Forest, error) {
	path := filepath.Join(folder, forestFile)
	nodes, _, err := format.LoadPoints(path)
	if err != nil {
		return nil, err
	}
	if nodes.N != int(head.GetNodes()) || nodes.D != forest.ValueColumns {
		return nil, fault.Invalid("SIZE_MISMATCH", "%s: the file has %s of %s; %s says %d of %d", path,
			text.Plural(nodes.N, "node"), text.Plural(nodes.D, "column"), ResultFile, head.GetNodes(), forest.ValueColumns)
	}
	trees, err := wire.NewForest(head, k, columns, nodes.Values)
	if err != nil {
		return nil, fault.Invalid("BAD_MODEL", "%s: %v", path, err)
	}
	return trees, nil
}

// loadUnits reads the units of the columns: a row of centers and a row of scales.
func loadUnits(folder string, columns int, names []string) (*dataset.Units, error) {
	points, _, err := loadTable(folder, unitsFile, names, 2, columns)
	if err != nil {
		return nil, err
	}
	units, err := dataset.NewUnits(points.Row(0), points.Row(1))
	return units, fault.Wrap(err, "%s", filepath.Join(folder, unitsFile))
}

// loadMetric reads a metric: one row of a diagonal metric, all rows of a full one. The identity has no file.
func loadMetric(folder string, form cleavev1.Metric, columns int, names []string) (m *metric.Metric, err error) {
	rows := columns
	switch form {
	case cleavev1.Metric_METRIC_IDENTITY:
		return metric.NewIdentity(columns), nil
	case cleavev1.Metric_METRIC_DIAGONAL:
		rows = 1
	}
	points, _, err := loadTable(folder, metricFile, names, rows, columns)
	if err != nil {
		return nil, err
	}
	if form == cleavev1.Metric_METRIC_DIAGONAL {
		m, err = metric.NewDiagonal(points.Values)
	} else {
		m, err = metric.NewFull(columns, points.Values)
	}
	return m, fault.Wrap(err, "%s", filepath.Join(folder, metricFile))
}
