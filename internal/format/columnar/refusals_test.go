package columnar

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/cleave-project/cleave/internal/fault"
)

// sevenRows returns a Parquet file with an optional column x of seven integers, whose first is 0.
func sevenRows(t *testing.T, means schema.LogicalType, options ...parquet.WriterProperty) []byte {
	t.Helper()
	x, err := schema.NewPrimitiveNodeLogical("x", parquet.Repetitions.Optional, means, parquet.Types.Int64, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	root, err := schema.NewGroupNode("table", parquet.Repetitions.Required, schema.FieldList{x}, -1)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	options = append(options, parquet.WithDictionaryDefault(false), parquet.WithStats(false))
	w := file.NewParquetWriter(&b, root, file.WithWriterProps(parquet.NewWriterProperties(options...)))
	group, err := w.AppendRowGroupChecked()
	if err != nil {
		t.Fatal(err)
	}
	out, err := group.NextColumn()
	if err != nil {
		t.Fatal(err)
	}
	_, err = out.(*file.Int64ColumnChunkWriter).WriteBatch([]int64{0, 50, 1, 1000, 3, 90, 6},
		[]int16{1, 1, 1, 1, 1, 1, 1}, nil)
	if err := errors.Join(err, out.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, tables, err := readParquet(b.Bytes()); err != nil || len(tables) != 1 || tables[0].Rows() != 7 {
		t.Fatalf("the file is not readable before it is patched: %d tables, %v", len(tables), err)
	}
	return b.Bytes()
}

// patched replaces bytes that must occur exactly once.
func patched(t *testing.T, content []byte, old, by string) []byte {
	t.Helper()
	if n := bytes.Count(content, []byte(old)); n != 1 {
		t.Fatalf("% x occurs %d times in the file", old, n)
	}
	return bytes.Replace(content, []byte(old), []byte(by), 1)
}

func refusesParquet(t *testing.T, what string, content []byte, says string) {
	t.Helper()
	if _, _, err := readParquet(content); !fault.Is(err, "CORRUPT_FILE") || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v, want an error with %q", what, err, says)
	}
}

func TestPagesOfVersion2WithOtherRows(t *testing.T) {
	content := sevenRows(t, nil, parquet.WithDataPageVersion(parquet.DataPageV2))
	// num_values 7, num_nulls 0 and num_rows 7, as zigzag varints behind the headers of i32 fields.
	const counts = "\x15\x0e\x15\x00\x15\x0e"
	for _, c := range []struct{ what, counts, says string }{
		{"fewer rows", "\x15\x0e\x15\x00\x15\x0c", "a page claims 7 values for 6 rows"},
		{"more rows", "\x15\x0e\x15\x00\x15\x10", "a page claims 7 values for 8 rows"},
		{"fewer values", "\x15\x0c\x15\x00\x15\x0e", "a page claims 6 values for 7 rows"},
	} {
		refusesParquet(t, c.what, patched(t, content, counts, c.counts), c.says)
	}
	// The levels say which cells are empty, whatever the header claims.
	_, tables, err := readParquet(patched(t, content, counts, "\x15\x0e\x15\x04\x15\x0e"))
	if err != nil || tables[0].Columns[0].Empty != nil {
		t.Errorf("empty cells that are not there: %v", err)
	}
}

func TestDeltaBlocksOfOtherSizes(t *testing.T) {
	content := sevenRows(t, nil, parquet.WithDataPageVersion(parquet.DataPageV1),
		parquet.WithVersion(parquet.V2_LATEST), parquet.WithEncoding(parquet.Encodings.DeltaBinaryPacked))
	// 128 values in a block, of 4 miniblocks, and 7 values in all, of which 0 is the first.
	const header = "\x80\x01\x04\x07\x00"
	for what, other := range map[string]string{
		"a block of 132":      "\x84\x01\x04\x07\x00",
		"8 miniblocks of 16":  "\x80\x01\x08\x07\x00",
		"3 miniblocks":        "\x80\x01\x03\x07\x00",
		"no miniblocks":       "\x80\x01\x00\x07\x00",
		"a block of 0 values": "\x80\x00\x04\x07\x00",
	} {
		refusesParquet(t, what, patched(t, content, header, other), "blocks of an invalid size")
	}
}

func TestUnknownLogicalType(t *testing.T) {
	content := sevenRows(t, schema.NewTimestampLogicalType(true, schema.TimeUnitMillis))
	// Field 8 of the union LogicalType is a timestamp; version 2.12 of the format defines none above 18.
	const timestamp, unknown = "\x8c\x11", "\x0c\x50\x11" // 0x50 is 40 as a zigzag varint
	damaged := patched(t, content, timestamp, unknown)
	end := len(damaged) - 8
	binary.LittleEndian.PutUint32(damaged[end:], binary.LittleEndian.Uint32(damaged[end:])+1)
	_, _, err := readParquet(damaged)
	if !fault.Is(err, "UNSUPPORTED_COLUMN") || !strings.Contains(err.Error(), `column "x" has the logical type 40`) {
		t.Errorf("an unknown logical type: %v", err)
	}
}

// A dictionary after the first batch of a stream replaces the previous one or adds to it.
func TestLateDictionaries(t *testing.T) {
	kind := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	for _, c := range []struct {
		what   string
		deltas bool
		words  [][]string // of each batch
	}{
		{"replaced by a longer one", false, [][]string{{"a", "b"}, {"a", "b", "c"}}},
		{"replaced by another", false, [][]string{{"a", "b"}, {"x", "a"}, {"b"}}},
		{"delta", true, [][]string{{"a", "b"}, {"a", "b", "c"}, {"a", "b", "c", "d"}}},
	} {
		t.Run(c.what, func(t *testing.T) {
			s := arrow.NewSchema([]arrow.Field{{Name: "x", Type: kind, Nullable: true}}, nil)
			var out bytes.Buffer
			w := ipc.NewWriter(&out, ipc.WithSchema(s), ipc.WithDictionaryDeltas(c.deltas))
			for _, words := range c.words {
				values := array.NewStringBuilder(memory.DefaultAllocator)
				indices := array.NewInt8Builder(memory.DefaultAllocator)
				for at, word := range words {
					values.Append(word)
					indices.Append(int8(at))
				}
				x := array.NewDictionaryArray(kind, indices.NewArray(), values.NewArray())
				if err := w.Write(array.NewRecordBatch(s, []arrow.Array{x}, int64(len(words)))); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			tables, err := readArrow(out.Bytes())
			if err != nil || len(tables) != len(c.words) {
				t.Fatalf("%d tables, %v", len(tables), err)
			}
			for at, words := range c.words {
				if got := tables[at].Columns[0].Texts; !slices.Equal(got, words) {
					t.Errorf("batch %d: %q, want %q", at, got, words)
				}
			}
		})
	}
}
