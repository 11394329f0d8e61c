package csv

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// Reader reads a table in the form of a text. What the first rows tell about the columns may turn out to be wrong: then
// the rest is surveyed, and all is read again with what was learned.
type Reader struct {
	input   restartable
	options Options
	latin   bool // it is known not to be UTF-8

	layout  csvLayout
	lines   *scan.Lines // for faults
	skipped int         // lines before the first row, with the header
	blocks  *scan.BlockParser[*csvRows]
	queue   []scan.ParsedBlock[*csvRows]
	blank   int // a blank line after the last row; 0: none
	hollow  hollow
	rows    int

	learned []evidence // about each column, by a survey
	said    []string
}

// restartable is an input that can be opened again at its beginning.
type restartable interface {
	Name() string
	Open() (s *scan.Source, again bool, err error) // again is false if what was there is lost
	Lost() bool                                    // there is no way back to the beginning
	Close()
}

// Marks returns the characters before decimals that the columns tell.
func (r *Reader) Marks() string { return string(decimalsOf(r.layout.columns)) }

// Open opens a table and finds out its form, and that of its columns.
func Open(input restartable, o Options) (*Reader, error) {
	r := &Reader{input: input, options: o}
	if err := r.sniff(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// sniff opens the input and finds out its form, and that of its columns.
func (r *Reader) sniff() error {
	s, err := r.begin()
	if err != nil {
		return err
	}
	prefix, err := peekRows(s)
	if err != nil {
		return err
	}
	separator, begin := excelSeparator(prefix)
	d := dialect{cmp.Or(r.options.Delimiter, separator)}
	if d.separator == 0 {
		rows := prefix[skipComments(prefix):]
		d.separator = separatorOfNames(rows, sniffSeparator(rows, usualSeparator(s.Suffix)), r.options.Names)
	}
	if d.separator == ' ' && r.options.Delimiter == 0 {
		r.say(s.Name + ": cells are separated by spaces; --delimiter says otherwise")
	}
	title, lines := skipTitle(prefix[begin:], d)
	title += begin
	if lines > 0 {
		r.say(fmt.Sprintf("%s: the table begins on line %d; what stands before it, %s, is left out", s.Name, lines+1+bytes.Count(prefix[:begin], []byte("\n")), scan.Quote(bytes.Trim(prefix[begin:title], " \r\n"+string(d.separator)))))
	}
	lines += bytes.Count(prefix[:begin], []byte("\n"))
	length, blank := skipBlank(prefix[title:])
	b := sniffRows(prefix[title:], d)
	if b.first == nil {
		return r.noRow(s, d, prefix[title+length:], lines+blank+1)
	}
	start := title + length
	blank += lines
	has, notice := b.hasHeader(d, s.Name)
	if header := r.options.Header; header == "yes" || header == "no" {
		has, notice = header == "yes", ""
	} else if b.hasNames(r.options.Names) {
		has, notice = true, ""
	} else if b.hasNoNames(r.options.Names) {
		has, notice = false, ""
	}
	r.say(notice)
	width, header := len(b.first), b.first
	if !has {
		header = nil
	} else if b.width > 0 {
		width = b.width
	}
	if b.trails && len(header) == width-1 {
		header = append(header, nil) // rows end in a separator
	}
	columns, notices := nameColumns(header, width)
	if len(columns) > table.MaxColumns {
		return s.Invalid("TOO_MANY_COLUMNS", "the file has %d columns; at most %d are supported in a table, and any number in an array (.npy) or in sparse points (.svm, .npz)", len(columns), table.MaxColumns)
	}
	for _, notice := range notices {
		r.say(s.Name + ": " + notice)
	}
	for at := range columns {
		if at < len(b.below) {
			columns[at].seen = b.below[at]
		}
		if !has {
			columns[at].seen |= d.classify(b.first[at])
		}
		if r.learned != nil {
			columns[at].seen |= r.learned[at]
		}
		columns[at].asText = slices.Contains(r.options.Texts, columns[at].name) || slices.Contains(r.options.Texts, strconv.Itoa(at+1))
	}
	r.layout = csvLayout{dialect: d, name: s.Name, columns: columns}
	if r.skipped = blank; has {
		_, end, err := d.split(append(bytes.Clone(prefix[start:]), '\n'), 0, nil)
		if err != nil {
			return r.layout.invalid(blank+1, "UNCLOSED_QUOTE", "the header: %v", err)
		}
		end = min(start+end, len(prefix))
		r.skipped += bytes.Count(prefix[start:end], []byte("\n"))
		start = end
	}
	return r.start(s, start)
}

// noRow says why there is no first row.
func (r *Reader) noRow(s *scan.Source, d dialect, text []byte, line int) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return s.Invalid("EMPTY_DATA", "the file is empty")
	}
	_, _, err := d.split(append(bytes.Clone(text), '\n'), 0, nil)
	return (&csvLayout{name: s.Name}).invalid(line, "UNCLOSED_QUOTE", "the header: %v: %s", err, scan.Quote(scan.FirstLine(text)))
}

// begin opens the input at its beginning, as UTF-8.
func (r *Reader) begin() (*scan.Source, error) {
	s, again, err := r.input.Open()
	if err != nil {
		return nil, err
	}
	if !again {
		return nil, fault.Invalid("READ_ONCE", "%s cannot be read again from its beginning; save it to a file", r.input.Name())
	}
	notice, err := s.Decode(r.latin)
	r.say(notice)
	return s, err
}

func (r *Reader) say(notice string) {
	if notice != "" && !slices.Contains(r.said, notice) {
		r.said = append(r.said, notice)
	}
}

// start begins to parse the rows, after so many bytes.
func (r *Reader) start(s *scan.Source, skip int) error {
	if _, err := s.Discard(skip); err != nil {
		return s.ReadError(err)
	}
	r.layout.kinds = make([]kind, len(r.layout.columns))
	r.layout.usual = r.layout.separator != ' '
	decimals := cmp.Or(decimalsOf(r.layout.columns), r.options.Decimals)
	for at := range r.layout.kinds {
		r.layout.kinds[at] = r.layout.columns[at].kind(r.layout.dialect, decimals)
		r.layout.usual = r.layout.usual && r.layout.kinds[at].plain()
	}
	r.lines = scan.NewLines(s, r.layout.separator)
	r.queue, r.blank, r.hollow, r.rows = nil, 0, hollow{}, 0
	layout := r.layout
	r.blocks = scan.NewBlockParser(&scan.BlockReader{Source: s, NextLine: r.skipped + 1, Cut: layout.lastRowEnd}, layout.parse)
	return nil
}

// usualSeparator returns the separator that a suffix stands for.
func usualSeparator(suffix string) byte {
	switch suffix {
	case ".tsv", ".tab":
		return '\t'
	case ".psv":
		return '|'
	}
	return ','
}

// peekRows returns the beginning of a text with two lines at least, if it has so many.
func peekRows(s *scan.Source) ([]byte, error) {
	for size := scan.Sniffed; ; size *= 2 {
		prefix, err := s.PeekStart()
		if err != nil || bytes.Count(prefix, []byte("\n")) > 1 || len(prefix) < size || size > scan.MaxLine {
			return prefix, err
		}
		s.Reader = bufio.NewReaderSize(s.Reader, 2*size)
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

// Decimals returns the character before the decimals of all numbers, "" if they have none or differ.
func (r *Reader) Decimals() string { return r.layout.decimals() }

// Close ends the reading.
func (r *Reader) Close() { r.input.Close() }

// Next returns the next rows; io.EOF after the last. See ErrRestarted.
func (r *Reader) Next() (*table.Table, error) {
	for {
		if len(r.queue) == 0 {
			var err error
			if r.queue, err = r.blocks.Next(); err != nil {
				return nil, err
			}
			if len(r.queue) == 0 {
				return nil, r.finish()
			}
		}
		b := r.queue[0]
		if b.Parsed.rows > 0 && r.blank > 0 {
			return nil, r.layout.blankLine(r.blank)
		}
		if b.Err != nil {
			return nil, b.Err
		}
		if b.Parsed.seen != nil || b.Parsed.latin {
			return nil, r.restart()
		}
		if b.Parsed.rows > 0 && r.hollow.rows > 0 {
			r.rows += r.hollow.rows
			return r.hollow.take(&r.layout)
		}
		r.queue = r.queue[1:]
		if r.hollow.rows == 0 {
			r.hollow = b.Parsed.hollow
		} else {
			r.hollow.rows += b.Parsed.hollow.rows
		}
		if b.Parsed.blank > 0 {
			r.blank = b.Parsed.blank
		}
		if r.rows += b.Parsed.rows; r.rows > table.MaxRows {
			return nil, r.lines.Source.Invalid("TOO_MANY_ROWS", "the file has more than %d rows, the largest number supported", table.MaxRows)
		}
		if b.Parsed.table != nil {
			return b.Parsed.table, nil
		}
	}
}

// finish returns what Next returns after the last block.
func (r *Reader) finish() error {
	r.lines.LineNumber = r.blocks.NextLine
	if err := r.blocks.End(r.lines); err != nil {
		return err
	}
	r.say(r.hollow.notice(r.layout.name))
	if r.rows == 0 {
		return r.lines.Source.Invalid("EMPTY_DATA", "the file has a header, but no rows of data; --header no makes the first line data")
	}
	return io.EOF
}

// restart reads on to learn all that contradicts what is known, and goes back to the first row.
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

// survey collects what the rows that are left tell about the columns.
func (r *Reader) survey() error {
	doubt := r.queue[0].Parsed.doubt
	if r.input.Lost() {
		return r.cannotRepeat(doubt)
	}
	survey := r.layout
	survey.survey = true
	if r.learned == nil {
		r.learned = make([]evidence, len(survey.columns))
	}
	for at := range r.queue { // parsed up to the first cell that contradicts
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
			if b.Parsed.blank > 0 {
				r.blank = b.Parsed.blank
			}
		}
		var err error
		if r.queue, err = r.blocks.Next(); err != nil {
			return err
		}
	}
	r.lines.LineNumber = r.blocks.NextLine
	if err := r.blocks.End(r.lines); err != nil {
		return err
	}
	if r.input.Lost() {
		return r.cannotRepeat(doubt)
	}
	return nil
}

// cannotRepeat explains what to do about a cell that came too late.
func (r *Reader) cannotRepeat(doubt *fault.Error) error {
	doubt.Message += "; standard input is not read twice: --categorical reads the column as texts, --ignore leaves it out, and so does a file that is named"
	return doubt
}
