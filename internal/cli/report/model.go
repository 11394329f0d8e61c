package report

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/metric"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// The files that --out writes: those of a model, and the one that says what they are.
const (
	LabelsFile    = "labels.csv"
	centroidsFile = "centroids.csv"
	metricFile    = "metric.csv"
	ResultFile    = "result.json"
)

// maxModelBytes bounds each of them: text of wide sparse data can be much larger than the data.
const maxModelBytes = 200 << 20

// modelFiles are centroids.csv, a row for each cluster, and metric.csv: the weights of a diagonal
// metric in one row, a full one row by row. Both have the columns of the data, and its header if there
// is one.
func (r *Report) modelFiles(header []string, complain func(format string, args ...any)) []File {
	if r.Model == nil {
		return nil
	}
	var files []File
	add := func(name string, values []float64) {
		if bytes := textBytes(values); bytes > maxModelBytes {
			complain("%s was not written: it would take about %s; the coordinator's GetModel has it", name, shell.FormatBytes(bytes))
			return
		}
		rows := &dataset.Points{N: len(values) / r.Model.D, D: r.Model.D, Values: values}
		files = append(files, File{name, func(w io.Writer) error { return format.WritePoints(w, header, rows) }})
	}
	add(centroidsFile, r.Model.Centroids)
	if r.Model.Metric.Form() != metric.Identity {
		add(metricFile, r.Model.Metric.Values())
	}
	return files
}

// textBytes is about what numbers take as text: most have 17 digits, a sign, a point and a comma.
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

// centroids are those of the model where they lie among the points, nil when there are none. Other
// distortions than the squared Euclidean change the rows first: their centroids are elsewhere.
func (r *Report) centroids() *dataset.Points {
	if r.Model == nil || r.Model.Distortion != metric.SquaredEuclidean {
		return nil
	}
	return &dataset.Points{N: r.Model.K, D: r.Model.D, Values: r.Model.Centroids}
}

// LoadModel reads the model of the vector family that result.json speaks of from the same folder, and
// the names of its columns.
func LoadModel(folder string, document *ResultDocument) (*clustering.Model, []string, error) {
	report := document.Model
	path := filepath.Join(folder, centroidsFile)
	centroids, header, err := format.LoadPoints(path)
	if err != nil {
		return nil, nil, err
	}
	if centroids.N != int(document.K) || centroids.D != int(report.Columns) {
		return nil, nil, fault.Invalid("SIZE_MISMATCH", "%s: there are %d centroids of %d columns; %s says %d of %d",
			path, centroids.N, centroids.D, ResultFile, document.K, report.Columns)
	}
	m := &clustering.Model{K: centroids.N, D: centroids.D, Centroids: centroids.Values}
	if m.Distortion = distortionOf(report.Distortion); m.Distortion == 0 {
		return nil, nil, fault.Invalid("BAD_MODEL", "%s: the distortion %q is unknown", filepath.Join(folder, ResultFile), report.Distortion)
	}
	m.Metric, err = loadMetric(filepath.Join(folder, metricFile), report.Metric, m.D)
	return m, header, err
}

func ReadResult(path string) (*ResultDocument, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.Invalid("FILE_NOT_READABLE", "%s: the file cannot be read: %v; --model is a folder that cleave run --out wrote", path, shell.WithoutPath(err))
	}
	document := &ResultDocument{}
	if err := json.Unmarshal(text, document); err != nil {
		return nil, fault.Invalid("BAD_MODEL", "%s: this is no result of Cleave: %v", path, err)
	}
	return document, nil
}

// distortionOf is the distortion that the flags call so, 0 when there is none.
func distortionOf(word string) metric.Distortion {
	for d := metric.SquaredEuclidean; d <= metric.IDivergence; d++ {
		if jobflags.EnumName(cleavev1.Distortion(d)) == word {
			return d
		}
	}
	return 0
}

// loadMetric reads a metric of a form; the identity has no file.
func loadMetric(path, form string, columns int) (*metric.Metric, error) {
	if form == metric.Identity.String() {
		return metric.NewIdentity(columns), nil
	}
	points, _, err := format.LoadPoints(path)
	if err != nil {
		return nil, err
	}
	var m *metric.Metric
	switch {
	case form == metric.Diagonal.String() && points.N == 1 && points.D == columns:
		m, err = metric.NewDiagonal(points.Values)
	case form == metric.Full.String() && points.N == columns && points.D == columns:
		m, err = metric.NewFull(columns, points.Values)
	default:
		return nil, fault.Invalid("SIZE_MISMATCH", "%s: %d rows of %d columns are no %s metric of %d columns", path, points.N, points.D, form, columns)
	}
	if err != nil {
		return nil, fault.Wrap(err, "%s", path)
	}
	return m, nil
}
