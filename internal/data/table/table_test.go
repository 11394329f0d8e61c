package table

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/fault"
)

// anyTable draws a table of all types, some of whose cells are empty.
func anyTable(t *rapid.T) *Table {
	rows := rapid.IntRange(0, 20).Draw(t, "rows")
	columns := make([]Column, rapid.IntRange(1, 5).Draw(t, "columns"))
	for at := range columns {
		c := Column{Name: strings.Repeat("c", at+1),
			Type: rapid.SampledFrom([]Type{Integer, Number, Text}).Draw(t, "type")}
		switch c.Type {
		case Integer:
			c.Integers = rapid.SliceOfN(rapid.Int64(), rows, rows).Draw(t, "integers")
		case Number:
			c.Numbers = rapid.SliceOfN(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64), rows, rows).Draw(t,
				"numbers")
		case Text:
			c.Texts = rapid.SliceOfN(rapid.StringN(0, 20, 80), rows, rows).Draw(t, "texts")
		}
		if rapid.Bool().Draw(t, "some empty") {
			c.Empty = rapid.SliceOfN(rapid.Bool(), rows, rows).Draw(t, "empty")
		}
		columns[at] = c
	}
	return made(t, columns...)
}

func made(t interface{ Fatal(...any) }, columns ...Column) *Table {
	table, err := New(columns)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func encode(t interface{ Fatal(...any) }, table *Table) []byte {
	var b bytes.Buffer
	if err := table.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decode(content []byte) (*Table, error) {
	return Decode(bytes.NewReader(content), int64(len(content)))
}

func TestCanonicalBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyTable(t)
		encoded := encode(t, want)
		if int64(len(encoded)) != want.EncodedSize() {
			t.Fatalf("%d bytes, not %d", len(encoded), want.EncodedSize())
		}
		got, err := decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if got.ID() != want.ID() || got.Rows() != want.Rows() || !bytes.Equal(encode(t, got), encoded) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		if short := rapid.IntRange(0, len(encoded)-1).Draw(t, "short"); len(encoded) > 0 {
			if _, err := decode(encoded[:short]); !fault.Is(err, "CORRUPT_TABLE") {
				t.Fatalf("the first %d of %d bytes: %v", short, len(encoded), err)
			}
		}
		if _, err := decode(append(encoded, 0)); !fault.Is(err, "CORRUPT_TABLE") {
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
		"no columns":  {nil, "BAD_COLUMNS", "0 columns"},
		"no name":     {[]Column{{Type: Integer}}, "BAD_COLUMNS", `""`},
		"a long name": {[]Column{{Name: strings.Repeat("x", 201), Type: Integer}}, "BAD_COLUMNS", "200 bytes"},
		"no type":     {[]Column{{Name: "x"}}, "BAD_COLUMN_TYPE", `"x"`},
		"other rows": {[]Column{one, {Name: "j", Type: Integer, Integers: []int64{1, 2}}}, "COLUMN_LENGTHS_DIFFER",
			`"j" has 2`},
		"other marks": {[]Column{{Name: "j", Type: Integer, Integers: []int64{1, 2}, Empty: []bool{true}}},
			"COLUMN_LENGTHS_DIFFER", "1 marks"},
		"twice": {[]Column{one, one}, "DUPLICATE_COLUMN", `"i"`},
		"not a number": {[]Column{{Name: "x", Type: Number, Numbers: []float64{1, math.NaN()}}}, "NOT_FINITE",
			`row 1, column "x"`},
		"infinite": {[]Column{{Name: "x", Type: Number, Numbers: []float64{math.Inf(1)}}}, "NOT_FINITE",
			`row 0, column "x"`},
		"no UTF-8": {[]Column{{Name: "x", Type: Text, Texts: []string{"ok", "\xff"}}}, "BAD_TEXT",
			`row 1, column "x"`},
		"a long text": {[]Column{{Name: "x", Type: Text, Texts: []string{strings.Repeat("x", MaxTextBytes+1)}}},
			"BAD_TEXT", "65536 bytes"},
	} {
		if _, err := New(c.columns); !fault.Is(err, c.reason) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// FuzzDecode: any bytes are refused as a fault, or are the canonical bytes of the table that comes out, and
// what they claim costs nothing.
func FuzzDecode(f *testing.F) {
	f.Add(encode(f, made(f, intColumn("i", 1, 0), intColumn("j", 2, 2), textColumn("kind", "must", "cannot"),
		erased(numColumn("weight", 2, 0), 1))))
	f.Add(encode(f, made(f, intColumn("index", 1, 3), intColumn("label", 2, 1),
		erased(numColumn("probability", 0, 0.5), 0))))
	f.Add(encode(f, made(f, intColumn("index", 0, 1), intColumn("label", 3, -1))))
	f.Add([]byte("CLT1\x01\x00\x00\x00\xff\xff\xff\x7f\x00\x00\x00\x00\x03\x01\x01\x00x"))
	f.Fuzz(func(t *testing.T, content []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		table, err := decode(content)
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20+100*uint64(len(content)) {
			t.Fatalf("%d bytes allocated for %d", grown, len(content))
		}
		if err != nil {
			if f, ok := err.(*fault.Error); !ok || f.Reason == "" {
				t.Fatalf("%v is no fault", err)
			}
			return
		}
		if !bytes.Equal(encode(t, table), content) {
			t.Fatalf("%x is not the only form", content)
		}
	})
}

func TestKeep(t *testing.T) {
	place := []int32{0, -1, 1, 2} // point 1 is left out
	weight := Column{Name: "weight", Type: Number, Numbers: []float64{0, 2, 0}, Empty: []bool{true, false, true}}
	pairs := made(t, intColumn("i", 0, 3, 2), intColumn("j", 1, 2, 0), textColumn("kind", "must", "cannot", "must"),
		weight)
	kept, err := pairs.Keep(place)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Constraints.Read(kept, 3)
	if err != nil ||
		!slices.Equal(got, []constraint.Constraint{{I: 2, J: 1, Kind: constraint.CannotLink, Weight: 2, Weighted: true},
			{I: 1, J: 0, Kind: constraint.MustLink}}) {
		t.Errorf("got %v, %v", got, err)
	}
	for name, labels := range map[string]*Table{
		"by index": made(t, intColumn("index", 0, 1, 2, 3), intColumn("label", 5, 6, 7, 8)),
		"in order": made(t, intColumn("label", 5, 6, 7, 8)),
	} {
		kept, err := labels.Keep(place)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Labels.Read(kept, 3); err != nil || !slices.Equal(got, []int64{5, 7, 8}) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	if _, err := made(t, intColumn("index", 0, 4), intColumn("label", 1, 2)).Keep(place); !fault.Is(err,
		"INDEX_OUT_OF_RANGE") {
		t.Errorf("a point beyond the last: %v", err)
	}
	if _, err := made(t, intColumn("label", 5)).Keep(place); !fault.Is(err, "SIZE_MISMATCH") {
		t.Errorf("too few labels: %v", err)
	}
}

// fullDisk is a writer that fails.
type fullDisk struct{ err error }

func (w fullDisk) Write([]byte) (int, error) { return 0, w.err }

// A table that cannot be written is not collected in memory.
func TestEncodingStopsAtAnError(t *testing.T) {
	texts := slices.Repeat([]string{strings.Repeat("x", 1000)}, 20_000)
	table := made(t, textColumn("a", texts...))
	full := errors.New("no space left on device")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := table.Encode(fullDisk{full})
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, full) || used > 1<<20 {
		t.Errorf("%v, and %d bytes are allocated", err, used)
	}
}

// Tables may have many columns, but no two of a name, and none without a name.
func TestManyColumns(t *testing.T) {
	columns := make([]Column, MaxColumns)
	for at := range columns {
		columns[at] = intColumn(Unnamed(at), int64(at))
	}
	many := made(t, columns...)
	var encoded bytes.Buffer
	if err := many.Encode(&encoded); err != nil {
		t.Fatal(err)
	}
	if back, err := decode(encoded.Bytes()); err != nil || len(back.Columns) != MaxColumns || back.ID() != many.ID() {
		t.Error(err)
	}
	columns[MaxColumns-1].Name = Unnamed(3)
	if _, err := New(columns); !fault.Is(err, "DUPLICATE_COLUMN") {
		t.Error(err)
	}
}

func TestCellsAsTexts(t *testing.T) {
	for _, c := range []struct {
		column Column
		want   string
	}{
		{intColumn("a", -3), "-3"}, {numColumn("a", 3), "3"}, {numColumn("a", 2.5), "2.5"},
		{numColumn("a", 1e300), "1e+300"},
		{textColumn("a", "x"), "x"}, {erased(intColumn("a", 1), 0), ""},
	} {
		if got := c.column.CellText(0); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
