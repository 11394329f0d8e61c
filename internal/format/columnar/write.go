package columnar

import (
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/cleave-project/cleave/internal/data/table"
)

// Writer writes a Parquet file with one row group per table. All tables must have the same columns.
type Writer struct {
	file   *file.Writer
	levels []int16
}

// NewWriter begins a file. Equal tables give equal bytes.
func NewWriter(w io.Writer, columns []table.Column) (*Writer, error) {
	var fields schema.FieldList
	for at := range columns {
		var means schema.LogicalType
		physical := parquet.Types.ByteArray
		switch columns[at].Type {
		case table.Integer:
			physical = parquet.Types.Int64
		case table.Number:
			physical = parquet.Types.Double
		default:
			means = schema.StringLogicalType{}
		}
		field, err := schema.NewPrimitiveNodeLogical(columns[at].Name, parquet.Repetitions.Optional, means,
			physical, 0, -1)
		if err != nil {
			return nil, err
		}
		fields = append(fields, field)
	}
	root, err := schema.NewGroupNode("table", parquet.Repetitions.Required, fields, -1)
	if err != nil {
		return nil, err
	}
	properties := parquet.NewWriterProperties(parquet.WithVersion(parquet.V1_0),
		parquet.WithDataPageVersion(parquet.DataPageV1),
		parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCompressionLevel(1),
		parquet.WithDictionaryDefault(false),
		parquet.WithStats(false), parquet.WithCreatedBy("cleave"))
	// Hide Close of w from the library, which would call it: the file belongs to the caller.
	out, err := file.NewParquetWriterWithError(struct{ io.Writer }{w}, root, file.WithWriterProps(properties))
	return &Writer{file: out}, err
}

// Write writes the rows of a table.
func (w *Writer) Write(t *table.Table) error {
	if t.Rows() == 0 {
		return nil
	}
	group, err := w.file.AppendRowGroupChecked()
	if err != nil {
		return err
	}
	for at := range t.Columns {
		out, err := group.NextColumn()
		if err != nil {
			return err
		}
		if err := w.writeColumn(out, &t.Columns[at]); err != nil {
			return err
		}
		if err := out.Close(); err != nil {
			return err
		}
	}
	return group.Close()
}

// writeColumn writes the cells that are not empty in portions, with the levels that tell which these are.
func (w *Writer) writeColumn(out file.ColumnChunkWriter, c *table.Column) (err error) {
	for from := 0; from < c.Len() && err == nil; from += stepRows {
		to := min(c.Len(), from+stepRows)
		w.levels = w.levels[:0]
		for row := from; row < to; row++ {
			level := int16(1)
			if c.Empty != nil && c.Empty[row] {
				level = 0
			}
			w.levels = append(w.levels, level)
		}
		switch out := out.(type) {
		case *file.Int64ColumnChunkWriter:
			_, err = out.WriteBatch(present(c.Integers[from:to], w.levels), w.levels, nil)
		case *file.Float64ColumnChunkWriter:
			_, err = out.WriteBatch(present(c.Numbers[from:to], w.levels), w.levels, nil)
		case *file.ByteArrayColumnChunkWriter:
			texts := make([]parquet.ByteArray, to-from)
			for i, s := range c.Texts[from:to] {
				texts[i] = parquet.ByteArray(s)
			}
			_, err = out.WriteBatch(present(texts, w.levels), w.levels, nil)
		}
	}
	return err
}

// present returns the values whose level is 1.
func present[T any](values []T, levels []int16) []T {
	if !slices.Contains(levels, 0) {
		return values
	}
	some := make([]T, 0, len(values))
	for i, v := range values {
		if levels[i] == 1 {
			some = append(some, v)
		}
	}
	return some
}

// Close writes the metadata at the end of the file. It does not close the underlying writer.
func (w *Writer) Close() error { return w.file.Close() }
