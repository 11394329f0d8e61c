package experiments

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/tools/measure"
)

// Report is the result of the studies.
type Report struct{ Sections []*Section }

// Section is one study.
type Section struct {
	Study, Title, About string
	Pictures            []Picture // before the tables
	Tables              []*Table
}

// Picture is an SVG file beside the page.
type Picture struct {
	Name, Caption string
	Data          []byte
}

// Table is one data set of a study: a row for each method, a column for each amount of supervision.
type Table struct {
	Set, Unit string
	Columns   []int
	Rows      []string
	Cells     map[string][]numbers
	Ranges    bool // cells show the smallest and the largest value instead of the standard deviation
	Findings  []Finding
	Notes     []string
}

// Finding is something that a paper leads one to expect, and whether it holds.
type Finding struct {
	What   string
	Holds  bool
	Detail string
}

func (r *Report) begin(study, title, about string, arguments ...any) {
	r.Sections = append(r.Sections, &Section{Study: study, Title: title, About: fmt.Sprintf(about, arguments...)})
}

// draw adds a picture to the last section.
func (r *Report) draw(name, caption string, paint func(w io.Writer) error) error {
	var b bytes.Buffer
	if err := paint(&b); err != nil {
		return err
	}
	s := r.Sections[len(r.Sections)-1]
	s.Pictures = append(s.Pictures, Picture{Name: name, Caption: caption, Data: b.Bytes()})
	return nil
}

func (r *Report) table(set, unit string, columns []int) *Table {
	t := &Table{Set: set, Unit: unit, Columns: columns, Cells: map[string][]numbers{}}
	s := r.Sections[len(r.Sections)-1]
	s.Tables = append(s.Tables, t)
	return t
}

func (t *Table) put(row string, column int, cell numbers) {
	if t.Cells[row] == nil {
		t.Rows = append(t.Rows, row)
		t.Cells[row] = make([]numbers, len(t.Columns))
	}
	t.Cells[row][column] = cell
}

func (t *Table) cell(row string, column int) numbers { return t.Cells[row][column] }

func (t *Table) note(text string) { t.Notes = append(t.Notes, text) }

// compare records whether the mean of one row is at least that of another in a column. A difference of at
// most two standard errors counts as none: the number of runs is too small to tell.
func (t *Table) compare(better, worse string, column int) {
	a := t.cell(better, column)
	b := t.cell(worse, column)
	difference := a.mean() - b.mean()
	uncertainty := a.standardError(b)
	t.Findings = append(t.Findings, Finding{
		What:   fmt.Sprintf("%s >= %s at %d", better, worse, t.Columns[column]),
		Holds:  difference >= -2*uncertainty,
		Detail: fmt.Sprintf("%+.3f +- %.3f", difference, uncertainty),
	})
}

// expect records whether a number is at least what a paper leads one to expect.
func (t *Table) expect(what string, got, atLeast float64) {
	t.Findings = append(t.Findings, Finding{What: what, Holds: got >= atLeast, Detail: fmt.Sprintf("%.3f", got)})
}

// markdown returns the text of the section.
func (s *Section) markdown(measured string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s Study `%s`, %s.\n", s.Title, s.About, s.Study, measured)
	for _, p := range s.Pictures {
		fmt.Fprintf(&b, "\n![%s](%s/%s)\n", p.Caption, pictureFolder, p.Name)
	}
	for _, t := range s.Tables {
		t.write(&b)
	}
	return b.String()
}

func (t *Table) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n", t.Set)
	head := []string{t.Unit}
	for _, c := range t.Columns {
		head = append(head, fmt.Sprint(c))
	}
	measure.Head(b, head...)
	for _, row := range t.Rows {
		cells := []string{row}
		for _, cell := range t.Cells[row] {
			spread := fmt.Sprintf("%.2f", cell.deviation())
			if t.Ranges {
				spread = fmt.Sprintf("%.2f to %.2f", slices.Min(cell), slices.Max(cell))
			}
			cells = append(cells, fmt.Sprintf("%.2f (%s)", cell.mean(), spread))
		}
		measure.Row(b, cells...)
	}
	if len(t.Findings) > 0 {
		b.WriteString("\n")
	}
	for _, f := range t.Findings {
		verdict := "holds"
		if !f.Holds {
			verdict = "**does not hold**"
		}
		fmt.Fprintf(b, "- %s: %s (%s)\n", f.What, verdict, f.Detail)
	}
	for _, note := range t.Notes {
		fmt.Fprintf(b, "\n%s\n", note)
	}
}
