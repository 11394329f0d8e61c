package format

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/columnar"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// TableFormats lists the formats that NewTableWriter accepts.
var TableFormats = []string{"csv", "parquet", "jsonl"}

// TableWriter writes a table in parts. Close flushes the buffer, but does not close the underlying writer.
type TableWriter interface {
	Write(t *table.Table) error
	Close() error
}

// NewTableWriter returns a writer of tables with the given columns in one of TableFormats.
func NewTableWriter(w io.Writer, format string, columns []table.Column) (TableWriter, error) {
	switch format {
	case "csv":
		c := newCSVWriter(w)
		for _, column := range columns {
			c.text(column.Name)
		}
		return c, c.endLine()
	case "parquet":
		return columnar.NewWriter(w, columns)
	case "jsonl":
		j := &jsonTable{w: bufio.NewWriterSize(w, scan.BufferSize)}
		for _, column := range columns {
			j.names = append(j.names, string(append(appendJSONText(nil, column.Name), ':')))
		}
		return j, nil
	}
	return nil, fault.Invalid("UNKNOWN_FORMAT", "cannot write a table as %q; use %s", format,
		strings.Join(TableFormats, ", "))
}

// WriteTable writes a whole table.
func WriteTable(w io.Writer, format string, t *table.Table) error {
	writer, err := NewTableWriter(w, format, t.Columns)
	if err != nil {
		return err
	}
	if err := writer.Write(t); err != nil {
		return err
	}
	return writer.Close()
}

// Write writes a line for each row. A missing value is an empty cell; an empty text is "".
func (c *csvWriter) Write(t *table.Table) error {
	for row := range t.Rows() {
		for at := range t.Columns {
			switch column := &t.Columns[at]; {
			case isMissing(column, row) && len(t.Columns) == 1:
				c.text("") // an empty line would not be read as a row
			case isMissing(column, row):
				c.emptyCell()
			case column.Type == table.Text:
				c.text(column.Texts[row])
			case column.Type == table.Integer:
				c.integer(column.Integers[row])
			default:
				c.float(column.Numbers[row])
			}
		}
		if err := c.endLine(); err != nil {
			return err
		}
	}
	return nil
}

// isMissing reports whether a cell has no value, unlike an empty text.
func isMissing(c *table.Column, row int) bool { return c.Empty != nil && c.Empty[row] }

// Close flushes the buffer and writes the end of the table.
func (c *csvWriter) Close() error { return c.w.Flush() }

// jsonTable writes one JSON object per line. Empty cells are null.
type jsonTable struct {
	w     *bufio.Writer
	names []string // JSON keys: quoted, with the colon
	line  []byte
}

// Write writes the rows of a table, whose columns must be those of names.
func (j *jsonTable) Write(t *table.Table) error {
	for row := range t.Rows() {
		line := j.line[:0]
		line = append(line, '{')
		for at := range t.Columns {
			if at > 0 {
				line = append(line, ',')
			}
			line = append(line, j.names[at]...)
			switch column := &t.Columns[at]; {
			case isMissing(column, row):
				line = append(line, "null"...)
			case column.Type == table.Text:
				line = appendJSONText(line, column.Texts[row])
			case column.Type == table.Integer:
				line = strconv.AppendInt(line, column.Integers[row], 10)
			default:
				line = strconv.AppendFloat(line, column.Numbers[row], 'g', -1, 64)
			}
		}
		line = append(line, '}', '\n')
		j.line = line
		if _, err := j.w.Write(j.line); err != nil {
			return err
		}
	}
	return nil
}

func (j *jsonTable) Close() error { return j.w.Flush() }

func appendJSONText(line []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil { // cannot happen: every string has a JSON form
		return line
	}
	return append(line, quoted...)
}
