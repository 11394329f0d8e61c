package columnar

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	other "github.com/parquet-go/parquet-go"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
)

func example(t testing.TB, rows int) *table.Table {
	t.Helper()
	integers := table.Column{Name: "whole", Type: table.Integer, Empty: make([]bool, rows)}
	numbers := table.Column{Name: "number", Type: table.Number}
	texts := table.Column{Name: "näme", Type: table.Text, Empty: make([]bool, rows)}
	for row := range rows {
		integers.Integers = append(integers.Integers, int64(row)-1<<40)
		numbers.Numbers = append(numbers.Numbers, float64(row)/3)
		texts.Texts = append(texts.Texts, strings.Repeat("x", row%5))
		integers.Empty[row], texts.Empty[row] = row%3 == 0, row > rows/2
	}
	made, err := table.New([]table.Column{integers, numbers, texts})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func written(t testing.TB, tables ...*table.Table) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, tables[0].Columns)
	for _, part := range tables {
		err = errors.Join(err, w.Write(part))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWritesWhatItReads(t *testing.T) {
	const rows = stepRows + 100
	want := example(t, rows)
	_, tables, err := readParquet(written(t, want, want))
	if err != nil {
		t.Fatal(err)
	}
	twice, err := table.Join([]*table.Table{want, want})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := table.Join(tables); err != nil || got.ID() != twice.ID() {
		t.Errorf("another table came back, %v", err)
	}
	if _, tables, err := readParquet(written(t, example(t, 0))); err != nil || len(tables) != 0 {
		t.Errorf("no rows: %d, %v", len(tables), err)
	}
}

// Another library reads the same cells.
func TestAnotherLibraryReadsWhatIsWritten(t *testing.T) {
	want := example(t, 1000)
	content := written(t, want)
	f, err := other.OpenFile(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	rows := other.NewReader(f)
	defer rows.Close()
	row := make([]other.Row, 1)
	for at := range want.Rows() {
		if n, err := rows.ReadRows(row); n != 1 || err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(n, err)
		}
		for column, v := range row[0] {
			got := any(nil)
			switch {
			case v.IsNull():
			case column == 0:
				got = v.Int64()
			case column == 1:
				got = v.Double()
			default:
				got = string(v.ByteArray())
			}
			if cell := cell(&want.Columns[column], at); got != cell {
				t.Fatalf("row %d, column %d: %v, want %v", at, column, got, cell)
			}
		}
	}
}

type nestedRow struct {
	ID   int64    `parquet:"id"`
	Tags []string `parquet:"tags,list"`
	At   struct {
		X, Y float64
	} `parquet:"at"`
	Last float64 `parquet:"last"`
}

func TestNestedParquet(t *testing.T) {
	var b bytes.Buffer
	w := other.NewGenericWriter[nestedRow](&b)
	if _, err := w.Write([]nestedRow{{ID: 7, Tags: []string{"a", "b"}, Last: 2.5}, {ID: 8, Last: 3.5}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, err := readParquet(b.Bytes())
	if !fault.Is(err, "UNSUPPORTED_COLUMN") || !strings.Contains(err.Error(), `column "tags"`) &&
		!strings.Contains(err.Error(), `column "at"`) || !strings.Contains(err.Error(), "--ignore") {
		t.Error(err)
	}
	f, err := OpenParquet(bytes.NewReader(b.Bytes()), int64(b.Len()), ignoring("tags", "at"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Next()
	if err != nil || got.Rows() != 2 {
		t.Fatal(err)
	}
	for at := range got.Columns {
		c := &got.Columns[at]
		want := map[string]any{"id": int64(8), "last": 3.5}[c.Name]
		if cell(c, 1) != want {
			t.Errorf("%s: %v, want %v", c.Name, cell(c, 1), want)
		}
	}
}

// tablesOf is readParquet without the file.
func tablesOf(content []byte) ([]*table.Table, error) {
	_, tables, err := readParquet(content)
	return tables, err
}

func TestDamagedParquet(t *testing.T) {
	content := otherFile(t, rowsOf(200), other.Compression(&other.Snappy))
	checkDamage(t, content, 2999, 499, tablesOf)
	promise := bytes.Clone(content)
	binary.LittleEndian.PutUint32(promise[len(promise)-8:], 1<<31)
	if _, err := tablesOf(promise); !isFault(err) {
		t.Errorf("a footer larger than the file: %v", err)
	}
}

func FuzzParquet(f *testing.F) {
	f.Add(written(f, example(f, 20)))
	f.Add(otherFile(f, rowsOf(10), other.Compression(&other.Uncompressed)))
	f.Add(otherFile(f, rowsOf(10), other.Compression(&other.Zstd), other.DataPageVersion(1)))
	f.Fuzz(func(t *testing.T, input []byte) { checkRead(t, input, tablesOf) })
}
