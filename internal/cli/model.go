package cli

import (
	"io"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/metric"
)

// The files of a model.
const (
	centroidsFile = "centroids.csv"
	metricFile    = "metric.csv"
)

// mostModelBytes bounds each of them: text of wide sparse data can be much larger than the data.
const mostModelBytes = 200 << 20

// modelFiles are centroids.csv, a row for each cluster, and metric.csv: the weights of a diagonal
// metric in one row, a full one row by row. Both have the columns of the data, and its header if there
// is one.
func (o *outcome) modelFiles(header []string, complain func(format string, args ...any)) []outputFile {
	if o.model == nil {
		return nil
	}
	var files []outputFile
	add := func(name string, values []float64) {
		if bytes := textBytes(values); bytes > mostModelBytes {
			complain("%s was not written: it would take about %s; the coordinator's GetModel has it", name, size(bytes))
			return
		}
		rows := &dataset.Points{N: len(values) / o.model.D, D: o.model.D, Values: values}
		files = append(files, outputFile{name, func(w io.Writer) error { return format.WritePoints(w, header, rows) }})
	}
	add(centroidsFile, o.model.Centroids)
	if o.model.Metric.Form() != metric.Identity {
		add(metricFile, o.model.Metric.Values())
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
func (o *outcome) centroids() *dataset.Points {
	if o.model == nil || o.model.Distortion != metric.SquaredEuclidean {
		return nil
	}
	return &dataset.Points{N: o.model.K, D: o.model.D, Values: o.model.Centroids}
}
