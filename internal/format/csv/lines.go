package csv

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/data/table"
)

// Texts have lines that are not rows: blank ones, comments, titles of sections, notes below the table, headers that
// are repeated, and rows of empty cells at the end. This file recognizes them and tells the user what was skipped.

// lineCount counts lines of one kind.
type lineCount struct {
	count, first int // the number of lines, and the number of the first line; 0 if there is none
}

func (c *lineCount) add(line int) { c.merge(lineCount{1, line}) }

func (c *lineCount) merge(more lineCount) {
	if c.count == 0 || more.count > 0 && more.first < c.first {
		c.first = more.first
	}
	c.count += more.count
}

// skippedLines counts lines that are not read as they are, for notices.
type skippedLines struct {
	blank  lineCount // blank lines after the last row, which are no notice unless more rows follow
	notes  lineCount // lines after the last row that are not rows, see layout.isNote
	others lineCount // blank lines before the last row, comments, and texts that are not rows
}

// endBlank records that a row follows the blank lines.
func (s *skippedLines) endBlank() {
	s.others.merge(s.blank)
	s.blank = lineCount{}
}

// merge adds the lines of the next block, which has the given number of rows.
func (s *skippedLines) merge(next *skippedLines, rows int) {
	if rows > 0 {
		s.endBlank()
	}
	s.blank.merge(next.blank)
	s.notes.merge(next.notes)
	s.others.merge(next.others)
}

// notice reports the lines that were skipped, "" if there are none.
func (s *skippedLines) notice(name string) string {
	skipped := s.others
	skipped.merge(s.notes)
	switch skipped.count {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s: line %d is skipped: it is blank or has text instead of a row", name, skipped.first)
	}
	return fmt.Sprintf("%s: %d lines (the first is line %d) are skipped: they are blank or have text instead of a row",
		name, skipped.count, skipped.first)
}

// isAside reports whether the cells of a line are not a row of the table: an aside, or the header again.
func (l *layout) isAside(cells [][]byte) bool {
	return l.dialect.isAside(cells, len(l.columns)) || sameCells(cells, l.header) ||
		isLone(cells) && l.kinds[0].Type != table.Text
}

// isLone reports whether only the first of at least three cells has a value, and that is a word: spreadsheets write
// notes so.
func isLone(cells [][]byte) bool {
	return len(cells) > 2 && emptyCells(cells[1:]) == len(cells)-1 && classify(cells[0], "").isWord()
}

// isNote reports whether a line may be a note below the table: it has too few or too many cells, and begins with a
// word where the rows have a number.
func (l *layout) isNote(cells [][]byte) bool {
	return len(cells) != len(l.columns) && l.separator != ' ' && l.kinds[0].Type != table.Text &&
		classify(cells[0], "").isWord()
}

// maxNotes is the largest number of lines that may be notes below a table. More are rows of another one.
const maxNotes = 20

// isOverNumbers reports whether the header has a word over a column of numbers.
func (l *layout) isOverNumbers() bool {
	for at, cell := range l.header[:min(len(l.header), len(l.kinds))] {
		if l.kinds[at].Type != table.Text && classify(cell, "").isWord() {
			return true
		}
	}
	return false
}

// sameCells reports whether the rows have the same cells.
func sameCells(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

// isAside reports whether the cells of a line are not a row of a table with the given number of columns: a comment,
// or a single text such as a footnote or the title of a section.
func (d dialect) isAside(cells [][]byte, columns int) bool {
	if d.separator == ' ' || len(cells) == columns || table.IsMissingNumber(cells[0]) {
		return false
	}
	return cells[0][0] == '#' || len(cells) == 1 && columns > 2 && classify(cells[0], "").isWord()
}

// Spreadsheets export formatted but empty rows below a table as lines of separators only. Such rows are held back and
// belong to the table only if other rows follow.

// isEmptyRow reports whether all cells of a line are empty.
func (l *layout) isEmptyRow(line []byte) bool {
	found := 0
	for _, c := range line {
		switch c {
		case l.separator:
			found++
		case ' ', '\r', '\n':
		default:
			return false
		}
	}
	return found > 0 && l.separator != ' '
}

// emptyRows holds consecutive rows of empty cells, one per line. Lines between them, such as blank ones, are not
// recorded: errors about a row after such a line name an earlier line.
type emptyRows struct {
	rows, firstLine int
}

func (e *emptyRows) add(line int) {
	e.rows++
	if e.rows == 1 {
		e.firstLine = line
	}
}

// appendTo appends the rows to the parsed ones.
func (e *emptyRows) appendTo(p *parsedRows, kinds []cellKind) {
	p.jumps = append(p.jumps, table.Jump{Row: p.rows, Line: e.firstLine})
	for ; e.rows > 0; e.rows-- {
		for at := range p.columns {
			c := &p.columns[at]
			switch kinds[at].Type {
			case table.Integer:
				c.integers = append(c.integers, 0)
			case table.Number:
				c.numbers = append(c.numbers, 0)
			default:
				c.ends = append(c.ends, len(c.texts))
			}
			c.empty = append(c.empty, p.rows)
		}
		p.rows++
	}
}

// maxEmptyRows is the largest number of held rows that become one table. A row takes two bytes of the file, or almost
// none if it is compressed, but many in a table.
const maxEmptyRows = 1 << 16

// take removes the first rows, at most maxEmptyRows, and returns them as a table.
func (e *emptyRows) take(l *layout) (*table.Table, error) {
	first := emptyRows{min(e.rows, maxEmptyRows), e.firstLine}
	e.rows, e.firstLine = e.rows-first.rows, e.firstLine+first.rows
	p := &parsedRows{columns: make([]parsedCells, len(l.columns))}
	first.appendTo(p, l.kinds)
	err := p.makeTable(l, first.firstLine)
	return p.table, err
}

// notice reports that the table ends with these rows.
func (e *emptyRows) notice(name string) string {
	if e.rows == 0 {
		return ""
	}
	return fmt.Sprintf("%s: the lines from %d on have only empty cells and are skipped", name, e.firstLine)
}
