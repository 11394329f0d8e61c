package experiments

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Report is what the studies found.
type Report struct{ Sections []*Section }

// Section is one study.
type Section struct {
	Study, Title, About string
	Tables              []*Table
}

// Table is one data set of a study: a row for each method, a column for each amount of supervision.
type Table struct {
	Set, Unit string
	Columns   []int
	Rows      []string
	Cells     map[string][]numbers
	Findings  []Finding
	Notes     []string
}

// Finding is what a paper leads one to expect, and how it turned out.
type Finding struct {
	What  string
	Holds bool
	Told  string
}

func (r *Report) begin(study, title, about string, arguments ...any) {
	r.Sections = append(r.Sections, &Section{Study: study, Title: title, About: fmt.Sprintf(about, arguments...)})
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

// compare asks whether one row is at least another in a column. Less by no more than two standard errors
// of the difference counts as equal: so many runs cannot tell them apart.
func (t *Table) compare(better, worse string, column int) {
	a, b := t.cell(better, column), t.cell(worse, column)
	difference, doubt := a.mean()-b.mean(), a.doubt(b)
	t.Findings = append(t.Findings, Finding{
		What:  fmt.Sprintf("%s >= %s at %d", better, worse, t.Columns[column]),
		Holds: difference >= -2*doubt,
		Told:  fmt.Sprintf("%+.3f +- %.3f", difference, doubt),
	})
}

// WriteMarkdown writes the page of the documentation.
func (r *Report) WriteMarkdown(w io.Writer, version string, now time.Time) error {
	var b strings.Builder
	holds, all := 0, 0
	for _, s := range r.Sections {
		for _, t := range s.Tables {
			for _, f := range t.Findings {
				if all++; f.Holds {
					holds++
				}
			}
		}
	}
	fmt.Fprintf(&b, "<!-- Written by make experiments. Do not edit: change internal/experiments and run it again. -->\n# Experiments\n\n")
	fmt.Fprintf(&b, "The experiments of the papers, repeated on %s at %s. Of %d findings that the papers lead one to expect, %d hold: the mean is at least the other's, or within two standard errors of it.\n\n",
		now.UTC().Format(time.DateOnly), version, all, holds)
	fmt.Fprintf(&b, "`make experiments DATA=folder` repeats all of it, `make experiments DATA=folder STUDIES=%s` one study. The folder has the data sets in folders of their own, each with its points and labels: `iris`, `wine`, `pendigits-389`, `letter-ijl`, `mini-newsgroups`.\n", r.Sections[0].Study)
	for _, s := range r.Sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s Study `%s`.\n", s.Title, s.About, s.Study)
		for _, t := range s.Tables {
			t.write(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s\n\n| %s |", t.Set, t.Unit)
	for _, c := range t.Columns {
		fmt.Fprintf(b, " %d |", c)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(t.Columns)) + "\n")
	for _, row := range t.Rows {
		fmt.Fprintf(b, "| %s |", row)
		for _, cell := range t.Cells[row] {
			fmt.Fprintf(b, " %.2f (%.2f) |", cell.mean(), cell.spread())
		}
		b.WriteString("\n")
	}
	if len(t.Findings) > 0 {
		b.WriteString("\n")
	}
	for _, f := range t.Findings {
		verdict := "holds"
		if !f.Holds {
			verdict = "**does not hold**"
		}
		fmt.Fprintf(b, "- %s: %s (%s)\n", f.What, verdict, f.Told)
	}
	for _, note := range t.Notes {
		fmt.Fprintf(b, "\n%s\n", note)
	}
}
