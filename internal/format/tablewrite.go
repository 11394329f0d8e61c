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

// TableWriter writes a table in parts. Close flushes what is buffered, but does not close the underlying writer.
type TableWriter interface {
	Write(t *table.Table) error
	Close() error
}

// NewTableWriter returns a writer of tables with the given columns in one of TableFormats.
func NewTableWriter(w io.Writer, format string, columns []table.Column) (TableWriter, error) {
	switch format {
	case "csv":
		c := &csvTable{bufio.NewWriterSize(w, scan.BufferSize), nil}
		for at, column := range columns {
			if at > 0 {
				c.line = append(c.line, ',')
			}
			c.line = appendCSVText(c.line, column.Name)
		}
		_, err := c.w.Write(append(c.line, '\n'))
		return c, err
	case "parquet":
		return columnar.NewWriter(w, columns)
	case "jsonl":
		j := &jsonTable{bufio.NewWriterSize(w, scan.BufferSize), nil, nil}
		for _, column := range columns {
			j.names = append(j.names, string(append(appendJSONText(nil, column.Name), ':')))
		}
		return j, nil
	}
	return nil, fault.Invalid("UNKNOWN_FORMAT", "cannot write a table as %q; use %s", format, strings.Join(TableFormats, ", "))
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

// csvTable writes numbers so that they read back bit for bit. A missing value is an empty cell; an empty text is "".
type csvTable struct {
	w    *bufio.Writer
	line []byte
}

func (c *csvTable) Write(t *table.Table) error {
	for row := range t.Rows() {
		line := c.line[:0]
		for at := range t.Columns {
			if at > 0 {
				line = append(line, ',')
			}
			column := &t.Columns[at]
			switch {
			case column.Empty != nil && column.Empty[row]:
				if len(t.Columns) == 1 {
					line = append(line, `""`...) // an empty line would not be read as a row
				}
			case column.Type == table.Text:
				line = appendCSVText(line, column.Texts[row])
			default:
				line = appendNumber(line, column, row)
			}
		}
		line = append(line, '\n')
		c.line = line
		if _, err := c.w.Write(c.line); err != nil {
			return err
		}
	}
	return nil
}

func (c *csvTable) Close() error { return c.w.Flush() }

func appendCSVText(line []byte, text string) []byte {
	if text != "" && !strings.ContainsAny(text, ",;\t\"\r\n") && strings.TrimSpace(text) == text {
		return append(line, text...)
	}
	return append(append(append(line, '"'), strings.ReplaceAll(text, `"`, `""`)...), '"')
}

func appendNumber(line []byte, c *table.Column, row int) []byte {
	if c.Type == table.Integer {
		return strconv.AppendInt(line, c.Integers[row], 10)
	}
	return strconv.AppendFloat(line, c.Numbers[row], 'g', -1, 64)
}

// jsonTable writes one JSON object per line. Empty cells are null.
type jsonTable struct {
	w     *bufio.Writer
	names []string // JSON keys: quoted, with the colon
	line  []byte
}

func (j *jsonTable) Write(t *table.Table) error {
	for row := range t.Rows() {
		line := j.line[:0]
		line = append(line, '{')
		for at := range t.Columns {
			if at > 0 {
				line = append(line, ',')
			}
			line = append(line, j.names[at]...)
			column := &t.Columns[at]
			switch {
			case column.Empty != nil && column.Empty[row]:
				line = append(line, "null"...)
			case column.Type == table.Text:
				line = appendJSONText(line, column.Texts[row])
			default:
				line = appendNumber(line, column, row)
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
