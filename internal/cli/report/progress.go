package report

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/cli/shell"
)

// Plain lines of iterations are all written up to a number, then only so often, and the last.
const (
	plainLines    = 50
	plainInterval = time.Second
)

// progress shows how a job goes on: one line redrawn on a terminal, plain lines elsewhere.
type progress struct {
	w       io.Writer
	width   int // of the terminal; 0: plain lines
	quiet   bool
	every   bool // plain lines of all iterations, however many
	now     func() time.Time
	phase   cleavev1.Phase
	message string // of the last progress, to say a new one once
	drawn   bool   // a live line stands on the terminal
	written int    // plain lines of iterations
	last    time.Time
	held    string // the iteration that was not written, in case it is the last
	several bool   // restarts: lines name theirs

	violated uint32 // constraints, by the last iteration

	left time.Duration // of an eigensolver, by the last progress; 0: it cannot be told
}

// NewProgress shows the progress of a job on w, of which a quiet one shows nothing.
func NewProgress(w io.Writer, quiet bool) *progress {
	return &progress{w: w, width: terminalWidth(w), quiet: quiet, now: time.Now}
}

// NewProgressOfEach shows every iteration of a job, however many there are.
func NewProgressOfEach(w io.Writer) *progress {
	return &progress{w: w, width: terminalWidth(w), every: true, now: time.Now}
}

// Say writes a line of its own.
func (p *progress) Say(format string, args ...any) {
	if !p.quiet {
		p.clear()
		fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// Uploading shows that data are on their way to the coordinator; only a terminal shows it.
func (p *progress) Uploading(rows int, bytes uint64) {
	if p.width > 0 {
		p.draw(fmt.Sprintf("load  sending %s, %s", shell.Plural(rows, "row"), shell.FormatBytes(bytes)))
	}
}

// Item shows what the coordinator sent.
func (p *progress) Item(item *cleavev1.WatchJobResponse) {
	if p.quiet {
		return
	}
	if live := item.GetProgress(); live != nil {
		p.live(live)
		return
	}
	switch what := item.GetEvent().GetWhat().(type) {
	case *cleavev1.Event_Iteration:
		p.iteration(what.Iteration)
	case *cleavev1.Event_Solver:
		p.solverStep(what.Solver)
	case *cleavev1.Event_Shift:
		p.flush()
		p.Say("sigma is now %s: %s", Brief(what.Shift.GetSigma()), what.Shift.GetWhy())
	case *cleavev1.Event_Notice:
		p.flush()
		p.Say("warning: %s", what.Notice.GetMessage())
	case *cleavev1.Event_Restart:
		p.flush()
		p.several = true
		p.Say("restart %d", what.Restart.GetRestart())
	case *cleavev1.Event_Ended:
		p.End()
	}
}

// End writes what was held back and leaves the terminal clean.
func (p *progress) End() {
	p.flush()
	p.clear()
}

func (p *progress) iteration(it *cleavev1.Iteration) {
	p.violated = it.GetParts().GetViolated()
	if p.width > 0 {
		return // the next live progress draws it
	}
	p.plain(p.iterationLine(it))
}

func (p *progress) solverStep(s *cleavev1.SolverStep) {
	if p.width > 0 {
		return // the next live progress draws it
	}
	parts := solverParts(s)
	if s.GetStepsLeft() > 0 && p.left > 0 {
		parts = append(parts, about(p.left))
	}
	p.plain("eigenvectors: " + strings.Join(parts, ", "))
}

// solverParts tell how far an eigensolver is.
func solverParts(s *cleavev1.SolverStep) []string {
	glance := func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	parts := []string{
		fmt.Sprintf("step %d", s.GetStep()),
		fmt.Sprintf("residual %s of %s", glance(s.GetResidual()), glance(s.GetTolerance())),
		fmt.Sprintf("%d of %d converged", s.GetConverged(), s.GetWanted()),
	}
	if left := s.GetStepsLeft(); left > 0 {
		parts = append(parts, fmt.Sprintf("about %s", shell.Plural(int(left), "step")))
	}
	return parts
}

// about writes a time that is left.
func about(left time.Duration) string {
	return "about " + max(left.Round(time.Second), time.Second).String() + " left"
}

// plain writes one line of many.
func (p *progress) plain(line string) {
	now := p.now()
	if !p.every && p.written >= plainLines && now.Sub(p.last) < plainInterval {
		p.held = line
		return
	}
	p.held, p.last = "", now
	p.written++
	fmt.Fprintln(p.w, line)
}

func (p *progress) iterationLine(it *cleavev1.Iteration) string {
	line := fmt.Sprintf("iteration %d: objective %s", it.GetIteration(), Exact(it.GetObjective()))
	if p.several {
		line = fmt.Sprintf("restart %d, %s", it.GetRestart(), line)
	}
	if it.GetIteration() > 0 {
		line += fmt.Sprintf(", %d moved", it.GetMoved())
	}
	if violated := it.GetParts().GetViolated(); violated > 0 {
		line += fmt.Sprintf(", %d violated", violated)
	}
	return line
}

func (p *progress) flush() {
	if p.held != "" {
		fmt.Fprintln(p.w, p.held)
		p.held = ""
	}
}

func (p *progress) live(live *cleavev1.Progress) {
	changed := live.GetPhase() != p.phase || live.GetMessage() != p.message
	p.phase, p.message = live.GetPhase(), live.GetMessage()
	if p.left = 0; live.GetSolver() != nil {
		p.left = live.GetTimeLeft().AsDuration()
	}
	if p.width > 0 {
		p.draw(p.liveLine(live))
		return
	}
	// Plain: iterations have lines of their own, and a phase is worth one when it begins.
	if changed && live.GetPhase() != cleavev1.Phase_PHASE_ITERATING {
		fmt.Fprintln(p.w, p.liveLine(live))
	}
}

var phases = map[cleavev1.Phase]string{
	cleavev1.Phase_PHASE_WAITING:      "wait",
	cleavev1.Phase_PHASE_LOADING:      "load",
	cleavev1.Phase_PHASE_BUILDING:     "build",
	cleavev1.Phase_PHASE_INITIALIZING: "start",
	cleavev1.Phase_PHASE_ITERATING:    "iterate",
}

func (p *progress) liveLine(live *cleavev1.Progress) string {
	parts := []string{phases[live.GetPhase()]}
	switch live.GetPhase() {
	case cleavev1.Phase_PHASE_BUILDING:
		if live.GetTiles() == 0 {
			break // not cut yet
		}
		parts = append(parts, fmt.Sprintf("%d of %d tiles", live.GetTilesBuilt(), live.GetTiles()))
	case cleavev1.Phase_PHASE_INITIALIZING:
		if s := live.GetSolver(); s != nil {
			parts = append(parts, solverParts(s)...)
		}
	case cleavev1.Phase_PHASE_ITERATING:
		if s := live.GetSolver(); s != nil {
			parts = append(parts, solverParts(s)...)
			break
		}
		if live.GetIteration() == 0 && live.GetObjective() == 0 {
			break // nothing is known yet
		}
		parts = append(parts,
			fmt.Sprintf("iteration %d", live.GetIteration()),
			"objective "+Brief(live.GetObjective()),
			fmt.Sprintf("%d moved", live.GetMoved()))
		if p.violated > 0 {
			parts = append(parts, fmt.Sprintf("%d violated", p.violated))
		}
		if rate := live.GetIterationsPerSecond(); rate > 0 {
			parts = append(parts, strconv.FormatFloat(rate, 'g', 3, 64)+" it/s")
		}
	}
	if left := live.GetTimeLeft(); left != nil {
		parts = append(parts, about(left.AsDuration()))
	}
	if live.GetMessage() != "" {
		parts = append(parts, live.GetMessage())
	}
	if workers := live.GetWorkers(); workers > 0 {
		parts = append(parts, shell.Plural(int(workers), "worker"))
	}
	return strings.Join(parts, "  ")
}

// draw puts the live line in the place of the last one.
func (p *progress) draw(line string) {
	if p.quiet {
		return
	}
	if runes := []rune(line); len(runes) >= p.width {
		line = string(runes[:p.width-1]) // a full line would wrap and could not be redrawn
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", line)
	p.drawn = true
}

func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

// terminalWidth is the width of the terminal that w is, 0 when it is none.
func terminalWidth(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width < 1 {
		return 80
	}
	return width
}
