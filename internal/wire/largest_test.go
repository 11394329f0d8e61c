package wire

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The largest values come back, the others as -Inf, as if all of them had been sorted.
func TestLargestValuesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.SampledFrom([]float64{math.Inf(-1), math.Inf(1), 0, 1}), rapid.Float64())
		length := rapid.IntRange(1, 60).Draw(t, "length")
		most := rapid.IntRange(1, 70).Draw(t, "most")
		lists := rapid.SliceOfN(rapid.SliceOfN(value, length, length), 0, 3).Draw(t, "lists")
		packed := PackLargest(lists, most)
		got, err := UnpackLargest(packed, len(lists), length, most)
		if err != nil {
			t.Fatal(err)
		}
		for l, list := range lists {
			places := make([]int, length)
			for at := range places {
				places[at] = at
			}
			slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(list[b], list[a]) })
			want := slices.Repeat([]float64{math.Inf(-1)}, length)
			for _, at := range places[:min(most, length)] {
				want[at] = list[at]
			}
			if !slices.Equal(got[l], want) {
				t.Fatalf("%v come back as %v", list, got[l])
			}
		}
		if limit := len(lists) * length * LargestBytes; len(packed) > limit {
			t.Fatalf("%d bytes, more than %d", len(packed), limit)
		}
		for end := range packed {
			if _, err := UnpackLargest(packed[:end], len(lists), length, most); err == nil {
				t.Fatalf("%d of %d bytes are accepted", end, len(packed))
			}
		}
		if _, err := UnpackLargest(append(packed, 0), len(lists), length, most); err == nil {
			t.Fatal("a byte too many is accepted")
		}
	})
}

// FuzzLargest unpacks any bytes. What is accepted is packed as the same bytes again.
func FuzzLargest(f *testing.F) {
	f.Add(PackLargest([][]float64{{3, 1, 2}, {0, 0, math.Inf(-1)}}, 2))
	f.Add([]byte{0, 0})
	f.Add([]byte{2, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0xff, 0})
	f.Fuzz(func(t *testing.T, packed []byte) {
		ceiling(t, len(packed), func() {
			lists, err := UnpackLargest(packed, 2, 3, 2)
			if err == nil && !slices.Equal(PackLargest(lists, 2), packed) {
				t.Fatalf("%x comes back as %v", packed, lists)
			}
		})
	})
}
