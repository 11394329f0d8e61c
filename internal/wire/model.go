package wire

import (
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/clustering/forest"
	"github.com/cleave-project/cleave/internal/clustering/mixture"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/refusal"
	"github.com/cleave-project/cleave/internal/text"
)

// ModelHead describes the values of a model.
func ModelHead(m *model.Model) *cleavev1.ModelHead {
	head := &cleavev1.ModelHead{
		Distortion: distortions.write(m.Distortion), K: uint32(m.K), Columns: uint32(m.D),
		Metric: enumValue[cleavev1.Metric](m.Metric.Form().String()),
		Scaled: m.Units != nil,
	}
	if l := m.Landmarks; l != nil {
		head.Landmarks = &cleavev1.LandmarkHead{Count: uint32(l.Points.N), Columns: uint32(l.Points.D),
			Kernel: kernelReport(l.Matrix), Centered: l.Centered, GridExponent: int32(l.Matrix.Grid)}
	}
	if f := m.Forest; f != nil {
		head.Forest = &cleavev1.ForestHead{Trees: uint32(f.Trees.Trees()), Nodes: uint32(f.Trees.Nodes()),
			Weight: f.Weight}
	}
	if m.Mixture != nil {
		head.Mixture = &cleavev1.MixtureHead{Shares: m.Mixture.Shares()}
	}
	return head
}

// WriteModel writes the values of a model in wire format: centroids row by row, then the landmarks, their projection
// and the forest, or the mixture, the metric, and the units.
func WriteModel(w io.Writer, m *model.Model) error {
	lists := [][]float64{m.Centroids}
	if m.Landmarks != nil {
		lists = append(lists, m.Landmarks.Points.Values, m.Landmarks.Projection)
	}
	if m.Forest != nil {
		lists = append(lists, m.Forest.Trees.Values())
	}
	if m.Mixture != nil {
		lists = append(lists, m.Mixture.Values())
	}
	lists = append(lists, m.Metric.Values())
	if m.Units != nil {
		lists = append(lists, m.Units.Center, m.Units.Scale)
	}
	return writeValues(w, lists...)
}

// ValueBytes is the size of a value in wire format.
const ValueBytes = 8

// SendModel sends a head and then values, as written by WriteModel, in chunks.
func SendModel(head *cleavev1.ModelHead, values io.Reader, send func(*cleavev1.GetModelResponse) error) error {
	return sendValues(&cleavev1.GetModelResponse{Part: &cleavev1.GetModelResponse_Head{Head: head}}, values,
		func(block *cleavev1.DenseValues) *cleavev1.GetModelResponse {
			return &cleavev1.GetModelResponse{Part: &cleavev1.GetModelResponse_Values{Values: block}}
		}, send)
}

// ReceiveModel assembles a model from the parts of a stream, which ends with io.EOF. Memory grows with what has
// arrived, never with what the head claims. Errors of the stream are returned as they are.
func ReceiveModel(receive func() (*cleavev1.GetModelResponse, error)) (*model.Model, error) {
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

// ReadModel reads the model that a head describes from what WriteModel wrote. The caller vouches for the size of r.
func ReadModel(head *cleavev1.ModelHead, r io.Reader) (*model.Model, error) {
	packed, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	values, err := UnpackFloat64s(packed)
	if err != nil {
		return nil, err
	}
	return NewModel(head, values)
}

// NewModel returns the model that a head describes, given its values in the order of WriteModel, which it keeps. Its
// error is a *ModelError.
func NewModel(head *cleavev1.ModelHead, values []float64) (*model.Model, error) {
	want, err := modelValues(head)
	if err != nil {
		return nil, err
	}
	if uint64(len(values)) != want {
		return nil, modelError("", "the model has %d values; there must be %d", len(values), want)
	}
	return modelOf(head, values)
}

// ModelError says what is wrong with a part of a model.
type ModelError struct {
	Part string // centroids, landmarks, projection, forest, mixture, metric or units; "" for the head
	Err  error  // in words that do not depend on how the model was stored or sent
}

func modelError(part string, format string, args ...any) error {
	return &ModelError{part, fmt.Errorf(format, args...)}
}

func (e *ModelError) Error() string { return "wire: " + e.Err.Error() }

func (e *ModelError) Unwrap() error { return e.Err }

// modelValues returns how many values a model has according to its head.
func modelValues(head *cleavev1.ModelHead) (uint64, error) {
	k := uint64(head.GetK())
	d := uint64(head.GetColumns())
	switch {
	case k < 1 || k > dataset.MaxRows || d < 1 || d > dataset.MaxColumns:
		return 0, modelError("", "the model has %d centroids of %d columns", k, d)
	case head.GetMetric() == cleavev1.Metric_METRIC_FULL && d > metric.MaxFullFeatures:
		return 0, modelError("", "a full metric of %d columns is too large", d)
	}
	rows := k
	switch head.GetMetric() {
	case cleavev1.Metric_METRIC_IDENTITY:
	case cleavev1.Metric_METRIC_DIAGONAL:
		rows++
	case cleavev1.Metric_METRIC_FULL:
		rows += d
	default:
		return 0, modelError("", "the metric of the model is missing or unknown")
	}
	if l := head.GetLandmarks(); l != nil {
		return landmarkValues(head, l)
	}
	if head.GetForest() != nil {
		return 0, modelError("", "the model has a forest, which needs landmarks, and has none")
	}
	if head.GetMixture() != nil {
		if err := checkMixture(head); err != nil {
			return 0, err
		}
		rows += mixture.ValueRows(k, d)
	}
	if head.GetScaled() {
		rows += 2
	}
	if distortions[head.GetDistortion()] == 0 {
		return 0, modelError("", "the distortion of the model is missing or unknown")
	}
	high, values := bits.Mul64(rows, d)
	if high != 0 || values > math.MaxInt64/8 {
		return 0, modelError("", "a model of %d rows of %d values is too large", rows, d)
	}
	return values, nil
}

// checkMixture checks the head of a model that is a mixture: there is a share for each cluster, and no other way to
// measure distances.
func checkMixture(head *cleavev1.ModelHead) error {
	shares := len(head.GetMixture().GetShares())
	switch {
	case uint64(shares) != uint64(head.GetK()):
		return modelError("", "the mixture has %s for %s", text.Plural(shares, "share"),
			text.Plural(int(head.GetK()), "cluster"))
	case head.GetMetric() != cleavev1.Metric_METRIC_IDENTITY ||
		head.GetDistortion() != cleavev1.Distortion_DISTORTION_EUCLIDEAN:
		return modelError("", "a mixture has the metric identity and the distortion euclidean, and this "+
			"model has others")
	}
	if err := mixture.CheckShares(head.GetMixture().GetShares()); err != nil {
		return &ModelError{"", refusal.Of(err)}
	}
	return nil
}

// notFinite returns the place of the first value that is infinite or NaN, or -1 if there is none.
func notFinite(values []float64) int {
	return slices.IndexFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// modelOf returns the model of a head and its values, which have the lengths that the head says. It rejects values
// that are not finite.
func modelOf(head *cleavev1.ModelHead, values []float64) (*model.Model, error) {
	m := &model.Model{Distortion: distortions[head.GetDistortion()], K: int(head.GetK()), D: int(head.GetColumns())}
	centroids := m.K * m.D
	if at := notFinite(values[:centroids]); at >= 0 {
		return nil, modelError("centroids", "value %d of centroid %d is %v", at%m.D, at/m.D, values[at])
	}
	m.Centroids = values[:centroids:centroids]
	var err error
	if head.GetLandmarks() != nil {
		if m.Landmarks, err = landmarksOf(head, values[centroids:]); err != nil {
			return nil, err
		}
	}
	if of := head.GetForest(); of != nil {
		first := centroids + m.Landmarks.Points.N*(m.Landmarks.Points.D+m.D)
		if m.Forest, err = newForest(of, m.K, m.Columns(),
			values[first:first+forest.ValueColumns*int(of.GetNodes())]); err != nil {
			return nil, err
		}
	}
	if head.GetScaled() {
		columns := m.Columns()
		units := len(values) - 2*columns
		if m.Units, err = dataset.NewUnits(values[units:units+columns], values[units+columns:]); err != nil {
			return nil, &ModelError{"units", refusal.Of(err)}
		}
		values = values[:units]
	}
	if of := head.GetMixture(); of != nil {
		if m.Mixture, err = mixture.New(of.GetShares(), m.D, values[centroids:]); err != nil {
			return nil, &ModelError{"mixture", refusal.Of(err)}
		}
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
		return nil, &ModelError{"metric", refusal.Of(err)}
	}
	return m, nil
}

// EmbeddingHead returns the shape of an embedding.
func EmbeddingHead(e *clustering.Embedding) *cleavev1.EmbeddingHead {
	return &cleavev1.EmbeddingHead{Rows: uint32(e.Rows), Columns: uint32(e.Columns)}
}

// WriteEmbedding writes the values of an embedding in wire format, row by row.
func WriteEmbedding(w io.Writer, e *clustering.Embedding) error { return writeValues(w, e.Values) }

// SendEmbedding sends a head and then values, as written by WriteEmbedding, in chunks.
func SendEmbedding(head *cleavev1.EmbeddingHead, values io.Reader,
	send func(*cleavev1.GetEmbeddingResponse) error) error {
	return sendValues(&cleavev1.GetEmbeddingResponse{Part: &cleavev1.GetEmbeddingResponse_Head{Head: head}},
		values, func(block *cleavev1.DenseValues) *cleavev1.GetEmbeddingResponse {
			return &cleavev1.GetEmbeddingResponse{Part: &cleavev1.GetEmbeddingResponse_Values{Values: block}}
		}, send)
}

// ReceiveEmbedding assembles an embedding from the parts of a stream, which ends with io.EOF. Memory grows with what
// has arrived, never with what the head claims. Errors of the stream are returned as they are.
func ReceiveEmbedding(receive func() (*cleavev1.GetEmbeddingResponse, error)) (*clustering.Embedding, error) {
	head, err := receiveHead(receive, "an embedding")
	if err != nil {
		return nil, err
	}
	rows := uint64(head.GetRows())
	columns := uint64(head.GetColumns())
	if rows < 1 || rows > dataset.MaxRows || columns < 1 || columns > dataset.MaxColumns {
		return nil, fmt.Errorf("wire: an embedding of %d rows of %d columns", rows, columns)
	}
	values, err := receiveValues(rows*columns, receive)
	if err != nil {
		return nil, err
	}
	if at := notFinite(values); at >= 0 {
		return nil, fmt.Errorf("wire: coordinate %d of row %d is %v", uint64(at)%columns, uint64(at)/columns,
			values[at])
	}
	return &clustering.Embedding{Rows: int(rows), Columns: int(columns), Values: values}, nil
}

// landmarkValues returns how many values a model with landmarks has according to its head.
func landmarkValues(head *cleavev1.ModelHead, l *cleavev1.LandmarkHead) (uint64, error) {
	k := uint64(head.GetK())
	rank := uint64(head.GetColumns())
	count := uint64(l.GetCount())
	columns := uint64(l.GetColumns())
	switch {
	case head.GetMixture() != nil:
		return 0, modelError("", "the model has both landmarks and a mixture; it can have one of them")
	case count < 1 || count > catalog.MaxLandmarks || rank > count || columns < 1 || columns > dataset.MaxColumns:
		return 0, modelError("", "the model has %d features of %d landmarks of %d columns", rank, count, columns)
	case head.GetMetric() != cleavev1.Metric_METRIC_IDENTITY ||
		head.GetDistortion() != cleavev1.Distortion_DISTORTION_EUCLIDEAN:
		return 0, modelError("", "a model with landmarks has the metric identity and the distortion euclidean, and "+
			"this one has others")
	case kernelFunctions[l.GetKernel().GetFunction()] == 0:
		return 0, modelError("", "the kernel function of the landmarks is missing or unknown")
	}
	values := k*rank + count*(columns+rank)
	if f := head.GetForest(); f != nil {
		if rank != k {
			return 0, modelError("", "the model has a forest of %d groups and %d features; there must be as many",
				k, rank)
		}
		values += forest.ValueColumns * uint64(f.GetNodes())
	}
	if head.GetScaled() {
		values += 2 * columns
	}
	return values, nil
}

// landmarksOf assembles the landmarks of a model from the values after its centroids.
func landmarksOf(head *cleavev1.ModelHead, values []float64) (*model.Landmarks, error) {
	of := head.GetLandmarks()
	count := int(of.GetCount())
	columns := int(of.GetColumns())
	rank := int(head.GetColumns())
	points, err := dataset.NewPoints(count, columns, values[:count*columns:count*columns])
	if err != nil {
		return nil, &ModelError{"landmarks", err}
	}
	return newLandmarks(of, points, values[count*columns:count*(columns+rank)])
}

// newLandmarks combines the landmarks and their projection as a head describes. It keeps points and projection.
func newLandmarks(head *cleavev1.LandmarkHead, points *dataset.Points, projection []float64) (*model.Landmarks, error) {
	if at := notFinite(projection); at >= 0 {
		return nil, modelError("projection", "value %d of the projection is %v", at, projection[at])
	}
	report := head.GetKernel()
	return &model.Landmarks{Points: points, Projection: projection, Centered: head.GetCentered(),
		Matrix: kernel.MatrixSpec{
			Function: kernelFunctions[report.GetFunction()],
			Rho:      report.GetRho(), Gamma: report.GetGamma(), Coef0: report.GetCoef0(),
			Degree: int(report.GetDegree()),
			Grid:   kernel.Grid(head.GetGridExponent()), Columns: points.D,
		}}, nil
}

// newForest returns the forest of k groups that a head describes, for points with the given number of columns.
func newForest(head *cleavev1.ForestHead, k, columns int, values []float64) (*model.Forest, error) {
	trees, err := forest.New(k, columns, values)
	switch {
	case err != nil:
		return nil, &ModelError{"forest", err}
	case trees.Trees() != int(head.GetTrees()) || trees.Nodes() != int(head.GetNodes()):
		return nil, modelError("forest", "there are %d trees with %d nodes; there must be %d with %d", trees.Trees(),
			trees.Nodes(), head.GetTrees(), head.GetNodes())
	case !(head.GetWeight() >= 0) || math.IsInf(head.GetWeight(), 0):
		return nil, modelError("", "the weight of the forest is %v; it must be finite and not negative",
			head.GetWeight())
	}
	return &model.Forest{Trees: trees, Weight: head.GetWeight()}, nil
}

// RowScoresHead describes the scores of rows, or returns nil if s is nil.
func RowScoresHead(s *clustering.RowScores) *cleavev1.RowScoresHead {
	if s == nil {
		return nil
	}
	return &cleavev1.RowScoresHead{Rows: uint32(max(len(s.Distance), len(s.Confidence))),
		Measure: cleavev1.RowMeasure(s.Measure),
		Runs:    uint32(s.Runs), Posterior: s.Posterior}
}

// scoreColumns returns the lists of scores that are present, in wire order.
func scoreColumns(s *clustering.RowScores) []*[]float64 {
	var columns []*[]float64
	if s.Measure != 0 {
		columns = append(columns, &s.Distance, &s.Margin)
	}
	if s.Runs > 1 || s.Posterior {
		columns = append(columns, &s.Confidence)
	}
	return columns
}

// rowScoresOf returns the scores that a head describes, without their values.
func rowScoresOf(head *cleavev1.RowScoresHead) *clustering.RowScores {
	return &clustering.RowScores{Measure: clustering.RowMeasure(head.GetMeasure()), Runs: int(head.GetRuns()),
		Posterior: head.GetPosterior()}
}

// RowScoreWidth returns how many values each row has according to the head of scores.
func RowScoreWidth(head *cleavev1.RowScoresHead) int {
	return len(scoreColumns(rowScoresOf(head)))
}

// WriteRowScores writes the values of scores in wire format, row by row.
func WriteRowScores(w io.Writer, s *clustering.RowScores) error {
	columns := scoreColumns(s)
	rows := int(RowScoresHead(s).GetRows())
	const atOnce = 1 << 13
	values := make([]float64, 0, len(columns)*atOnce)
	for i := range rows {
		for _, column := range columns {
			values = append(values, (*column)[i])
		}
		if (i+1)%atOnce == 0 || i == rows-1 {
			if err := writeValues(w, values); err != nil {
				return err
			}
			values = values[:0]
		}
	}
	return nil
}

// SendRowScores sends a head and then values, as written by WriteRowScores, in chunks.
func SendRowScores(head *cleavev1.RowScoresHead, values io.Reader,
	send func(*cleavev1.GetRowScoresResponse) error) error {
	return sendValues(&cleavev1.GetRowScoresResponse{Part: &cleavev1.GetRowScoresResponse_Head{Head: head}},
		values, func(block *cleavev1.DenseValues) *cleavev1.GetRowScoresResponse {
			return &cleavev1.GetRowScoresResponse{Part: &cleavev1.GetRowScoresResponse_Values{Values: block}}
		}, send)
}

// ReceiveRowScores assembles scores from the parts of a stream, which ends with io.EOF. Memory grows with what has
// arrived, never with what the head claims. Errors of the stream are returned as they are.
func ReceiveRowScores(receive func() (*cleavev1.GetRowScoresResponse, error)) (*clustering.RowScores, error) {
	head, err := receiveHead(receive, "scores of rows")
	if err != nil {
		return nil, err
	}
	rows := int(head.GetRows())
	measure := head.GetMeasure()
	if rows < 1 || rows > dataset.MaxRows || measure < 0 || measure > cleavev1.RowMeasure_ROW_MEASURE_GROUP_SCORES ||
		head.GetRuns() > math.MaxInt32 {
		return nil, fmt.Errorf("wire: scores of %d rows by measure %d and %d runs", rows, measure, head.GetRuns())
	}
	s := rowScoresOf(head)
	columns := scoreColumns(s)
	values, err := receiveValues(uint64(rows*len(columns)), receive)
	if err != nil {
		return nil, err
	}
	for at, column := range columns {
		*column = make([]float64, rows)
		for i := range *column {
			(*column)[i] = values[i*len(columns)+at]
		}
	}
	return s, nil
}
