package neighbor

import (
	"testing"

	"pgregory.net/rapid"
)

// A search takes as much memory as is said, and no more.
func TestSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		d := rapid.IntRange(1, 40).Draw(t, "d")
		count := rapid.IntRange(1, 20).Draw(t, "count")
		points := newPointSearch(drawPoints(t, n, d))
		taken := 8*(len(points.packed)+len(points.tree.boxes)+len(points.tree.features)) +
			4*(len(points.order)+len(points.place))
		if said := PointBytes(int64(n), int64(d)); int64(taken) > said {
			t.Fatalf("points take %d bytes instead of %d", taken, said)
		}
		b := newBlock(points)
		b.reset(count)
		for q := range min(n, blockQueries) {
			b.addQuery(points.data.Row(q), int32(q))
		}
		taken = 8*(len(b.sums)+len(b.hits)+len(b.own)+len(b.boxes.low)+len(b.boxes.high)+len(b.limits)) +
			64*len(b.nearest)
		for i := range b.batches {
			taken += 8*len(b.batches[i].values) + 128
		}
		for q := range b.nearest {
			for i := range 3 * count {
				b.nearest[q].add(float64(-i), int32(i))
			}
			taken += 8*cap(b.nearest[q].distances) + 4*cap(b.nearest[q].rows)
		}
		if said := PointThreadBytes(int64(n), int64(d), int64(count)); int64(taken) > said {
			t.Fatalf("a thread takes %d bytes instead of %d", taken, said)
		}
		data, _ := drawSparse(t, n, d)
		sparse := newSparseSearch(data)
		taken = 8*(len(sparse.rows.Value)+2*len(sparse.starts)+len(sparse.values)) +
			4*(len(sparse.holders)+cap(sparse.columns))
		if said := SparseBytes(int64(n), int64(d), int64(data.NonZeros())); int64(taken) > said {
			t.Fatalf("sparse points take %d bytes instead of %d", taken, said)
		}
	})
}
