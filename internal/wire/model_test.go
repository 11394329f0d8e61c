package wire

import (
	"bytes"
	"context"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/forest"
	"github.com/cleave-project/cleave/internal/clustering/mixture"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

func anyModel(t *rapid.T) *model.Model {
	k := rapid.IntRange(1, 4).Draw(t, "k")
	d := rapid.IntRange(1, 4).Draw(t, "d")
	value := rapid.Float64Range(-5, 5)
	m := &model.Model{
		Distortion: metric.Distortion(rapid.IntRange(1, 4).Draw(t, "distortion")), K: k, D: d,
		Centroids: rapid.SliceOfN(value, k*d, k*d).Draw(t, "centroids"), Metric: metric.NewIdentity(d),
	}
	var err error
	switch rapid.IntRange(0, 2).Draw(t, "form") {
	case 1:
		m.Metric, err = metric.NewDiagonal(rapid.SliceOfN(rapid.Float64Range(0.1, 9), d, d).Draw(t, "weights"))
	case 2:
		values := make([]float64, d*d) // diagonally dominant
		for i := range d {
			for j := range i {
				values[i*d+j] = value.Draw(t, "entry")
				values[j*d+i] = values[i*d+j]
			}
			values[i*d+i] = 100
		}
		m.Metric, err = metric.NewFull(d, values)
	}
	if err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "landmarks") {
		m.Distortion = metric.SquaredEuclidean
		m.Metric = metric.NewIdentity(d)
		m.Landmarks = anyLandmarks(t, d)
		if k == d && rapid.Bool().Draw(t, "forest") {
			m.Forest = anyForest(t, m.Landmarks.Points, k)
		}
	}
	if m.Landmarks == nil && rapid.Bool().Draw(t, "mixture") {
		m.Distortion = metric.SquaredEuclidean
		m.Metric = metric.NewIdentity(d)
		m.Mixture = anyMixture(t, k, d)
	}
	if columns := m.Columns(); rapid.Bool().Draw(t, "scaled") {
		m.Units = &dataset.Units{
			Center: rapid.SliceOfN(value, columns, columns).Draw(t, "centers"),
			Scale:  rapid.SliceOfN(rapid.Float64Range(0.1, 9), columns, columns).Draw(t, "scales"),
		}
	}
	return m
}

// anyMixture returns a mixture whose last column has few values if there are several.
func anyMixture(t *rapid.T, k, d int) *mixture.Mixture {
	value := rapid.Float64Range(-5, 5)
	positive := rapid.Float64Range(0.1, 9)
	values := rapid.SliceOfN(value, k*d, k*d).Draw(t, "means")
	variances := make([]float64, d)
	smooth := d
	if d > 1 {
		smooth = d - 1
		variances[d-1] = positive.Draw(t, "variance")
	}
	values = append(values, variances...)
	for range k {
		triangle := make([]float64, d*d)
		for a := range smooth {
			for b := range a {
				triangle[a*d+b] = value.Draw(t, "entry")
			}
			triangle[a*d+a] = positive.Draw(t, "diagonal")
		}
		values = append(values, triangle...)
	}
	shares := slices.Repeat([]float64{1 / float64(k)}, k)
	m, err := mixture.New(shares, d, values)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// anyForest returns a forest fitted to points.
func anyForest(t *rapid.T, points *dataset.Points, k int) *model.Forest {
	groups := rapid.SliceOfN(rapid.Int32Range(0, int32(k-1)), points.N, points.N).Draw(t, "groups")
	trees, err := forest.Fit(context.Background(), points, groups, clustering.Ones(points.N), k, 3,
		rand.New(rand.NewPCG(1, 2)), 1)
	if err != nil {
		t.Fatal(err)
	}
	return &model.Forest{Trees: trees, Weight: rapid.Float64Range(0, 1).Draw(t, "weight")}
}

// anyLandmarks make so many features of points.
func anyLandmarks(t *rapid.T, rank int) *model.Landmarks {
	count := rank + rapid.IntRange(0, 3).Draw(t, "more")
	columns := rapid.IntRange(1, 5).Draw(t, "columns")
	value := rapid.Float64Range(-5, 5)
	l := &model.Landmarks{
		Centered: rapid.Bool().Draw(t, "centered"),
		Points: &dataset.Points{N: count, D: columns,
			Values: rapid.SliceOfN(value, count*columns, count*columns).Draw(t, "landmarks")},
		Matrix: kernel.MatrixSpec{Function: kernel.Gaussian, Rho: rapid.Float64Range(0.1, 3).Draw(t, "rho"), Grid: -30,
			Columns: columns},
	}
	if rapid.Bool().Draw(t, "polynomial") {
		l.Matrix = kernel.MatrixSpec{Function: kernel.Polynomial, Gamma: 2, Coef0: -1, Degree: 3, Grid: 12,
			Columns: columns}
	}
	l.Projection = rapid.SliceOfN(value, count*rank, count*rank).Draw(t, "projection")
	return l
}

// sent are the parts of a model, each through its encoding.
func sent(t interface{ Fatal(...any) }, m *model.Model) []*cleavev1.GetModelResponse {
	var blob bytes.Buffer
	if err := WriteModel(&blob, m); err != nil {
		t.Fatal(err)
	}
	var parts []*cleavev1.GetModelResponse
	err := SendModel(ModelHead(m), &blob, func(part *cleavev1.GetModelResponse) error {
		encoded, err := proto.Marshal(part)
		if err != nil {
			return err
		}
		received := &cleavev1.GetModelResponse{}
		parts = append(parts, received)
		return proto.Unmarshal(encoded, received)
	})
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// stream receives one part after the other.
func stream[T any](parts []*T) func() (*T, error) {
	return func() (*T, error) {
		if len(parts) == 0 {
			return nil, io.EOF
		}
		part := parts[0]
		parts = parts[1:]
		return part, nil
	}
}

func TestModelsSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyModel(t)
		parts := sent(t, want)
		got, err := ReceiveModel(stream(parts))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, %v; want %+v", got, err, want)
		}
		for cut := range parts {
			if _, err := ReceiveModel(stream(parts[:cut])); err == nil {
				t.Fatalf("a model that ends after %d of %d parts was taken", cut, len(parts))
			}
		}
	})
}

func TestLargeModelsTravelInChunks(t *testing.T) {
	const d = ChunkBytes/8 + 1
	want := &model.Model{Distortion: metric.Cosine, K: 2, D: d, Centroids: make([]float64, 2*d),
		Metric: metric.NewIdentity(d)}
	want.Centroids[2*d-1] = math.Pi
	parts := sent(t, want)
	for _, part := range parts {
		if size := proto.Size(part); size > ChunkBytes+100 {
			t.Errorf("a part has %d bytes", size)
		}
	}
	if got, err := ReceiveModel(stream(parts)); err != nil || !reflect.DeepEqual(got, want) || len(parts) != 4 {
		t.Errorf("%d parts, %v", len(parts), err)
	}
}

func TestModelsThatAreWrong(t *testing.T) {
	head := func(h *cleavev1.ModelHead) *cleavev1.GetModelResponse {
		return &cleavev1.GetModelResponse{Part: &cleavev1.GetModelResponse_Head{Head: h}}
	}
	numbers := func(v ...float64) *cleavev1.GetModelResponse {
		return &cleavev1.GetModelResponse{
			Part: &cleavev1.GetModelResponse_Values{Values: &cleavev1.DenseValues{Values: v}}}
	}
	const euclidean, identity = cleavev1.Distortion_DISTORTION_EUCLIDEAN, cleavev1.Metric_METRIC_IDENTITY
	good := &cleavev1.ModelHead{Distortion: euclidean, K: 1, Columns: 2, Metric: identity}
	landmarks := func(count, columns uint32, function cleavev1.KernelFunction) *cleavev1.ModelHead {
		return &cleavev1.ModelHead{Distortion: euclidean, K: 1, Columns: 2, Metric: identity,
			Landmarks: &cleavev1.LandmarkHead{Count: count, Columns: columns,
				Kernel: &cleavev1.KernelReport{Function: function}}}
	}
	mixed := func(h *cleavev1.ModelHead, shares ...float64) *cleavev1.ModelHead {
		h = proto.CloneOf(h)
		h.Mixture = &cleavev1.MixtureHead{Shares: shares}
		return h
	}
	grown := func(trees, nodes uint32, weight float64) *cleavev1.ModelHead {
		h := landmarks(2, 1, cleavev1.KernelFunction_KERNEL_FUNCTION_LINEAR)
		h.K = 2
		h.Forest = &cleavev1.ForestHead{Trees: trees, Nodes: nodes, Weight: weight}
		return h
	}
	ofLandmarks := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10} // of two groups, before the nodes
	bare := proto.CloneOf(good)
	bare.Forest = &cleavev1.ForestHead{Trees: 1, Nodes: 1, Weight: 1}
	three := grown(1, 1, 1)
	three.K = 3
	type parts = []*cleavev1.GetModelResponse
	for name, p := range map[string]parts{
		"nothing":      {},
		"values first": {numbers(1, 2)},
		"no values":    {head(good)},
		"too few":      {head(good), numbers(1)},
		"too many":     {head(good), numbers(1, 2), numbers(3)},
		"two heads":    {head(good), head(good), numbers(1, 2)},
		"not finite":   {head(good), numbers(1, math.NaN())},
		"no clusters":  {head(&cleavev1.ModelHead{Distortion: euclidean, Columns: 2, Metric: identity})},
		"no columns":   {head(&cleavev1.ModelHead{Distortion: euclidean, K: 2, Metric: identity})},
		"no metric":    {head(&cleavev1.ModelHead{Distortion: euclidean, K: 1, Columns: 2}), numbers(1, 2)},
		"an unknown metric": {head(&cleavev1.ModelHead{Distortion: euclidean, K: 1, Columns: 2, Metric: 257}),
			numbers(1, 2)},
		"no distortion": {head(&cleavev1.ModelHead{K: 1, Columns: 2, Metric: identity}), numbers(1, 2)},
		"a weight of 0": {head(&cleavev1.ModelHead{Distortion: euclidean, K: 1, Columns: 1,
			Metric: cleavev1.Metric_METRIC_DIAGONAL}), numbers(1, 0)},
		"a promise": {head(&cleavev1.ModelHead{Distortion: euclidean, K: 1 << 30, Columns: 1 << 30,
			Metric: identity}), numbers(1, 0)},
		"few landmark values": {head(landmarks(2, 1, cleavev1.KernelFunction_KERNEL_FUNCTION_LINEAR)),
			numbers(1, 2, 3, 4, 5)},
		"more features": {head(landmarks(1, 1, cleavev1.KernelFunction_KERNEL_FUNCTION_LINEAR)),
			numbers(1, 2, 3, 4, 5)},
		"no kernel": {head(landmarks(2, 1, 0)), numbers(1, 2, 3, 4, 5, 6, 7, 8)},
		"many landmarks": {head(landmarks(1<<31, 1<<31, cleavev1.KernelFunction_KERNEL_FUNCTION_LINEAR)),
			numbers(1, 2)},
		"a NaN in the matrix": {head(landmarks(2, 1, cleavev1.KernelFunction_KERNEL_FUNCTION_LINEAR)),
			numbers(1, 2, 3, 4, 5, 6, 7, math.NaN())},
		"no shares":            {head(mixed(good)), numbers(1, 2, 1, 2, 0, 0, 1, 0, 0, 1)},
		"a share too many":     {head(mixed(good, 0.5, 0.5)), numbers(1, 2, 1, 2, 0, 0, 1, 0, 0, 1)},
		"a share of 2":         {head(mixed(good, 2)), numbers(1, 2, 1, 2, 0, 0, 1, 0, 0, 1)},
		"few mixture values":   {head(mixed(good, 1)), numbers(1, 2, 1, 2, 0, 0, 1, 0, 0)},
		"no triangle":          {head(mixed(good, 1)), numbers(1, 2, 1, 2, 0, 0, 1, 1, 0, 1)},
		"a NaN in the mixture": {head(mixed(good, 1)), numbers(1, 2, 1, math.NaN(), 0, 0, 1, 0, 0, 1)},
		"many mixture columns": {head(mixed(&cleavev1.ModelHead{Distortion: euclidean, K: 1, Columns: 1 << 30,
			Metric: identity}, 1)), numbers(1)},
		"a mixture of cosines": {head(mixed(&cleavev1.ModelHead{Distortion: cleavev1.Distortion_DISTORTION_COSINE, K: 1,
			Columns: 2, Metric: identity}, 1)), numbers(1, 2, 1, 2, 0, 0, 1, 0, 0, 1)},
		"a mixture, landmarks": {head(mixed(landmarks(2, 1, cleavev1.KernelFunction_KERNEL_FUNCTION_LINEAR), 1)),
			numbers(1, 2, 3, 4, 5, 6, 7, 8)},
		"few nodes":            {head(grown(1, 1, 1)), numbers(ofLandmarks...), numbers(-1)},
		"half a tree":          {head(grown(1, 2, 1)), numbers(ofLandmarks...), numbers(0, 1, -1, 0)},
		"a tree too many":      {head(grown(2, 1, 1)), numbers(ofLandmarks...), numbers(-1, 0)},
		"an unknown column":    {head(grown(1, 3, 1)), numbers(ofLandmarks...), numbers(1, 1, -1, 0, -1, 1)},
		"an unknown group":     {head(grown(1, 1, 1)), numbers(ofLandmarks...), numbers(-1, 2)},
		"a negative weight":    {head(grown(1, 1, -1)), numbers(ofLandmarks...), numbers(-1, 0)},
		"a forest of features": {head(three), numbers(ofLandmarks...), numbers(1, 2), numbers(-1, 0)},
		"a forest alone":       {head(bare), numbers(1, 2), numbers(-1, 0)},
		"a full metric of all": {head(&cleavev1.ModelHead{Distortion: euclidean, K: 1, Columns: 1 << 30,
			Metric: cleavev1.Metric_METRIC_FULL})},
	} {
		if _, err := ReceiveModel(stream(p)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// FuzzModel feeds parts of any content; a model that is taken has the shape that its head says.
func FuzzModel(f *testing.F) {
	f.Add([]byte(nil), []byte(nil), []byte(nil))
	weights, err := metric.NewDiagonal([]float64{2, 3})
	if err != nil {
		f.Fatal(err)
	}
	for _, form := range []*metric.Metric{metric.NewIdentity(2), weights} {
		var encoded [3][]byte
		for at, part := range sent(f, &model.Model{Distortion: metric.KL, K: 1, D: 2, Centroids: []float64{0.5, 0.5},
			Metric: form}) {
			encoded[at], _ = proto.Marshal(part)
		}
		f.Add(encoded[0], encoded[1], encoded[2])
	}
	gaussians, err := mixture.New([]float64{1}, 2, []float64{0.5, 0.5, 0, 2, 1, 0, 0, 0})
	if err != nil {
		f.Fatal(err)
	}
	var encoded [3][]byte
	for at, part := range sent(f, &model.Model{Distortion: metric.SquaredEuclidean, K: 1, D: 2,
		Centroids: []float64{0.5, 0.5}, Metric: metric.NewIdentity(2), Mixture: gaussians}) {
		encoded[at], _ = proto.Marshal(part)
	}
	f.Add(encoded[0], encoded[1], encoded[2])
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		var parts []*cleavev1.GetModelResponse
		for _, encoded := range [][]byte{a, b, c} {
			part := &cleavev1.GetModelResponse{}
			if proto.Unmarshal(encoded, part) != nil {
				return
			}
			if len(encoded) > 0 {
				parts = append(parts, part)
			}
		}
		m, err := ReceiveModel(stream(parts))
		if err == nil &&
			(m.K < 1 || m.D < 1 || len(m.Centroids) != m.K*m.D || m.Metric.Form() != metric.Identity &&
				len(m.Metric.Values()) != m.Metric.Form().Size(m.D)) {
			t.Fatalf("got %+v", m)
		}
		if err == nil && m.Mixture != nil {
			row := &dataset.Points{N: 1, D: m.D, Values: make([]float64, m.D)}
			if scores, err := m.Mixture.Score(t.Context(), row, nil, 1); err == nil && !(scores.Posterior[0] > 0) {
				t.Fatalf("a row has the probability %v in its cluster", scores.Posterior[0])
			}
		}
	})
}
