package columnar

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/thrift/lib/go/thrift"
	other "github.com/parquet-go/parquet-go"

	"github.com/cleave-project/cleave/internal/fault"
)

// footerOf is the metadata of a file whose schema says how many children each of its parts has.
func footerOf(t *testing.T, children ...int32) []byte {
	t.Helper()
	ctx := context.Background()
	buffer := thrift.NewTMemoryBuffer()
	p := thrift.NewTCompactProtocolConf(buffer, nil)
	try := func(errs ...error) {
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	try(p.WriteStructBegin(ctx, ""), p.WriteFieldBegin(ctx, "", thrift.LIST, 2), p.WriteListBegin(ctx, thrift.STRUCT,
		len(children)))
	for _, n := range children {
		try(p.WriteStructBegin(ctx, ""), p.WriteFieldBegin(ctx, "", thrift.STRING, 4), p.WriteString(ctx, "x"))
		try(p.WriteFieldBegin(ctx, "", thrift.I32, 5), p.WriteI32(ctx, n), p.WriteFieldStop(ctx), p.WriteStructEnd(ctx))
	}
	try(p.WriteFieldStop(ctx), p.WriteStructEnd(ctx))
	return buffer.Bytes()
}

// No schema is believed that claims more than it has, or that is as deep as the stack.
func TestSchemasThatAreNoTrees(t *testing.T) {
	deep := make([]int32, 100000)
	for at := range len(deep) - 1 {
		deep[at] = 1
	}
	for what, children := range map[string][]int32{
		"deep": deep, "too many children": {1 << 30, 0}, "too few": {1, 0, 0}, "an open group": {2, 1, 0},
		"negative": {-1, 0},
	} {
		if err := checkFooter(footerOf(t, children...)); !fault.Is(err, "CORRUPT_FILE") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := checkFooter(footerOf(t, 2, 1, 0, 0)); err != nil {
		t.Error(err)
	}
	// A list of 2^31 - 1 structs in a footer of a few bytes: the library would make room for all of them.
	claim := append([]byte{0x29, 0xFC}, binary.AppendUvarint(nil, math.MaxInt32)...)
	if err := checkFooter(claim); err == nil {
		t.Error("a list was believed")
	}
}

// A header of differences says how large its blocks are, which the library would allocate.
func TestDeltasThatClaimTooMuch(t *testing.T) {
	header := func(numbers ...uint64) (b []byte) {
		for _, v := range numbers {
			b = binary.AppendUvarint(b, v)
		}
		return b
	}
	good := append(header(128, 4, 3, 10, 2), 8, 0, 0, 0)
	good = append(good, make([]byte, 32)...)
	if rest, ok := skipDeltas(append(good, "rest"...)); !ok || string(rest) != "rest" {
		t.Errorf("%q, %v", rest, ok)
	}
	for _, bad := range [][]byte{nil, header(1<<32-128, 1, 3, 10, 2, 0), header(128, 0, 3, 10), header(128, 3, 3, 10),
		good[:20], header(128, 4, 3, 10)} {
		if _, ok := skipDeltas(bad); ok {
			t.Errorf("%v was believed", bad)
		}
	}
}

// A page whose bytes have changed is refused where the page has a checksum, also where the change could be read.
func TestChecksumsOfPages(t *testing.T) {
	content := otherFile(t, rowsOf(50), other.Compression(&other.Uncompressed))
	at := bytes.Index(content, []byte("text 17"))
	if at < 0 {
		t.Fatal("no such text")
	}
	content[at+1] = 'a'
	if _, _, err := readParquet(content); !fault.Is(err, "CORRUPT_FILE") ||
		!strings.Contains(err.Error(), "the checksum of a page is wrong") {
		t.Error(err)
	}
}

// The parts of a schema of Arrow may point to each other, and texts to the same bytes.
func TestSchemasThatPointToThemselves(t *testing.T) {
	content := arrowRows(t, 1, false)
	size := int(binary.LittleEndian.Uint32(content[4:]))
	top := rootOf(content[8 : 8+size])
	schema, _ := top.table(8)
	changed := false
	schema.tables(6, func(f flat) {
		if at, children := f.vector(14, 4); children == 1 {
			binary.LittleEndian.PutUint32(top.Bytes[at:], uint32(f.Pos)-uint32(at))
			changed = true
		}
	})
	if _, err := readArrow(content); !changed || !fault.Is(err, "CORRUPT_FILE") ||
		!strings.Contains(err.Error(), "schema") {
		t.Error(changed, err)
	}
}

// A buffer that claims to unfold into much is refused before anything is allocated for it.
func TestBuffersThatClaimTooMuch(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil)
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	builder.Field(0).(*array.Int64Builder).AppendValues(make([]int64, 10000), nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema), ipc.WithZstd())
	if err := w.Write(builder.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	content := bytes.Clone(out.Bytes())
	at := bytes.LastIndex(content, binary.LittleEndian.AppendUint64(nil, 80000))
	if at < 0 {
		t.Fatal("no such buffer")
	}
	for _, claim := range []uint64{1 << 28, 1 << 40, 1 << 63, math.MaxUint64 - 1, 80001, 79999} {
		binary.LittleEndian.PutUint64(content[at:], claim)
		if _, err := readArrow(content); !fault.Is(err, "FILE_GROWS_TOO_MUCH") && !fault.Is(err, "CORRUPT_FILE") {
			t.Errorf("%d: %v", claim, err)
		}
	}
}

// Half-precision numbers keep their exact values, also the smallest ones, and NaN becomes an empty cell.
func TestHalves(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "half", Type: arrow.FixedWidthTypes.Float16}}, nil)
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for _, bits := range []uint16{0x0001, 0x03FF, 0x8400, 0x3555, 0xC000, 0x7E00} {
		builder.Field(0).(*array.Float16Builder).Append(float16.FromBits(bits))
	}
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	if err := w.Write(builder.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	tables, err := readArrow(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for row, want := range []any{0x1p-24, 0x3FFp-24, -0x1p-14, 0.333251953125, -2.0, nil} {
		if got := cell(&tables[0].Columns[0], row); got != want {
			t.Errorf("row %d: %v, want %v", row, got, want)
		}
	}
}

// Whoever writes the same rows twice has the same bytes.
func TestWritesTheSameBytes(t *testing.T) {
	if made := example(t, stepRows+7); !bytes.Equal(written(t, made, made), written(t, made, made)) {
		t.Error("other bytes")
	}
}

// A dictionary of long texts costs no more memory than it has, however often they occur.
func TestLongTextsThatOccurOften(t *testing.T) {
	long := strings.Repeat("long ", 4000)
	type row struct {
		Text string `parquet:"text,dict"`
	}
	rows := make([]row, 20000)
	for at := range rows {
		rows[at].Text = fmt.Sprint(long, at%3)
	}
	var b bytes.Buffer
	w := other.NewGenericWriter[row](&b, other.Compression(&other.Zstd))
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, tables, err := readParquet(b.Bytes())
	if err != nil || tables[0].Columns[0].Texts[5] != rows[5].Text {
		t.Fatal(err)
	}
}

// Types that extend others are read as what they are stored as, or refused as that is.
func TestExtensionTypes(t *testing.T) {
	bools := extensions.NewBool8Type()
	schema := arrow.NewSchema([]arrow.Field{{Name: "flag", Type: bools}, {Name: "id", Type: extensions.NewUUIDType()}},
		nil)
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for row := range 3 {
		builder.Field(0).(*extensions.Bool8Builder).Append(row == 1)
		builder.Field(1).(*extensions.UUIDBuilder).AppendBytes([16]byte{15: byte(row)})
	}
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	if err := w.Write(builder.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	if _, err := readArrow(out.Bytes()); !fault.Is(err, "UNSUPPORTED_COLUMN") ||
		!strings.Contains(err.Error(), `column "id" holds bytes, not text`) {
		t.Error(err)
	}
	r, err := OpenArrow(bytes.NewReader(out.Bytes()), ignoring("id"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	for row, want := range []any{int64(0), int64(1), int64(0)} {
		if cell(&got.Columns[0], row) != want || cell(&got.Columns[1], row) != nil {
			t.Errorf("row %d: %v, %v", row, cell(&got.Columns[0], row), cell(&got.Columns[1], row))
		}
	}
}

// A page of a kind that is no data cannot be passed over, since the library would take its bytes for a header.
func TestPagesOfUnknownKinds(t *testing.T) {
	content := written(t, example(t, 20))
	if content[4] != 0x15 || content[5] != 0 { // the first field of the first page: its kind, data
		t.Fatalf("the first page begins with % x", content[4:8])
	}
	content[5] = 1 << 1 // an index
	if _, _, err := readParquet(content); !fault.Is(err, "CORRUPT_FILE") ||
		!strings.Contains(err.Error(), "unknown kind 1") {
		t.Error(err)
	}
}
