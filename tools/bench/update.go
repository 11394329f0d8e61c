package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Update writes a page again with the sections that were measured now in place of the old ones. They say when that was;
// everything else stays as the page has it, but for what is explained about the method.
func (r *Report) Update(w io.Writer, page string, now time.Time) error {
	old, err := readPage(page)
	if err != nil {
		return err
	}
	when := fmt.Sprintf(", measured on %s at %s", now.UTC().Format(time.DateOnly), r.Version)
	for _, f := range r.Facts {
		if f.Name == loadFact {
			when += ", load " + f.Value
		}
	}
	var sections []pageSection
	for _, s := range stages() {
		if at := slices.IndexFunc(r.Sections, func(measured Section) bool { return measured.Title == s.title }); at >= 0 {
			sections = append(sections, r.Sections[at].lines(when))
		} else if at := slices.IndexFunc(old.sections, func(kept pageSection) bool { return kept.title == s.title }); at >= 0 {
			sections = append(sections, old.sections[at])
		}
	}
	met, notMet := 0, 0
	var rows, notes []string
	for _, s := range sections {
		rows, notes = append(rows, s.rows...), append(notes, s.notes...)
		for _, row := range s.rows {
			switch {
			case strings.HasSuffix(row, " | "+string(Met)+" |"):
				met++
			case strings.HasSuffix(row, " | "+string(NotMet)+" |"):
				notMet++
			}
		}
	}
	head, _, _ := strings.Cut(old.head, "Goals: ")
	_, err = fmt.Fprintf(w, "%sGoals: %d %s, %d %s.\n\n| %s |\n|%s\n%s\n\n%s\n\n%s\n%s%s", head, met, Met, notMet, NotMet,
		strings.Join(header, " | "), strings.Repeat("---|", len(header)), strings.Join(rows, "\n"), notesTitle, strings.Join(notes, "\n"), old.machine, method)
	return err
}

// pageSection is the lines of a section in the table and among the notes.
type pageSection struct {
	title       string
	rows, notes []string
}

// lines are those of a section that was measured at another time than the page.
func (s Section) lines(when string) pageSection {
	p := pageSection{title: s.Title, rows: []string{sectionLine(s.Title, when)}}
	for _, row := range s.Rows {
		p.rows = append(p.rows, row.line())
	}
	for _, note := range s.Notes {
		p.notes = append(p.notes, noteLine(s.Title, note))
	}
	return p
}

// page is a page as it was written before, in parts.
type page struct {
	head     string // up to the table
	sections []pageSection
	machine  string // from the machine on, up to the method
}

func readPage(text string) (*page, error) {
	head, rest, table := strings.Cut(text, "| "+strings.Join(header, " | ")+" |\n")
	_, machine, known := strings.Cut(rest, machineTitle)
	machine, _, explained := strings.Cut(machine, methodTitle)
	if !table || !known || !explained {
		return nil, fmt.Errorf("the page is not one that make bench has written: run all stages")
	}
	p := &page{head: head, machine: "\n" + machineTitle + machine}
	for line := range strings.Lines(rest) {
		line = strings.TrimSuffix(line, "\n")
		last := len(p.sections) - 1
		switch title, _, section := strings.Cut(strings.TrimPrefix(line, "| **"), "**"); {
		case strings.HasPrefix(line, machineTitle):
			return p, nil
		case strings.HasPrefix(line, "| **") && section:
			p.sections = append(p.sections, pageSection{title: title, rows: []string{line}})
		case strings.HasPrefix(line, "| ") && last >= 0:
			p.sections[last].rows = append(p.sections[last].rows, line)
		case strings.HasPrefix(line, "- "):
			for at, s := range p.sections {
				if strings.HasPrefix(line, noteLine(s.title, "")) {
					p.sections[at].notes = append(p.sections[at].notes, line)
				}
			}
		}
	}
	return p, nil
}
