package client

import (
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/wire"
)

// An embedded run uses the data where it is, and answers as one whose data was sent does.
func TestEmbeddedRunsShareTheData(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n = 60
	values := make([]float64, 3*n)
	matrix := make([]float64, n*n)
	var edges []dataset.Edge
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	for i := range n {
		for j := range i + 1 {
			matrix[i*n+j] = rng.Float64()
			matrix[j*n+i] = matrix[i*n+j]
			if j == i-1 || rng.IntN(8) == 0 {
				edges = append(edges, dataset.Edge{Source: int32(i), Target: int32(j),
					Weight: 1 + float64(rng.IntN(3))})
			}
		}
	}
	points, err := dataset.NewPoints(n, 3, values)
	if err != nil {
		t.Fatal(err)
	}
	graph, err := dataset.NewGraph(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	given, err := dataset.NewKernel(n, n, matrix)
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range []dataset.Dataset{points, graph, given} {
		labels := func(spec *cleavev1.JobSpec, c *Client, data dataset.Dataset) []int32 {
			id, err := c.Complete(t.Context(), &cleavev1.CreateJobRequest{Spec: spec}, data, Silent{}, CancelJob)
			if err != nil {
				t.Fatal(err)
			}
			outcome, err := c.Fetch(t.Context(), id, Everything)
			if err != nil {
				t.Fatal(err)
			}
			return outcome.Labels
		}
		before, err := dataset.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		spec := &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 3},
			Algorithm: &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{}}}
		c, err := StartEmbedded(t.Context(), 2, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		shared := proto.CloneOf(spec)
		got := labels(shared, c, data)
		if c.embedded.SharedDataset(shared.GetDatasetId()) != data {
			t.Errorf("%v: the data is not shared", data.Kind())
		}
		c.Close()
		if after, err := dataset.Marshal(data); err != nil || !slices.Equal(before, after) {
			t.Errorf("%v: the data was changed", data.Kind())
		}

		if c, err = StartEmbedded(t.Context(), 2, io.Discard); err != nil {
			t.Fatal(err)
		}
		stored, err := wire.SendDataset(t.Context(), c.Datasets, "", data, wire.UploadStart{})
		if err != nil {
			t.Fatal(err)
		}
		sent := proto.CloneOf(spec)
		sent.Data = &cleavev1.JobSpec_DatasetId{DatasetId: stored.GetDatasetId()}
		if want := labels(sent, c, nil); sent.GetDatasetId() != shared.GetDatasetId() || !slices.Equal(got, want) {
			t.Errorf("%v: %v instead of %v", data.Kind(), got, want)
		}
		c.Close()
	}
}
