package recipe

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
)

// What is stored of the rows is what they are.
func TestRowsAsATable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 50).Draw(t, "rows")
		var kept []int32
		if rapid.Bool().Draw(t, "some dropped") {
			kept = []int32{}
			for row := range count {
				if rapid.Bool().Draw(t, "kept") {
					kept = append(kept, int32(row))
				}
			}
			if len(kept) == count { // they are all
				kept = nil
			}
		}
		var ids []string
		if rapid.Bool().Draw(t, "ids") {
			for row := range count {
				ids = append(ids, string(rune('a'+row)))
			}
		}
		stored := NewRows(count, kept, ids).Table()
		if stored == nil {
			if kept != nil || ids != nil {
				t.Fatal("nothing is stored")
			}
			return
		}
		got := RowsOf(stored)
		if got.Count != count || !slices.Equal(got.Kept, kept) || (got.Kept == nil) != (kept == nil) ||
			!slices.Equal(got.IDs, ids) {
			t.Fatalf("got %+v of %v, %q", got, kept, ids)
		}
	})
}

// Tables about rows become tables about points, whatever they call rows.
func TestTablesAboutRows(t *testing.T) {
	for _, c := range []struct {
		kept   []int32
		ids    []string
		index  table.Column
		want   []int64
		reason string
	}{
		{nil, nil, integers("index", 2, 0), []int64{2, 0}, ""},
		{nil, nil, words("index", "2", "0"), []int64{2, 0}, ""},
		{nil, []string{"7", "0", "x"}, integers("index", 2, 0), []int64{2, 0}, ""},
		{nil, []string{"7", "0", "x"}, words("index", "x", "0"), []int64{2, 1}, ""},
		{[]int32{0, 2}, []string{"7", "0", "x"}, words("index", "x", "0"), []int64{1}, ""},
		{[]int32{0, 2}, nil, integers("index", 1, 2), []int64{1}, ""},
		{nil, nil, words("index", "b", "0"), nil, "UNKNOWN_ID"},
		{nil, []string{"7", "0", "x"}, words("index", "0", "y"), nil, "UNKNOWN_ID"},
	} {
		got, err := NewRows(3, c.kept, c.ids).Number(made(t, c.index, integers("label", 5, 6)))
		if c.reason != "" {
			if !fault.Is(err, c.reason) {
				t.Errorf("%+v: %v", c.index, err)
			}
			continue
		}
		if err != nil || !slices.Equal(got.Columns[0].Integers, c.want) || got.Rows() != len(c.want) {
			t.Errorf("%+v: %+v, %v", c.index, got, err)
		}
	}
}

func TestDropZeros(t *testing.T) {
	all := made(t, gaps(numbers("a", 1, 0, 0, 0, 2), 2), integers("b", 0, 0, 5, 0, 0))
	r, _, err := Fit(t.Context(), all, Options{Missing: Drop})
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Apply(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	dropped, err := p.DropZeros()
	if err != nil || dropped != 2 || !slices.Equal(p.Kept, []int32{0, 4}) ||
		!slices.Equal(p.Points.Values, []float64{1, 0, 2, 0}) || p.Rows().Count != 5 {
		t.Errorf("%d, %v: %+v", dropped, err, p)
	}
}
