package columnar

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/cleave-project/cleave/internal/data/table"
)

// columns are columns of another library, with what the cells of row i are; every seventh is empty.
var columns = []struct {
	field arrow.DataType
	add   func(b array.Builder, i int)
	want  func(i int) any
}{
	{arrow.PrimitiveTypes.Float64, func(b array.Builder, i int) { b.(*array.Float64Builder).Append(float64(i) / 3) },
		func(i int) any { return float64(i) / 3 }},
	{arrow.PrimitiveTypes.Float32, func(b array.Builder, i int) { b.(*array.Float32Builder).Append(float32(i) / 4) },
		func(i int) any { return float64(i) / 4 }},
	{arrow.FixedWidthTypes.Float16, func(b array.Builder, i int) {
		b.(*array.Float16Builder).Append(float16.New(float32(i % 9)))
	}, func(i int) any { return float64(i % 9) }},
	{arrow.PrimitiveTypes.Int64, func(b array.Builder, i int) { b.(*array.Int64Builder).Append(-int64(i) * 1e12) },
		func(i int) any { return -int64(i) * 1e12 }},
	{arrow.PrimitiveTypes.Int8, func(b array.Builder, i int) { b.(*array.Int8Builder).Append(int8(i)) },
		func(i int) any { return int64(int8(i)) }},
	{arrow.PrimitiveTypes.Uint16, func(b array.Builder, i int) { b.(*array.Uint16Builder).Append(uint16(60000 + i)) },
		func(i int) any { return int64(uint16(60000 + i)) }},
	{arrow.PrimitiveTypes.Uint64, func(b array.Builder, i int) { b.(*array.Uint64Builder).Append(uint64(i)) },
		func(i int) any { return int64(i) }},
	{arrow.FixedWidthTypes.Boolean, func(b array.Builder, i int) { b.(*array.BooleanBuilder).Append(i%3 == 0) },
		func(i int) any { return fmt.Sprint(i%3 == 0) }},
	{arrow.BinaryTypes.String, func(b array.Builder, i int) { b.(*array.StringBuilder).Append(fmt.Sprint("text ", i)) },
		func(i int) any { return fmt.Sprint("text ", i) }},
	{arrow.BinaryTypes.LargeString, func(b array.Builder, i int) {
		b.(*array.LargeStringBuilder).Append(fmt.Sprint(i))
	}, func(i int) any { return fmt.Sprint(i) }},
	{arrow.BinaryTypes.StringView, func(b array.Builder, i int) {
		b.(*array.StringViewBuilder).Append(fmt.Sprintf("%0*d", i%20, i))
	}, func(i int) any { return fmt.Sprintf("%0*d", i%20, i) }},
	{arrow.FixedWidthTypes.Date32, func(b array.Builder, i int) { b.(*array.Date32Builder).Append(arrow.Date32(i)) },
		func(i int) any { return time.Unix(int64(i)*86400, 0).UTC().Format("2006-01-02") }},
	{arrow.FixedWidthTypes.Timestamp_us, func(b array.Builder, i int) {
		b.(*array.TimestampBuilder).Append(arrow.Timestamp(i) * 1500)
	}, func(i int) any { return time.UnixMicro(int64(i) * 1500).UTC().Format("2006-01-02 15:04:05.999999") }},
	{arrow.FixedWidthTypes.Time32ms, func(b array.Builder, i int) { b.(*array.Time32Builder).Append(arrow.Time32(i)) },
		func(i int) any { return time.UnixMilli(int64(i)).UTC().Format("15:04:05.999") }},
	{&arrow.Decimal128Type{Precision: 20, Scale: 2}, func(b array.Builder, i int) {
		b.(*array.Decimal128Builder).Append(decimal128.FromI64(int64(50 - i)))
	}, func(i int) any { return float64(50-i) / 100 }},
	{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
		func(b array.Builder, i int) {
			_ = b.(*array.BinaryDictionaryBuilder).AppendString(fmt.Sprint("class ", i%5))
		}, func(i int) any { return fmt.Sprint("class ", i%5) }},
	{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.PrimitiveTypes.Float64},
		func(b array.Builder, i int) { _ = b.(*array.Float64DictionaryBuilder).Append(float64(i%5) / 2) },
		func(i int) any { return float64(i%5) / 2 }},
}

const batchRows, batches = 500, 3

func arrowBytes(t testing.TB, file bool, options ...ipc.Option) []byte {
	t.Helper()
	return arrowRows(t, batchRows, file, options...)
}

// arrowRows is a file of batches of so many rows.
func arrowRows(t testing.TB, rows int, file bool, options ...ipc.Option) []byte {
	t.Helper()
	var fields []arrow.Field
	for at, c := range columns {
		fields = append(fields, arrow.Field{Name: fmt.Sprint("column", at), Type: c.field, Nullable: true})
	}
	nested := arrow.ListOf(arrow.StructOf(arrow.Field{Name: "x", Type: arrow.BinaryTypes.String},
		arrow.Field{Name: "y", Type: arrow.PrimitiveTypes.Float64}))
	fields = append(fields, arrow.Field{Name: "nested", Type: nested, Nullable: true},
		arrow.Field{Name: "nothing", Type: arrow.Null, Nullable: true},
		arrow.Field{Name: "last", Type: arrow.PrimitiveTypes.Int32})
	schema := arrow.NewSchema(fields, nil)
	var out bytes.Buffer
	options = append(options, ipc.WithSchema(schema), ipc.WithDictionaryDeltas(true))
	var w interface {
		Write(arrow.RecordBatch) error
		Close() error
	}
	var err error
	if file {
		w, err = ipc.NewFileWriter(&out, options...)
	} else {
		w = ipc.NewWriter(&out, options...)
	}
	if err != nil {
		t.Fatal(err)
	}
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for batch := range batches {
		for row := range rows {
			i := batch*rows + row
			for at, c := range columns {
				if i%7 == 0 {
					builder.Field(at).AppendNull()
				} else {
					c.add(builder.Field(at), i)
				}
			}
			list := builder.Field(len(columns)).(*array.ListBuilder)
			list.Append(true)
			parts := list.ValueBuilder().(*array.StructBuilder)
			parts.Append(true)
			parts.FieldBuilder(0).(*array.StringBuilder).Append("x")
			parts.FieldBuilder(1).(*array.Float64Builder).Append(1)
			builder.Field(len(columns) + 1).AppendNull()
			builder.Field(len(columns) + 2).(*array.Int32Builder).Append(int32(i))
		}
		if err := w.Write(builder.NewRecordBatch()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// ignoring returns a function for OpenArrow and OpenParquet that ignores columns by name.
func ignoring(list ...string) func(names []string) []bool {
	return func(names []string) []bool { return table.Listed(names, list) }
}

func readArrow(content []byte) (tables []*table.Table, err error) {
	r, err := OpenArrow(bytes.NewReader(content), ignoring("nested"))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		t, err := r.Next()
		if errors.Is(err, io.EOF) {
			return tables, nil
		}
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
}

func TestReadsArrowOfAnotherLibrary(t *testing.T) {
	for name, options := range map[string][]ipc.Option{"plain": nil, "lz4": {ipc.WithLZ4()}, "zstd": {ipc.WithZstd()}} {
		for _, file := range []bool{true, false} {
			if file && name == "plain" {
				options = append(options, ipc.WithDictionaryDeltas(true))
			}
			t.Run(fmt.Sprintf("%s, file %v", name, file), func(t *testing.T) {
				tables, err := readArrow(arrowBytes(t, file, options...))
				if err != nil || len(tables) != batches {
					t.Fatal(len(tables), err)
				}
				for batch, part := range tables {
					for row := range part.Rows() {
						i := batch*batchRows + row
						for at, c := range columns {
							want := c.want(i)
							if i%7 == 0 {
								want = nil
							}
							if got := cell(&part.Columns[at], row); got != want {
								t.Fatalf("row %d, %s: %v, want %v", i, c.field, got, want)
							}
						}
						rest := part.Columns[len(columns):]
						if cell(&rest[0], row) != nil || cell(&rest[1], row) != nil || cell(&rest[2], row) != int64(i) {
							t.Fatalf("row %d: what follows is wrong", i)
						}
					}
				}
			})
		}
	}
}
