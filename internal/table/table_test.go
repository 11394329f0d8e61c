package table

import (
	"bytes"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/cut"
	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/fault"
)

// anyTable draws a table of all types, some of whose cells are empty.
func anyTable(t *rapid.T) *Table {
	rows := rapid.IntRange(0, 20).Draw(t, "rows")
	columns := make([]Column, rapid.IntRange(1, 5).Draw(t, "columns"))
	for at := range columns {
		c := Column{Name: strings.Repeat("c", at+1), Type: rapid.SampledFrom([]Type{Integer, Number, Text}).Draw(t, "type")}
		switch c.Type {
		case Integer:
			c.Integers = rapid.SliceOfN(rapid.Int64(), rows, rows).Draw(t, "integers")
		case Number:
			c.Numbers = rapid.SliceOfN(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64), rows, rows).Draw(t, "numbers")
		case Text:
			c.Texts = rapid.SliceOfN(rapid.StringN(0, 20, 80), rows, rows).Draw(t, "texts")
		}
		if rapid.Bool().Draw(t, "some empty") {
			c.Empty = rapid.SliceOfN(rapid.Bool(), rows, rows).Draw(t, "empty")
		}
		columns[at] = c
	}
	made, err := New(columns)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func encode(t interface{ Fatal(...any) }, table *Table) []byte {
	var b bytes.Buffer
	if err := table.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCanonicalBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyTable(t)
		encoded := encode(t, want)
		if int64(len(encoded)) != want.EncodedSize() {
			t.Fatalf("%d bytes, not %d", len(encoded), want.EncodedSize())
		}
		got, err := Decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if got.ID() != want.ID() || got.Rows() != want.Rows() || !bytes.Equal(encode(t, got), encoded) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		if short := rapid.IntRange(0, len(encoded)-1).Draw(t, "short"); len(encoded) > 0 {
			if _, err := Decode(encoded[:short]); !fault.Is(err, "CORRUPT_TABLE") {
				t.Fatalf("the first %d of %d bytes: %v", short, len(encoded), err)
			}
		}
		if _, err := Decode(append(encoded, 0)); !fault.Is(err, "CORRUPT_TABLE") {
			t.Fatalf("a byte too many: %v", err)
		}
	})
}

// What stands in an empty cell makes no other table.
func TestEmptyCellsAreTheSame(t *testing.T) {
	id := func(v float64) string {
		made, err := New([]Column{{Name: "weight", Type: Number, Numbers: []float64{1, v}, Empty: []bool{false, true}}})
		if err != nil {
			t.Fatal(err)
		}
		return made.ID()
	}
	if id(0) != id(math.NaN()) {
		t.Error("an empty cell has a value")
	}
}

func TestNewRefuses(t *testing.T) {
	one := Column{Name: "i", Type: Integer, Integers: []int64{1}}
	for name, c := range map[string]struct {
		columns []Column
		reason  string
		says    string
	}{
		"no columns":   {nil, "BAD_COLUMNS", "0 columns"},
		"no name":      {[]Column{{Type: Integer}}, "BAD_COLUMNS", `""`},
		"a long name":  {[]Column{{Name: strings.Repeat("x", 201), Type: Integer}}, "BAD_COLUMNS", "200 bytes"},
		"no type":      {[]Column{{Name: "x"}}, "BAD_COLUMN_TYPE", `"x"`},
		"other rows":   {[]Column{one, {Name: "j", Type: Integer, Integers: []int64{1, 2}}}, "COLUMN_LENGTHS_DIFFER", `"j" has 2`},
		"other marks":  {[]Column{{Name: "j", Type: Integer, Integers: []int64{1, 2}, Empty: []bool{true}}}, "COLUMN_LENGTHS_DIFFER", "marks 1"},
		"twice":        {[]Column{one, one}, "DUPLICATE_COLUMN", `"i"`},
		"not a number": {[]Column{{Name: "x", Type: Number, Numbers: []float64{1, math.NaN()}}}, "NOT_FINITE", `row 1, column "x"`},
		"infinite":     {[]Column{{Name: "x", Type: Number, Numbers: []float64{math.Inf(1)}}}, "NOT_FINITE", `row 0, column "x"`},
		"no UTF-8":     {[]Column{{Name: "x", Type: Text, Texts: []string{"ok", "\xff"}}}, "BAD_TEXT", `row 1, column "x"`},
		"a long text":  {[]Column{{Name: "x", Type: Text, Texts: []string{strings.Repeat("x", 1001)}}}, "BAD_TEXT", "1000 bytes"},
	} {
		if _, err := New(c.columns); !fault.Is(err, c.reason) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// FuzzDecode: any bytes are refused as a fault, or are the canonical bytes of the table that comes out, and
// what they claim costs nothing.
func FuzzDecode(f *testing.F) {
	f.Add(encode(f, FromConstraints([]constraint.Constraint{{I: 1, J: 2, Kind: constraint.MustLink, Weight: 2, Weighted: true}, {I: 0, J: 2, Kind: constraint.CannotLink}})))
	f.Add(encode(f, FromSeeds([]clustering.Seed{{Index: 1, Label: 2}, {Index: 3, Label: 1, Probability: 0.5}})))
	f.Add(encode(f, FromLabels([]int64{3, -1})))
	f.Add([]byte("CLT1\x01\x00\x00\x00\xff\xff\xff\x7f\x00\x00\x00\x00\x03\x01\x01\x00x"))
	f.Fuzz(func(t *testing.T, content []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		table, err := Decode(content)
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20+100*uint64(len(content)) {
			t.Fatalf("%d bytes allocated for %d", grown, len(content))
		}
		if err != nil {
			if f, is := err.(*fault.Error); !is || f.Reason == "" {
				t.Fatalf("%v is no fault", err)
			}
			return
		}
		if !bytes.Equal(encode(t, table), content) {
			t.Fatalf("%x is not the only form", content)
		}
	})
}

func TestWhatIsBuiltIsReadAgain(t *testing.T) {
	const points = 50
	rapid.Check(t, func(t *rapid.T) {
		number, index := rapid.Float64Range(0.001, 1), rapid.Int32Range(0, points-1)
		var pairs []constraint.Constraint
		var seeds []clustering.Seed
		var beliefs []cut.Belief
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			pair := constraint.Constraint{I: index.Draw(t, "i"), J: index.Draw(t, "j"), Kind: constraint.MustLink}
			if pair.I != pair.J && rapid.Bool().Draw(t, "apart") {
				pair.Kind = constraint.CannotLink
			}
			if pair.Weighted = rapid.Bool().Draw(t, "weighted"); pair.Weighted {
				pair.Weight = number.Draw(t, "weight")
			}
			seed := clustering.Seed{Index: index.Draw(t, "index"), Label: index.Draw(t, "label")}
			if rapid.Bool().Draw(t, "uncertain") {
				seed.Probability = number.Draw(t, "probability")
			}
			pairs, seeds = append(pairs, pair), append(seeds, seed)
			beliefs = append(beliefs, cut.Belief{I: pair.I, J: pair.J, Value: -number.Draw(t, "belief")})
		}
		weights := rapid.SliceOfN(number, points, points).Draw(t, "weights")
		labels := rapid.SliceOfN(rapid.Int64(), points, points).Draw(t, "labels")
		some := rapid.SliceOfDistinct(index, func(i int32) int32 { return i }).Draw(t, "some")
		again(t, pairs, FromConstraints(pairs), Constraints)
		again(t, seeds, FromSeeds(seeds), Seeds)
		again(t, beliefs, FromBeliefs(beliefs), Beliefs)
		again(t, weights, FromWeights(weights), Weights)
		again(t, labels, FromLabels(labels), Labels)
		again(t, some, FromIndices(some), Indices)
	})
}

// again reads a table after it has been bytes.
func again[T any](t *rapid.T, want []T, built *Table, read func(*Table, int) ([]T, error)) {
	t.Helper()
	decoded, err := Decode(encode(t, built))
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(decoded, 50)
	if err != nil || len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, %v, want %v", got, err, want)
	}
}

func TestKeep(t *testing.T) {
	place := []int32{0, -1, 1, 2} // point 1 is left out
	pairs := FromConstraints([]constraint.Constraint{{I: 0, J: 1, Kind: constraint.MustLink},
		{I: 3, J: 2, Kind: constraint.CannotLink, Weight: 2, Weighted: true}, {I: 2, J: 0, Kind: constraint.MustLink}})
	kept, err := pairs.Keep(place)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Constraints(kept, 3)
	if err != nil || !slices.Equal(got, []constraint.Constraint{{I: 2, J: 1, Kind: constraint.CannotLink, Weight: 2, Weighted: true}, {I: 1, J: 0, Kind: constraint.MustLink}}) {
		t.Errorf("got %v, %v", got, err)
	}
	for name, labels := range map[string]*Table{
		"by index": FromLabels([]int64{5, 6, 7, 8}),
		"in order": {rows: 4, Columns: []Column{{Name: "label", Type: Integer, Integers: []int64{5, 6, 7, 8}}}},
	} {
		kept, err := labels.Keep(place)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Labels(kept, 3); err != nil || !slices.Equal(got, []int64{5, 7, 8}) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	if _, err := FromLabels([]int64{1, 2, 3, 4, 5}).Keep(place); !fault.Is(err, "INDEX_OUT_OF_RANGE") {
		t.Errorf("a point beyond the last: %v", err)
	}
	short := &Table{rows: 1, Columns: []Column{{Name: "label", Type: Integer, Integers: []int64{5}}}}
	if _, err := short.Keep(place); !fault.Is(err, "SIZE_MISMATCH") {
		t.Errorf("too few labels: %v", err)
	}
}
