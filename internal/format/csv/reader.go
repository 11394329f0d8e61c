package csv

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// Reader reads a table from a text. It guesses the types of the columns from the first rows. If a later cell
// contradicts them, it surveys the rest and reads everything again with what it learned.
type Reader struct {
	input   restartable
	options Options
	latin   bool // the text is known not to be UTF-8

	layout       layout
	lines        *scan.Lines // for faults
	skipped      int         // lines before the first row, including the header
	blocks       *scan.BlockParser[*parsedRows]
	queue        []scan.ParsedBlock[*parsedRows]
	skippedLines skippedLines
	note         *fault.Error // about the first line that may be a note below the table
	emptyRows    emptyRows
	rows         int

	learned []evidence // about each column, from a survey
	notices []string
}

// restartable is an input that can be opened again at its beginning.
type restartable interface {
	Name() string
	Open() (*scan.Source, error)
	Lost() bool // whether the beginning is no longer available
	Close()
}

// Marks returns the decimal separator that the columns show, "" if they are ambiguous.
func (r *Reader) Marks() string { return decimalsOf(r.layout.columns) }

// Survey returns what the rows have shown so far that the first ones did not.
func (r *Reader) Survey() *Survey {
	s := &Survey{Latin: r.latin}
	for _, seen := range r.learned {
		s.Seen = append(s.Seen, uint32(seen))
	}
	return s
}

// Open opens a table and detects its dialect, its header and the types of its columns. The Reader closes input.
func Open(input restartable, o Options) (*Reader, error) {
	r := &Reader{input: input, options: o}
	if o.Known != nil {
		r.latin = o.Known.Latin
		for _, seen := range o.Known.Seen {
			r.learned = append(r.learned, evidence(seen))
		}
	}
	if err := r.sniff(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// sniff opens the input and detects its form.
func (r *Reader) sniff() error {
	source, err := r.begin()
	if err != nil {
		return err
	}
	prefix, err := peekRows(source)
	if err != nil {
		return err
	}
	d, start, lines := r.findTable(source, prefix)
	length, blank := d.skipBlank(prefix[start:])
	start, lines = start+length, lines+blank
	b := sniffRows(prefix[start:], d)
	if b.first == nil {
		return r.noRow(source, d, prefix[start:], lines+1)
	}
	for column, cell := range b.first {
		if len(cell) > table.MaxTextBytes {
			return (&layout{name: source.Name}).tooLong(lines+1, column, cell)
		}
	}
	hasHeader := r.findHeader(b, source.Name)
	if b.hasUnits && !hasHeader {
		b.learn(b.second)
	}
	if err := r.findColumns(source, b, d, hasHeader, lines+1); err != nil {
		return err
	}
	r.skipped = lines
	if !hasHeader {
		return r.start(source, start)
	}
	rows := 1
	if b.hasUnits {
		r.addNotice(fmt.Sprintf("%s: the second row belongs to the header, because it has words where the others "+
			"have numbers: %s", source.Name, scan.Quote(bytes.Join(b.second, []byte{d.separator}))))
		rows = 2
	}
	for range rows {
		length, blank := d.skipBlank(prefix[start:])
		start, r.skipped = start+length, r.skipped+blank
		_, end, err := d.split(withEnd(prefix[start:]), 0, nil)
		if err != nil {
			return scan.InLine(source.Name, lines+1, "UNCLOSED_QUOTE", "the header: %v", err)
		}
		end = min(start+end, len(prefix))
		r.skipped += bytes.Count(prefix[start:end], []byte("\n"))
		start = end
	}
	return r.start(source, start)
}

// findTable returns the dialect of a text, and where the table begins: the number of bytes and lines before it.
func (r *Reader) findTable(source *scan.Source, prefix []byte) (d dialect, start, lines int) {
	separator, start := excelSeparator(prefix)
	d.separator = cmp.Or(r.options.Delimiter, separator)
	if d.separator == 0 {
		rows := prefix[skipComments(prefix):]
		d.separator = separatorOfNames(rows, sniffSeparator(rows, usualSeparator(source.Suffix)), r.options.Names)
	}
	if d.separator == ' ' && r.options.Delimiter == 0 {
		r.addNotice(source.Name + ": cells are read as separated by spaces; if this is wrong, use --delimiter")
	}
	lines = bytes.Count(prefix[:start], []byte("\n"))
	length, skipped := skipTitle(prefix[start:], d)
	if skipped > 0 {
		title := bytes.Trim(prefix[start:start+length], " \r\n"+string(d.separator))
		r.addNotice(fmt.Sprintf("%s: the table begins on line %d; the text before it is skipped: %s", source.Name,
			lines+skipped+1, scan.Quote(title)))
	}
	return d, start + length, lines + skipped
}

// findHeader reports whether the first row is the header, by the options or else by its cells.
func (r *Reader) findHeader(b *beginning, name string) bool {
	switch {
	case r.options.Header == "yes", r.options.Header != "no" && b.hasNames(r.options.Names):
		return true
	case r.options.Header == "no", b.hasNoNames(r.options.Names):
		return false
	}
	has, notice := b.hasHeader(name)
	r.addNotice(notice)
	return has
}

// findColumns names the columns and collects what is known about each. The first row is on the given line.
func (r *Reader) findColumns(source *scan.Source, b *beginning, d dialect, hasHeader bool, line int) error {
	width, header := len(b.first), b.first
	if !hasHeader {
		header = nil
	} else if b.width > 0 {
		width = b.width
	}
	if b.trails && len(header) == width-1 {
		header = append(header, nil) // rows end with a separator
	}
	names, notices := nameColumns(header, width)
	if len(names) > table.MaxColumns {
		return scan.TooWide(source.Name, line, table.MaxColumns)
	}
	for _, notice := range notices {
		r.addNotice(source.Name + ": " + notice)
	}
	columns, asText := make([]sniffedColumn, len(names)), table.Listed(names, r.options.Texts)
	for number, name := range names {
		column := &columns[number]
		*column = sniffedColumn{name: name, asText: asText[number], isCode: table.IsCodeName(name),
			isID: table.IsIDName(name) || number == 0 && hasHeader && name == table.Unnamed(0)}
		if number < len(b.below) {
			column.seen, column.unit = b.below[number], b.units[number]
		}
		if !hasHeader {
			column.seen |= classify(b.first[number], column.unit)
		}
		if number < len(r.learned) {
			column.seen |= r.learned[number]
		}
	}
	r.layout = layout{dialect: d, name: source.Name, columns: columns, header: header}
	return nil
}

// noRow returns an error that explains why there is no first row.
func (r *Reader) noRow(s *scan.Source, d dialect, text []byte, line int) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return s.Invalid("EMPTY_DATA", "the file is empty")
	}
	_, _, err := d.split(withEnd(text), 0, nil)
	return scan.InLine(s.Name, line, "UNCLOSED_QUOTE", "the header: %v: %s", err, scan.Quote(scan.FirstLine(text)))
}

// begin opens the input at its beginning and decodes it to UTF-8.
func (r *Reader) begin() (*scan.Source, error) {
	s, err := r.input.Open()
	if err != nil {
		return nil, err
	}
	notice, err := s.Decode(r.latin)
	r.addNotice(notice)
	return s, err
}

func (r *Reader) addNotice(notice string) {
	if notice != "" && !slices.Contains(r.notices, notice) {
		r.notices = append(r.notices, notice)
	}
}

// start begins to parse the rows, after skipping the given number of bytes: all of them, if there are fewer.
func (r *Reader) start(s *scan.Source, skip int) error {
	if _, err := s.Discard(min(skip, s.Buffered())); err != nil {
		return s.ReadError(err)
	}
	r.layout.kinds = make([]cellKind, len(r.layout.columns))
	r.layout.allPlain = r.layout.separator != ' '
	decimals := cmp.Or(decimalsOf(r.layout.columns), r.options.Decimals)
	for at := range r.layout.kinds {
		r.layout.kinds[at] = r.layout.columns[at].kind(r.layout.dialect, decimals)
		r.layout.allPlain = r.layout.allPlain && r.layout.kinds[at].plain()
	}
	if !r.layout.isOverNumbers() {
		r.layout.header = nil // a row like it may be a row
	}
	r.lines = scan.NewLines(s, r.layout.separator)
	r.queue, r.skippedLines, r.note, r.emptyRows, r.rows = nil, skippedLines{}, nil, emptyRows{}, 0
	r.blocks = scan.NewBlockParser(&scan.BlockReader{Source: s, NextLine: r.skipped + 1, Cut: r.layout.lastRowEnd},
		r.layout.parse)
	return nil
}

// usualSeparator returns the separator that a suffix implies.
func usualSeparator(suffix string) byte {
	switch suffix {
	case ".tsv", ".tab":
		return '\t'
	case ".psv":
		return '|'
	}
	return ','
}

// peekRows returns the beginning of a text, with at least two lines if it has that many, and with a line end if it is a
// single line. It fails if a line is too long, so that no time is spent on examining it.
func peekRows(s *scan.Source) ([]byte, error) {
	for size := scan.Sniffed; ; size = min(4*size, 2*scan.MaxLine) {
		prefix, err := s.PeekStart(size)
		switch lines := bytes.Count(prefix, []byte("\n")); {
		case err != nil || lines > 1 || lines == 1 && len(prefix) < size:
			return prefix, err
		case len(prefix) < size:
			return withEnd(prefix), nil
		}
		if size > scan.MaxLine {
			line := &scan.Lines{Source: s, LineNumber: 1}
			if end := bytes.IndexByte(prefix, '\n'); end >= 0 && end <= scan.MaxLine {
				line.LineNumber = 2
			}
			return nil, line.TooLong()
		}
	}
}

// Columns returns the names and types of the columns, without cells.
func (r *Reader) Columns() []table.Column {
	columns := make([]table.Column, len(r.layout.columns))
	for at := range columns {
		columns[at] = table.Column{Name: r.layout.columns[at].name, Type: r.layout.kinds[at].Type}
	}
	return columns
}

// Decimals returns the decimal separator of all numbers, "" if they have no decimals or differ.
func (r *Reader) Decimals() string { return r.layout.decimals() }

// Close closes the input.
func (r *Reader) Close() { r.input.Close() }

// Next returns the next rows, io.EOF after the last. See ErrRestarted.
func (r *Reader) Next() (*table.Table, error) {
	for {
		if len(r.queue) == 0 {
			var err error
			r.queue, err = r.blocks.Next()
			if err != nil {
				return nil, err
			}
			if len(r.queue) == 0 {
				return nil, r.finish()
			}
		}
		if err := r.check(r.queue[0]); err != nil {
			return nil, err
		}
		parsed := r.queue[0].Parsed
		if parsed.rows > 0 && r.emptyRows.rows > 0 {
			return r.takeEmptyRows()
		}
		r.queue = r.queue[1:]
		if err := r.accept(parsed); err != nil {
			return nil, err
		}
		if parsed.table != nil {
			return parsed.table, nil
		}
	}
}

// check returns why the rows of the next block cannot be taken: they cannot be read, they follow a note, which only
// ends a file, or they contradict the kinds of the columns.
func (r *Reader) check(block scan.ParsedBlock[*parsedRows]) error {
	switch {
	case block.Err != nil:
		return block.Err
	case block.Parsed.rows > 0 && r.note != nil:
		return r.note
	case block.Parsed.seen != nil || block.Parsed.latin:
		return r.restart()
	}
	return nil
}

// takeEmptyRows returns some of the empty rows before the next block, as rows of the table.
func (r *Reader) takeEmptyRows() (*table.Table, error) {
	r.rows += min(r.emptyRows.rows, maxEmptyRows)
	if r.rows > table.MaxRows {
		return nil, r.tooManyRows()
	}
	return r.emptyRows.take(&r.layout)
}

// accept adds what was read besides the cells of a block: its empty rows at the end, skipped lines and notes. It fails
// if there are too many notes or rows.
func (r *Reader) accept(parsed *parsedRows) error {
	if r.emptyRows.rows == 0 {
		r.emptyRows = parsed.emptyRows
	} else {
		r.emptyRows.rows += parsed.emptyRows.rows
	}
	r.skippedLines.merge(&parsed.skippedLines, parsed.rows)
	r.note = cmp.Or(r.note, parsed.note)
	if r.skippedLines.notes.count > maxNotes {
		return r.note
	}
	r.rows += parsed.rows
	if r.rows > table.MaxRows {
		return r.tooManyRows()
	}
	return nil
}

func (r *Reader) tooManyRows() error {
	return r.lines.Source.Invalid("TOO_MANY_ROWS", "the file has more than %d rows, the largest number supported",
		table.MaxRows)
}

// finish returns the error for the end of the table, io.EOF if all is well.
func (r *Reader) finish() error {
	r.lines.LineNumber = r.blocks.NextLine
	if err := r.blocks.End(r.lines); err != nil {
		return err
	}
	r.addNotice(r.emptyRows.notice(r.layout.name))
	r.addNotice(r.skippedLines.notice(r.layout.name))
	if r.rows == 0 {
		return r.lines.Source.Invalid("EMPTY_DATA",
			"the file has a header, but no rows of data; to read the first line as data, use --header no")
	}
	return io.EOF
}

// restart surveys the remaining rows for everything that contradicts the current kinds, and returns to the first row.
func (r *Reader) restart() error {
	if r.queue[0].Parsed.latin {
		r.latin = true
	} else if err := r.survey(); err != nil {
		return err
	}
	if err := r.sniff(); err != nil {
		return err
	}
	return ErrRestarted
}

// survey collects evidence about the columns from the remaining rows. If there is nothing new, it returns the
// contradiction as an error: reading the rows again would end at the same cell.
func (r *Reader) survey() error {
	contradiction := r.queue[0].Parsed.contradiction
	if r.input.Lost() {
		return r.cannotRepeat(contradiction)
	}
	survey := r.layout
	survey.survey = true
	if len(r.learned) != len(survey.columns) {
		r.learned = make([]evidence, len(survey.columns))
	}
	before := slices.Clone(r.learned)
	for at := range r.queue { // these were parsed only up to the first contradicting cell
		r.queue[at].Parsed, r.queue[at].Err = survey.parse(r.queue[at].Block)
	}
	r.blocks.Parse = survey.parse
	for len(r.queue) > 0 {
		for _, b := range r.queue {
			if b.Err != nil {
				return b.Err
			}
			for at, seen := range b.Parsed.seen {
				r.learned[at] |= seen
			}
		}
		var err error
		r.queue, err = r.blocks.Next()
		if err != nil {
			return err
		}
	}
	r.lines.LineNumber = r.blocks.NextLine
	if err := r.blocks.End(r.lines); err != nil {
		return err
	}
	switch {
	case r.input.Lost():
		return r.cannotRepeat(contradiction)
	case slices.Equal(before, r.learned):
		return contradiction
	}
	return nil
}

// cannotRepeat adds to a fault what the user can do about a contradicting cell in an input that cannot be read again.
func (r *Reader) cannotRepeat(contradiction *fault.Error) error {
	contradiction.Message += "; standard input cannot be read twice; save it to a file, read the column as text with " +
		"--categorical, or skip it with --ignore"
	return contradiction
}
