package wire

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	vectors "github.com/cleave-project/cleave/internal/numeric/vector"
)

// A packed step has its moves, and its values in their order. Nothing shorter is accepted in its place.
func TestStepsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		moves, clusters := drawMoves(t)
		floats := rapid.SliceOf(rapid.Float64())
		s := &vectors.Stepped{
			Moves: moves, Changes: floats.Draw(t, "changes"), Before: [][]float64{floats.Draw(t, "before"), {1}},
			After: [][]float64{{2}, floats.Draw(t, "after")},
		}
		packed := PackStep(s, clusters)
		got, values, err := UnpackStep(packed)
		want := PackFloat64s(slices.Concat(s.Changes, s.Before[0], s.Before[1], s.After[0], s.After[1]))
		if err != nil || !slices.Equal(got, moves) || !bytes.Equal(values, want) {
			t.Fatalf("got %v and %d bytes, %v", got, len(values), err)
		}
		if cut := packed[:rapid.IntRange(0, len(packed)-len(values)-1).Draw(t, "cut")]; len(cut) < len(packed) {
			if got, values, err := UnpackStep(cut); err == nil {
				t.Fatalf("the first %d bytes are %v and %d bytes", len(cut), got, len(values))
			}
		}
	})
}
