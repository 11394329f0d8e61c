package csv

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"unicode/utf8"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
	"github.com/cleave-project/cleave/internal/text"
)

// layout describes how to parse the rows of a text: its dialect and the kinds of its columns.
type layout struct {
	dialect
	name     string
	columns  []sniffedColumn
	header   [][]byte // the cells of the header; nil if there is none
	kinds    []cellKind
	allPlain bool // every column is plain; enables the fast path parsePlain
	survey   bool // only collect evidence
}

// parsedRows holds the parsed rows of a block.
type parsedRows struct {
	columns       []parsedCells
	rows          int
	jumps         []table.Jump
	seen          []evidence   // evidence against the kinds of the columns; nil if there is none
	contradiction *fault.Error // describes the first contradicting cell
	skippedLines  skippedLines
	note          *fault.Error // about the first of the lines that may be notes below the table; nil if there is none
	emptyRows     emptyRows    // empty rows after the last row
	latin         bool         // some text is not UTF-8
	table         *table.Table // nil if there is evidence against the kinds, or an error

	// While rows are parsed: the cells of the last one, and whether lines were skipped since.
	cells   [][]byte
	skipped bool
}

// parsedCells holds the cells of a column. Texts are concatenated; ends holds the end of each.
type parsedCells struct {
	integers []int64
	numbers  []float64
	texts    []byte
	ends     []int
	empty    []int // rows whose cell is empty, ascending
}

// parse parses a block up to its first error and makes a table of its rows.
func (l *layout) parse(block scan.Block) (*parsedRows, error) {
	parsed := &parsedRows{columns: make([]parsedCells, len(l.columns))}
	if !l.survey {
		parsed.reserve(l.kinds, min(block.Lines, len(block.Text)/len(l.columns)+1))
	}
	err := l.parseRows(parsed, block)
	if err == nil && parsed.seen == nil && !l.survey && parsed.rows > 0 {
		err = parsed.makeTable(l, block.FirstLine)
	}
	parsed.columns, parsed.cells = nil, nil
	return parsed, err
}

// parseRows parses a block up to its first error or, except in a survey, to a cell that contradicts the kind of its
// column.
func (l *layout) parseRows(parsed *parsedRows, block scan.Block) error {
	quote := nextQuote(block.Text, 0)
	for offset, line := 0, block.FirstLine; offset < len(block.Text) && (parsed.seen == nil || l.survey); {
		end := offset + 1 + bytes.IndexByte(block.Text[offset:], '\n')
		lines := 1
		if quote < offset {
			quote = nextQuote(block.Text, offset)
		}
		switch first := block.Text[offset:end]; {
		case isBlank(first):
			parsed.skippedLines.blank.add(line)
			parsed.skipped = true
		case first[0] == l.separator && l.isEmptyRow(first):
			parsed.emptyRows.add(line)
		case quote >= end && l.allPlain && !l.survey && !parsed.skipped && parsed.emptyRows.rows == 0 &&
			l.parsePlain(parsed, first):
			parsed.rows++
		default:
			length, err := l.parseRow(parsed, block.Text[offset:], line)
			if err != nil {
				return err
			}
			end = offset + length
			lines = bytes.Count(block.Text[offset:end], []byte("\n"))
		}
		offset, line = end, line+lines
	}
	return nil
}

// parseRow parses the first row of a text, in any form and of any number of lines, or skips it if it is not a row of
// the table. It returns its length.
func (l *layout) parseRow(parsed *parsedRows, text []byte, line int) (length int, err error) {
	cells, length, err := l.split(text, 0, parsed.cells[:0])
	parsed.cells = cells
	if err != nil {
		column := len(cells)
		switch {
		case errors.Is(err, errTooWide):
			return 0, scan.TooWide(l.name, line, table.MaxColumns)
		case errors.Is(err, errAfterQuote):
			column--
		}
		return 0, l.inCell(line, column, "UNCLOSED_QUOTE", "%v: %s", err, scan.Quote(scan.FirstLine(text)))
	}
	switch {
	case l.isAside(cells):
		parsed.skippedLines.others.add(line)
		parsed.skipped = true
		return length, nil
	case l.isNote(cells):
		parsed.skippedLines.notes.add(line)
		if parsed.note == nil {
			parsed.note = l.ragged(line, cells)
		}
		parsed.skipped = true
		return length, nil
	case parsed.note != nil:
		return 0, parsed.note // it is not at the end
	}
	if parsed.emptyRows.rows > 0 {
		parsed.emptyRows.appendTo(parsed, l.kinds)
	}
	if parsed.skipped {
		parsed.jumps = append(parsed.jumps, table.Jump{Row: parsed.rows, Line: line})
		parsed.skipped = false
	}
	parsed.skippedLines.endBlank()
	if err := l.parseCells(parsed, cells, line); err != nil {
		return 0, err
	}
	parsed.rows++
	if lines := bytes.Count(text[:length], []byte("\n")); lines > 1 {
		parsed.jumps = append(parsed.jumps, table.Jump{Row: parsed.rows, Line: line + lines})
	}
	return length, nil
}

// nextQuote returns the position of the next quote, or the length of the text.
func nextQuote(text []byte, at int) int {
	if quote := bytes.IndexByte(text[at:], '"'); quote >= 0 {
		return at + quote
	}
	return len(text)
}

// isBlank reports whether a line contains nothing but white space.
func isBlank(line []byte) bool { return len(bytes.TrimLeft(line, " \r\n")) == 0 }

// reserve allocates memory for the given number of rows.
func (p *parsedRows) reserve(kinds []cellKind, rows int) {
	for at := range p.columns {
		c := &p.columns[at]
		switch kinds[at].Type {
		case table.Integer:
			c.integers = make([]int64, 0, rows)
		case table.Number:
			c.numbers = make([]float64, 0, rows)
		default:
			c.ends = make([]int, 0, rows)
		}
	}
}

// undoRow removes the cells of a partly parsed row.
func (p *parsedRows) undoRow() {
	for at := range p.columns {
		c := &p.columns[at]
		c.integers = c.integers[:min(len(c.integers), p.rows)]
		c.numbers = c.numbers[:min(len(c.numbers), p.rows)]
		if len(c.ends) > p.rows {
			c.ends = c.ends[:p.rows]
			c.texts = c.texts[:c.textStart()]
		}
		if last := len(c.empty) - 1; last >= 0 && c.empty[last] == p.rows {
			c.empty = c.empty[:last]
		}
	}
}

func (c *parsedCells) textStart() int {
	if len(c.ends) == 0 {
		return 0
	}
	return c.ends[len(c.ends)-1]
}

// parsePlain parses a line without quotes, including its end. It returns false, and adds nothing, if a cell is not of
// the plain form.
func (l *layout) parsePlain(parsed *parsedRows, line []byte) (plain bool) {
	defer func() {
		if !plain {
			parsed.undoRow()
		}
	}()
	start := 0
	for column := range l.kinds {
		cells, kind := &parsed.columns[column], &l.kinds[column]
		var after int
		switch kind.Type {
		case table.Integer:
			var v int64
			v, after = shortInteger(line, start)
			if after == start {
				if !l.endsCell(line[start]) {
					return false
				}
				cells.empty = append(cells.empty, parsed.rows)
			}
			cells.integers = append(cells.integers, v)
		case table.Number:
			var v float64
			v, after = scan.ShortDecimal(line, start, kind.point)
			if after == start || !l.endsCell(line[after]) {
				after = start + l.cellEnd(line[start:])
				cell := bytes.TrimSpace(line[start:after])
				v = 0
				if table.IsMissingNumber(cell) {
					cells.empty = append(cells.empty, parsed.rows)
				} else if number, ok := parseNumber(cell, kind.point); ok && scan.IsFinite(number) {
					v = number
				} else {
					return false
				}
			}
			cells.numbers = append(cells.numbers, v)
		default:
			after = start + l.cellEnd(line[start:])
			cell := bytes.TrimSpace(line[start:after])
			if len(cell) > table.MaxTextBytes {
				return false
			}
			cells.appendText(cell, parsed.rows)
		}
		if line[after] == '\r' {
			after++
		}
		if column == len(l.kinds)-1 {
			return line[after] == '\n'
		}
		if line[after] != l.separator {
			return false
		}
		start = after + 1
	}
	return false
}

func (d dialect) endsCell(c byte) bool { return c == d.separator || c == '\n' || c == '\r' }

// shortInteger parses an integer of 1 to 18 digits in its shortest form. It returns after = at for anything else.
func shortInteger(text []byte, at int) (value int64, after int) {
	start := at
	negative := text[at] == '-'
	if negative {
		at++
	}
	first := at
	for ; text[at]-'0' <= 9; at++ {
		value = 10*value + int64(text[at]-'0')
	}
	if at == first || at-first > 18 || text[first] == '0' && (negative || at-first > 1) {
		return 0, start
	}
	if negative {
		value = -value
	}
	return value, at
}

func (c *parsedCells) appendText(cell []byte, row int) {
	if table.IsMissingText(cell) {
		c.empty = append(c.empty, row)
	} else {
		c.texts = append(c.texts, cell...)
	}
	c.ends = append(c.ends, len(c.texts))
}

// parseCells parses the cells of a row in any form.
func (l *layout) parseCells(parsed *parsedRows, cells [][]byte, line int) error {
	if width := len(l.columns); len(cells) > width && l.separator != ' ' &&
		emptyCells(cells[width:]) == len(cells)-width {
		cells = cells[:width]
	}
	if len(cells) != len(l.columns) {
		return l.ragged(line, cells)
	}
	for column, cell := range cells {
		values, kind := &parsed.columns[column], &l.kinds[column]
		switch missing := table.IsMissingNumber(cell); {
		case kind.Type == table.Text && l.survey:
		case kind.Type == table.Text:
			if len(cell) > table.MaxTextBytes {
				return l.tooLong(line, column, cell)
			}
			values.appendText(cell, parsed.rows)
		case kind.Type == table.Integer:
			v, padded, ok := integerCell(cell)
			if !missing && (!ok || padded && (l.columns[column].isID || l.columns[column].isCode)) {
				parsed.contradict(l, column, cell, line)
			} else if !l.survey {
				values.integers = append(values.integers, v)
				values.mark(missing, parsed.rows)
			}
		default:
			v, ok := kind.parse(cell)
			if missing {
				v = 0
			}
			if !missing && !ok {
				parsed.contradict(l, column, cell, line)
			} else if !scan.IsFinite(v) {
				return l.inCell(line, column, "NOT_FINITE",
					"%s is not a finite number; correct it, or leave the cell empty to have it filled",
					scan.Quote(cell))
			} else if !l.survey {
				values.numbers = append(values.numbers, v)
				values.mark(missing, parsed.rows)
			}
		}
	}
	return nil
}

// mark records that the cell of a row is empty.
func (c *parsedCells) mark(empty bool, row int) {
	if empty {
		c.empty = append(c.empty, row)
	}
}

// contradict records a cell that contradicts the kind of its column.
func (p *parsedRows) contradict(l *layout, column int, cell []byte, line int) {
	if p.seen == nil {
		p.seen = make([]evidence, len(l.columns))
	}
	p.seen[column] |= classify(cell, l.columns[column].unit)
	if p.contradiction == nil {
		p.contradiction = l.inCell(line, column, "MIXED_TYPES", "found %s, but the cells before it are %v",
			scan.Quote(bytes.Clone(cell)), l.kinds[column].Type)
	}
}

// makeTable converts the parsed rows to a table.
func (p *parsedRows) makeTable(l *layout, firstLine int) error {
	columns := make([]table.Column, len(p.columns))
	for number := range columns {
		column, from := &columns[number], &p.columns[number]
		column.Name, column.Type, column.Integers, column.Numbers = l.columns[number].name, l.kinds[number].Type,
			from.integers, from.numbers
		if column.Type == table.Text {
			p.latin = !utf8.Valid(from.texts)
			if p.latin {
				return nil
			}
			if zero := bytes.IndexByte(from.texts, 0); zero >= 0 {
				row := sort.SearchInts(from.ends, zero+1)
				return l.inCell(p.lineOf(row, firstLine), number, "NOT_A_TEXT",
					"the cell has a zero byte; the file may be damaged or not a text file")
			}
			texts, start := string(from.texts), 0
			column.Texts = make([]string, p.rows)
			for row, end := range from.ends {
				// the cell before ends within a rune that this one continues
				if start < end && !utf8.RuneStart(texts[start]) {
					p.latin = true
					return nil
				}
				column.Texts[row], start = texts[start:end], end
			}
		}
		if len(from.empty) > 0 {
			column.Empty = make([]bool, p.rows)
			for _, row := range from.empty {
				column.Empty[row] = true
			}
		}
	}
	var err error
	p.table, err = table.New(columns)
	if err != nil {
		return fault.Wrap(err, "%s", l.name)
	}
	p.table.Locate(l.name, slices.Insert(p.jumps, 0, table.Jump{Row: 0, Line: firstLine}))
	return nil
}

// lineOf returns the line number of a row.
func (p *parsedRows) lineOf(row, firstLine int) int {
	line := firstLine + row
	for _, jump := range p.jumps {
		if jump.Row <= row {
			line = jump.Line + row - jump.Row
		}
	}
	return line
}

// nameOf returns the name of a column for errors.
func (l *layout) nameOf(column int) string {
	if column >= len(l.columns) {
		return strconv.Itoa(column + 1)
	}
	return strconv.Quote(l.columns[column].name)
}

// inCell returns a fault about a cell.
func (l *layout) inCell(line, column int, reason, format string, args ...any) *fault.Error {
	return fault.Invalid(reason, "%s, line %d, column %s: %s", l.name, line, l.nameOf(column),
		fmt.Sprintf(format, args...)).With("line", strconv.Itoa(line))
}

// tooLong returns a fault about a cell that a table cannot hold.
func (l *layout) tooLong(line, column int, cell []byte) *fault.Error {
	return l.inCell(line, column, "BAD_TEXT",
		"%s has %d bytes; at most %d are supported; check for a missing quote, and --delimiter", scan.Quote(cell),
		len(cell), table.MaxTextBytes)
}

// ragged returns a fault about a line with too few or too many cells.
func (l *layout) ragged(line int, cells [][]byte) *fault.Error {
	return scan.InLine(l.name, line, "RAGGED_ROWS",
		"the line has %s, but other lines have %d, up to column %s; check for a missing separator or missing quotes",
		text.Plural(len(cells), "cell"), len(l.columns), l.nameOf(len(l.columns)-1))
}
