package knn

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// The graph is within its bound, which some graphs reach, and its outline has the same rows.
func TestSizesOfGraphs(t *testing.T) {
	for _, values := range [][]float64{
		{0, 1, 3, 6, 10, 15, 21}, // each row's nearest is the one before, which has another
		{0, 0, 0, 1, 1, 1},
		{1, 2},
	} {
		points := &dataset.Points{N: len(values), D: 1, Values: values}
		for count := 1; count < points.N; count++ {
			p, err := Prepare(points, clustering.Spec{K: 1, Neighbors: clustering.Neighbors{Count: count}})
			if err != nil {
				t.Fatal(err)
			}
			nearest, err := p.Search(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			graph, err := p.Graph(t.Context(), nearest, 1)
			if err != nil {
				t.Fatal(err)
			}
			bytes := dataset.EncodedSize(graph)
			limit := p.MaxGraphBytes()
			if bytes > limit || count == points.N-1 && bytes != limit {
				t.Errorf("%v, %d neighbors: %d bytes, at most %d", values, count, bytes, limit)
			}
			if outline, err := p.Outline(); err != nil || outline.N != points.N {
				t.Errorf("the outline is %v, %v", outline, err)
			}
		}
	}
}

func TestPredict(t *testing.T) {
	trained := &dataset.Points{N: 5, D: 2, Values: []float64{0, 0, 0, 1, 1000, 9.5, 1000, 10, 1000, 10.5}}
	labels := []int32{1, 1, 0, 0, 0}
	fresh := &dataset.Points{N: 2, D: 2, Values: []float64{400, 9, 600, 1}}
	for _, c := range []struct {
		scale  clustering.Scale
		voters int
		want   []int32
	}{
		{clustering.ScaleNone, 1, []int32{1, 0}},
		{clustering.ScaleZscore, 2, []int32{0, 1}},
		{clustering.ScaleZscore, 5, []int32{0, 0}}, // all vote
		{clustering.ScaleZscore, 9, []int32{0, 0}},
	} {
		got, err := Predict(t.Context(), c.scale, c.voters, trained, labels, fresh, 1)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("scale %v, %d voters: %v, %v; want %v", c.scale, c.voters, got, err, c.want)
		}
	}
	_, err := Predict(t.Context(), clustering.ScaleNone, 3, &dataset.Kernel{N: 1, Values: []float64{1}},
		[]int32{0}, fresh, 1)
	clusteringtest.WantFault(t, err, "CANNOT_PREDICT")
	_, err = Predict(t.Context(), clustering.ScaleNone, 3, trained, labels, &dataset.SparsePoints{N: 1, D: 2,
		RowStart: []int64{0, 0}}, 1)
	clusteringtest.WantFault(t, err, "OTHER_DATA")
	_, err = Predict(t.Context(), clustering.ScaleNone, 3, trained, labels,
		&dataset.Points{N: 1, D: 1, Values: []float64{1}}, 1)
	clusteringtest.WantFault(t, err, "SIZE_MISMATCH")
}

// A job on the graph has nothing left of what made it.
func TestTheSpecOfTheGraph(t *testing.T) {
	spec := clustering.Spec{
		K: 2, Neighbors: clustering.Neighbors{Count: 1, Weights: neighbor.Gaussian}, Scale: clustering.ScaleZscore,
	}
	p, err := Prepare(&dataset.Points{N: 2, D: 1, Values: []float64{1, 2}}, spec)
	if err != nil {
		t.Fatal(err)
	}
	if p.Spec.Neighbors.Count != 0 || p.Spec.Neighbors.Weights != 0 || p.Spec.Scale != clustering.ScaleDefault ||
		p.Spec.K != 2 || p.Units == nil {
		t.Errorf("the spec is %+v, the units %v", p.Spec, p.Units)
	}
}

// Sparse points that share no column have no neighbors. A resumed job accepts that answer and does not search again.
func TestMissingNeighborsAreRemembered(t *testing.T) {
	want := []int32{1, 0, neighbor.None}
	var saved bytes.Buffer
	searches := 0
	for range 2 {
		memory := snapshot.NewMemory(1<<20, nil)
		if saved.Len() > 0 {
			if err := memory.Read(saved.Bytes(), snapshot.Identity{}); err != nil {
				t.Fatal(err)
			}
		}
		nearest, err := Remember(snapshot.With(t.Context(), memory), 3, 1, func(context.Context) ([]int32, error) {
			searches++
			return want, nil
		})
		if err != nil || !slices.Equal(nearest, want) {
			t.Errorf("the neighbors are %v, %v", nearest, err)
		}
		if err := memory.Write(&saved, snapshot.Identity{}); err != nil {
			t.Fatal(err)
		}
	}
	if searches != 1 {
		t.Errorf("%d searches, want 1", searches)
	}
}
