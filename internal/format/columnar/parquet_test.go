package columnar

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"time"

	other "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/deprecated"

	"github.com/cleave-project/cleave/internal/data/table"
)

// wide is a row of every type and encoding that another writer has for flat columns.
type wide struct {
	Plain     float64          `parquet:"plain"`
	Optional  *float64         `parquet:"optional,optional"`
	Float     float32          `parquet:"float"`
	Split     float64          `parquet:"split,split"`
	SplitOne  float32          `parquet:"split1,split,optional"`
	Int       int64            `parquet:"int"`
	Int32     int32            `parquet:"int32,optional"`
	Uint32    uint32           `parquet:"uint32"`
	Delta     int64            `parquet:"delta,delta"`
	Delta32   int32            `parquet:"delta32,delta"`
	Bool      bool             `parquet:"bool"`
	Text      string           `parquet:"text"`
	Dict      string           `parquet:"dict,dict"`
	DictMaybe *string          `parquet:"dictmaybe,dict,optional"`
	DictInt   int64            `parquet:"dictint,dict"`
	DictFloat float64          `parquet:"dictfloat,dict"`
	Delta1    string           `parquet:"deltalength,delta"`
	Date      int32            `parquet:"date,date"`
	Time      int64            `parquet:"time,timestamp(microsecond)"`
	Decimal   int64            `parquet:"decimal,decimal(2:18)"`
	UUID      [16]byte         `parquet:"uuid,uuid"`
	Old       deprecated.Int96 `parquet:"old"`
}

func rowsOf(n int) []wide {
	rows := make([]wide, n)
	for i := range rows {
		r := &rows[i]
		r.Plain = math.Sqrt(float64(i))
		r.Float = float32(i) / 4
		r.Split = -float64(i) / 3
		r.SplitOne = float32(i % 7)
		if i%3 > 0 {
			v := float64(i) / 7
			r.Optional = &v
		}
		r.Int, r.Int32, r.Uint32 = int64(i)*1e12, int32(i%5), math.MaxUint32-uint32(i)
		r.Delta = int64(uint64(i) * 0x9E3779B97F4A7C15)
		r.Delta32 = int32(uint32(i) * 0x9E3779B9)
		r.Bool = i%3 == 1 // differences that overflow
		r.Text = fmt.Sprintf("text %d", i)
		r.Dict = fmt.Sprint(i / 100 % 50)
		if i%1000 > 300 {
			r.DictMaybe = &rows[i].Dict
		}
		r.DictInt, r.DictFloat, r.Delta1 = int64(i%11), float64(i%13)/8, fmt.Sprintf("prefix %d", i/2)
		r.Date, r.Time, r.Decimal = int32(i), int64(i)*1500, int64(i)-5000
		r.UUID = [16]byte{byte(i), 0xab, 15: byte(i >> 8)}
		r.Old = deprecated.Int96{uint32(i), 0, 2440588 + 1}
	}
	return rows
}

// wantRow is what the cells of a row are.
func wantRow(r *wide) map[string]any {
	row := map[string]any{
		"plain": r.Plain, "optional": nil, "float": float64(r.Float), "split": r.Split, "split1": float64(r.SplitOne),
		"int":   r.Int,
		"int32": int64(r.Int32), "uint32": int64(r.Uint32), "delta": r.Delta, "delta32": int64(r.Delta32),
		"bool": "false", "text": r.Text,
		"dict": r.Dict, "dictmaybe": nil, "dictint": r.DictInt, "dictfloat": r.DictFloat, "deltalength": r.Delta1,
		"date": time.Unix(int64(r.Date)*86400, 0).UTC().Format("2006-01-02"),
		"time": time.UnixMicro(r.Time).UTC().Format("2006-01-02 15:04:05.999999"), "decimal": float64(r.Decimal) / 100,
		"old":  time.Unix(86400, int64(r.Old[0])).UTC().Format("2006-01-02 15:04:05.999999999"),
		"uuid": fmt.Sprintf("%02xab0000-0000-0000-0000-0000000000%02x", r.UUID[0], r.UUID[15]),
	}
	if r.Optional != nil {
		row["optional"] = *r.Optional
	}
	if r.SplitOne == 0 {
		row["split1"] = nil
	}
	if r.Int32 == 0 {
		row["int32"] = nil
	}
	if r.DictMaybe != nil {
		row["dictmaybe"] = *r.DictMaybe
	}
	if r.Bool {
		row["bool"] = "true"
	}
	return row
}

func cell(c *table.Column, row int) any {
	switch {
	case c.Empty != nil && c.Empty[row]:
		return nil
	case c.Type == table.Integer:
		return c.Integers[row]
	case c.Type == table.Number:
		return c.Numbers[row]
	}
	return c.Texts[row]
}

// readParquet is all tables of a file, one after the other.
func readParquet(content []byte) (*Parquet, []*table.Table, error) {
	f, err := OpenParquet(bytes.NewReader(content), int64(len(content)), ignoring())
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	var all []*table.Table
	for {
		t, err := f.Next()
		if errors.Is(err, io.EOF) {
			return f, all, nil
		}
		if err != nil {
			return f, nil, err
		}
		all = append(all, t)
	}
}

// otherFile is a file as another library writes it.
func otherFile(t testing.TB, rows []wide, options ...other.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := other.NewGenericWriter[wide](&b, options...)
	for from := 0; from < len(rows); from += 5000 { // several row groups
		if _, err := w.Write(rows[from:min(len(rows), from+5000)]); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadsParquetOfAnotherLibrary(t *testing.T) {
	rows := rowsOf(12345)
	for name, codec := range map[string]compress.Codec{
		"none": &other.Uncompressed, "snappy": &other.Snappy, "gzip": &other.Gzip, "zstd": &other.Zstd,
		"lz4": &other.Lz4Raw,
	} {
		for version := 1; version <= 2; version++ {
			t.Run(fmt.Sprintf("%s, pages of version %d", name, version), func(t *testing.T) {
				content := otherFile(t, rows, other.Compression(codec), other.DataPageVersion(version),
					other.PageBufferSize(20000))
				_, tables, err := readParquet(content)
				if err != nil {
					t.Fatal(err)
				}
				at := 0
				for _, part := range tables {
					for row := range part.Rows() {
						want := wantRow(&rows[at])
						if len(part.Columns) != len(want) {
							t.Fatalf("%d columns", len(part.Columns))
						}
						for c := range part.Columns {
							column := &part.Columns[c]
							if got := cell(column, row); got != want[column.Name] {
								t.Fatalf("row %d, column %s: %v, want %v", at, column.Name, got, want[column.Name])
							}
						}
						at++
					}
				}
				if at != len(rows) {
					t.Errorf("%d rows of %d", at, len(rows))
				}
			})
		}
	}
}
