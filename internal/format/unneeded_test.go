package format

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	other "github.com/parquet-go/parquet-go"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format/csv"
)

// oddRow has, besides x, columns that no table can hold, or not in every row.
type oddRow struct {
	X    float64   `parquet:"x"`
	Long []byte    `parquet:"long"`
	Hash uint64    `parquet:"hash"`
	Inf  float64   `parquet:"inf"`
	List []float64 `parquet:"list,list"`
}

func oddRows() []oddRow {
	return []oddRow{
		{X: 1, Long: []byte("text"), Hash: 7, Inf: 2.5},
		{X: 2, Long: []byte{0xFF, 0xFE}, Hash: math.MaxUint64, Inf: math.Inf(1), List: []float64{1}},
		{X: 3, Long: bytes.Repeat([]byte("a"), table.MaxTextBytes+1), Hash: 1 << 63, Inf: math.NaN()},
	}
}

func oddParquet(t *testing.T, path string) {
	t.Helper()
	var b bytes.Buffer
	w := other.NewGenericWriter[oddRow](&b)
	if _, err := w.Write(oddRows()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func oddArrow(t *testing.T, path string) {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "x", Type: arrow.PrimitiveTypes.Float64}, {Name: "long", Type: arrow.BinaryTypes.Binary},
		{Name: "hash", Type: arrow.PrimitiveTypes.Uint64},
		{Name: "inf", Type: arrow.PrimitiveTypes.Float64},
		{Name: "list", Type: arrow.ListOf(arrow.PrimitiveTypes.Float64)},
	}, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	for _, row := range oddRows() {
		b.Field(0).(*array.Float64Builder).Append(row.X)
		b.Field(1).(*array.BinaryBuilder).Append(row.Long)
		b.Field(2).(*array.Uint64Builder).Append(row.Hash)
		b.Field(3).(*array.Float64Builder).Append(row.Inf)
		b.Field(4).(*array.ListBuilder).Append(true)
	}
	var content bytes.Buffer
	w := ipc.NewWriter(&content, ipc.WithSchema(schema))
	if err := w.Write(b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What no table can hold is no reason to refuse a file where nobody needs the column; what it can hold stays.
func TestUnneededColumns(t *testing.T) {
	for suffix, write := range map[string]func(*testing.T, string){".parquet": oddParquet, ".arrow": oddArrow} {
		path := filepath.Join(t.TempDir(), "odd"+suffix)
		write(t, path)
		for _, o := range []csv.Options{{Ignore: []string{"long", "hash", "inf", "list"}},
			{Ignore: []string{"2", "3", "4", "5"}}, {Only: []string{"x"}}, {Only: []string{"1"}}} {
			r, err := OpenTable([]string{path}, o)
			if err != nil {
				t.Fatalf("%s, %+v: %v", suffix, o, err)
			}
			got, err := r.ReadAll()
			r.Close()
			if err != nil {
				t.Fatalf("%s, %+v: %v", suffix, o, err)
			}
			for row, want := range []string{"1 text 7 2.5 ", "2    ", "3    "} {
				var cells []string
				for at := range got.Columns {
					cells = append(cells, got.Columns[at].CellText(row))
				}
				if strings.Join(cells, " ") != want {
					t.Errorf("%s, %+v, row %d: %q, want %q", suffix, o, row, cells, want)
				}
			}
		}
		r, err := OpenTable([]string{path}, csv.Options{Ignore: []string{"hash", "inf", "list"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.ReadAll(); err == nil || !strings.Contains(err.Error(), `column "long"`) ||
			!strings.Contains(err.Error(), "use --ignore") {
			t.Errorf("%s: %v", suffix, err)
		}
		r.Close()
	}
}
