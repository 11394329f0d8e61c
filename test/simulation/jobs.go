package simulation

import (
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/clustertest"
	"github.com/cleave-project/cleave/test/tabletest"
)

// workload is a job that simulations run, and what must come of it.
type workload struct {
	name   string
	data   dataset.Dataset
	spec   *cleavev1.JobSpec
	want   clustertest.Outcome // computed without coordinator, workers and network
	events []*cleavev1.Event   // of a simulation without faults
}

// workloads returns small jobs of every family. Their rows are several tiles, so that each worker has some.
func workloads(t testing.TB) []*workload {
	rng := rand.New(rand.NewPCG(1, 1))
	points, truth, err := synth.Gaussians(60, 2, 3, 0.5, rng)
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := synth.Constraints(truth, 12, rng)
	if err != nil {
		t.Fatal(err)
	}
	edges, _, err := synth.Blocks(60, 3, 0.4, 0.02, rng)
	if err != nil {
		t.Fatal(err)
	}
	graph, err := dataset.NewGraph(60, edges)
	if err != nil {
		t.Fatal(err)
	}
	supervision := &cleavev1.Supervision{Constraints: wire.InlineTable(tabletest.Constraints(pairs))}
	all := []*workload{
		{name: "k-means", data: points, spec: &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 3}, Restarts: 2,
			Algorithm: &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}}}},
		{name: "kernel k-means", data: points,
			spec: &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 4}, PaperSettings: true, Restarts: 2,
				Algorithm: &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{}}}},
		{name: "pc-kmeans", data: points,
			spec: &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 3}, PaperSettings: true, Supervision: supervision,
				Algorithm: &cleavev1.JobSpec_PcKmeans{PcKmeans: &cleavev1.PcKmeans{}}}},
		{name: "normalized cut", data: graph,
			spec: &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 3}, PaperSettings: true,
				Algorithm: &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{}}}},
		{name: "spectral", data: points, spec: &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 3},
			Algorithm: &cleavev1.JobSpec_Spectral{Spectral: &cleavev1.Spectral{}}}},
		{name: "graph of neighbors", data: points,
			spec: &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 3}, PaperSettings: true,
				NeighborGraph: &cleavev1.NeighborGraph{Neighbors: proto.Uint32(6)},
				Algorithm:     &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{}}}},
		{name: "auto", data: points,
			spec: &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 3}, Supervision: supervision,
				Algorithm: &cleavev1.JobSpec_Auto{Auto: &cleavev1.Auto{}}}},
	}
	for _, w := range all {
		w.want = clustertest.Compute(t, w.data, proto.CloneOf(w.spec))
	}
	return all
}
