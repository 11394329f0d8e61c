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

// csvLayout is what is known of a text when its rows are parsed.
type csvLayout struct {
	dialect
	name    string
	columns []csvColumn
	kinds   []kind
	usual   bool // no column is written in a way that takes a closer look
	survey  bool // only collect evidence
}

// csvRows are the rows of a block.
type csvRows struct {
	columns []csvCells
	rows    int
	jumps   []table.Jump
	seen    []evidence   // what contradicts the kinds of the columns; nil: nothing does
	doubt   *fault.Error // about the first cell that does
	blank   int          // a blank line after the last row; 0: none
	hollow  hollow       // rows without values after the last one
	latin   bool         // there are texts that are not UTF-8
	table   *table.Table // of the rows, unless something above is the matter
}

// csvCells are the cells of a column. Texts are one after the other, each up to its end.
type csvCells struct {
	integers []int64
	numbers  []float64
	texts    []byte
	ends     []int
	empty    []int // the rows that are
}

// parse parses a block up to its first mistake, and makes a table of its rows.
func (l *csvLayout) parse(b scan.Block) (*csvRows, error) {
	p := &csvRows{columns: make([]csvCells, len(l.columns))}
	if !l.survey {
		p.reserve(l.kinds, min(b.Lines, len(b.Text)/len(l.columns)+1))
	}
	err := l.parseRows(p, b)
	if err == nil && p.seen == nil && !l.survey && p.rows > 0 {
		err = p.makeTable(l, b.FirstLine)
	}
	p.columns = nil
	return p, err
}

// parseRows parses a block up to its first mistake or, except in a survey, to a cell that contradicts.
func (l *csvLayout) parseRows(p *csvRows, b scan.Block) error {
	var cells [][]byte
	quote := nextQuote(b.Text, 0)
	for at, line := 0, b.FirstLine; at < len(b.Text) && (p.seen == nil || l.survey); {
		length := 1 + bytes.IndexByte(b.Text[at:], '\n')
		if isBlank(b.Text[at : at+length]) {
			p.blank = line
			at += length
			line++
			continue
		}
		if b.Text[at] == l.separator && l.isHollow(b.Text[at:at+length]) {
			if p.hollow.rows == 0 {
				p.hollow.firstLine = line
			}
			if p.blank == 0 { // after a blank line, others are too
				p.hollow.rows++
			}
			at += length
			line++
			continue
		}
		if p.blank > 0 {
			return l.blankLine(p.blank)
		}
		if p.hollow.rows > 0 {
			p.hollow.appendTo(p, l.kinds)
		}
		if quote < at {
			quote = nextQuote(b.Text, at)
		}
		if quote >= at+length && l.usual && !l.survey {
			if l.parseUsual(p, b.Text[at:at+length]) {
				at += length
				p.rows++
				line++
				continue
			}
			p.undoRow()
		}
		var err error
		start := at
		if cells, at, err = l.split(b.Text, at, cells[:0]); err != nil {
			column := len(cells)
			if errors.Is(err, errAfterQuote) {
				column--
			}
			return l.inCell(line, column, "UNCLOSED_QUOTE", "%v: %s", err, scan.Quote(scan.FirstLine(b.Text[start:])))
		}
		if err := l.parseCells(p, cells, line); err != nil {
			return err
		}
		p.rows++
		lines := bytes.Count(b.Text[start:at], []byte("\n"))
		if line += lines; lines > 1 {
			p.jumps = append(p.jumps, table.Jump{Row: p.rows, Line: line})
		}
	}
	return nil
}

// nextQuote is the place of the next quote, or the end of the text.
func nextQuote(text []byte, at int) int {
	if quote := bytes.IndexByte(text[at:], '"'); quote >= 0 {
		return at + quote
	}
	return len(text)
}

// isBlank reports whether a line has nothing in it.
func isBlank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}

// reserve makes room for so many rows.
func (p *csvRows) reserve(kinds []kind, rows int) {
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

// undoRow removes the cells of a row that was not parsed to its end.
func (p *csvRows) undoRow() {
	for at := range p.columns {
		c := &p.columns[at]
		c.integers, c.numbers = c.integers[:min(len(c.integers), p.rows)], c.numbers[:min(len(c.numbers), p.rows)]
		if len(c.ends) > p.rows {
			c.ends = c.ends[:p.rows]
			c.texts = c.texts[:c.textStart()]
		}
		if last := len(c.empty) - 1; last >= 0 && c.empty[last] == p.rows {
			c.empty = c.empty[:last]
		}
	}
}

func (c *csvCells) textStart() int {
	if len(c.ends) == 0 {
		return 0
	}
	return c.ends[len(c.ends)-1]
}

// parseUsual parses a line without quotes, with its end, and tells whether its cells are as expected.
func (l *csvLayout) parseUsual(p *csvRows, line []byte) bool {
	at := 0
	for column := range l.kinds {
		c, kind := &p.columns[column], l.kinds[column]
		var after int
		switch kind.Type {
		case table.Integer:
			var v int64
			if v, after = shortInteger(line, at); after == at {
				if !l.endsCell(line[at]) {
					return false
				}
				c.empty = append(c.empty, p.rows)
			}
			c.integers = append(c.integers, v)
		case table.Number:
			var v float64
			if v, after = scan.ShortDecimal(line, at, kind.point); after == at || !l.endsCell(line[after]) {
				after = at + l.cellEnd(line[at:])
				cell := bytes.TrimSpace(line[at:after])
				if v = 0; isMissingNumber(cell) {
					c.empty = append(c.empty, p.rows)
				} else if number, ok := parseNumber(cell, kind.point); ok && scan.IsFinite(number) {
					v = number
				} else {
					return false
				}
			}
			c.numbers = append(c.numbers, v)
		default:
			after = at + l.cellEnd(line[at:])
			cell := bytes.TrimSpace(line[at:after])
			if len(cell) > table.MaxTextBytes {
				return false
			}
			c.appendText(cell, p.rows)
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
		at = after + 1
	}
	return false
}

func (d dialect) endsCell(c byte) bool { return c == d.separator || c == '\n' || c == '\r' }

// shortInteger parses an integer of 1 to 18 digits that is written as short as can be; after is at for anything else.
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

func (c *csvCells) appendText(cell []byte, row int) {
	if isMissingText(cell) {
		c.empty = append(c.empty, row)
	} else {
		c.texts = append(c.texts, cell...)
	}
	c.ends = append(c.ends, len(c.texts))
}

// parseCells parses a row of cells, of whatever form.
func (l *csvLayout) parseCells(p *csvRows, cells [][]byte, line int) error {
	if len(cells) != len(l.columns) {
		return l.invalid(line, "RAGGED_ROWS", "the line has %s where others have %d, the last in column %s; is a separator missing, or a quote around one?",
			text.Plural(len(cells), "cell"), len(l.columns), l.nameOf(len(l.columns)-1))
	}
	for at, cell := range cells {
		c, kind := &p.columns[at], l.kinds[at]
		switch missing := isMissingNumber(cell); {
		case kind.Type == table.Text && l.survey:
		case kind.Type == table.Text:
			if len(cell) > table.MaxTextBytes {
				return l.inCell(line, at, "BAD_TEXT", "%s has %d bytes; at most %d are supported; is a quote missing?", scan.Quote(cell), len(cell), table.MaxTextBytes)
			}
			c.appendText(cell, p.rows)
		case kind.Type == table.Integer:
			v, padded, ok := integerCell(cell)
			if !missing && (!ok || padded && (l.columns[at].isID || l.columns[at].isCode)) {
				p.contradict(l, at, cell, line)
			} else if !l.survey {
				c.integers = append(c.integers, v)
				c.mark(missing, p.rows)
			}
		default:
			v, ok := kind.parse(cell)
			if missing {
				v = 0
			}
			if !missing && !ok {
				p.contradict(l, at, cell, line)
			} else if !scan.IsFinite(v) {
				return l.inCell(line, at, "NOT_FINITE", "%s is not a finite number; correct it, or leave the cell empty to have it filled", scan.Quote(cell))
			} else if !l.survey {
				c.numbers = append(c.numbers, v)
				c.mark(missing, p.rows)
			}
		}
	}
	return nil
}

// mark remembers that the cell of a row is empty, if it is.
func (c *csvCells) mark(empty bool, row int) {
	if empty {
		c.empty = append(c.empty, row)
	}
}

// contradict remembers a cell.
func (p *csvRows) contradict(l *csvLayout, column int, cell []byte, line int) {
	if p.seen == nil {
		p.seen = make([]evidence, len(l.columns))
	}
	p.seen[column] |= l.classify(cell)
	if p.doubt == nil {
		p.doubt = l.inCell(line, column, "MIXED_TYPES", "%s stands here, but the cells before are %v", scan.Quote(bytes.Clone(cell)), l.kinds[column].Type)
	}
}

// makeTable makes a table of the rows.
func (p *csvRows) makeTable(l *csvLayout, firstLine int) error {
	columns := make([]table.Column, len(p.columns))
	for at := range columns {
		c, from := &columns[at], &p.columns[at]
		c.Name, c.Type, c.Integers, c.Numbers = l.columns[at].name, l.kinds[at].Type, from.integers, from.numbers
		if c.Type == table.Text {
			if p.latin = !utf8.Valid(from.texts); p.latin {
				return nil
			}
			if zero := bytes.IndexByte(from.texts, 0); zero >= 0 {
				row := sort.SearchInts(from.ends, zero+1)
				return l.inCell(p.lineOf(row, firstLine), at, "NOT_A_TEXT", "the cell has a zero byte; is the file damaged, or no text?")
			}
			all, start := string(from.texts), 0
			c.Texts = make([]string, p.rows)
			for row, end := range from.ends {
				c.Texts[row], start = all[start:end], end
			}
		}
		if len(from.empty) > 0 {
			c.Empty = make([]bool, p.rows)
			for _, row := range from.empty {
				c.Empty[row] = true
			}
		}
	}
	var err error
	if p.table, err = table.New(columns); err != nil {
		return fault.Wrap(err, "%s", l.name)
	}
	p.table.Locate(l.name, slices.Insert(p.jumps, 0, table.Jump{Row: 0, Line: firstLine}))
	return nil
}

// lineOf is the line of a row.
func (p *csvRows) lineOf(row, firstLine int) int {
	line := firstLine + row
	for _, jump := range p.jumps {
		if jump.Row <= row {
			line = jump.Line + row - jump.Row
		}
	}
	return line
}

// nameOf is a column as errors show it.
func (l *csvLayout) nameOf(column int) string {
	if column >= len(l.columns) {
		return strconv.Itoa(column + 1)
	}
	return strconv.Quote(l.columns[column].name)
}

// inCell is a fault in a cell.
func (l *csvLayout) inCell(line, column int, reason, format string, args ...any) *fault.Error {
	return fault.Invalid(reason, "%s, line %d, column %s: %s", l.name, line, l.nameOf(column), fmt.Sprintf(format, args...)).With("line", strconv.Itoa(line))
}

// invalid is a fault on a line.
func (l *csvLayout) invalid(line int, reason, format string, args ...any) *fault.Error {
	return fault.Invalid(reason, "%s, line %d: %s", l.name, line, fmt.Sprintf(format, args...)).With("line", strconv.Itoa(line))
}

func (l *csvLayout) blankLine(line int) *fault.Error {
	return l.invalid(line, "BLANK_LINE", "the line is blank, but the file goes on after it; remove it or fill it in")
}
