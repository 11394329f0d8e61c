package bench

import (
	_ "embed"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/cleave-project/cleave/tools/measure"
)

// Report is the result of a run.
type Report struct {
	Config
	Load     string // of the machine before the run
	Facts    []measure.Fact
	Sections []Section
}

// Section is the rows of one stage.
type Section struct {
	stage
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

func (r *Report) begin(s stage) { r.Sections = append(r.Sections, Section{stage: s}) }

func (r *Report) add(row Row) {
	s := &r.Sections[len(r.Sections)-1]
	s.Rows = append(s.Rows, row)
}

func (r *Report) note(format string, arguments ...any) {
	s := &r.Sections[len(r.Sections)-1]
	s.Notes = append(s.Notes, fmt.Sprintf(format, arguments...))
}

// verdict says whether a goal was met; a quick run has no verdict.
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

// method explains how the numbers were measured; it is the last part of the page.
//
//go:embed method.md
var method string

// machinePart is the section of the page about the machine of the last run of all stages.
const machinePart = "machine"

// page returns the page docs/benchmarks.md.
func page() measure.Page {
	return measure.Page{
		Suite: "bench", Parts: append(measure.Names(stages()), machinePart), Tail: "\n" + method,
		Head: func(sections string) string {
			return "# Benchmarks\n\nWhat our code takes beside the limits of the machine and beside other libraries " +
				"(the peers), measured by `make bench`. " + summary(sections) + "\n"
		},
	}
}

// summary counts the verdicts on goals in the rows of sections.
func summary(sections string) string {
	var parts []string
	for _, v := range []Verdict{Met, NotMet, Missing, TooSmall} {
		if count := strings.Count(sections, " | "+string(v)+" |\n"); count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count, v))
		}
	}
	return "Goals: " + strings.Join(parts, ", ") + "."
}

// sections returns what was measured as sections of the page.
func (r *Report) sections(now time.Time) map[string]string {
	when := r.When(now)
	when = strings.ToUpper(when[:1]) + when[1:] + ", load " + r.Load + "."
	if r.Quick {
		when += " **This was a quick run, which shows only that the benchmark works. Its numbers mean nothing.**"
	}
	sections := map[string]string{}
	for _, s := range r.Sections {
		var b strings.Builder
		fmt.Fprintf(&b, "## %s\n\n%s\n", s.title, when)
		measure.Head(&b, "what", "ours", "peer", "ratio", "goal", "verdict")
		for _, row := range s.Rows {
			measure.Row(&b, row.What, row.Ours, row.Peer, row.Ratio, row.Goal, string(row.Verdict))
		}
		if len(s.Notes) > 0 {
			b.WriteString("\n")
		}
		for _, note := range s.Notes {
			fmt.Fprintf(&b, "- %s\n", note)
		}
		sections[s.name] = b.String()
	}
	if len(r.Parts) == 0 || r.Out == "" {
		var b strings.Builder
		b.WriteString("## The machine and the programs\n")
		measure.Head(&b, "", "")
		for _, f := range r.Facts {
			measure.Row(&b, f.Name, f.Value)
		}
		sections[machinePart] = b.String()
	}
	return sections
}

// String returns the best time, and the median in parentheses.
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
