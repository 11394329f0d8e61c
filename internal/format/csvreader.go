package format

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
)

// csvReader reads a table in the form of a text. What the first rows tell about the columns may turn out to be wrong: then
// the rest is surveyed, and all is read again with what was learned.
type csvReader struct {
	input   reopened
	options TableOptions
	latin   bool // it is known not to be UTF-8

	layout  csvLayout
	lines   *lines // for faults
	skipped int    // lines before the first row, with the header
	blocks  *blockParser[*csvRows]
	queue   []parsedBlock[*csvRows]
	blank   int // a blank line after the last row; 0: none
	hollow  hollow
	rows    int

	learned []evidence // about each column, by a survey
	said    []string
}

func openCSV(input reopened, o TableOptions) (*csvReader, error) {
	r := &csvReader{input: input, options: o}
	if err := r.sniff(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// sniff opens the input and finds out its form, and that of its columns.
func (r *csvReader) sniff() error {
	s, err := r.begin()
	if err != nil {
		return err
	}
	prefix, err := s.peekRows()
	if err != nil {
		return err
	}
	separator, begin := excelSeparator(prefix)
	d := dialect{cmp.Or(r.options.Delimiter, separator)}
	if d.separator == 0 {
		rows := prefix[skipComments(prefix):]
		d.separator = separatorOfNames(rows, sniffSeparator(rows, usualSeparator(s.suffix)), r.options.Names)
	}
	if d.separator == ' ' && r.options.Delimiter == 0 {
		r.say(s.name + ": cells are separated by spaces; --delimiter says otherwise")
	}
	title, lines := skipTitle(prefix[begin:], d)
	title += begin
	if lines > 0 {
		r.say(fmt.Sprintf("%s: the table begins on line %d; what stands before it, %s, is left out", s.name, lines+1+bytes.Count(prefix[:begin], []byte("\n")), quoted(bytes.Trim(prefix[begin:title], " \r\n"+string(d.separator)))))
	}
	lines += bytes.Count(prefix[:begin], []byte("\n"))
	length, blank := skipBlank(prefix[title:])
	b := sniffRows(prefix[title:], d)
	if b.first == nil {
		return r.noRow(s, d, prefix[title+length:], lines+blank+1)
	}
	start := title + length
	blank += lines
	has, notice := b.hasHeader(d, s.name)
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
		return s.invalid("TOO_MANY_COLUMNS", "the file has %d columns; at most %d are supported in a table, and any number in an array (.npy) or in sparse points (.svm, .npz)", len(columns), table.MaxColumns)
	}
	for _, notice := range notices {
		r.say(s.name + ": " + notice)
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
	r.layout = csvLayout{dialect: d, name: s.name, columns: columns}
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
func (r *csvReader) noRow(s *source, d dialect, text []byte, line int) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return s.invalid("EMPTY_DATA", "the file is empty")
	}
	_, _, err := d.split(append(bytes.Clone(text), '\n'), 0, nil)
	return (&csvLayout{name: s.name}).invalid(line, "UNCLOSED_QUOTE", "the header: %v: %s", err, quoted(firstLine(text)))
}

// begin opens the input at its beginning, as UTF-8.
func (r *csvReader) begin() (*source, error) {
	s, again, err := r.input.open()
	if err != nil {
		return nil, err
	}
	if !again {
		return nil, fault.Invalid("READ_ONCE", "%s cannot be read again from its beginning; save it to a file", r.input.Name())
	}
	notice, err := s.decode(r.latin)
	r.say(notice)
	return s, err
}

func (r *csvReader) say(notice string) {
	if notice != "" && !slices.Contains(r.said, notice) {
		r.said = append(r.said, notice)
	}
}

// start begins to parse the rows, after so many bytes.
func (r *csvReader) start(s *source, skip int) error {
	if _, err := s.Discard(skip); err != nil {
		return s.readError(err)
	}
	r.layout.kinds = make([]kind, len(r.layout.columns))
	r.layout.usual = r.layout.separator != ' '
	decimals := cmp.Or(decimalsOf(r.layout.columns), r.options.Decimals)
	for at := range r.layout.kinds {
		r.layout.kinds[at] = r.layout.columns[at].kind(r.layout.dialect, decimals)
		r.layout.usual = r.layout.usual && r.layout.kinds[at].plain()
	}
	r.lines = newLines(s, r.layout.separator)
	r.queue, r.blank, r.hollow, r.rows = nil, 0, hollow{}, 0
	layout := r.layout
	r.blocks = newBlockParser(&blockReader{source: s, nextLine: r.skipped + 1, cut: layout.lastRowEnd}, layout.parse)
	return nil
}

// usualSeparator is the separator that a suffix stands for.
func usualSeparator(suffix string) byte {
	switch suffix {
	case ".tsv", ".tab":
		return '\t'
	case ".psv":
		return '|'
	}
	return ','
}

// peekRows is the beginning of a text with two lines at least, if it has so many.
func (s *source) peekRows() ([]byte, error) {
	for size := sniffed; ; size *= 2 {
		prefix, err := s.peek()
		if err != nil || bytes.Count(prefix, []byte("\n")) > 1 || len(prefix) < size || size > maxLine {
			return prefix, err
		}
		s.Reader = bufio.NewReaderSize(s.Reader, 2*size)
	}
}

func (r *csvReader) columns() []table.Column {
	columns := make([]table.Column, len(r.layout.columns))
	for at := range columns {
		columns[at] = table.Column{Name: r.layout.columns[at].name, Type: r.layout.kinds[at].Type}
	}
	return columns
}

func (r *csvReader) decimals() string { return r.layout.decimals() }

func (r *csvReader) close() { r.input.close() }

func (r *csvReader) next() (*table.Table, error) {
	for {
		if len(r.queue) == 0 {
			var err error
			if r.queue, err = r.blocks.next(); err != nil {
				return nil, err
			}
			if len(r.queue) == 0 {
				return nil, r.finish()
			}
		}
		b := r.queue[0]
		if b.parsed.rows > 0 && r.blank > 0 {
			return nil, r.layout.blankLine(r.blank)
		}
		if b.err != nil {
			return nil, b.err
		}
		if b.parsed.seen != nil || b.parsed.latin {
			return nil, r.restart()
		}
		if b.parsed.rows > 0 && r.hollow.rows > 0 {
			r.rows += r.hollow.rows
			return r.hollow.take(&r.layout)
		}
		r.queue = r.queue[1:]
		if r.hollow.rows == 0 {
			r.hollow = b.parsed.hollow
		} else {
			r.hollow.rows += b.parsed.hollow.rows
		}
		if b.parsed.blank > 0 {
			r.blank = b.parsed.blank
		}
		if r.rows += b.parsed.rows; r.rows > table.MaxRows {
			return nil, r.lines.source.invalid("TOO_MANY_ROWS", "the file has more than %d rows, which is the most that is supported", table.MaxRows)
		}
		if b.parsed.table != nil {
			return b.parsed.table, nil
		}
	}
}

// finish is what next returns after the last block.
func (r *csvReader) finish() error {
	r.lines.lineNumber = r.blocks.nextLine
	if err := r.blocks.end(r.lines); err != nil {
		return err
	}
	r.say(r.hollow.notice(r.layout.name))
	if r.rows == 0 {
		return r.lines.source.invalid("EMPTY_DATA", "the file has a header, but no rows of data; --header no makes the first line data")
	}
	return io.EOF
}

// restart reads on to learn all that contradicts what is known, and goes back to the first row.
func (r *csvReader) restart() error {
	if r.queue[0].parsed.latin {
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
func (r *csvReader) survey() error {
	doubt := r.queue[0].parsed.doubt
	if r.input.lost() {
		return r.cannotRepeat(doubt)
	}
	survey := r.layout
	survey.survey = true
	if r.learned == nil {
		r.learned = make([]evidence, len(survey.columns))
	}
	for at := range r.queue { // parsed up to the first cell that contradicts
		r.queue[at].parsed, r.queue[at].err = survey.parse(r.queue[at].block)
	}
	r.blocks.parse = survey.parse
	for len(r.queue) > 0 {
		for _, b := range r.queue {
			if b.err != nil {
				return b.err
			}
			for at, seen := range b.parsed.seen {
				r.learned[at] |= seen
			}
			if b.parsed.blank > 0 {
				r.blank = b.parsed.blank
			}
		}
		var err error
		if r.queue, err = r.blocks.next(); err != nil {
			return err
		}
	}
	r.lines.lineNumber = r.blocks.nextLine
	if err := r.blocks.end(r.lines); err != nil {
		return err
	}
	if r.input.lost() {
		return r.cannotRepeat(doubt)
	}
	return nil
}

// cannotRepeat explains what to do about a cell that came too late.
func (r *csvReader) cannotRepeat(doubt *fault.Error) error {
	doubt.Message += "; standard input is not read twice: --categorical reads the column as texts, --ignore leaves it out, and so does a file that is named"
	return doubt
}
