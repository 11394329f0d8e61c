package bench

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is the result of a run.
type Report struct {
	Quick    bool
	Version  string
	Facts    []Fact
	Sections []Section
}

// Fact is one fact about the machine or the programs.
type Fact struct{ Name, Value string }

// Section is the rows of one stage.
type Section struct {
	Title string
	Rows  []Row
	Notes []string
}

// Row is one line of the table. Peer, Ratio and Goal may be empty.
type Row struct {
	What, Ours, Peer, Ratio, Goal string
	Verdict                       Verdict
}

// Verdict says whether a row meets its goal.
type Verdict string

// The verdicts.
const (
	NoGoal   Verdict = ""
	Met      Verdict = "met"
	NotMet   Verdict = "not met"
	Missing  Verdict = "missing"         // a peer or a program is not there
	TooSmall Verdict = "sizes too small" // a quick run decides nothing
)

func (r *Report) begin(title string) { r.Sections = append(r.Sections, Section{Title: title}) }

func (r *Report) add(row Row) {
	s := &r.Sections[len(r.Sections)-1]
	s.Rows = append(s.Rows, row)
}

func (r *Report) note(format string, arguments ...any) {
	s := &r.Sections[len(r.Sections)-1]
	s.Notes = append(s.Notes, fmt.Sprintf(format, arguments...))
}

// verdict is that of a goal that was met or not; a quick run has none.
func (r *Report) verdict(met bool) Verdict {
	switch {
	case r.Quick:
		return TooSmall
	case met:
		return Met
	}
	return NotMet
}

// compare adds a row with the ratio of a peer's time to ours, which should be at least so large (0: no
// goal). A peer that was not measured is missing.
func (r *Report) compare(what string, ours, peer times, ourText, peerText string, atLeast float64) {
	row := Row{What: what, Ours: ourText, Peer: peerText}
	if atLeast > 0 {
		row.Goal = fmt.Sprintf(">= %gx", atLeast)
	}
	if len(peer) == 0 {
		row.Peer = "missing"
		row.Verdict = Missing
		r.add(row)
		return
	}
	ratio := peer.best() / ours.best()
	row.Ratio = fmt.Sprintf("%.2fx (%.2fx)", ratio, peer.median()/ours.median())
	if atLeast > 0 {
		row.Verdict = r.verdict(ratio >= atLeast)
	}
	r.add(row)
}

// Counts is the number of goals with each verdict.
func (r *Report) Counts() map[Verdict]int {
	counts := map[Verdict]int{}
	for _, s := range r.Sections {
		for _, row := range s.Rows {
			if row.Goal != "" {
				counts[row.Verdict]++
			}
		}
	}
	return counts
}

// summary is the goals in one line.
func (r *Report) summary() string {
	var parts []string
	counts := r.Counts()
	for _, v := range []Verdict{Met, NotMet, Missing, TooSmall} {
		if counts[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[v], v))
		}
	}
	return "Goals: " + strings.Join(parts, ", ") + "."
}

var header = []string{"what", "ours", "peer", "ratio", "goal", "verdict"}

func (r Row) cells() []string {
	return []string{r.What, r.Ours, r.Peer, r.Ratio, r.Goal, string(r.Verdict)}
}

// WriteText prints the facts and the table for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	for _, f := range r.Facts {
		fmt.Fprintf(w, "%s: %s\n", f.Name, f.Value)
	}
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(header, "\t"))
	for _, s := range r.Sections {
		fmt.Fprintf(table, "-- %s\t\t\t\t\t\n", s.Title)
		for _, row := range s.Rows {
			fmt.Fprintln(table, strings.Join(row.cells(), "\t"))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, s := range r.Sections {
		for _, note := range s.Notes {
			fmt.Fprintf(w, "%s: %s\n", s.Title, note)
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.summary())
	return err
}

// method explains how the numbers were measured; it is the last section of the page.
//
//go:embed method.md
var method string

// The parts of the page after the table.
const (
	notesTitle   = "## Notes"
	machineTitle = "## The machine and the programs"
	methodTitle  = "## How it is measured"
)

// sectionLine is the line of the table above the rows of a section.
func sectionLine(title, when string) string {
	return fmt.Sprintf("| **%s**%s | | | | | |", title, when)
}

// line is a row of the table.
func (r Row) line() string {
	cells := r.cells()
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(cell, "|", "\\|")
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

func noteLine(title, note string) string { return fmt.Sprintf("- %s: %s", title, note) }

// WriteMarkdown writes the page of the documentation.
func (r *Report) WriteMarkdown(w io.Writer, now time.Time) error {
	fmt.Fprintf(w, "<!-- Written by make bench. Do not edit: change tools/bench and run it again. -->\n# Benchmarks\n\n")
	fmt.Fprintf(w, "Measured on %s at %s by one run of `make bench`. %s\n\n", now.UTC().Format(time.DateOnly), r.Version, r.summary())
	if r.Quick {
		fmt.Fprintf(w, "**This was a quick run, which shows only that the benchmark works. Its numbers mean nothing.**\n\n")
	}
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(header, " | "), strings.Repeat("---|", len(header)))
	for _, s := range r.Sections {
		fmt.Fprintln(w, sectionLine(s.Title, ""))
		for _, row := range s.Rows {
			fmt.Fprintln(w, row.line())
		}
	}
	fmt.Fprintf(w, "\n%s\n\n", notesTitle)
	for _, s := range r.Sections {
		for _, note := range s.Notes {
			fmt.Fprintln(w, noteLine(s.Title, note))
		}
	}
	fmt.Fprintf(w, "\n%s\n\n| | |\n|---|---|\n", machineTitle)
	for _, f := range r.Facts {
		fmt.Fprintf(w, "| %s | %s |\n", f.Name, f.Value)
	}
	_, err := fmt.Fprintf(w, "\n%s", method)
	return err
}

// String is the best time, and the median in parentheses.
func (t times) String() string {
	if len(t) == 0 {
		return "missing"
	}
	return fmt.Sprintf("%s (%s)", duration(t.best()), duration(t.median()))
}

// duration formats seconds with three digits.
func duration(seconds float64) string {
	switch {
	case seconds < 1e-3:
		return fmt.Sprintf("%.3g us", seconds*1e6)
	case seconds < 1:
		return fmt.Sprintf("%.3g ms", seconds*1e3)
	case seconds < 100:
		return fmt.Sprintf("%.3g s", seconds)
	}
	return fmt.Sprintf("%.0f s", seconds)
}

// rate formats an amount per second: in the best time, and in parentheses in the median time.
func rate(amount float64, t times, unit string) string {
	if len(t) == 0 {
		return "missing"
	}
	return fmt.Sprintf("%s (%s) %s", threeDigits(amount/t.best()), threeDigits(amount/t.median()), unit)
}

// threeDigits formats a number with three significant digits, or more before the decimal point.
func threeDigits(v float64) string {
	if digits := 2 - int(math.Floor(math.Log10(math.Abs(v)))); v != 0 && digits >= 0 && digits < 9 {
		return fmt.Sprintf("%.*f", digits, v)
	}
	return fmt.Sprintf("%.0f", v)
}
