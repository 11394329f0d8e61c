package dataset

import (
	"bytes"
	"io"
	"testing"

	"pgregory.net/rapid"
)

// What is read from any offset is what Encode writes there.
func TestReader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3000).Draw(t, "n")
		d := rapid.IntRange(1, 5).Draw(t, "d")
		values := make([]float64, n*d)
		edges := make([]Edge, 0, n)
		for at := range values {
			values[at] = float64(at) * 1.25
		}
		for i := range n {
			edges = append(edges, Edge{Source: int32(i), Target: int32(i * 7 % n), Weight: float64(i + 1)})
		}
		points, err := NewPoints(n, d, values)
		if err != nil {
			t.Fatal(err)
		}
		graph, err := NewGraph(n, edges)
		if err != nil {
			t.Fatal(err)
		}
		for _, data := range []Dataset{points, graph} {
			all, err := Marshal(data)
			if err != nil {
				t.Fatal(err)
			}
			offset := rapid.Int64Range(0, int64(len(all))).Draw(t, "offset")
			got, err := io.ReadAll(NewReader(data, offset))
			if err != nil || !bytes.Equal(got, all[offset:]) {
				t.Fatalf("from %d of %d on: %d bytes, %v", offset, len(all), len(got), err)
			}
		}
	})
}
