package wire

import (
	"io"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/test/tabletest"
)

// anyConstraints draws a table with cells of all types, some of them empty.
func anyConstraints(t *rapid.T) *table.Table {
	var list []constraint.Constraint
	for range rapid.IntRange(0, 9).Draw(t, "rows") {
		c := constraint.Constraint{I: rapid.Int32Range(0, 99).Draw(t, "i"), J: rapid.Int32Range(100, 199).Draw(t, "j"),
			Kind: constraint.MustLink}
		if c.Weighted = rapid.Bool().Draw(t, "weighted"); c.Weighted {
			c.Weight = rapid.Float64Range(0.1, 9).Draw(t, "weight")
		}
		list = append(list, c)
	}
	return tabletest.Constraints(list)
}

func TestTablesSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyConstraints(t)
		inline, err := TableRows(InlineTable(want).GetInline())
		if err != nil || inline.ID() != want.ID() {
			t.Fatalf("inline: got %+v, %v, want %+v", inline, err, want)
		}
		u := NewTableUpload(roomy)
		if err := tableParts("some name", want, UploadStart{}, u.Add); err != nil {
			t.Fatal(err)
		}
		if got, err := u.Finish(); err != nil || got.ID() != want.ID() || u.Name() != "some name" {
			t.Fatalf("uploaded: got %+v, %v, want %+v", got, err, want)
		}
		var parts []*cleavev1.GetTableRowsResponse
		if err := SendTableRows(want, 0, func(part *cleavev1.GetTableRowsResponse) error {
			parts = append(parts, part)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		got, err := ReceiveTable(func() (*cleavev1.GetTableRowsResponse, error) {
			if len(parts) == 0 {
				return nil, io.EOF
			}
			part := parts[0]
			parts = parts[1:]
			return part, nil
		})
		if err != nil || got.ID() != want.ID() {
			t.Fatalf("fetched: got %+v, %v, want %+v", got, err, want)
		}
	})
}

// An upload may be cut between any rows.
func TestTableUploadMayBeCutAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyConstraints(t)
		u := NewTableUpload(roomy)
		if err := u.Add(tableHeader("")); err != nil {
			t.Fatal(err)
		}
		for from := 0; from == 0 || from < want.Rows(); {
			to := rapid.IntRange(from, want.Rows()).Draw(t, "to")
			if err := u.Add(&cleavev1.CreateTableRequest{
				Part: &cleavev1.CreateTableRequest_Rows{Rows: rowsProto(want, from, to)}}); err != nil {
				t.Fatal(err)
			}
			if from = to; want.Rows() == 0 {
				break
			}
		}
		if got, err := u.Finish(); err != nil || got.ID() != want.ID() {
			t.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
	})
}

func TestLargeTablesTravelInParts(t *testing.T) {
	const rows = 500_000
	list := make([]constraint.Constraint, rows)
	for at := range list {
		list[at] = constraint.Constraint{I: int32(at), J: math.MaxInt32 - 1, Kind: constraint.CannotLink}
	}
	count := 0
	err := tableParts("", tabletest.Constraints(list), UploadStart{}, func(part *cleavev1.CreateTableRequest) error {
		count++
		if size := proto.Size(part); size > 2<<20 {
			t.Errorf("a part has %d bytes", size)
		}
		return nil
	})
	if err != nil || count < 5 || count > 50 {
		t.Errorf("%d parts, %v", count, err)
	}
}

func tableHeader(name string) *cleavev1.CreateTableRequest {
	return &cleavev1.CreateTableRequest{
		Part: &cleavev1.CreateTableRequest_Header{Header: &cleavev1.TableHeader{DisplayName: name}}}
}

func tablePart(columns ...*cleavev1.Column) *cleavev1.CreateTableRequest {
	return &cleavev1.CreateTableRequest{
		Part: &cleavev1.CreateTableRequest_Rows{Rows: &cleavev1.TableRows{Columns: columns}}}
}

func integerColumn(name string, values ...int64) *cleavev1.Column {
	return &cleavev1.Column{Name: name,
		Cells: &cleavev1.Column_Integers{Integers: &cleavev1.IntegerCells{Values: values}}}
}

func TestTableUploadRefuses(t *testing.T) {
	type parts = []*cleavev1.CreateTableRequest
	number := &cleavev1.Column{Name: "i",
		Cells: &cleavev1.Column_Numbers{Numbers: &cleavev1.NumberCells{Values: []float64{1, math.NaN()}}}}
	far := integerColumn("i", 1)
	far.EmptyRows = []uint32{1}
	for name, c := range map[string]struct {
		parts  parts
		reason string
		says   string
	}{
		"nothing":        {nil, "HEADER_MISSING", "empty"},
		"rows first":     {parts{tablePart(integerColumn("i"))}, "HEADER_MISSING", "begin"},
		"two headers":    {parts{tableHeader(""), tableHeader("")}, "HEADER_REPEATED", "second"},
		"a header alone": {parts{tableHeader("")}, "BAD_COLUMNS", "without a part"},
		"an empty part":  {parts{tableHeader(""), {}}, "PART_EMPTY", "no rows"},
		"no columns":     {parts{tableHeader(""), tablePart()}, "BAD_COLUMNS", "0 columns"},
		"no cells": {parts{tableHeader(""), tablePart(&cleavev1.Column{Name: "i"})},
			"BAD_COLUMN_TYPE", `"i"`},
		"a column less": {parts{tableHeader(""), tablePart(integerColumn("i"), integerColumn("j")),
			tablePart(integerColumn("i"))}, "COLUMNS_DIFFER", "1 columns"},
		"another column": {parts{tableHeader(""), tablePart(integerColumn("i", 1)),
			tablePart(integerColumn("j", 1))}, "COLUMNS_DIFFER", `rows from 1 on is "j"`},
		"another type": {parts{tableHeader(""), tablePart(integerColumn("i", 1)), tablePart(number)},
			"COLUMNS_DIFFER", "numbers"},
		"uneven columns": {parts{tableHeader(""), tablePart(integerColumn("i", 1), integerColumn("j", 1, 2))},
			"COLUMN_LENGTHS_DIFFER", `"i" has 1 and "j" has 2`},
		"an empty cell":     {parts{tableHeader(""), tablePart(far)}, "INDEX_OUT_OF_RANGE", "row 1 of 1"},
		"a number of a row": {parts{tableHeader(""), tablePart(number)}, "NOT_FINITE", `row 1, column "i"`},
		"a name too long":   {parts{tableHeader(strings.Repeat("x", 1001))}, "NAME_TOO_LONG", "1001"},
		"beyond the limit": {parts{tableHeader(""), tablePart(integerColumn("i", make([]int64, 200)...))},
			"TABLE_TOO_LARGE", "at most 1000"},
		"beyond it in parts": {parts{tableHeader(""), tablePart(integerColumn("i", make([]int64, 100)...)),
			tablePart(integerColumn("i", make([]int64, 100)...))}, "TABLE_TOO_LARGE", "at most 1000"},
	} {
		u := NewTableUpload(1000)
		var err error
		for _, part := range c.parts {
			if err = u.Add(part); err != nil {
				break
			}
		}
		if err == nil {
			_, err = u.Finish()
		}
		if !fault.Is(err, c.reason) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %s with %q", name, err, c.reason, c.says)
		}
	}
}

// FuzzTableUpload feeds parts of any content; all that may come out is a table within the limit that its own
// codec takes, or a fault.
func FuzzTableUpload(f *testing.F) {
	header, _ := proto.Marshal(tableHeader("x"))
	part, _ := proto.Marshal(tablePart(integerColumn("i", 1, -2), integerColumn("j", 1, 2)))
	f.Add(header, part, part)
	f.Add(header, part, []byte{})
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		u := NewTableUpload(1 << 16)
		for _, encoded := range [][]byte{a, b, c} {
			part := &cleavev1.CreateTableRequest{}
			if proto.Unmarshal(encoded, part) != nil {
				return
			}
			if err := u.Add(part); err != nil {
				mustBeFault(t, err)
				return
			}
		}
		made, err := u.Finish()
		if err != nil {
			mustBeFault(t, err)
			return
		}
		var content strings.Builder
		if err := made.Encode(&content); err != nil || content.Len() > 1<<16 {
			t.Fatalf("%d bytes, %v", content.Len(), err)
		}
		if again, err := table.Decode(strings.NewReader(content.String()), int64(content.Len())); err != nil ||
			again.ID() != made.ID() {
			t.Fatal(err)
		}
	})
}

// UsedTables knows every field of a specification that takes a table.
func TestUsedTablesAreAll(t *testing.T) {
	input := (&cleavev1.TableInput{}).ProtoReflect().Descriptor()
	var paths []string
	var visit func(m protoreflect.MessageDescriptor, path string)
	visit = func(m protoreflect.MessageDescriptor, path string) {
		for at := range m.Fields().Len() {
			field := m.Fields().Get(at)
			if field.Message() == input {
				paths = append(paths, path+"."+string(field.Name()))
			} else if field.Message() != nil && !field.IsList() {
				visit(field.Message(), path+"."+string(field.Name()))
			}
		}
	}
	visit((&cleavev1.JobSpec{}).ProtoReflect().Descriptor(), "spec")
	for _, path := range paths {
		spec := &cleavev1.JobSpec{}
		m := spec.ProtoReflect()
		names := strings.Split(path, ".")[1:]
		for _, name := range names {
			m = m.Mutable(m.Descriptor().Fields().ByName(protoreflect.Name(name))).Message()
		}
		m.Interface().(*cleavev1.TableInput).Source = &cleavev1.TableInput_TableId{TableId: "abc"}
		used := UsedTables(spec)
		if len(used) != 1 || used[0].Field != path || used[0].Name() != names[len(names)-1] {
			t.Errorf("%s: got %+v", path, used)
		}
		if ids := TableIDs(spec); len(ids) != 1 || ids[0] != "abc" {
			t.Errorf("%s: the ids are %v", path, ids)
		}
	}
	if len(paths) != 5 {
		t.Errorf("the fields are %v", paths)
	}
}
