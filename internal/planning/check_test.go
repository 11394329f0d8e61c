package planning

import (
	"strings"
	"testing"
)

// Make plans every combination of parts that jobs have, and refuses parts that exclude each other.
func TestPartsThatExcludeEachOther(t *testing.T) {
	matrix, vectors := points(2000, 4, 3, Auto), dense(2000, 4, 3)
	neighbors := NeighborWorkload(pointShape(2000, 4), 64000, 5)
	levels := &Levels{Vertices: 2000, Entries: 8000, K: 3}
	with := func(w Workload, change func(*Workload)) Workload {
		change(&w)
		return w
	}
	searchFirst := func(w *Workload) { w.Search = &neighbors }
	merged := func(w *Workload) { w.Levels = levels }
	busy := with(neighbors, merged)
	for _, c := range []struct {
		name    string
		of      Workload
		refused string
	}{
		{"a matrix", matrix, ""},
		{"vectors", vectors, ""},
		{"neighbors", neighbors, ""},
		{"levels", with(Workload{}, merged), ""},
		{"levels after a search", with(with(Workload{}, merged), searchFirst), ""},
		{"a matrix and levels after a search", with(with(graph(2000, 4000, 3), merged), searchFirst), ""},

		{"two kinds of tiles", with(matrix, func(w *Workload) { w.Vectors = vectors.Vectors }),
			"a matrix and vectors at once"},
		{"all kinds of tiles", with(matrix, func(w *Workload) {
			w.Vectors, w.Neighbors = vectors.Vectors, neighbors.Neighbors
		}), "a matrix and vectors and neighbors at once"},
		{"a search for vectors", with(matrix, func(w *Workload) { w.Search = &vectors }), "not for neighbors alone"},
		{"a search of nothing", with(matrix, func(w *Workload) { w.Search = &Workload{} }), "not for neighbors alone"},
		{"a search with levels", with(matrix, func(w *Workload) { w.Search = &busy }), "not for neighbors alone"},
		{"a search for two kinds", with(matrix, func(w *Workload) {
			w.Search = &Workload{Neighbors: neighbors.Neighbors, Matrix: matrix.Matrix}
		}), "a matrix and neighbors at once"},
	} {
		_, err := Make(c.of, []Worker{{Threads: 1, Free: Unlimited}})
		switch {
		case c.refused == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: %v, want %q", c.name, err, c.refused)
		}
	}
}
