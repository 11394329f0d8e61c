package wire

import (
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// ModelHead says what the values of a model are.
func ModelHead(m *clustering.Model) *cleavev1.ModelHead {
	return &cleavev1.ModelHead{
		Distortion: distortions.write(m.Distortion), K: uint32(m.K), Columns: uint32(m.D), Metric: metrics.write(m.Metric.Form()),
		Scaled: m.Units != nil, Landmarks: landmarkHead(m.Landmarks),
	}
}

// WriteModel writes the values of a model as they travel: centroids row by row, then the landmarks and their projection, the
// metric, and the units.
func WriteModel(w io.Writer, m *clustering.Model) error {
	if err := writeValues(w, m.Centroids); err != nil {
		return err
	}
	if m.Landmarks != nil {
		if err := writeValues(w, slices.Concat(m.Landmarks.Points.Values, m.Landmarks.Projection)); err != nil {
			return err
		}
	}
	if err := writeValues(w, m.Metric.Values()); err != nil || m.Units == nil {
		return err
	}
	if err := writeValues(w, m.Units.Center); err != nil {
		return err
	}
	return writeValues(w, m.Units.Scale)
}

// SendModel sends a head and then values, as WriteModel wrote them, in chunks.
func SendModel(head *cleavev1.ModelHead, values io.Reader, send func(*cleavev1.GetModelResponse) error) error {
	return sendValues(&cleavev1.GetModelResponse{Part: &cleavev1.GetModelResponse_Head{Head: head}}, values, func(chunk []byte) *cleavev1.GetModelResponse {
		return &cleavev1.GetModelResponse{Part: &cleavev1.GetModelResponse_Values{Values: chunk}}
	}, send)
}

// ReceiveModel makes a model of the parts of a stream, which ends with io.EOF. Memory grows with what
// has arrived, never with what the head claims. Errors of the stream are returned as they are.
func ReceiveModel(receive func() (*cleavev1.GetModelResponse, error)) (*clustering.Model, error) {
	head, err := receiveHead(receive, "a model")
	if err != nil {
		return nil, err
	}
	want, err := modelValues(head)
	if err != nil {
		return nil, err
	}
	values, err := receiveValues(want, receive)
	if err != nil {
		return nil, err
	}
	return modelOf(head, values)
}

// modelValues is how many values a model has by its head.
func modelValues(head *cleavev1.ModelHead) (uint64, error) {
	k, d := uint64(head.GetK()), uint64(head.GetColumns())
	switch {
	case k < 1 || k > dataset.MaxRows || d < 1 || d > dataset.MaxColumns:
		return 0, fmt.Errorf("wire: a model of %d centroids of %d columns", k, d)
	case head.GetMetric() == cleavev1.Metric_METRIC_FULL && d > metric.MaxFullFeatures:
		return 0, fmt.Errorf("wire: a full metric of %d columns", d)
	}
	rows := k
	switch head.GetMetric() {
	case cleavev1.Metric_METRIC_IDENTITY:
	case cleavev1.Metric_METRIC_DIAGONAL:
		rows++
	case cleavev1.Metric_METRIC_FULL:
		rows += d
	default:
		return 0, fmt.Errorf("wire: a model with the unknown metric %d", head.GetMetric())
	}
	if l := head.GetLandmarks(); l != nil {
		return landmarkValues(head, l)
	}
	if head.GetScaled() {
		rows += 2
	}
	if distortions[head.GetDistortion()] == 0 {
		return 0, fmt.Errorf("wire: a model with the unknown distortion %d", head.GetDistortion())
	}
	high, values := bits.Mul64(rows, d)
	if high != 0 || values > math.MaxInt64/8 {
		return 0, fmt.Errorf("wire: a model of %d rows of %d values", rows, d)
	}
	return values, nil
}

func modelOf(head *cleavev1.ModelHead, values []float64) (*clustering.Model, error) {
	m := &clustering.Model{Distortion: distortions[head.GetDistortion()], K: int(head.GetK()), D: int(head.GetColumns())}
	centroids := m.K * m.D
	for at, v := range values[:centroids] {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("wire: value %d of centroid %d is %v", at%m.D, at/m.D, v)
		}
	}
	m.Centroids = values[:centroids:centroids]
	var err error
	if head.GetLandmarks() != nil {
		if m.Landmarks, err = landmarksOf(head, values[centroids:]); err != nil {
			return nil, err
		}
	}
	if head.GetScaled() {
		columns := m.Columns()
		units := len(values) - 2*columns
		if m.Units, err = dataset.NewUnits(values[units:units+columns], values[units+columns:]); err != nil {
			return nil, fmt.Errorf("wire: %w", err)
		}
		values = values[:units]
	}
	switch head.GetMetric() {
	case cleavev1.Metric_METRIC_DIAGONAL:
		m.Metric, err = metric.NewDiagonal(values[centroids:])
	case cleavev1.Metric_METRIC_FULL:
		m.Metric, err = metric.NewFull(m.D, values[centroids:])
	default:
		m.Metric = metric.NewIdentity(m.D)
	}
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	return m, nil
}
