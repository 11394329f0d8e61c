package format

import (
	"errors"
	"io"
	"slices"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format/csv"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// manyParts reads several files as one table. They have the same columns; where a column is of integers in one file and of
// numbers or texts in another, it is so in all of them.
type manyParts struct {
	files   []string
	options csv.Options
	wanted  []table.Column
	at      int // the current file
	part    tableParts
	said    []string
	marks   string // before decimals, of all parts that were read
}

func openParts(files []string, o csv.Options) (*manyParts, error) {
	m := &manyParts{files: files, options: o}
	if slices.Contains(files, "-") {
		return nil, (&scan.Source{Name: "standard input"}).Invalid("BAD_FILES", "standard input is a table of its own; it cannot be read together with files")
	}
	marks := ""
	for _, file := range files {
		part, err := openPart(file, o)
		if err != nil {
			return nil, err
		}
		if text, ok := part.(*csv.Reader); ok {
			marks += text.Marks()
		}
		err = m.widen(file, part.Columns())
		part.Close()
		if err != nil {
			return nil, err
		}
	}
	if m.options.Decimals == "" {
		m.options.Decimals = csv.Same(marks) // one part may leave open what others tell
	}
	return m, m.open(0)
}

// widen makes the columns that are wanted such that they hold those of a file too.
func (m *manyParts) widen(file string, columns []table.Column) error {
	if m.wanted == nil {
		m.wanted = columns
		return nil
	}
	bad := &scan.Source{Name: file}
	for at, c := range columns {
		switch {
		case at >= len(m.wanted):
			return bad.Invalid("COLUMNS_DIFFER", "it has a column %q more than %s; parts of a table have the same columns", c.Name, m.files[0])
		case c.Name != m.wanted[at].Name:
			return bad.Invalid("COLUMNS_DIFFER", "column %d is called %q, in %s %q; parts of a table have the same columns", at+1, c.Name, m.files[0], m.wanted[at].Name)
		}
		m.wanted[at].Type = max(m.wanted[at].Type, c.Type) // integers are numbers, and all are texts
	}
	if len(columns) < len(m.wanted) {
		return bad.Invalid("COLUMNS_DIFFER", "it has no column %q as %s has; parts of a table have the same columns", m.wanted[len(columns)].Name, m.files[0])
	}
	return nil
}

// open opens a file of the list.
func (m *manyParts) open(at int) error {
	m.Close()
	if at == 0 {
		m.marks = ""
	}
	o := m.options
	o.Texts = slices.Clone(o.Texts)
	for _, c := range m.wanted {
		if c.Type == table.Text {
			o.Texts = append(o.Texts, c.Name)
		}
	}
	part, err := openPart(m.files[at], o)
	if err != nil {
		return err
	}
	m.at, m.part = at, part
	return nil
}

func (m *manyParts) Columns() []table.Column { return slices.Clone(m.wanted) }

func (m *manyParts) Notices() []string { return m.said }

func (m *manyParts) Decimals() string { return csv.Same(m.marks) }

func (m *manyParts) Close() {
	if m.part == nil {
		return
	}
	for _, notice := range m.part.Notices() {
		if !slices.Contains(m.said, notice) {
			m.said = append(m.said, notice)
		}
	}
	m.marks += m.part.Decimals()
	m.part.Close()
	m.part = nil
}

func (m *manyParts) Next() (*table.Table, error) {
	for {
		t, err := m.part.Next()
		switch {
		case errors.Is(err, csv.ErrRestarted):
			if err := m.widen(m.files[m.at], m.part.Columns()); err != nil {
				return nil, err
			}
			if err := m.open(0); err != nil {
				return nil, err
			}
			return nil, csv.ErrRestarted
		case errors.Is(err, io.EOF):
			if m.at+1 == len(m.files) {
				m.Close()
				m.part = ended{}
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
}

// convert makes the columns of a part those that are wanted.
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
				converted.Numbers = append(converted.Numbers, float64(c.Integers[row]))
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

// ended is what is left after the last part.
type ended struct{}

func (ended) Columns() []table.Column { return nil }

func (ended) Next() (*table.Table, error) { return nil, io.EOF }

func (ended) Notices() []string { return nil }

func (ended) Decimals() string { return "" }

func (ended) Close() {}
