package planning

import (
	"fmt"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// Numbers of plans of all kinds of jobs. Whoever changes a size or a rate on purpose changes them here.
func TestNumbersOfAllKinds(t *testing.T) {
	const n, d = 20_000, 16
	matrix := points(n, d, 10, Auto)
	matrix.Restarts, matrix.Lanes, matrix.Scaled = 10, 4, true
	half := points(n, d, 10, Float32)
	half.Matrix.Spec.HalfScale, half.Matrix.Shift = 1, true
	eigen := graph(n, 200_000, 5)
	eigen.Eigen = &Eigensolver{Pairs: 5, Columns: 5, Restarts: 10}
	eigen.Matrix.Products = 4
	eigen.Matrix.Degrees = true
	rows := dense(n, d, 10)
	rows.Restarts, rows.Lanes, rows.Vectors.RaceRows, rows.Vectors.JointBytes = 10, 4, 5000, 1<<20
	sparse := Workload{Vectors: &Vectors{Rows: 64, Columns: 1000, Width: 1000, Entries: []int64{10, 20, 30, 40}},
		DatasetBytes: 2000, K: 3}
	landmarks := matrix.byLandmarks()
	neighbors := NeighborWorkload(pointShape(n, d), 8*n*d, 10)
	levels := Workload{Coordinator: Coordinator{
		Levels: &Levels{Vertices: n, Entries: 400_000, K: 5, Fits: 3}}}
	searched := levels
	searched.Search = &neighbors
	for _, c := range []struct {
		name string
		of   Workload
		want string
	}{
		{"matrix", matrix,
			"float32: 20+0 tiles, 1600000000 of 1630314112 bytes, 0 and 1048576 on the coordinator; 6.0015 passes, " +
				"1.8682 s, a piece 0.24863 s"},
		{"half precision", half,
			"float16: 20+0 tiles, 800000000 of 812551952 bytes, 0 and 1048576 on the coordinator; 42.001 passes, " +
				"3.4176 s, a piece 0.23941 s"},
		{"given", given(2000, 5),
			"float32: 32+0 tiles, 16000000 of 20793320 bytes, 0 and 1048576 on the coordinator; 2.0025 passes, " +
				"0.063938 s, a piece 1.6022 s"},
		{"eigenvectors of a graph", eigen,
			"sparse: 20+0 tiles, 2560032 of 22321824 bytes, 53760000 and 28770112 on the coordinator; 102 passes, " +
				"1.3901 s, a piece 0.1332 s"},
		{"rows", rows,
			"vectors: 20+0 tiles, 2560000 of 50740656 bytes, 23680000 and 1048576 on the coordinator; 1700 passes, " +
				"1.1502 s, a piece 0.14701 s"},
		{"sparse rows", sparse,
			"sparse vectors: 4+0 tiles, 1344 of 1837024 bytes, 0 and 1048576 on the coordinator; 163 passes, " +
				"0.040046 s, a piece 0.00013038 s"},
		{"landmarks", landmarks,
			"vectors: 20+0 tiles, 20480000 of 49301808 bytes, 160768000 and 1048576 on the coordinator; 170 passes, " +
				"11.105 s, a piece 0.18125 s"},
		{"neighbors", neighbors,
			"neighbors: 20+0 tiles, 0 of 14589568 bytes, 0 and 1728192 on the coordinator; 1 passes, 0.40929 s, a " +
				"piece 0.18647 s"},
		{"neighbors by a kernel", NeighborWorkload(&dataset.Kernel{N: 4000}, 8*16_000_000, 10),
			"neighbors: 32+0 tiles, 0 of 17136912 bytes, 0 and 1048576 on the coordinator; 1 passes, 0.09856 s, a " +
				"piece 6.409 s"},
		{"levels", levels,
			"sparse: 0+0 tiles, 0 of 0 bytes, 83184070 and 1048576 on the coordinator; 0 passes, 0.39958 " +
				"s, a piece 0 s"},
		{"levels after a search", searched,
			"neighbors: 20+0 tiles, 0 of 14589568 bytes, 103024198 and 1976384 on the coordinator; 0 passes, 0.80887 " +
				"s, a piece 0 s"},
	} {
		plan, err := Make(c.of, []Worker{{Name: "a", Threads: 2, Free: 2 << 30},
			{Name: "b", Threads: 1, Free: 1 << 30}})
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%s: %d+%d tiles, %d of %d bytes, %d and %d on the coordinator; %.5g passes, %.5g s, a "+
			"piece %.5g s", plan.Storage, plan.Stored, plan.Computed,
			plan.EntryBytes, plan.Bytes, plan.CoordinatorBytes, SnapshotBytes([]Workload{c.of}), plan.Passes,
			plan.Seconds, c.of.PieceSeconds())
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}
