package format

import (
	"errors"
	"io"
	"slices"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format/csv"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// manyParts reads several files as one table. All must have the same columns. A column gets the widest type that it has
// in any file: integers become numbers, and both become text.
type manyParts struct {
	files    []string
	openPart func(at int, o csv.Options) (Part, error)
	options  csv.Options
	wanted   []table.Column // the columns of the table, each with the widest type of those found so far
	known    []*csv.Survey  // what reading each file showed; nil for a file that was read without starting over
	at       int            // the current file
	part     Part           // nil before the first file is opened and after the last one
	notices  []string
	marks    string // decimal separators of the parts read so far
}

// textPart is a part in a text format, whose types are guessed.
type textPart interface {
	Part
	Marks() string       // the decimal separator that the columns show; "" if they are ambiguous
	Survey() *csv.Survey // see csv.Options.Known
}

// OpenParts opens parts of one table, such as objects in a store. It calls open with the number of a part and the
// options to read it with, each time that the part is to be read from its first row. The names are for messages.
func OpenParts(names []string, o TableOptions, open func(at int, o TableOptions) (Part, error)) (*TableReader, error) {
	var parts Part
	var err error
	if len(names) > 1 {
		parts, err = openParts(names, o, open)
	} else {
		parts, err = open(0, o)
	}
	if err != nil {
		return nil, err
	}
	return &TableReader{Part: parts}, nil
}

// openParts opens each part once to find the types that hold the columns of all, and then the first part to read it.
func openParts(files []string, o csv.Options, open func(at int, o csv.Options) (Part, error)) (*manyParts, error) {
	m := &manyParts{files: files, openPart: open, options: o, known: make([]*csv.Survey, len(files))}
	marks := ""
	for at, file := range files {
		part, err := open(at, o)
		if err != nil {
			return nil, err
		}
		if text, ok := part.(textPart); ok {
			marks += text.Marks()
		}
		err = m.widen(file, part.Columns())
		part.Close()
		if err != nil {
			return nil, err
		}
	}
	if m.options.Decimals == "" {
		m.options.Decimals = csv.Same(marks) // a part may be ambiguous where others are not
	}
	return m, m.open(0)
}

// widen extends the types in m.wanted to hold the columns of another file.
func (m *manyParts) widen(file string, columns []table.Column) error {
	if m.wanted == nil {
		m.wanted = columns
		return nil
	}
	bad := &scan.Source{Name: file}
	for at, c := range columns {
		switch {
		case at >= len(m.wanted):
			return bad.Invalid("COLUMNS_DIFFER",
				"the file has a column %q that %s does not have; all parts of a table must have the same columns",
				c.Name, m.files[0])
		case c.Name != m.wanted[at].Name:
			return bad.Invalid("COLUMNS_DIFFER",
				"column %d is %q, but in %s it is %q; all parts of a table must have the same columns", at+1, c.Name,
				m.files[0], m.wanted[at].Name)
		}
		m.wanted[at].Type = max(m.wanted[at].Type, c.Type) // types are ordered: integer, number, text
	}
	if len(columns) < len(m.wanted) {
		return bad.Invalid("COLUMNS_DIFFER",
			"the file has no column %q, but %s does; all parts of a table must have the same columns",
			m.wanted[len(columns)].Name, m.files[0])
	}
	return nil
}

// open continues with the file at a position in the list.
func (m *manyParts) open(at int) error {
	m.Close()
	if at == 0 {
		m.marks = ""
	}
	part, err := m.read(at)
	if err != nil {
		return err
	}
	m.at, m.part = at, part
	return nil
}

// read opens a file with all that is known about the columns.
func (m *manyParts) read(at int) (Part, error) {
	o := m.options
	o.Texts = slices.Clone(o.Texts)
	for _, c := range m.wanted {
		if c.Type == table.Text {
			o.Texts = append(o.Texts, c.Name)
		}
	}
	o.Known = m.known[at]
	return m.openPart(at, o)
}

func (m *manyParts) Columns() []table.Column { return slices.Clone(m.wanted) }

func (m *manyParts) Notices() []string { return m.notices }

func (m *manyParts) Decimals() string { return csv.Same(m.marks) }

// Close closes the current part, and keeps its notices and decimal separator.
func (m *manyParts) Close() {
	if m.part == nil {
		return
	}
	for _, notice := range m.part.Notices() {
		if !slices.Contains(m.notices, notice) {
			m.notices = append(m.notices, notice)
		}
	}
	m.marks += m.part.Decimals()
	m.part.Close()
	m.part = nil
}

// Next returns the next rows of the parts in order, io.EOF after the last. If a part starts over, the parts after it
// are surveyed, so that none of them starts over again, and all are read from the first; see csv.ErrRestarted.
func (m *manyParts) Next() (*table.Table, error) {
	for m.part != nil {
		t, err := m.part.Next()
		switch {
		case errors.Is(err, csv.ErrRestarted):
			if err := m.learn(m.at, m.part); err != nil {
				return nil, err
			}
			if err := m.survey(m.at + 1); err != nil {
				return nil, err
			}
			if err := m.open(0); err != nil {
				return nil, err
			}
			return nil, csv.ErrRestarted
		case errors.Is(err, io.EOF):
			if m.at+1 == len(m.files) {
				m.Close()
				return nil, io.EOF
			}
			if err := m.open(m.at + 1); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, err
		default:
			return m.convert(t)
		}
	}
	return nil, io.EOF
}

// learn notes what a file showed that starts over.
func (m *manyParts) learn(at int, part Part) error {
	if text, ok := part.(textPart); ok {
		m.known[at] = text.Survey()
	}
	return m.widen(m.files[at], part.Columns())
}

// survey reads the files from a position on to find all that would start over. Otherwise, every one of them would make
// the caller read all files before it once more. It leaves errors of reading to Next, which comes across them again.
func (m *manyParts) survey(from int) error {
	for at := from; at < len(m.files); at++ {
		part, err := m.read(at)
		if err != nil {
			return nil
		}
		for err == nil {
			_, err = part.Next()
		}
		var differ error
		if errors.Is(err, csv.ErrRestarted) {
			differ = m.learn(at, part)
		}
		part.Close()
		if differ != nil {
			return differ
		}
	}
	return nil
}

// convert converts the columns of a part to the types in m.wanted.
func (m *manyParts) convert(t *table.Table) (*table.Table, error) {
	columns := slices.Clone(t.Columns)
	same := true
	for at := range columns {
		c, want := &columns[at], m.wanted[at].Type
		if c.Type == want {
			continue
		}
		same = false
		converted := table.Column{Name: c.Name, Type: want, Empty: c.Empty}
		for row := range t.Rows() {
			if want == table.Number {
				converted.Numbers = append(converted.Numbers, c.Number(row))
			} else {
				converted.Texts = append(converted.Texts, c.CellText(row))
			}
		}
		*c = converted
	}
	if same {
		return t, nil
	}
	return table.New(columns)
}
