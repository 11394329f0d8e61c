package tabletest_test

import (
	"bytes"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/test/tabletest"
)

func TestWhatIsBuiltIsReadAgain(t *testing.T) {
	const points = 50
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Float64Range(0.001, 1)
		index := rapid.Int32Range(0, points-1)
		var pairs []constraint.Constraint
		var seeds []constraint.Seed
		var beliefs []constraint.Belief
		for row := range rapid.Int32Range(0, 5).Draw(t, "rows") {
			pair := constraint.Constraint{I: index.Draw(t, "i"), J: index.Draw(t, "j"), Kind: constraint.MustLink}
			if pair.I != pair.J && rapid.Bool().Draw(t, "apart") {
				pair.Kind = constraint.CannotLink
			}
			if pair.Weighted = rapid.Bool().Draw(t, "weighted"); pair.Weighted {
				pair.Weight = number.Draw(t, "weight")
			}
			seed := constraint.Seed{Index: 7*row + rapid.Int32Range(0, 6).Draw(t, "index"),
				Label: index.Draw(t, "label")}
			if rapid.Bool().Draw(t, "uncertain") {
				seed.Probability = number.Draw(t, "probability")
			}
			pairs = append(pairs, pair)
			seeds = append(seeds, seed)
			beliefs = append(beliefs, constraint.Belief{I: rapid.Int32Range(row, points-1).Draw(t, "after"), J: row,
				Value: -number.Draw(t, "belief")})
		}
		weights := rapid.SliceOfN(number, points, points).Draw(t, "weights")
		labels := rapid.SliceOfN(rapid.Int64(), points, points).Draw(t, "labels")
		some := rapid.SliceOfDistinct(index, func(i int32) int32 { return i }).Draw(t, "some")
		again(t, pairs, tabletest.Constraints(pairs), table.Constraints)
		again(t, seeds, tabletest.Seeds(seeds), table.Seeds)
		again(t, beliefs, table.FromBeliefs(beliefs), table.Beliefs)
		again(t, weights, tabletest.Weights(weights), table.Weights)
		again(t, labels, tabletest.Labels(labels), table.Labels)
		again(t, some, tabletest.Indices(some), table.Indices)
	})
}

// again reads a table after it has been bytes.
func again[T any](t *rapid.T, want []T, built *table.Table, kind table.Kind[T]) {
	t.Helper()
	var encoded bytes.Buffer
	if err := built.Encode(&encoded); err != nil {
		t.Fatal(err)
	}
	decoded, err := table.Decode(&encoded, int64(encoded.Len()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := kind.Read(decoded, 50)
	if err != nil || len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, %v, want %v", got, err, want)
	}
}
